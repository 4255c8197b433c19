"""A closer look at a wrong attempt: what holds, the smallest example, what happened."""

from __future__ import annotations

import re

import torch

from helpers.handsized import Eye
from helpers.matrices import written

from . import contracts, errors, noticed
from .catalogue import CLOSER, IN_EXERCISE, MISCONCEPTIONS
from .contracts import Case, Sizes
from .gaps import expected, gap
from .judging import DESCRIBED, QUESTIONS, asked
from .probes import Record, as_function, run
from .properties import properties
from .report import Table
from .search import agree

WIDEST = 8  # columns of a matrix that is shown
# Twins of which one says more: where it was found, the other is offered and not told.
WIDER = {"sees-the-future": "mask-result-thrown-away"}


class Look:
    """Runs a wrong attempt on the smallest example and says which property fails."""

    def __init__(self, exercise, attempt, record: Record, failed, guard):
        self.exercise, self.record, self.guard = exercise, record, guard
        self.failed = failed  # {name of a question: what it found}
        self.function = as_function(exercise, attempt, order=record.order)

    # -------------------------------- stage one
    def first(self, diagnosis):
        """What holds, and which rows agree, with the triage rule's hint."""
        ordinary, failed = self.record.runs["ordinary"], self.failed
        error = self._error()
        if error:
            yield from self._raised(error, ordinary.case, diagnosis.traced)
            return
        if ordinary.value is None:
            yield "Your attempt runs to its end and gives back None."
            return
        holds, _ = properties(self.exercise, ordinary.case, ordinary.value, self._again)
        holds += [
            q.holds
            for q in QUESTIONS
            if q.name not in failed
            and asked(q, self.record)
            and (q.name in ("arguments", "repeatable", "gradient", "learning") or not holds)
        ]
        if "ordinary" not in failed:
            holds = [q.holds for q in QUESTIONS if q.name not in failed and asked(q, self.record)]
        yield f"Holds: {'; '.join(holds)}." if holds else "Of what was asked, nothing holds yet."
        for question in DESCRIBED:
            text = question.ask(self.record)
            if text:
                yield f"Not as asked: {text}."
        if self._unloaded():
            yield (
                "Weights cannot be copied into such a head, so its numbers are not compared with "
                "the expected ones."
            )
            failed = {n: t for n, t in failed.items() if n in _WITHOUT_WEIGHTS}
        for text in dict.fromkeys(t for n, t in failed.items() if n not in self.record.runs):
            yield f"Not as asked: {text}."
        if "ordinary" in failed:
            yield from self._rows(ordinary.case, ordinary.value)
        else:
            for name in failed:
                if name in self.record.runs:
                    yield f"Fails {_CASES[name]}: {failed[name]}."

    def _raised(self, error, case: Case, traced):
        facts = self.record.facts
        if facts is not None and facts.ok and not facts.value.module:
            yield "Not as asked: the class does not extend nn.Module."
        yield f"Your attempt raised {error.type}: {error.text}"
        if error.line:
            yield f"In line {error.number} of the function: `{error.line}`"
        why = errors.explained(error, traced.failed if traced else None, case.sizes)
        if why:
            yield why
        if any(ch.isdigit() for ch in error.text + why) and self.exercise.name != (
            "averaging_matrix"
        ):
            yield f"It was tried with {_sizes(self.exercise, case.sizes)}."

    def _rows(self, case, value):
        want = expected(self.exercise, case)
        if not isinstance(value, torch.Tensor) or value.shape != getattr(want, "shape", None):
            return
        rows = _agreeing(value, want)
        T = len(rows)
        if T < 2:
            return
        good = [i for i, ok in enumerate(rows) if ok]
        given = f"With T = {T}" if self.exercise.name == "averaging_matrix" else "On random input"
        yield f"{given}, of rows 0 to {T - 1}, {_listed(good)}."
        hint = _hint(self.exercise, rows)
        if hint:
            yield hint

    # -------------------------------- stage two
    def example(self):
        """The first property that fails, on the smallest example that shows it."""
        if self._unloaded() and not self._error():
            yield f"Expected: {_LAYERS}."
            return
        for case, title in self._small_cases():
            got = run(self.function, case, self.guard)
            if got.outcome.late:
                return
            if got.outcome.error:
                yield f"{title} it raises {got.outcome.error.type}: {got.outcome.error.text}"
                yield f"Expected: {_shape_text(self.exercise, case)}."
                return
            if got.value is None:
                yield f"{title}, None comes back. Expected: {_shape_text(self.exercise, case)}."
                return
            if not gap(self.exercise, case, got.value).text:
                continue
            _, fails = properties(self.exercise, case, got.value, self._again)
            yield f"{title}: {fails}."
            yield from self._tables(case, got.value)
            return
        beside = self.failed.values()
        yield f"The numbers agree on the small examples. Not as asked: {'; '.join(beside)}."

    def _small_cases(self):
        eye = contracts.small_case(self.exercise)
        words = {
            "averaging_matrix": "With T = 3",
            "causal_mask": "On the scores of `eye`",
            "causal_weights": "On the scores of `eye`",
            "raw_scores": "On the q and k of `eye`",
            "attention_scores": "On the q and k of `eye`",
        }
        yield eye, words.get(self.exercise.name, "On `eye`")
        if self.exercise.name in ("averaging_matrix",):
            return
        two = Sizes(2, 3, 5, 4, 6, 2)
        yield contracts.case(self.exercise, "two sequences", two, 60), "On two sequences of three"
        for name in self.failed:
            if name in self.record.runs and name != "ordinary":
                yield self.record.runs[name].case, f"On an input {_CASES[name]}"

    def _tables(self, case, value):
        want = expected(self.exercise, case)
        if self.exercise.name == "project":
            if not isinstance(value, tuple | list) or len(value) != 3:
                return
            for name, part, w in zip("qkv", value, want, strict=True):
                if isinstance(part, torch.Tensor) and part.shape == w.shape and not agree(part, w):
                    yield f"{name}, first sequence:" if case.sizes.B > 1 else f"{name}:"
                    yield _table(self.exercise, part, w)
                    return
            return
        if isinstance(value, torch.Tensor) and value.shape == want.shape:
            place = 0
            if want.dim() == 3:
                differ = [b for b in range(len(want)) if not agree(value[b], want[b])]
                place = differ[0] if differ else 0
                if place:
                    yield f"Sequence {place}:"
            if want.shape[-1] <= WIDEST and want.shape[-2] <= WIDEST:
                yield _table(self.exercise, value, want, place)

    # -------------------------------- stage three
    def what_happened(self, diagnosis):
        """The misconceptions, each with a nudge; or what can be seen, where none fits."""
        slugs = diagnosis.slugs
        firsts = {fault[0] for fault in diagnosis.faults}
        said: set[str] = set()
        for number, slug in enumerate(slugs):
            sentence, nudge = self._told(slug, diagnosis.labels.get(slug, ""))
            if WIDER.get(slug) in slugs or sentence in said:
                continue
            if number:
                yield "And:" if slug in firsts else "Or, with the same numbers:"
            yield sentence
            yield f"A nudge: {nudge}"
            said.add(sentence)
        if not slugs:
            yield "This mistake is none of those the checker knows by name, so it does not guess."
            yield from self._seen()

    def _told(self, slug, label):
        """The misconception in a sentence, and a nudge, as they read in this exercise."""
        sentence, nudge = IN_EXERCISE.get((slug, self.exercise.name), (None, None))
        sentence = sentence or _sentence(slug, label)
        if self.exercise.name == "Head":
            for weight, layer in (("Wq", "query"), ("Wk", "key"), ("Wv", "value")):
                sentence = sentence.replace(weight, f"The layer `{layer}`")
        return sentence, nudge or MISCONCEPTIONS[slug].nudge

    def _seen(self):
        """Facts about an attempt that no name fits, and where to look."""
        ordinary = self.record.runs["ordinary"]
        error = self._error()
        if error:
            shapes = error.type in ("RuntimeError", "IndexError") and any(
                map(str.isdigit, error.text)
            )
            also = ", and print the shapes of what goes into it" if shapes else ""
            yield f"Begin with the line that raised{also}."
            return
        numbers = [n for n in self.failed if n in self.record.runs]
        if not numbers:
            yield "The numbers are right; what is not as asked stands above."
            return
        if self._unloaded():
            return
        want = expected(self.exercise, ordinary.case)
        yield from noticed.facts(self.exercise, ordinary.case, ordinary.value, want, self._again)
        fits = isinstance(want, torch.Tensor) and want.shape == getattr(
            ordinary.value, "shape", None
        )
        look = "The smallest example above is where to look"
        fits = fits and "ordinary" in numbers
        yield f"{look}: work out its first marked row by hand." if fits else f"{look}."

    def _again(self, case):
        got = run(self.function, case, self.guard)
        return got.value if got.outcome.ok else None

    def _error(self):
        facts = self.record.facts
        return facts.error if facts is not None and facts.error else (
            self.record.runs["ordinary"].outcome.error
        )  # fmt: skip

    def _unloaded(self):
        """A head that could not be given weights: its numbers say nothing."""
        facts = self.record.facts
        return facts is not None and facts.ok and not facts.value.loaded


_CASES = {
    "ordinary": "on ordinary input",
    "other sizes": "at other sizes",
    "one sequence": "with a batch of one",
    "one token": "with a single token",
    "T = block_size": "with T = block_size",
    "one query": "with a single query",
    "zeros": "in which scores are exactly 0",
    "far below": "in which what a row may see lies far below the rest",
}


# What is asked of a head that has no weights of the names that are wanted.
_WITHOUT_WEIGHTS = ("bias", "buffer", "buffer size", "buffer values", "as built")
_LAYERS = (
    "three layers on the head itself, `self.key`, `self.query` and `self.value`, each an "
    "`nn.Linear` from C to head_size without bias"
)


def _sizes(exercise, s: Sizes):
    parts = [f"B = {s.B}", f"T = {s.T}"]
    if "x" in exercise.arguments or exercise.name == "Head":
        parts.append(f"C = {s.C}")
    if exercise.name not in ("bow", "causal_mask", "causal_weights"):
        parts.append(f"head_size = {s.H}")
    if exercise.name == "Head":
        parts.append(f"block_size = {s.n}")
    if exercise.name == "sdpa_decode":
        parts[1] = f"Tq = {s.Tq}, Tk = {s.T}"
    return ", ".join(parts)


def _shape_text(exercise, case):
    want = expected(exercise, case)
    if isinstance(want, tuple):
        return f"three tensors of shape {tuple(want[0].shape)}, (B, T, head_size)"
    return f"a tensor of shape {tuple(want.shape)}, {exercise.returns}"


def _listed(rows):
    """Which rows agree, in words."""
    if not rows:
        return "none agrees"
    if len(rows) == 1:
        return f"only row {rows[0]} agrees"
    *some, last = map(str, rows)
    return f"rows {', '.join(some)} and {last} agree"


def _sentence(slug, label):
    """The misconception in a sentence, that of the very way of doing it where there is one."""
    times = re.fullmatch(r"times (\S+)", label)
    if times:
        factor = float(times[1])
        how = f"multiplied by {factor:.3g}" if factor > 1 else f"divided by {1 / factor:.3g}"
        return (
            f"The scores are {how} whatever the sizes are; the lesson divides by √d_k, which "
            "follows the width of q and k."
        )
    return CLOSER.get((slug, label), MISCONCEPTIONS[slug].sentence)


def _agreeing(value, want):
    """For each position, does every sequence agree there?"""
    axis = want.dim() - 2
    return [
        agree(value.detach().select(axis, t), want.select(axis, t)) for t in range(want.shape[axis])
    ]


def _hint(exercise, rows):
    """The triage rule of the lessons."""
    first, last, some = rows[0], rows[-1], any(rows)
    if all(rows):
        return ""
    if exercise.name in ("bow", "averaging_matrix"):
        if last and not first:
            return "Last right, first wrong: think of what each row may see, and of what it is "\
                   "divided by."  # fmt: skip
        if first and not last:
            return "First right, last wrong: think of what is divided by what."
        return "" if some else "None right: think of the axis, the triangle, the total."
    if not exercise.causal:
        if some:
            return "Some rows agree and some do not: what is different about those rows?"
        return "Every row is touched: think of the scale, the axis, the roles."
    if exercise.name == "causal_mask":
        return ""
    weights = exercise.name == "causal_weights"
    if last and not first:
        return "Last right, first wrong: think of the mask."
    if first and not last:
        others = "what turns a row of scores into weights" if weights else (
            "the scale, or of the roles of q and k"
        )  # fmt: skip
        return f"First right, last wrong: think of {others}."
    averaged = "what turns scores into weights" if weights else "the tensor that is averaged"
    return "" if some else (
        f"Neither first nor last is right: think of the axis, the triangle, {averaged}."
    )  # fmt: skip


def _table(exercise, value, want, place=0):
    value, want = (t.detach().double() for t in (value, want))
    if want.dim() == 3:
        value, want = value[place], want[place]
    T = want.shape[0]
    tokens = Eye().tokens if T == 3 else tuple(str(i) for i in range(T))
    grid = want.shape[0] == want.shape[1]
    shown = exercise.name in ("averaging_matrix", "raw_scores", "attention_scores", "causal_mask",
                              "causal_weights")  # fmt: skip
    both = written(torch.cat([want, value]), 3)  # with as many decimals on either side
    names = tokens
    if exercise.name == "averaging_matrix":
        names = tuple(f"row {i}" for i in range(T))
    elif exercise.name == "sdpa_decode":
        names = tuple(f"query {i}" for i in range(T))
    return Table(
        names,
        tokens if grid and shown and exercise.name != "averaging_matrix" else ("",) * want.shape[1],
        both[:T],
        both[T:],
        tuple(not agree(value[i], want[i]) for i in range(T)),
    )
