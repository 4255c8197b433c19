"""The exercises: what goes in, what a right attempt returns, and the inputs that tell.

Sizes are pairwise different on purpose, and none of the ordinary ones is a size of the lessons
(4, 8, 384, 16): with equal sizes a scale by √T for √d_k, or work along another axis, cannot be
seen. Each call makes fresh tensors from a generator of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch

from helpers.handsized import Eye

INF = float("inf")


class Sizes(NamedTuple):
    B: int
    T: int
    C: int
    H: int  # head_size
    n: int  # block_size
    Tq: int = 4  # queries, where they are fewer than the keys; 0 where they are not


ORDINARY = Sizes(3, 5, 7, 6, 10)
OTHER = Sizes(2, 11, 13, 3, 12, 5)
ONE_SEQUENCE = Sizes(1, 5, 7, 6, 10)
ONE_TOKEN = Sizes(2, 1, 7, 6, 10, 1)
LESSON = Sizes(4, 8, 384, 16, 8, 5)

# The widths of x in the first two models of a lecture from which attempts are often copied.
LECTURED = (LESSON._replace(C=2), LESSON._replace(C=32))

# Where an attempt raises at unequal sizes, the first of these at which it runs says why.
EQUAL = {
    "one sequence": ONE_SEQUENCE,
    "T = head_size": Sizes(3, 6, 7, 6, 10),
    "C = head_size": Sizes(3, 5, 6, 6, 10),
    "T = C": Sizes(3, 5, 5, 6, 10),
    "T = C = head_size": Sizes(3, 6, 6, 6, 10),
    "T = block_size": Sizes(3, 5, 7, 6, 5),
    "B = T": Sizes(5, 5, 7, 6, 10, 5),
    "B = T = head_size": Sizes(5, 5, 7, 5, 10, 5),
    "all equal": Sizes(5, 5, 5, 5, 5, 5),
}


class Case(NamedTuple):
    """One set of arguments; `sizes` is kept for what a Head is built with."""

    name: str
    sizes: Sizes
    args: tuple


@dataclass(frozen=True)
class Exercise:
    name: str
    arguments: str  # as a student reads them
    returns: str
    make: Callable[[Sizes, int], tuple]
    reference: Callable
    causal: bool = False  # later positions may not be heard
    rows_sum: bool = False  # the result is a grid of weights
    special: tuple[str, ...] = ()


def normal(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float32)


# ---------------------------------------- references
def lower(rows, columns=None, offset=0):
    """Boolean, True on and below the diagonal moved `offset` to the right."""
    return torch.ones(rows, columns or rows, dtype=torch.bool).tril(offset)


def bow(x):
    T = x.shape[1]
    return averaging_matrix(T).to(x.dtype) @ x


def averaging_matrix(T):
    return lower(T) / lower(T).sum(dim=1, keepdim=True)


def project(x, Wq, Wk, Wv):
    return x @ Wq, x @ Wk, x @ Wv


def raw_scores(q, k):
    return q @ k.transpose(-2, -1)


def attention_scores(q, k):
    return raw_scores(q, k) / math.sqrt(q.shape[-1])


def causal_mask(scores):
    return scores.masked_fill(~lower(scores.shape[-1]), -INF)


def causal_weights(scores):
    return causal_mask(scores).softmax(dim=-1)


def self_attention(x, Wq, Wk, Wv):
    q, k, v = project(x, Wq, Wk, Wv)
    return attention_scores(q, k).softmax(dim=-1) @ v


def causal_attention(x, Wq, Wk, Wv):
    q, k, v = project(x, Wq, Wk, Wv)
    return sdpa(q, k, v)


def sdpa(q, k, v):
    return causal_weights(attention_scores(q, k)) @ v


def sdpa_decode(q, k, v):
    Tq, Tk = q.shape[1], k.shape[1]
    keep = lower(Tq, Tk, Tk - Tq)
    return attention_scores(q, k).masked_fill(~keep, -INF).softmax(dim=-1) @ v


# ---------------------------------------- inputs
def _x(s, seed):
    return (normal(s.B, s.T, s.C, seed=seed),)


def _length(s, seed):
    return (s.T,)


def _x_and_weights(s, seed):
    # spread of the scaled scores near 1.5, so that a missing scale cannot hide
    widths = [normal(s.C, s.H, seed=seed + i) * 1.25 / s.C**0.5 for i in (1, 2, 3)]
    return (normal(s.B, s.T, s.C, seed=seed), *widths)


def _q_k(s, seed):
    return normal(s.B, s.T, s.H, seed=seed) * 1.5, normal(s.B, s.T, s.H, seed=seed + 1)


def _scores(s, seed):
    return (normal(s.B, s.T, s.T, seed=seed) * 1.5,)


def _q_k_v(s, seed):
    return (*_q_k(s, seed), normal(s.B, s.T, s.H, seed=seed + 2))


def _few_queries(s, seed):
    q, k, v = _q_k_v(s, seed)
    return q[:, : s.Tq].clone(), k, v


_GRID, _RESULT = "(B, T, T)", "(B, T, head_size)"
_ON_X = "x, Wq, Wk, Wv"

_CAUSAL_ATTENTION = Exercise(
    "causal_attention",
    _ON_X,
    _RESULT,
    _x_and_weights,
    causal_attention,
    causal=True,
    special=("zeros", "far below"),
)
_FAR = ("far below",)
_SPECIAL_WEIGHTS = ("zeros", "large", "future dominates", "far below", "all far below", "half")

EXERCISES = {
    e.name: e
    for e in (
        Exercise("bow", "x", "(B, T, C)", _x, bow, causal=True),
        Exercise("averaging_matrix", "T", "(T, T)", _length, averaging_matrix, True, True),
        Exercise("project", _ON_X, "three tensors of (B, T, head_size)", _x_and_weights, project),
        Exercise("raw_scores", "q, k", _GRID, _q_k, raw_scores),
        Exercise("attention_scores", "q, k", _GRID, _q_k, attention_scores),
        Exercise("causal_mask", "scores", _GRID, _scores, causal_mask, True, special=("zeros",)),
        Exercise(
            "causal_weights", "scores", _GRID, _scores, causal_weights, True, True, _SPECIAL_WEIGHTS
        ),
        Exercise("self_attention", _ON_X, _RESULT, _x_and_weights, self_attention),
        _CAUSAL_ATTENTION,
        replace(_CAUSAL_ATTENTION, name="Head", arguments="C, head_size, block_size"),
        Exercise("sdpa", "q, k, v", _RESULT, _q_k_v, sdpa, True, special=_FAR),
        Exercise(
            "sdpa_decode",
            "q, k, v",
            "(B, Tq, head_size)",
            _few_queries,
            sdpa_decode,
            True,
            special=_FAR,
        ),
    )
}


def sizes_for(exercise: Exercise, sizes: Sizes) -> Sizes:
    """The sizes that the exercise has: queries are counted apart in one of them only."""
    return sizes if exercise.name == "sdpa_decode" else sizes._replace(Tq=0)


def case(exercise: Exercise, name: str, sizes: Sizes, seed=10) -> Case:
    return Case(name, sizes_for(exercise, sizes), exercise.make(sizes, seed))


def special_case(exercise: Exercise, name: str) -> Case:
    """Inputs that ordinary numbers never contain, each for one kind of mistake."""
    if exercise.arguments == "scores":
        return Case(name, sizes_for(exercise, ORDINARY), (_SPECIAL_SCORES[name](),))
    if exercise.arguments == "q, k, v":
        return Case(name, sizes_for(exercise, ORDINARY), _queries_far_below(exercise))
    return Case(name, sizes_for(exercise, ORDINARY), _SPECIAL_PROJECTIONS[name]())


def _with_zeros():
    scores = normal(3, 5, 5, seed=40) * 1.5
    scores[:, 3, 1] = 0.0
    scores[:, 4, 4] = 0.0
    return scores


def _future_dominates():
    scores = normal(3, 5, 5, seed=42)
    scores[:, 1, 4] = 300.0
    return scores


def _rows_far_below(allowed_only):
    """Rows 0 and 2 near -400: all of them, or what they may see, where a weak fill leaks."""
    scores = normal(3, 5, 5, seed=43)
    scores[:, 0, : 1 if allowed_only else 5] -= 400.0
    scores[:, 2, : 3 if allowed_only else 5] -= 400.0
    return scores


_SPECIAL_SCORES = {
    "zeros": _with_zeros,
    "large": lambda: normal(3, 5, 5, seed=41) * 120,
    "future dominates": _future_dominates,
    "far below": lambda: _rows_far_below(True),
    "all far below": lambda: _rows_far_below(False),
    "half": lambda: normal(3, 5, 5, seed=44).half(),
}


def _zero_products():
    """A query that is all zeros: its scores are exactly 0."""
    x, Wq, Wk, Wv = _x_and_weights(ORDINARY, 45)
    x[:, :, 0] = 0.0
    x[:, 2, 1:] = 0.0
    return x, Wq, Wk, Wv


def _products_far_below():
    """What row 1 may see is near -400; its later scores, and other rows, are ordinary."""
    x, Wq, Wk, Wv = _x_and_weights(ORDINARY, 46)
    x[:, :2, 0], x[:, 2:, 0], x[:, :, 1] = 1.0, 0.0, 0.0
    x[:, 1, 1] = 1.0
    Wk[0] = torch.tensor([6.0, 0, 0, 0, 0, 0])
    Wq[1] = torch.tensor([-400 * 6**0.5 / 6.0, 0, 0, 0, 0, 0])
    Wk[:, 0] = Wk[:, 0] * torch.tensor([1.0, 0, 0, 0, 0, 0, 0])
    return x, Wq, Wk, Wv


def _queries_far_below(exercise):
    """The same for given q, k and v: one row's own keys are near -400, the later ones are not."""
    q, k, v = exercise.make(ORDINARY, 47)
    row = 1 if q.shape[1] == k.shape[1] else 0
    seen = row + 1 + k.shape[1] - q.shape[1]
    k[:, :seen, 0], k[:, seen:, 0] = 6.0, 0.0
    q[:, row] = torch.tensor([-400 * 6**0.5 / 6.0, 0, 0, 0, 0, 0])
    return q, k, v


_SPECIAL_PROJECTIONS = {"zeros": _zero_products, "far below": _products_far_below}


# ---------------------------------------- the smallest example
def small_case(exercise: Exercise) -> Case:
    """The exercise on `eye`, a batch of one."""
    eye = Eye()
    sizes = Sizes(1, 3, 5, 4, 6, 2)
    x, q, k, v = (t[None].clone() for t in (eye.x, eye.q, eye.k, eye.v))
    args = {
        "bow": (x,),
        "averaging_matrix": (3,),
        "raw_scores": (q, k),
        "attention_scores": (q, k),
        "causal_mask": (eye.scores[None],),
        "causal_weights": (eye.scores[None],),
        "sdpa": (q, k, v),
        "sdpa_decode": (q[:, 1:].clone(), k, v),
    }.get(exercise.name, (x, eye.Wq, eye.Wk, eye.Wv))
    return Case("eye", sizes_for(exercise, sizes), args)
