"""Heads that are broken in one place, and what a doctor may look at before being told.

Every one has the right shapes. A head is taken here as a function of (q, k, v) to (weights, out).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

from helpers.influence import influence_grid

INF = float("inf")
APART = 0.005  # two heads can be told apart by a number that differs by this much


class Fault(NamedTuple):
    """A broken head: its name, the head itself, and a sentence on what it does to the numbers."""

    name: str
    head: Callable
    why: str


class Evidence(NamedTuple):
    """What is shown of a head: rows of out (head_size,), row sums (T,), influence grid (T, T)."""

    first: torch.Tensor
    last: torch.Tensor
    sums: torch.Tensor
    heard: torch.Tensor


def _scores(q, k):
    return q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5


def _past(scores, ahead=0):
    return torch.ones_like(scores, dtype=torch.bool).tril(ahead)


def _read(scores, allowed, fill=-INF):
    return torch.softmax(scores.masked_fill(~allowed, fill), dim=-1)


def _weigh(weigh):
    """A head with weights of its own making, from the right scores."""

    def head(q, k, v):
        weights = weigh(_scores(q, k))
        return weights, weights @ v

    return head


def right_head(q, k, v):
    """The causal head of the course, from q, k, v of (T, head_size)."""
    scores = _scores(q, k)
    weights = _read(scores, _past(scores))
    return weights, weights @ v


def _exchanged(q, k, v):
    return right_head(k, q, v)


def _keys_averaged(q, k, v):
    weights, _ = right_head(q, k, v)
    return weights, weights @ k


def _scaled_by(factor):
    return lambda q, k, v: right_head(q * factor(q.shape[-1]), k, v)


def _transposed(q, k, v):
    weights, _ = right_head(q, k, v)
    return weights.transpose(-2, -1), weights.transpose(-2, -1) @ v


def _scaled_late(q, k, v):
    d_k = q.shape[-1]
    weights, _ = right_head(q * d_k**0.5, k, v)
    return weights / d_k**0.5, weights / d_k**0.5 @ v


RIGHT = Fault(
    "nothing is wrong", right_head, "Both rows, the sums and the grid are as they should."
)

FAULTS = (
    Fault(
        "the mask is missing",
        _weigh(lambda s: torch.softmax(s, dim=-1)),
        "Every position reads all of them. The last row may, so it alone is right.",
    ),
    Fault(
        "forbidden scores are set to 0",
        _weigh(lambda s: _read(s, _past(s), 0.0)),
        "exp(0) is 1, so a forbidden key keeps a share, and its value is heard.",
    ),
    Fault(
        "forbidden scores are set to -10",
        _weigh(lambda s: _read(s, _past(s), -10.0)),
        "exp(-10) is .000045: too little for three decimals, enough for the influence grid.",
    ),
    Fault(
        "the mask comes after the softmax",
        _weigh(lambda s: torch.softmax(s, dim=-1).tril()),
        "The future has taken its share before it is struck out, so the early rows sum to less "
        "than 1.",
    ),
    Fault(
        "the mask is one position ahead",
        _weigh(lambda s: _read(s, _past(s, 1))),
        "Each position reads the next one too, and no further: a diagonal more in the grid.",
    ),
    Fault(
        "the diagonal is masked too",
        _weigh(lambda s: _read(s, _past(s, -1))),
        "Row 0 has nothing left to read, and 0 divided by 0 is NaN.",
    ),
    Fault(
        "the other triangle is kept",
        _weigh(lambda s: _read(s, _past(s).transpose(-2, -1))),
        "Each position reads itself and what comes after. The last row copies its own value.",
    ),
    Fault(
        "every score of 0 is masked",
        _weigh(lambda s: _read(s, _past(s) & (s != 0))),
        "A score may be 0 at an allowed place. Row 0 has only that one, so it is NaN.",
    ),
    Fault(
        "a triangle of ones is added as the mask",
        _weigh(lambda s: torch.softmax(s + _past(s), dim=-1)),
        "Adding 1 forbids nothing. In the last row it adds 1 to all, which changes nothing.",
    ),
    Fault(
        "the scale is missing",
        _scaled_by(lambda d_k: d_k**0.5),
        "Row 0 has one key, and no scale can spoil it. The last row leans too hard.",
    ),
    Fault(
        "scores are divided by head_size, not by its root",
        _scaled_by(lambda d_k: d_k**-0.5),
        "Row 0 has one key, and no scale can spoil it. The last row is too even.",
    ),
    Fault(
        "scores are multiplied by the root of head_size",
        _scaled_by(lambda d_k: d_k),
        "Row 0 has one key, and no scale can spoil it. The last row is close to a single value.",
    ),
    Fault(
        "queries and keys are exchanged",
        _exchanged,
        "The grid of scores is transposed. Row 0 has one key all the same, so it is right.",
    ),
    Fault(
        "softmax runs down the columns",
        _weigh(lambda s: torch.softmax(s.masked_fill(~_past(s), -INF), dim=-2)),
        "Columns sum to 1 and rows do not. Row 0 no longer gets a weight of 1.",
    ),
    Fault(
        "the weights are transposed",
        _transposed,
        "Columns stand where rows belong: the first row reads ahead, and rows do not sum to 1.",
    ),
    Fault(
        "the keys are averaged, not the values",
        _keys_averaged,
        "Weights, sums and grid are right. What is carried home is k.",
    ),
    Fault(
        "the scale comes after the softmax",
        _scaled_late,
        "Every row sums to one half: the weights were halved, and not the scores.",
    ),
)

BY_NAME = {fault.name: fault for fault in (RIGHT, *FAULTS)}


def evidence(fault, example):
    """What `fault` shows on an example with x, Wq, Wk and Wv, such as `Eye()`."""

    return Evidence(*_numbers(fault, example), _heard(fault, example))


def _run(fault, example, x):
    return fault.head(x @ example.Wq, x @ example.Wk, x @ example.Wv)


def _numbers(fault, example):
    weights, out = _run(fault, example, example.x)
    return out[0], out[-1], weights.sum(dim=-1)


def _heard(fault, example):
    return influence_grid(lambda x: _run(fault, example, x)[1], example.x)


def differing(one, other):
    """The parts of two evidences that can be told apart: a tuple of field names, in order."""
    names = []
    for name, a, b in zip(Evidence._fields, one, other, strict=True):
        same = (
            torch.equal(a, b)
            if a.dtype is torch.bool
            else torch.allclose(a, b, atol=APART, rtol=0, equal_nan=True)
        )
        if not same:
            names.append(name)
    return tuple(names)


def all_apart(example):
    """Can any two of the heads here, the right one too, be told apart on an example?

    The same as `differing` for each pair of evidences. An influence grid takes many runs of a
    head, so it is drawn only for those pairs whose numbers agree.
    """
    faults = (RIGHT, *FAULTS)
    seen = torch.stack([torch.cat(_numbers(fault, example)) for fault in faults])
    seen = seen.nan_to_num(nan=1e6)  # NaN is like NaN, and like no number
    same = (seen[:, None] - seen[None]).abs().amax(dim=-1) <= APART  # (heads, heads)
    return all(
        not torch.equal(_heard(faults[i], example), _heard(faults[j], example))
        for i, j in same.triu(1).nonzero().tolist()
    )
