"""What can be seen of a wrong attempt that no misconception fits: facts, and no guesses.

For the mistakes outside the catalogue. Each fact is read off the numbers, or off a second run with
one argument changed, so that it holds whatever the attempt looks like.
"""

from __future__ import annotations

import torch

from .contracts import Case, Exercise, normal
from .gaps import alike
from .search import agree

MOST = 2  # facts that are told


def facts(exercise: Exercise, case: Case, value, want, again) -> list[str]:
    """At most two sentences about `value`, which came back on `case`, where `want` was expected.

    again  a function of a Case: what the attempt gives there, or None
    """
    told = []
    if isinstance(value, torch.Tensor) and isinstance(want, torch.Tensor):
        told += _of_the_numbers(exercise, case, value.detach(), want)
    if _numbers_only(value):
        told += _without_effect(exercise, case, value, again)
    return told[:MOST]


def _numbers_only(value):
    parts = value if isinstance(value, tuple | list) else (value,)
    return bool(parts) and all(isinstance(part, torch.Tensor) for part in parts)


def _of_the_numbers(exercise, case, value, want):
    for name, given in zip(_names(exercise), case.args, strict=False):
        if isinstance(given, torch.Tensor) and agree(value, given):
            yield f"Your result is {name} itself, unchanged."
            return
    if value.shape != want.shape or not value.isfinite().all():
        return
    ratio = ratio_to(value, want) if want.isfinite().all() else None
    if ratio is not None:
        yield f"Every number is {ratio:.3g} times the expected one."
        return
    rows = [t for t in range(value.shape[-2]) if not value.select(-2, t).any()]
    if rows and len(rows) < value.shape[-2]:
        names = ", ".join(map(str, rows))
        yield f"All zeros: row{'s' if len(rows) > 1 else ''} {names}."
    elif len(rows) == value.shape[-2]:
        yield "Every number is 0."
    elif value.shape[-2] > 1 and agree(value, value[..., :1, :].expand_as(value)):
        yield "All rows of your result are the same."
    elif agree(value.flatten().sort().values, want.flatten().sort().values):
        yield "The numbers are the expected ones, in other places."


def _without_effect(exercise, case, value, again):
    """Arguments that may change without moving the result."""
    idle = []
    for place, (name, given) in enumerate(zip(_names(exercise), case.args, strict=False)):
        if not isinstance(given, torch.Tensor):
            continue
        args = list(case.args)
        args[place] = given + normal(*given.shape, seed=80 + place)
        other = again(Case("changed", case.sizes, tuple(args)))
        if other is not None and alike(value, other):
            idle.append(name)
    if idle and len(idle) < len(case.args):
        names = idle[0] if len(idle) == 1 else ", ".join(idle[:-1]) + f" and {idle[-1]}"
        yield f"A change of {names} leaves your result as it is."
    elif idle:
        yield "Your result does not depend on what goes in."


def ratio_to(value, want):
    """The one number by which `value` is `want`, or None."""
    if value.shape != want.shape:
        return None
    value, want = value.double(), want.double()
    ratio = float((value * want).sum() / (want * want).sum())
    return ratio if ratio and agree(value, want * ratio, rtol=1e-3) else None


def _names(exercise):
    names = exercise.arguments if exercise.name != "Head" else "x, query, key, value"
    return [name.strip() for name in names.split(",")]
