"""What a check shows, in stages: what holds; the smallest example; the misconception.

The first stage is open. The others are folded in a notebook, so that the student can go on alone
from where they are; as plain text they follow one another. Nothing shown changes from run to run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

_CODE, _AS_CODE = re.compile(r"`([^`]+)`"), r"<code>\1</code>"


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


def report_nothing(exercise) -> Result:
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


def report_unfit(exercise, why: str) -> Result:
    return Result(exercise.name, "wrong", open=(why,))


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
.helpers-check td,.helpers-check th{text-align:right;padding:1px 8px;border:0;min-width:1ch}
.helpers-check thead td+th,.helpers-check tbody td{min-width:4ch}
.helpers-check tr td:last-child{min-width:1ch}
.helpers-check tr.differs td{font-weight:700;background:rgba(200,140,0,.24);color:inherit}
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
            yield f"<p>{_CODE.sub(_AS_CODE, escape(part))}</p>"


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
