"""What a step of a recipe is: the right way first, and the ways students take instead.

A step changes a dict of tensors, the state of the recipe so far:

    x, Wq, Wk, Wv     as given, where the exercise has them; q, k, v projected from them or given
    left, right, avg  what is compared with what, and what is averaged; width, of what the scale
                      speaks of, where that is not left's
    raw, scores       before and after the scale; allowed (T, T) boolean; masked; weights; out
    sizes             of the case; undo turns the result of a changed layout back
    window, along     of the plain average: who is in it, and what is averaged; result, in the end
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Option(NamedTuple):
    label: str
    slugs: tuple[str, ...]
    change: Callable[[dict], dict]
    equal: bool = False  # needs sizes that agree, so it is skipped where they all differ


@dataclass(frozen=True)
class Step:
    name: str
    options: tuple[Option, ...]  # the right way first


def keep(state):
    return state


def with_(**changes):
    """A step's change that sets some entries: each value is a function of the state."""

    def change(state):
        new = dict(state)
        for name, make in changes.items():
            new[name] = make(new)
        return new

    return change
