"""What a check shows, in stages: what holds; the smallest example; the misconception.

The first stage is open. The others are folded in a notebook, so that the student can go on alone
from where they are; as plain text they follow one another. Nothing shown changes from run to run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

import torch

from helpers.handsized import Eye
from helpers.matrices import written

from . import contracts, errors
from .catalogue import MISCONCEPTIONS, REMARKS
from .contracts import Case, Exercise, Sizes
from .probes import DESCRIBED, QUESTIONS, Record, as_function, expected, gap, run, told
from .search import agree

WIDEST = 8  # columns of a matrix that is shown


class Table(NamedTuple):
    """Expected and yours side by side; `marked` are the rows that differ."""

    names: tuple[str, ...]
    columns: tuple[str, ...]
    expected: list[list[str]]
    yours: list[list[str]]
    marked: tuple[bool, ...]


class Stage(NamedTuple):
    title: str
    parts: tuple  # sentences, and tables among them


@dataclass
class Result:
    """What a check found: `verdict` is "right", "wrong" or "not attempted".

    `faults` and `remarks` are tuples of slugs. Shows itself as the last line of a cell.
    """

    exercise: str
    verdict: str
    faults: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    open: tuple = ()
    folded: tuple[Stage, ...] = field(default_factory=tuple)

    def __repr__(self):
        lines = [f"{self.exercise}: {self.verdict}", *_as_text(self.open)]
        for stage in self.folded:
            lines += ["", stage.title, *_as_text(stage.parts)]
        return "\n".join(lines)

    def _repr_html_(self):
        mark = {"right": "✓", "wrong": "✗"}.get(self.verdict, "·")
        kind = self.verdict.replace(" ", "-")
        inner = [
            f'<p class="helpers-check-verdict"><span aria-hidden="true">{mark}</span> '
            f"<code>{escape(self.exercise)}</code>: <strong>{self.verdict}</strong></p>",
            *_as_html(self.open),
        ]
        for stage in self.folded:
            body = "".join(_as_html(stage.parts))
            inner.append(f"<details><summary>{escape(stage.title)}</summary>{body}</details>")
        return (
            f'<div class="helpers-check helpers-check-{kind}"><style>{_STYLE}</style>'
            + "".join(inner)
            + "</div>"
        )


_STYLE = """
.helpers-check{border-left:3px solid var(--jp-border-color1,#8a8a8a);padding:2px 12px;
color:var(--jp-content-font-color1,inherit);max-width:72ch}
.helpers-check-right{border-left-color:var(--jp-success-color1,#2e7d32)}
.helpers-check-wrong{border-left-color:var(--jp-error-color1,#c62828)}
.helpers-check p{margin:4px 0}
.helpers-check summary{cursor:pointer;padding:2px 0;font-weight:600}
.helpers-check details{margin:4px 0}
.helpers-check table{display:inline-table;margin:4px 24px 4px 0;border-collapse:collapse;
font-family:var(--jp-code-font-family,monospace);font-size:var(--jp-code-font-size,13px)}
.helpers-check caption{text-align:left;font-weight:600;padding:2px 0}
.helpers-check td,.helpers-check th{text-align:right;padding:1px 8px;border:0}
.helpers-check tr.differs td{font-weight:700;background:var(--jp-warn-color3,rgba(200,140,0,.18));
color:var(--jp-ui-font-color0,inherit)}
""".replace("\n", "")


# ---------------------------------------- text and HTML
def _as_text(parts):
    lines = []
    for part in parts:
        lines += _table_text(part) if isinstance(part, Table) else [f"  {part}"]
    return lines


def _table_text(table: Table):
    blocks = [
        [table.columns, *rows] if any(table.columns) else rows
        for rows in (table.expected, table.yours)
    ]
    names = ("", *table.names) if any(table.columns) else table.names
    first = max(len(name) for name in names)
    wide = [_aligned(block) for block in blocks]
    edge = max(len(wide[0][0]), len("expected"))
    lines = [" " * (first + 6) + "expected".ljust(edge + 4) + "yours"]
    marks = (False,) * (len(names) - len(table.marked)) + tuple(table.marked)
    for name, left, right, differs in zip(names, *wide, marks, strict=True):
        mark = "  ≠" if differs else ""
        lines.append(f"    {name.ljust(first)}  {left.ljust(edge)}    {right}{mark}".rstrip())
    return lines


def _aligned(rows):
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in rows]


def _as_html(parts):
    for part in parts:
        if isinstance(part, Table):
            yield _table_html("expected", part, part.expected)
            yield _table_html("yours", part, part.yours)
        else:
            yield f"<p>{escape(part)}</p>"


def _table_html(title, table: Table, rows):
    head = ""
    if any(table.columns):
        cells = "".join(f'<th scope="col">{escape(c)}</th>' for c in table.columns)
        head = f"<thead><tr><td></td>{cells}<td></td></tr></thead>"
    body = ""
    for name, row, differs in zip(table.names, rows, table.marked, strict=True):
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in row)
        sign = '<td aria-label="differs">≠</td>' if differs else "<td></td>"
        kind = ' class="differs"' if differs else ""
        body += f'<tr{kind}><th scope="row">{escape(name)}</th>{cells}{sign}</tr>'
    return f"<table><caption>{title}</caption>{head}<tbody>{body}</tbody></table>"


# ---------------------------------------- the three kinds of answer
def report_nothing(exercise: Exercise) -> Result:
    give = (
        "a class, built with (C, head_size, block_size), whose forward gives"
        if exercise.name == "Head"
        else f"a function of {exercise.arguments} that gives"
    )
    return Result(
        exercise.name,
        "not attempted",
        open=(f"Nothing to check yet. Asked for: {give} {exercise.returns}.",),
    )


def report_unfit(exercise: Exercise, why: str) -> Result:
    return Result(exercise.name, "wrong", open=(why,))


def report_on(exercise, attempt, record, findings, diagnosis, remarks, guard) -> Result:
    if not findings:
        return _right(exercise, record, remarks)
    failed = {f.question: f.text for f in findings}
    if record.late:
        return Result(
            exercise.name,
            "wrong",
            open=(
                f"Your attempt did not come back within {guard.limit:g} seconds, so this is not a "
                "verdict on its numbers.",
                "Look for a loop that never ends.",
                *_printed(record),
            ),
        )
    looked = _Look(exercise, attempt, record, guard)
    return Result(
        exercise.name,
        "wrong",
        diagnosis.slugs,
        (),
        (*looked.first(failed, diagnosis), *_printed(record)),
        (
            Stage("The smallest example", tuple(looked.example(failed))),
            Stage("What happened", tuple(_what_happened(diagnosis))),
        ),
    )


def _right(exercise, record, remarks):
    extra = [REMARKS[slug] for slug in remarks]
    if not remarks and record.runs["ordinary"].outcome.drew and exercise.name != "Head":
        extra.append("It draws random numbers on the way, though the result does not show them.")
    held = [q.holds for q in QUESTIONS if _asked(q, record)]
    return Result(
        exercise.name,
        "right",
        (),
        remarks,
        (f"Holds: {'; '.join(held)}.", *(f"Remark: {text}" for text in extra), *_printed(record)),
    )


def _printed(record):
    text = record.runs["ordinary"].outcome.printed.strip() if record.runs else ""
    if not text:
        return ()
    lines = text.splitlines()
    shown = lines[:6] + (["…"] if len(lines) > 6 else [])
    return ("Your attempt printed:", *(f"  {line[:200]}" for line in shown))


def _asked(question, record):
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


def _what_happened(diagnosis):
    slugs = diagnosis.slugs
    firsts = {fault[0] for fault in diagnosis.faults}
    if not slugs:
        yield (
            "This mistake is none of those the checker knows by name, so it does not guess. The "
            "smallest example above is where to look."
        )
        return
    for number, slug in enumerate(slugs):
        known = MISCONCEPTIONS[slug]
        if number:
            yield "And:" if slug in firsts else "Or, with the same numbers:"
        yield known.sentence
        yield f"A nudge: {known.nudge}"


# ---------------------------------------- looking closer at a wrong attempt
class _Look:
    """Runs a wrong attempt on the smallest example and says which property fails."""

    def __init__(self, exercise, attempt, record: Record, guard):
        self.exercise, self.record, self.guard = exercise, record, guard
        self.function = as_function(exercise, attempt, order=record.order)

    # -------------------------------- stage one
    def first(self, failed, diagnosis):
        """What holds, and which rows agree, with the triage rule's hint."""
        ordinary = self.record.runs["ordinary"]
        facts = self.record.facts
        error = facts.error if facts is not None and facts.error else ordinary.outcome.error
        if error:
            yield from self._raised(error, ordinary.case, diagnosis.traced)
            return
        if ordinary.value is None:
            yield "Your attempt runs to its end and gives back None."
            return
        holds, _ = self._properties(ordinary.case, ordinary.value)
        holds += [
            q.holds
            for q in QUESTIONS
            if q.name not in failed
            and _asked(q, self.record)
            and (q.name in ("arguments", "repeatable", "gradient", "learning") or not holds)
        ]
        if "ordinary" not in failed:
            holds = [q.holds for q in QUESTIONS if q.name not in failed and _asked(q, self.record)]
        yield f"Holds: {'; '.join(holds)}." if holds else "Of what was asked, nothing holds yet."
        for question in DESCRIBED:
            text = question.ask(self.record)
            if text:
                yield f"Does not hold: {text}."
        beside = [n for n in failed if n not in self.record.runs]
        for name in beside:
            yield f"Does not hold: {failed[name]}."
        if "ordinary" in failed:
            yield from self._rows(ordinary.case, ordinary.value)
        else:
            for name in failed:
                if name in self.record.runs:
                    yield f"Fails {_CASES[name]}: {failed[name]}."

    def _raised(self, error, case: Case, traced):
        yield f"Your attempt raised {error.type}: {error.text}"
        if error.line:
            yield f"In line {error.number} of the function: {error.line}"
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
        told_ = "none" if not good else ", ".join(map(str, good))
        yield f"Rows that agree, of 0 to {T - 1}: {told_}."
        hint = _hint(self.exercise, rows)
        if hint:
            yield hint

    # -------------------------------- stage two
    def example(self, failed):
        """The first property that fails, on the smallest example that shows it."""
        for case, title in self._small_cases(failed):
            got = run(self.function, case, self.guard)
            if got.outcome.late:
                return
            if got.outcome.error:
                yield f"On {title} it raises {got.outcome.error.type}: {got.outcome.error.text}"
                yield f"Expected: {_shape_text(self.exercise, case)}."
                return
            if got.value is None:
                yield f"On {title}, None comes back. Expected: {_shape_text(self.exercise, case)}."
                return
            if not gap(self.exercise, case, got.value).text:
                continue
            _, fails = self._properties(case, got.value)
            yield f"On {title}: {fails}."
            yield from self._tables(case, got.value)
            return
        beside = [failed[n] for n in failed]
        yield f"The numbers agree on the small examples. What does not hold: {'; '.join(beside)}."

    def _small_cases(self, failed):
        eye = contracts.small_case(self.exercise)
        words = {
            "averaging_matrix": "T = 3",
            "causal_mask": "the scores of `eye`",
            "causal_weights": "the scores of `eye`",
            "raw_scores": "the q and k of `eye`",
            "attention_scores": "the q and k of `eye`",
        }
        yield eye, words.get(self.exercise.name, "`eye`")
        if self.exercise.name in ("averaging_matrix",):
            return
        two = Sizes(2, 3, 5, 4, 6, 2)
        yield contracts.case(self.exercise, "two sequences", two, 60), "two sequences of three"
        for name in failed:
            if name in self.record.runs and name != "ordinary":
                yield self.record.runs[name].case, f"an input {_CASES[name]}"

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

    # -------------------------------- properties
    def _properties(self, case: Case, value):
        """What holds, in words, and the first thing that does not."""
        want = expected(self.exercise, case)
        if self.exercise.name == "project":
            return self._project_properties(case, value, want)
        holds = []
        if not isinstance(value, torch.Tensor):
            return holds, f"a tensor is expected and {told(value)} comes back"
        value = value.detach()
        if value.shape != want.shape:
            got = errors.in_words(value.shape, case.sizes)
            return ["a tensor comes back"], (
                f"the shape is {tuple(value.shape)}, {got}; expected is {tuple(want.shape)}, "
                f"{self.exercise.returns}"
            )
        holds.append(f"the shape is {self.exercise.returns}")
        if bool(value.isnan().any()):
            return holds, "NaN is among the numbers"
        if self.exercise.name == "causal_mask":
            return self._mask_properties(value, want, holds)
        if bool(value.isinf().any()):
            return holds, "an infinite number is among the results"
        holds.append("every number is finite")
        fails = ""
        if self.exercise.rows_sum:
            sums = value.double().sum(-1)
            if bool(((sums - 1).abs() < 1e-4).all()):
                holds.append("each row sums to 1")
            else:
                fails = fails or f"a row sums to {_worst(sums)} and not to 1"
        if self.exercise.causal:
            if self._hears_later(case, value):
                fails = fails or "a position hears a later one"
            else:
                holds.append("no position hears a later one")
        return holds, fails or "the numbers are not the expected ones"

    def _project_properties(self, case, value, want):
        if not isinstance(value, tuple | list) or len(value) != 3:
            return [], f"three tensors are expected and {told(value)} comes back"
        holds = ["three come back"]
        for name, part, w in zip("qkv", value, want, strict=True):
            if not isinstance(part, torch.Tensor):
                return holds, f"{name} is {told(part)} and not a tensor"
            if part.shape != w.shape:
                got = errors.in_words(part.shape, case.sizes)
                return holds, (
                    f"{name} has shape {tuple(part.shape)}, {got}; expected is {tuple(w.shape)}"
                )
            if agree(part.detach(), w):
                holds.append(f"{name} is right")
        wrong = [n for n, p, w in zip("qkv", value, want, strict=True) if not agree(p.detach(), w)]
        return holds, f"{' and '.join(wrong)}: not the expected numbers"

    def _mask_properties(self, value, want, holds):
        blocked = want == -contracts.INF
        open_ = value[blocked] > -9_999
        fails = ""
        if bool(open_.any()):
            fails = "an entry above the diagonal is not blocked"
        else:
            holds.append("every entry above the diagonal is blocked")
        same = torch.where(blocked, 0.0, value.double())
        if agree(same, torch.where(blocked, 0.0, want.double())):
            holds.append("the entries that may be seen are as they were")
        else:
            fails = fails or "entries that may be seen have changed"
        return holds, fails or "the numbers are not the expected ones"

    def _hears_later(self, case, value):
        """By finite changes, or for a grid of weights by its upper half."""
        if self.exercise.rows_sum:
            T = value.shape[-1]
            later = ~contracts.lower(T)
            return bool((value[..., later].abs() > 1e-6).any())
        T = case.sizes.T
        offset = T - value.shape[1]
        for j in range(T - 1, 0, -1):
            args = list(case.args)
            for place, a in enumerate(args):
                if isinstance(a, torch.Tensor) and a.dim() == 3:
                    if self.exercise.name == "sdpa_decode" and place == 0:
                        continue
                    args[place] = a.clone()
                    args[place][:, j] += contracts.normal(a.shape[-1], seed=70 + j)
            got = run(self.function, Case("changed", case.sizes, tuple(args)), self.guard)
            if not isinstance(got.value, torch.Tensor) or got.value.shape != value.shape:
                return False
            rows = max(j - offset, 0)
            if rows and not agree(got.value[:, :rows].detach(), value[:, :rows]):
                return True
        return False


_CASES = {
    "ordinary": "on ordinary input",
    "other sizes": "at other sizes",
    "one sequence": "with a batch of one",
    "one token": "with a single token",
    "T = block_size": "with T = block_size",
    "one query": "with a single query",
    "zeros": "in which scores are exactly 0",
    "far below": "in which a row lies far below the others",
}


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
    if last and not first:
        return "Last right, first wrong: think of the mask."
    if first and not last:
        return "First right, last wrong: think of the scale, or of the roles of q and k."
    return (
        ""
        if some
        else "Neither first nor last is right: think of the axis, the triangle, the tensor that is "
        "averaged."
    )


def _worst(sums):
    flat = sums.flatten()
    return written(flat[(flat - 1).abs().argmax()][None, None], 3)[0][0]


def _table(exercise, value, want, place=0):
    value, want = (t.detach().double() for t in (value, want))
    if want.dim() == 3:
        value, want = value[place], want[place]
    T = want.shape[0]
    tokens = Eye().tokens if T == 3 else tuple(str(i) for i in range(T))
    grid = want.shape[0] == want.shape[1]
    shown = exercise.name in ("averaging_matrix", "raw_scores", "attention_scores", "causal_mask",
                              "causal_weights")  # fmt: skip
    names = tokens
    if exercise.name == "averaging_matrix":
        names = tuple(f"row {i}" for i in range(T))
    elif exercise.name == "sdpa_decode":
        names = tuple(f"query {i}" for i in range(T))
    return Table(
        names,
        tokens if grid and shown and exercise.name != "averaging_matrix" else ("",) * want.shape[1],
        written(want, 3),
        written(value, 3),
        tuple(not agree(value[i], want[i]) for i in range(T)),
    )
