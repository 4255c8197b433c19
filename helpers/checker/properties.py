"""Which properties of a right answer hold, and the first that does not, in words."""

from __future__ import annotations

import torch

from helpers.matrices import written

from . import contracts, errors
from .contracts import Case, Exercise
from .gaps import expected, told
from .search import agree


def properties(exercise: Exercise, case: Case, value, again):
    """What holds, in words, and the first thing that does not.

    again  a function of a Case: what the attempt gives there, or None
    """
    want = expected(exercise, case)
    if exercise.name == "project":
        return _project_properties(case, value, want)
    holds = []
    if not isinstance(value, torch.Tensor):
        return holds, f"a tensor is expected and {told(value)} comes back"
    value = value.detach()
    if value.shape != want.shape:
        got = errors.in_words(value.shape, case.sizes)
        return ["a tensor comes back"], (
            f"the shape is {tuple(value.shape)}, {got}; expected is {tuple(want.shape)}, "
            f"{exercise.returns}"
        )
    holds.append(f"the shape is {exercise.returns}")
    if bool(value.isnan().any()):
        return holds, "NaN is among the numbers"
    if exercise.name == "causal_mask":
        return _mask_properties(value, want, holds)
    if bool(value.isinf().any()):
        return holds, "an infinite number is among the results"
    holds.append("every number is finite")
    fails = ""
    if exercise.rows_sum:
        sums = value.double().sum(-1)
        if bool(((sums - 1).abs() < 1e-4).all()):
            holds.append("each row sums to 1")
        else:
            fails = fails or f"a row sums to {_worst(sums)} and not to 1"
    if exercise.causal:
        later = "weight stands above the diagonal" if exercise.rows_sum else (
            "position hears a later one"
        )  # fmt: skip
        if _hears_later(exercise, case, value, again):
            fails = fails or f"a {later}"
        else:
            holds.append(f"no {later}")
    return holds, fails or "the numbers are not the expected ones"


def _project_properties(case, value, want):
    if not isinstance(value, tuple | list) or len(value) != 3:
        return [], f"three tensors are expected and {told(value)} comes back"
    holds = ["three come back"]
    for name, part, w in zip("qkv", value, want, strict=True):
        if not isinstance(part, torch.Tensor):
            return holds, f"{name} is {told(part)} and not a tensor"
        if part.shape != w.shape:
            got = errors.in_words(part.shape, case.sizes)
            return holds, (
                f"{name} has shape {tuple(part.shape)}, {got}; expected is {tuple(w.shape)}"
            )
        if agree(part.detach(), w):
            holds.append(f"{name} is right")
    wrong = [n for n, p, w in zip("qkv", value, want, strict=True) if not agree(p.detach(), w)]
    return holds, f"{' and '.join(wrong)} {'hold' if wrong[1:] else 'holds'} other numbers"


def _mask_properties(value, want, holds):
    blocked = want == -contracts.INF
    open_ = value[blocked] > -9_999
    fails = ""
    if bool(open_.any()):
        fails = "an entry above the diagonal is not blocked"
    else:
        holds.append("every entry above the diagonal is blocked")
    same = torch.where(blocked, 0.0, value.double())
    if agree(same, torch.where(blocked, 0.0, want.double())):
        holds.append("the entries that may be seen are as they were")
    else:
        fails = fails or "entries that may be seen have changed"
    return holds, fails or "the numbers are not the expected ones"


def _hears_later(exercise, case, value, again):
    """By finite changes, or for a grid of weights by its upper half."""
    if exercise.rows_sum:
        T = value.shape[-1]
        later = ~contracts.lower(T)
        return bool((value[..., later].abs() > 1e-6).any())
    T = case.sizes.T
    offset = T - value.shape[1]
    for j in range(T - 1, 0, -1):
        args = list(case.args)
        for place, a in enumerate(args):
            if isinstance(a, torch.Tensor) and a.dim() == 3:
                if exercise.name == "sdpa_decode" and place == 0:
                    continue
                args[place] = a.clone()
                args[place][:, j] += contracts.normal(a.shape[-1], seed=70 + j)
        got = again(Case("changed", case.sizes, tuple(args)))
        if not isinstance(got, torch.Tensor) or got.shape != value.shape:
            return False
        rows = max(j - offset, 0)
        if rows and not agree(got[:, :rows].detach(), value[:, :rows]):
            return True
    return False


def _worst(sums):
    flat = sums.flatten()
    return written(flat[(flat - 1).abs().argmax()][None, None], 3)[0][0]
