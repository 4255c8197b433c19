"""The fewest switches of a recipe that reproduce an attempt's numbers."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

import torch

from .contracts import Case, Exercise
from .recipes import RECIPES, Option, Step, start

ABSOLUTE, RELATIVE = 1e-5, 1e-4
MOST = 40  # answers kept of one search


@dataclass(frozen=True)
class Found:
    """One way to the attempt's numbers: the switches that were turned, in order."""

    options: tuple[tuple[str, Option], ...]

    @property
    def slugs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(slug for _, o in self.options for slug in o.slugs))

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(o.label for _, o in self.options)


def agree(a, b, atol=ABSOLUTE, rtol=RELATIVE) -> bool:
    """Same shape and same numbers within the tolerance; NaN matches NaN, inf its own sign."""
    if a.shape != b.shape:
        return False
    return torch.allclose(a.double(), b.double(), atol=atol, rtol=rtol, equal_nan=True)


def _alike(candidate, target, allowed) -> bool:
    """`agree`, blind to rows in which the candidate's mask lets nothing through.

    Such a row is NaN by hand, zeros through the fused call, and anything after a patch.
    """
    if candidate.shape != target.shape:
        return False
    if agree(candidate, target):
        return True
    if allowed is None or candidate.dim() < 2:
        return False
    blind = ~allowed.any(-1)
    if not blind.any() or blind.all() or candidate.shape[-2] != len(blind):
        return False
    return agree(candidate[..., ~blind, :], target[..., ~blind, :])


def _last(tensor):
    """The last number, which settles most comparisons at a tenth of the price."""
    return float(tensor[(-1,) * tensor.dim()]) if tensor.numel() else math.nan


class Way(NamedTuple):
    """The switches of one way through a recipe, and enough of its result to rule it out."""

    turned: tuple[tuple[str, Option], ...]
    place: tuple[int, ...]  # which option at each step: the order in which ways are tried
    shape: torch.Size
    last: float
    blind: bool  # the last row may see nothing: its numbers rule nothing out

    def possible(self, shape, last):
        if self.shape != shape:
            return False
        a, b = self.last, last
        return self.blind or abs(a - b) <= 1e-4 + 1e-3 * abs(b) or a != a or b != b or a == b


# The ways of the recipes on a case are the same for every attempt: those of the latest cases.
_KEPT: OrderedDict[tuple, list[Way]] = OrderedDict()
CASES_KEPT = 32


class Search:
    """One recipe with its options, some of them read from the trace of the attempt."""

    def __init__(self, exercise: Exercise, extra: dict[str, tuple[Option, ...]] | None = None):
        self.exercise = exercise
        self.extra = {option for options in (extra or {}).values() for option in options}
        self.steps = tuple(
            Step(step.name, step.options + tuple((extra or {}).get(step.name, ())))
            for step in RECIPES[exercise.name]
        )

    def run(self, case: Case, target: torch.Tensor, turned: int, equal: bool) -> list[Found]:
        """The first ways with exactly `turned` switches that give `target` on the case."""
        ways = _usual(self.exercise, case, turned, equal)
        if self.extra:
            own = _ways(self.exercise, self.steps, case, turned, equal, self.extra)
            ways = sorted([*ways, *own], key=lambda way: way.place)
        shape, last = target.shape, _last(target)
        found = []
        for way in ways:
            if way.possible(shape, last):
                one = Found(way.turned)
                result, allowed = self.result(one, case)
                if _alike(result, target, None if allowed is None else allowed.bool()):
                    found.append(one)
                    if len(found) >= MOST:
                        break
        return found

    def result(self, found: Found, case: Case):
        """What those switches give on another case, with the mask that was used; None if they
        do not run there."""
        turned = dict(found.options)
        state = start(self.exercise, case)
        with torch.inference_mode():
            for step in self.steps:
                try:
                    state = turned.get(step.name, step.options[0]).change(state)
                except (RuntimeError, IndexError, ValueError, KeyError):
                    return None, None
        return state["result"], state.get("allowed", state.get("window"))

    def explains(self, found: Found, case: Case, target: torch.Tensor) -> bool:
        result, allowed = self.result(found, case)
        if result is None:
            return True  # the switch needs other sizes
        if allowed is not None and result.shape == target.shape and not allowed.any():
            return True  # nothing may be seen: no row says anything
        return _alike(result, target, None if allowed is None else allowed.bool())


def _usual(exercise, case, turned, equal) -> list[Way]:
    """The ways of the recipe as it is, kept from one attempt to the next."""
    seen = tuple(
        hash(tuple(arg.flatten().tolist())) if isinstance(arg, torch.Tensor) else arg
        for arg in case.args
    )
    key = (exercise.name, case.sizes, seen, turned, equal)
    if key not in _KEPT:
        _KEPT[key] = _ways(exercise, RECIPES[exercise.name], case, turned, equal)
    _KEPT.move_to_end(key)
    while len(_KEPT) > CASES_KEPT:
        _KEPT.popitem(last=False)
    return _KEPT[key]


def _ways(exercise, steps, case, turned, equal, extra=None) -> list[Way]:
    """All ways with exactly `turned` switches, in order; at least one of `extra`, where given."""
    ways: list[Way] = []

    def visit(index, state, switched, place):
        if index == len(steps):
            if len(switched) == turned:
                ways.append(_way(state, switched, place))
            return
        step = steps[index]
        left = turned - len(switched)
        for number, option in enumerate(step.options):
            more = switched
            if number:
                if not left or (option.equal and not equal):
                    continue
                more = (*switched, (step.name, option))
                if extra and left == 1 and not any(o in extra for _, o in more):
                    continue
            elif left > len(steps) - index - 1:
                continue
            try:
                new = option.change(state)
            except (RuntimeError, IndexError, ValueError, KeyError):
                continue  # these sizes do not allow it
            visit(index + 1, new, more, (*place, number))

    with torch.inference_mode():
        visit(0, start(exercise, case), (), ())
    return ways


def _way(state, switched, place):
    allowed, result = state.get("allowed", state.get("window")), state["result"]
    blind = allowed is not None and not bool(allowed[-1].any())
    return Way(switched, place, result.shape, _last(result), blind)
