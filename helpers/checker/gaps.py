"""How what came back differs from what is expected, and in what it may differ."""

from __future__ import annotations

from typing import NamedTuple

import torch

from . import contracts
from .contracts import Case, Exercise
from .search import agree

LOW_ENOUGH = -9_999.0  # a fill at or below it leaves no weight in float32 or float16
HALF_STEP = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


class Opaque(NamedTuple):
    """In the place of a tensor that holds no plain numbers."""

    words: str


class Gap(NamedTuple):
    """How a value differs from the expected one; `remarks` where it is to be accepted."""

    text: str = ""
    remarks: tuple[str, ...] = ()


def expected(exercise: Exercise, case: Case):
    return exercise.reference(*case.args)


def gap(exercise: Exercise, case: Case, value) -> Gap:
    """Compare what came back with what a right attempt returns."""
    want = expected(exercise, case)
    if exercise.name == "project":
        if not isinstance(value, tuple | list) or len(value) != 3:
            return Gap(f"three tensors are expected, q, k and v; yours is {told(value)}")
        parts = zip(("q", "k", "v"), value, want, strict=True)
        gaps = [(name, _tensor_gap(exercise, case, part, w)) for name, part, w in parts]
        return next((Gap(f"{name}: {g.text}") for name, g in gaps if g.text), Gap())
    return _tensor_gap(exercise, case, value, want)


def told(value) -> str:
    """A value in words, without anything that changes from run to run."""
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, Opaque):
        return value.words
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return f"a {kind} of {len(value)}"
    if value is None:
        return "None"
    name = type(value).__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


def _tensor_gap(exercise, case, value, want) -> Gap:
    if not isinstance(value, torch.Tensor):
        return Gap(f"a tensor is expected, yours is {told(value)}")
    if value.shape != want.shape:
        return Gap(f"the shape is {tuple(value.shape)} where {tuple(want.shape)} is expected")
    value = value.detach().to("cpu", torch.float64)
    want = want.double()
    if exercise.name == "causal_mask":
        return _mask_gap(value, want)
    if agree(value, want):
        return Gap()
    unusual = _accepted_rows(exercise, case, value, want)
    if unusual is not None:
        return unusual
    if value.isnan().any() and not want.isnan().any():
        return Gap("NaN among the numbers")
    if value.isinf().any() and not want.isinf().any():
        return Gap("an infinite number among the results")
    return Gap("the numbers differ")


def _mask_gap(value, want) -> Gap:
    """Masked scores: a fill that is finite and very low, or rows shifted, give the same weights."""
    blocked = want == -contracts.INF
    remarks = []
    if value.isnan().any():
        return Gap("NaN among the numbers")
    high = value[blocked & (value > LOW_ENOUGH)]
    if high.numel():
        return Gap("an entry above the diagonal is not blocked")
    if (value[~blocked].isinf()).any():
        return Gap("an entry that may be seen is infinite")
    finite = value[blocked & value.isfinite()]
    if finite.numel():
        lowest = finite.max() < -1e37 or finite.max() == torch.finfo(torch.float16).min
        remarks.append("remark-finfo-min-fill" if lowest else "remark-1e9-fill")
    shift = (value - want).masked_fill(blocked, 0.0)
    if not agree(shift, torch.zeros_like(shift)):
        mean = shift.sum(-1, keepdim=True) / (~blocked).sum(-1, keepdim=True)
        if not agree(shift, mean.expand_as(shift).masked_fill(blocked, 0.0), atol=1e-4):
            return Gap("the numbers that may be seen have changed")
        remarks.append("remark-scores-shifted")
    return Gap(remarks=tuple(remarks))


def _accepted_rows(exercise, case, value, want):
    """Rows that a right but delicate way cannot answer: NaN or empty where numbers are extreme.

    Only rows of the special cases; on ordinary numbers NaN is wrong.
    """
    if exercise.name == "causal_weights" and case.name != "half":
        for dtype, step in HALF_STEP.items():
            # scores near -400 are rounded to a quarter in half precision
            step = 0.25 if "far below" in case.name else step
            if torch.equal(value.to(dtype).double(), value) and agree(value, want, step, step):
                return Gap(remarks=("remark-float16-softmax",))
    if case.name not in ("large", "future dominates", "far below", "all far below", "half"):
        return None
    atol = 1e-2 if case.name == "half" else 1e-5
    close = torch.isclose(value, want, atol=atol, rtol=1e-2 if case.name == "half" else 1e-4)
    bad = ~close.all(-1)
    rows = value[bad]
    if not rows.numel():
        return Gap()
    lost = ~rows.isfinite().all(-1) | (rows == 0).all(-1)
    return Gap(remarks=("delicate",)) if lost.all() else None


def alike(a, b) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return agree(a.detach(), b.detach())
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is type(b)


def plain(value):
    """Detached float32 numbers on the CPU, in a tuple where there are several."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu").to(torch.float32)
    if isinstance(value, tuple | list):
        return tuple(plain(part) for part in value)
    return value
