"""What is asked of an attempt, and the verdict.

`observe` runs the attempt and writes down what it did; `judge` decides from that record alone.
The two are apart so that a test can record once, take a question away, and see which wrong
attempt slips through: a question that nothing needs is decoration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from . import contracts, heads
from .contracts import ONE_SEQUENCE, ONE_TOKEN, ORDINARY, OTHER, Case, Exercise, Sizes, normal
from .guard import Guard, Outcome
from .search import agree

LOW_ENOUGH = -9_999.0  # a fill at or below it leaves no weight in float32 or float16
HALF_STEP = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


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


class Finding(NamedTuple):
    """One question that the attempt does not pass."""

    question: str
    text: str


# ---------------------------------------- observing
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


class Opaque(NamedTuple):
    """In the place of a tensor that holds no plain numbers."""

    words: str


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


# ---------------------------------------- comparing
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
            step = 0.25 if case.name == "far below" else step
            if torch.equal(value.to(dtype).double(), value) and agree(value, want, step, step):
                return Gap(remarks=("remark-float16-softmax",))
    if case.name not in ("large", "future dominates", "far below", "half"):
        return None
    atol = 1e-2 if case.name == "half" else 1e-5
    close = torch.isclose(value, want, atol=atol, rtol=1e-2 if case.name == "half" else 1e-4)
    bad = ~close.all(-1)
    rows = value[bad]
    if not rows.numel():
        return Gap()
    lost = ~rows.isfinite().all(-1) | (rows == 0).all(-1)
    return Gap(remarks=("delicate",)) if lost.all() else None


# ---------------------------------------- judging
def _value(name):
    def ask(record: Record):
        got = record.runs.get(name)
        if got is None:
            return None
        if got.outcome.error:
            return f"raised {got.outcome.error.type}: {got.outcome.error.text}"
        if got.outcome.late:
            return "did not come back"
        return gap(record.exercise, got.case, got.value).text or None

    return ask


def _arguments_kept(record: Record):
    changed = [r for r in record.runs.values() if any(r.changed)]
    return "an argument is not what it was before the call" if changed else None


def _repeatable(record: Record):
    if record.again is None:
        return None
    first, second = record.runs["ordinary"].value, record.again.value
    if not record.again.outcome.ok or not alike(first, second):
        return "two calls with the same input differ"
    return None


def alike(a, b) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return agree(a.detach(), b.detach())
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is type(b)


def _gradient_reaches(record: Record):
    if record.gradient is None:
        return None
    if record.gradient.error:
        return f"with gradients asked for it raised: {record.gradient.error.text}"
    if not record.gradient.ok:
        return None
    names = [n.strip() for n in record.exercise.arguments.split(",")]
    lost = [n for n, g in zip(names, record.gradient.value, strict=True) if g == "none"]
    if lost:
        return f"no gradient reaches {', '.join(lost)}"
    if "nan" in record.gradient.value:
        return "the gradient is NaN"
    return None


def _facts(ask):
    def judged(record: Record):
        if record.facts is None or not record.facts.ok:
            return None
        return ask(record.facts.value)

    return judged


def _three_layers(f):
    if not f.module:
        return "the class does not extend nn.Module"
    if f.fused or f.loaded:
        return None
    missing = [n for n in heads.NAMES if n not in f.shapes]
    if missing:
        return f"no layer named {', '.join(missing)}"
    return "a layer's weight is not (head_size, C)"


def _no_bias(f):
    return f"a bias in {', '.join(f.biases)}" if f.biases else None


def _no_more_parameters(f):
    if not f.loaded or not f.extra:
        return None
    return f"more parameters than the three weights: {', '.join(f.extra)}"


def _tril_is_a_buffer(f):
    if f.module and f.tril != "buffer":
        return "`tril` is not a buffer"
    return None


def _tril_fits(f):
    n = ORDINARY.n
    if f.tril == "buffer" and f.tril_shape not in ((n, n), (1, n, n)):
        return f"the buffer has shape {f.tril_shape} where block_size is {n}"
    return None


def _later(record: Record):
    """Calls after other calls, on another length, and on the first input again."""
    got = record.later
    if got is None or record.facts is None or not record.facts.value.loaded:
        return None
    if got.error:
        return f"a later call raised {got.error.type}: {got.error.text}"
    if not got.ok:
        return None
    if not alike(got.value.first, got.value.again):
        return "the same input gives something else after other calls"
    return "a call changes the head's buffers" if got.value.changed else None


def _learns(record: Record):
    got = record.learning
    if got is None or not got.ok:
        return None
    lost = [n for n, reached in got.value.items() if not reached and not n.endswith("bias")]
    return f"no gradient reaches {', '.join(lost)}" if lost else None


def _trains(record: Record):
    """In train mode a head without dropout answers as in eval."""
    if record.train is None or not record.train.outcome.ok:
        return None
    if record.facts.value.dropout or differs_in_train_only(record):
        return None
    if not alike(record.train.value, record.runs["ordinary"].value):
        return "train mode gives other numbers than eval"
    return None


def differs_in_train_only(record: Record) -> bool:
    """Random in train mode and still in eval: dropout that knows the difference."""
    if record.train is None or not record.facts.value.loaded:
        return False
    still = alike(record.again.value, record.runs["ordinary"].value)
    return still and not alike(record.train.value, record.train_again.value)


def _built_repeats(record: Record):
    got = record.built
    if got is None or not got.ok:
        return None
    first, second, _ = got.value
    return None if alike(first, second) else "two calls with the same input differ"


class Question(NamedTuple):
    name: str
    holds: str  # what a pass means, in words
    ask: Callable[[Record], str | None]


QUESTIONS = (
    Question("ordinary", "the numbers agree with the reference", _value("ordinary")),
    Question("other sizes", "also at other sizes", _value("other sizes")),
    Question("one sequence", "also for a batch of one", _value("one sequence")),
    Question("one token", "also for a single token", _value("one token")),
    Question("T = block_size", "also for T = block_size", _value("T = block_size")),
    Question("zeros", "also where scores are exactly 0", _value("zeros")),
    Question("far below", "also where a row lies far below the others", _value("far below")),
    Question("arguments", "the arguments are left as they were", _arguments_kept),
    Question("repeatable", "two calls give the same", _repeatable),
    Question("gradient", "a gradient reaches every argument", _gradient_reaches),
    Question("bias", "no bias", _facts(_no_bias)),
    Question("parameters", "no parameters beside the three weights", _facts(_no_more_parameters)),
    Question("buffer", "`tril` is a buffer", _facts(_tril_is_a_buffer)),
    Question("buffer size", "`tril` is (block_size, block_size)", _facts(_tril_fits)),
    Question("later calls", "a call changes nothing for later ones", _later),
    Question("learning", "a gradient reaches each layer", _learns),
    Question("train mode", "train mode answers as eval does", _trains),
    Question("as built", "a head as built answers twice the same", _built_repeats),
)


# What explains a verdict and never decides it: without the layers no weights can be given to the
# head, so its numbers differ in any case.
DESCRIBED = (Question("layers", "layers key, query and value", _facts(_three_layers)),)


def judge(record: Record, questions=QUESTIONS) -> list[Finding]:
    """The questions that the attempt does not pass; none for a right one."""
    findings = []
    for question in questions:
        text = question.ask(record)
        if text:
            findings.append(Finding(question.name, text))
    if record.late:
        findings.append(Finding("time", "the check did not finish"))
    return findings


def remarks(record: Record) -> tuple[str, ...]:
    """What an accepted attempt is to be told, as slugs."""
    found: list[str] = []
    name = record.exercise.name
    if name in ("causal_mask", "causal_weights"):
        got = record.runs["ordinary"]
        found += gap(record.exercise, got.case, got.value).remarks
    if name == "causal_weights":
        found += _remarks_on_weights(record)
    if name == "Head" and record.facts is not None and record.facts.ok:
        found += _remarks_on_head(record)
    return tuple(dict.fromkeys(found))


def _remarks_on_weights(record):
    def delicate(case):
        got = record.runs[case]
        return not got.outcome.ok or bool(gap(record.exercise, got.case, got.value).remarks)

    half = record.runs["half"].outcome
    if half.error and "without overflow" in half.error.text:
        yield "remark-1e9-fill"
    ordinary = record.runs["ordinary"]
    if gap(record.exercise, ordinary.case, ordinary.value).remarks:
        return  # half precision explains the rest
    if delicate("far below"):
        yield "remark-unstable-softmax"
    elif delicate("future dominates"):
        yield "remark-renormalised-after-softmax"
    elif delicate("large"):
        yield "remark-unstable-softmax"


def _remarks_on_head(record):
    facts = record.facts.value
    if facts.fused:
        yield "remark-fused-projection"
    if facts.tril == "buffer" and len(facts.tril_shape) == 3:
        yield "remark-tril-extra-axis"
    if facts.tril == "buffer" and not facts.persistent:
        yield "remark-tril-not-persistent"
    if facts.dropout or differs_in_train_only(record):
        yield "remark-dropout-member"
