"""A sheet as one page: HTML to look at and to print on A4, and plain text for a replay."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

from helpers.labels import labels, visible
from helpers.matrices import written

EMPTY = "·"


class Part(NamedTuple):
    """One matrix of the page: its attribute, how it is made, and what rows and columns are."""

    name: str
    formula: str
    rows: str  # "tokens" or "channels"
    columns: str  # "channels", "tokens", "carries", "reads", or nothing
    given: bool = False


# The bands of the page, top to bottom, in the order of the lessons.
BANDS = (
    (
        Part("x", "one letter, one place", "tokens", "channels", True),
        Part("Wq", "", "channels", "", True),
        Part("Wk", "", "channels", "", True),
        Part("Wv", "", "channels", "", True),
    ),
    (
        Part("xbow", "average of x so far", "tokens", "channels"),
        Part("q", "x @ Wq", "tokens", ""),
        Part("k", "x @ Wk", "tokens", ""),
        Part("v", "x @ Wv", "tokens", "carries"),
    ),
    (
        Part("raw", "q @ kᵀ", "tokens", "tokens"),
        Part("scores", "raw / √head_size", "tokens", "tokens"),
        Part("weights_unmasked", "softmax of scores", "tokens", "tokens"),
        Part("out_unmasked", "weights_unmasked @ v", "tokens", "reads"),
    ),
    (
        Part("masked", "future to -inf", "tokens", "tokens"),
        Part("exp", "and the sum of a row", "tokens", "tokens"),
        Part("weights", "exp / sum", "tokens", "tokens"),
        Part("out", "weights @ v", "tokens", "reads"),
        Part("average_of_v", "all weights equal", "tokens", "reads"),
    ),
)
PARTS = {part.name: part for band in BANDS for part in band}


class Page:
    """The page of a sheet, blank or filled; shows itself as the last line of a cell."""

    def __init__(self, sheet, filled):
        self.sheet, self.filled = sheet, filled
        kind = "filled" if filled else "blank"
        sizes = ", ".join(f"{name} = {size}" for name, size in sheet.sizes.items())
        seed = f", seed {sheet.seed}" if sheet.seed else ""
        self.title = f"The sheet of {visible(sheet.word)}{seed}, {kind}"
        self.note = f"{sizes}, √head_size = {sheet.sizes['head_size'] ** 0.5:g}"

    def cells(self, part):
        """(row names, column names or None, entries as text, blank where it is to be filled)."""
        values = getattr(self.sheet, part.name)
        if part.name == "exp":
            values = values.new_tensor([[*row, sum(row)] for row in values.tolist()])
        entries = written(values.double(), 3)
        if not (self.filled or part.given):
            entries = [["" for _ in row] for row in entries]
        rows = labels(getattr(self.sheet, part.rows), len(entries), "rows")
        columns = list(getattr(self.sheet, part.columns)) if part.columns else None
        if columns and part.columns == "tokens":
            columns = labels(columns, len(columns), "columns")
        if part.name == "exp":
            columns = [*columns, "sum"]
        return rows, columns, entries

    def said(self, part):
        """What stands beside the name: how it is made, left for memory on a blank page."""
        return part.formula if self.filled or part.given else ""

    # -------------------------------- text
    def __repr__(self):
        lines = [self.title, self.note]
        for band in BANDS:
            blocks = [self._block(part) for part in band]
            height = max(map(len, blocks))
            wide = [max(map(len, block)) for block in blocks]
            rows = [
                "   ".join(
                    (block[n] if n < len(block) else "").ljust(width)
                    for block, width in zip(blocks, wide, strict=True)
                ).rstrip()
                for n in range(height)
            ]
            lines += ["", *rows]
        return "\n".join(lines)

    def _block(self, part):
        rows, columns, entries = self.cells(part)
        grid = [columns or [""] * len(entries[0]), *entries]
        widths = [max(4, *map(len, column)) for column in zip(*grid, strict=True)]
        first = max(map(len, rows))
        lines = [" ".join(filter(None, [part.name, self.said(part) and f"= {self.said(part)}"]))]
        for number, (name, row) in enumerate(zip(["", *rows], grid, strict=True)):
            cells = [(cell or (EMPTY if number else "")) for cell in row]
            cells = " ".join(c.rjust(w) for c, w in zip(cells, widths, strict=True))
            lines.append(f"{name.ljust(first)} {cells}".rstrip())
        return lines

    # -------------------------------- HTML
    def _repr_html_(self):
        bands = "".join(
            f'<div class="helpers-sheet-band" style="{SIDE_BY_SIDE}">'
            f"{''.join(map(self._table, band))}</div>"
            for band in BANDS
        )
        return (
            f'<div class="helpers-sheet"><style>{STYLE}</style>'
            f"<p><strong>{escape(self.title)}</strong>: {escape(self.note)}</p>{bands}</div>"
        )

    def _table(self, part):
        rows, columns, entries = self.cells(part)
        kind = " given" if part.given else ""
        said = f" {escape(self.said(part))}" if self.said(part) else ""
        caption = f"<caption><strong>{escape(part.name)}</strong>{said}</caption>"
        names = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns or [])
        head = f"<thead><tr><td></td>{names}</tr></thead>" if columns else ""
        body = "".join(
            f'<tr><th scope="row">{escape(name)}</th>'
            + "".join(f'<td style="{LINED}">{escape(entry) or ROOM}</td>' for entry in row)
            + "</tr>"
            for name, row in zip(rows, entries, strict=True)
        )
        return (
            f'<table class="helpers-sheet-part{kind}">{caption}{head}<tbody>{body}</tbody></table>'
        )

    def document(self):
        """The page as a whole HTML file, A4 across, black on white: what `handout` prints."""
        name = "" if self.filled else '<p class="name">Name</p>'
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>{escape(self.title)}</title><style>{PRINTED}</style></head>"
            f"<body><main>{name}{self._repr_html_()}</main></body></html>\n"
        )

    def save(self, path):
        """Write `document()` to a file; returns its path."""
        path = Path(path)
        path.write_text(self.document(), encoding="utf-8")
        return path


# Lab shows a notebook that it does not trust yet, a fresh copy, without its style sheets. What is
# written at the elements stays, and is enough to read the page and to write on it.
SIDE_BY_SIDE = "display:flex;flex-wrap:wrap;align-items:flex-start"
LINED = "border:1px solid"
ROOM = "&emsp;&emsp;"

STYLE = """
.helpers-sheet{color:var(--jp-content-font-color1,#000);overflow-x:auto}
.helpers-sheet p{margin:2px 0}
.helpers-sheet-band{gap:4px 22px;margin:4px 0}
.helpers-sheet table{border-collapse:collapse;margin:0;table-layout:auto;
font-family:var(--jp-code-font-family,monospace);font-size:13px;line-height:1.25}
.helpers-sheet caption{text-align:left;white-space:nowrap;padding:1px 0;
color:var(--jp-content-font-color1,#000)}
.helpers-sheet th,.helpers-sheet thead td{font-weight:400;border:0;background:none;
padding:1px 5px;text-align:right;color:var(--jp-content-font-color2,#444)}
.helpers-sheet tbody td{border-color:var(--jp-border-color1,#8a8a8a)!important;background:none;
padding:1px 5px;min-width:2.4em;text-align:right;color:var(--jp-content-font-color1,#000)}
.helpers-sheet .given tbody td{min-width:1.2em}
.helpers-sheet tbody tr,.helpers-sheet tbody tr:nth-child(odd){background:none}
@media print{.helpers-sheet,.helpers-sheet caption,.helpers-sheet th,
.helpers-sheet tbody td{color:#000}.helpers-sheet tbody td{border-color:#444!important}
.helpers-sheet table{break-inside:avoid}}
""".replace("\n", "")

PRINTED = """
@page{size:A4 landscape;margin:11mm}
body{margin:0;font-family:sans-serif;font-size:14px;color:#000;background:#fff}
main{max-width:275mm}
@media screen{body{margin:11mm}}
.name{margin:0 0 4mm;border-bottom:1px solid #444;width:80mm}
.helpers-sheet .helpers-sheet-band{margin:3.5mm 0;justify-content:space-between}
.helpers-sheet table{font-size:14px;line-height:1.6}
""".replace("\n", "")
