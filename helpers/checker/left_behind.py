"""What an attempt leaves behind: changed inputs, lost gradients, state kept between calls."""

from __future__ import annotations

import torch

from . import errors
from .gaps import gap
from .judging import expects_none, judge
from .probes import ORDINARY_NUMBERS, Record

# Faults after which no gradient can be expected.
NO_GRADIENT_ANYWAY = {
    "scores-ignored",
    "hard-maximum",
    "returned-wrong-stage",
    "floor-division",
    "only-itself",
}
OTHER_CALLS_DIFFER = {"mask-not-sliced", "random-on-every-call", "dropout-always-on"}


def left_behind(record: Record, named: set[str]):
    """One fault at a time; `named` are the slugs found so far, which may explain what is seen."""
    asked = {f.question for f in judge(record)}
    named = set(named)
    if "arguments" in asked:
        yield ("input-changed-in-place",)
        named.add("input-changed-in-place")
    if "gradient" in asked and record.gradient is not None:
        error = record.gradient.error
        if error:
            if not named:
                yield errors.by_text(error)
        elif _cut(record, named, record.gradient.value):
            yield ("gradient-cut",)
    if "learning" in asked and _cut(record, named, _reached(record)):
        yield ("gradient-cut",)
    if "later calls" in asked and not named & OTHER_CALLS_DIFFER:
        explained = record.later.error is not None and bool(named)
        if not record.runs["ordinary"].outcome.error and not explained:
            yield ("state-kept-between-calls",)


def _reached(record):
    learned = record.learning.value
    return tuple("reaches" if ok else "none" for n, ok in learned.items() if not expects_none(n))


def _cut(record, named, gradients):
    """Is a missing gradient a fault of its own, and not what another fault entails?"""
    value = record.runs["ordinary"].value
    if "nan" in gradients or value is None:
        return False
    if isinstance(value, torch.Tensor) and value.isnan().any():
        return False  # what is NaN hands no gradient on
    right = all(
        run.outcome.ok and not gap(record.exercise, run.case, run.value).text
        for name, run in record.runs.items()
        if name in ORDINARY_NUMBERS
    )
    if all(g == "none" for g in gradients):
        return right or bool(named) and not named & NO_GRADIENT_ANYWAY
    return right
