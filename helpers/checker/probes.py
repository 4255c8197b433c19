"""What an attempt is seen to do: it is run on every case, and everything is written down.

Nothing is decided here; `judging` does that from the record alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from . import contracts, heads
from .contracts import ONE_SEQUENCE, ONE_TOKEN, ORDINARY, OTHER, Case, Exercise, Sizes, normal
from .gaps import Opaque
from .guard import Guard, Outcome
from .search import agree

# The cases that ordinary numbers are read from, and those of special ones beside them.
ORDINARY_NUMBERS = ("ordinary", "other sizes", "one sequence", "T = block_size", "one query")
ALL_NUMBERS = (*ORDINARY_NUMBERS, "one token", "zeros", "far below")


@dataclass
class Run:
    """One case: what came back, and whether an argument was changed on the way."""

    case: Case
    outcome: Outcome
    changed: tuple[bool, ...] = ()

    @property
    def value(self):
        return self.outcome.value


@dataclass
class Record:
    """Everything an attempt was seen to do."""

    exercise: Exercise
    runs: dict[str, Run] = field(default_factory=dict)
    again: Run | None = None  # a second call on the ordinary case
    gradient: Outcome | None = None  # value: for each argument, does a gradient reach it
    facts: Outcome | None = None  # from here on: Head only
    train: Run | None = None
    train_again: Run | None = None
    later: Outcome | None = None
    learning: Outcome | None = None
    built: Outcome | None = None
    order: tuple[int, ...] = (0, 1, 2)  # of one wide projection
    late: bool = False


def fresh(case: Case) -> tuple:
    return tuple(a.clone() if isinstance(a, torch.Tensor) else a for a in case.args)


def as_function(exercise: Exercise, attempt, mode="eval", order=(0, 1, 2)) -> Callable:
    """The attempt as a function of the sizes and the arguments."""
    if exercise.name == "Head":
        return heads.runner(attempt, mode, order)
    return lambda sizes, *args: attempt(*args)


def run(function, case: Case, guard: Guard, seed: int = 0) -> Run:
    args = fresh(case)
    outcome = guard.call(function, case.sizes, *args, seed=seed)
    outcome.value = _settled(outcome.value)
    changed = tuple(
        isinstance(a, torch.Tensor) and not _untouched(a, b)
        for a, b in zip(args, case.args, strict=True)
    )
    return Run(case, outcome, changed)


def _settled(value):
    """What came back, with the tensors in it that cannot be compared put aside."""
    if type(value) in (tuple, list):
        return type(value)(_settled(part) for part in value[:100])
    if not isinstance(value, torch.Tensor):
        return value
    if value.layout != torch.strided or value.is_quantized or value.is_meta or value.is_nested:
        return Opaque("a tensor that holds no plain numbers")
    return Opaque("a complex tensor") if value.is_complex() else value


def _untouched(a, b):
    return a.shape == b.shape and torch.equal(a.detach(), b)


def cases(exercise: Exercise) -> list[Case]:
    made = [
        contracts.case(exercise, "ordinary", ORDINARY),
        contracts.case(exercise, "other sizes", OTHER, 20),
        contracts.case(exercise, "one sequence", ONE_SEQUENCE, 30),
        contracts.case(exercise, "one token", ONE_TOKEN, 35),
    ]
    if exercise.name == "Head":
        full = Sizes(3, 10, 7, 6, 10)
        made.append(contracts.case(exercise, "T = block_size", full, 37))
    if exercise.name == "sdpa_decode":
        made.append(contracts.case(exercise, "one query", ORDINARY._replace(Tq=1), 36))
    if exercise.name == "averaging_matrix":
        made = [c for c in made if c.name != "one sequence"]
    return made + [contracts.special_case(exercise, name) for name in exercise.special]


def observe(exercise: Exercise, attempt, guard: Guard) -> Record:
    """Run the attempt on every case and on what is asked beside the values."""
    record = Record(exercise)
    if exercise.name == "Head":
        record.facts = guard.call(heads.look, attempt)
        if record.facts.ok and record.facts.value.fused:
            record.order = _order(exercise, attempt, guard)
    function = as_function(exercise, attempt, order=record.order)
    for case in cases(exercise):
        record.runs[case.name] = run(function, case, guard)
        if guard.late:
            break
    first = record.runs["ordinary"]
    if first.outcome.ok and not guard.late:
        record.again = run(function, first.case, guard, seed=1)
        if exercise.name == "Head":
            _observe_head(record, attempt, guard)
        elif exercise.name != "averaging_matrix":
            record.gradient = guard.call(_gradient, attempt, fresh(first.case))
    record.late = guard.late
    return record


def _observe_head(record, attempt, guard):
    case = record.runs["ordinary"].case
    short = contracts.case(record.exercise, "short", ORDINARY._replace(T=3), 38)
    long = contracts.case(record.exercise, "long", ORDINARY._replace(T=10), 39)
    training = as_function(record.exercise, attempt, "train", record.order)
    record.train = run(training, case, guard)
    record.train_again = run(training, case, guard, seed=1)
    record.later = guard.call(heads.several_calls(attempt), case, short, long)
    record.learning = guard.call(heads.learning(attempt), case)
    record.built = guard.call(heads.as_built(attempt), case)


def _order(exercise, attempt, guard):
    """In which order one wide projection holds q, k and v: the one that gives right numbers."""
    case = contracts.case(exercise, "ordinary", ORDINARY)
    expected = exercise.reference(*case.args)
    for order in heads.orders():
        value = run(as_function(exercise, attempt, order=order), case, guard).value
        if isinstance(value, torch.Tensor) and agree(value.detach(), expected):
            return order
    return heads.orders()[0]


def _gradient(attempt, args):
    leaves = [a.requires_grad_(True) for a in args]
    out = attempt(*leaves)
    outs = out if isinstance(out, tuple | list) else [out]
    outs = [o for o in outs if isinstance(o, torch.Tensor) and o.is_floating_point()]
    loss = sum((torch.where(o.isfinite(), o, 0.0) * normal(*o.shape, seed=3)).sum() for o in outs)
    if not isinstance(loss, torch.Tensor) or not loss.requires_grad:
        return tuple("none" for _ in leaves)
    loss.backward()
    return tuple(_told(a.grad) for a in leaves)


def _told(gradient):
    if gradient is None or not gradient.any():
        return "none"
    return "reaches" if gradient.isfinite().all() else "nan"
