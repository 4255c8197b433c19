"""The fewest switches of a recipe that reproduce an attempt's numbers."""

from __future__ import annotations

from dataclasses import dataclass

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
    if candidate.numel() and not _close_at_end(candidate, target):
        if allowed is None or bool(allowed[-1].any()):
            return False
    if agree(candidate, target):
        return True
    if allowed is None or candidate.dim() < 2:
        return False
    blind = ~allowed.any(-1)
    if not blind.any() or blind.all() or candidate.shape[-2] != len(blind):
        return False
    return agree(candidate[..., ~blind, :], target[..., ~blind, :])


def _close_at_end(candidate, target) -> bool:
    """A look at the last number, which settles most comparisons at a tenth of the price."""
    a, b = (float(t[(-1,) * t.dim()]) for t in (candidate, target))
    return abs(a - b) <= 1e-4 + 1e-3 * abs(b) or a != a or b != b or a == b


class Search:
    """One recipe with its options, some of them read from the trace of the attempt."""

    def __init__(self, exercise: Exercise, extra: dict[str, tuple[Option, ...]] | None = None):
        self.exercise = exercise
        self.steps = tuple(
            Step(step.name, step.options + tuple((extra or {}).get(step.name, ())))
            for step in RECIPES[exercise.name]
        )

    def run(self, case: Case, target: torch.Tensor, turned: int, equal: bool) -> list[Found]:
        """All ways with exactly `turned` switches that give `target` on the case."""
        found: list[Found] = []
        last = len(self.steps)

        def visit(index, state, options):
            if index == last:
                allowed = state.get("allowed", state.get("window"))
                if len(options) == turned and _alike(
                    state["result"], target, None if allowed is None else allowed.bool()
                ):
                    found.append(Found(options))
                return
            step = self.steps[index]
            left = turned - len(options)
            for number, option in enumerate(step.options):
                if number and (not left or (option.equal and not equal)):
                    continue
                if not number and left > last - index - 1:
                    continue
                try:
                    new = option.change(state)
                except (RuntimeError, IndexError, ValueError, KeyError):
                    continue  # these sizes do not allow it
                visit(index + 1, new, (*options, (step.name, option)) if number else options)
                if len(found) >= MOST:
                    return

        with torch.inference_mode():
            visit(0, start(self.exercise, case), ())
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
