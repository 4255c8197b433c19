"""Which switches of the recipe give an attempt's numbers, on one case and on all the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch

from .catalogue import EXERCISES_OF
from .contracts import Exercise
from .evidence import Evidence, holds
from .probes import Run
from .search import Found, Search
from .trace import PRODUCTS_BY_ENTRY


@dataclass
class Reader:
    """Reads numbers of one attempt; `evidence` adds the constants that it was seen to use."""

    exercise: Exercise
    runs: dict[str, Run]
    evidence: Evidence

    @cached_property
    def switches(self) -> Search:
        return Search(self.exercise, self.evidence.extra_options())

    def fits(self, slugs) -> bool:
        """Does the catalogue have one of them for the exercise?"""
        return any(self.exercise.name in EXERCISES_OF[slug] for slug in slugs)

    def read(self, case, value, others=None, equal=False, singles_only=False) -> list[Found]:
        """The fewest switches, one or two, that give `value` on the case and `others` elsewhere.

        others  {name of a case: value}
        equal   also switches that need sizes that agree
        """
        for turned in (1,) if singles_only else (1, 2):
            found = self.switches.run(case, value, turned, equal)
            found = [f for f in found if self._borne_out(f)]
            for name, other in (others or {}).items():
                if isinstance(other, torch.Tensor):
                    found = [f for f in found if self.explains(f, name, other)]
            found = [f for f in found if self.fits(f.slugs)] or found
            if found:
                return found
        return []

    def explains(self, found, name, value) -> bool:
        """Do the same switches give `value` on that case?"""
        case = self.runs[name].case
        result, _ = self.switches.result(found, case)
        if result is not None and result.shape != value.shape:
            if result.numel() == value.numel():
                value = value.reshape(result.shape)
        return self.switches.explains(found, case, value)

    def _borne_out(self, found):
        """NaN looks like NaN: what makes it must be seen in the trace."""
        if "zero-times-inf" in found.slugs:
            return any(
                step.name in PRODUCTS_BY_ENTRY and holds(step, "nan")
                for step in self.evidence.steps
            )
        return True

    def in_another_shape(self, found, name, value) -> bool:
        """Are the numbers of `found` on that case the attempt's, but for the axes?"""
        result, _ = self.switches.result(found, self.runs[name].case)
        other = result is not None and result.shape != value.shape
        return other and result.numel() == value.numel()
