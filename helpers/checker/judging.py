"""What is asked of an attempt, and the verdict, from the record of what it did.

A test records once, takes a question away, and sees which wrong attempt slips through: a question
that nothing needs is decoration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from . import heads
from .contracts import ORDINARY
from .gaps import alike, gap
from .probes import Record
from .remarks import differs_in_train_only


class Finding(NamedTuple):
    """One question that the attempt does not pass."""

    question: str
    text: str


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
    if record.again is None or _weights_of_its_own(record):
        return None
    first, second = record.runs["ordinary"].value, record.again.value
    if not record.again.outcome.ok or not alike(first, second):
        return "two calls with the same input differ"
    return None


def _weights_of_its_own(record: Record):
    """Two heads are built to compare two calls, and further layers begin with other weights."""
    return record.facts is not None and record.facts.ok and bool(record.facts.value.extra)


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
        return "`tril` is not a buffer" if f.tril else "there is no buffer `tril`"
    return None


def _tril_fits(f):
    n = ORDINARY.n
    if f.tril == "buffer" and f.tril_shape not in ((n, n), (1, n, n)):
        return f"the buffer has shape {f.tril_shape} where block_size is {n}"
    return None


def _tril_is_a_triangle(f):
    if f.tril == "buffer" and not f.tril_triangle:
        return "the buffer `tril` does not hold the lower triangle"
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
    lost = [n for n, reached in got.value.items() if not reached and not expects_none(n)]
    return f"no gradient reaches {', '.join(lost)}" if lost else None


def expects_none(parameter):
    """A bias of the keys cancels in the softmax, and a mask is a constant wherever it is kept."""
    return parameter.endswith("bias") or parameter == "tril"


def _trains(record: Record):
    """In train mode a head without dropout answers as in eval."""
    if record.train is None or not record.train.outcome.ok:
        return None
    if record.facts.value.dropout or differs_in_train_only(record):
        return None
    if not alike(record.train.value, record.runs["ordinary"].value):
        return "train mode gives other numbers than eval"
    return None


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
    Question(
        "far below", "also where what a row may see lies far below the rest", _value("far below")
    ),
    Question("arguments", "the arguments are left as they were", _arguments_kept),
    Question("repeatable", "two calls give the same", _repeatable),
    Question("gradient", "a gradient reaches every argument", _gradient_reaches),
    Question("bias", "no bias", _facts(_no_bias)),
    Question("parameters", "no parameters beside the three weights", _facts(_no_more_parameters)),
    Question("buffer", "`tril` is a buffer", _facts(_tril_is_a_buffer)),
    Question("buffer size", "`tril` is (block_size, block_size)", _facts(_tril_fits)),
    Question("buffer values", "`tril` holds the lower triangle", _facts(_tril_is_a_triangle)),
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


def asked(question, record):
    """Was there anything to ask, for this exercise?"""
    if question.name in record.runs:
        return True
    return {
        "arguments": record.exercise.name != "averaging_matrix",
        "repeatable": record.again is not None,
        "gradient": record.gradient is not None,
        "layers": record.facts is not None and not record.facts.value.fused,
        "bias": record.facts is not None,
        "parameters": record.facts is not None,
        "buffer": record.facts is not None,
        "later calls": record.later is not None,
        "learning": record.learning is not None,
    }.get(question.name, False)
