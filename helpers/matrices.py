"""Small matrices in text, as a person writes them: 0, 1, .731, -inf."""

import math
from unicodedata import category, east_asian_width

import torch

from helpers.labels import labels

LARGEST = 24
# Far above the noise of float32 at the course's sizes, far below the three decimals shown.
WHOLE = 1e-5


def matrix(values, rows=None, columns=None, decimals=3):
    """A (rows, columns) matrix, or a vector as a single row, to be read in a cell.

    values    tensor of one or two axes, any device and dtype, with or without grad; a boolean
              one shows 1 and 0
    rows      tokens that name the rows: a string, one a character, or a sequence of strings
    columns   the same for the columns; left out, columns carry no names
    decimals  the most decimals an entry gets; fewer where fewer say it exactly, two significant
              digits below 0.001, none for a whole number

    Raises ValueError for another number of axes (with the batch still on, say), for the wrong
    number of tokens, and for more than 24 rows or columns, which are for `heatmap`.
    """
    if not isinstance(decimals, int) or not 0 <= decimals <= 6:
        raise ValueError(f"decimals is a whole number from 0 to 6, not {decimals!r}")
    grid = plain(values)
    vector = grid.ndim == 1
    if vector:
        grid = grid[None]
    if max(grid.shape) > LARGEST:
        shown = tuple(grid.shape)
        raise ValueError(f"{shown} is too large to read as text (limit {LARGEST}); use heatmap")
    row_names = [""] * grid.shape[0] if rows is None else labels(rows, grid.shape[0], "rows")
    head = None if columns is None else labels(columns, grid.shape[1], "columns")
    return _Written(written(grid, decimals), row_names, head)


def plain(values, axes=(1, 2)):
    """The values on the CPU in float64, detached; ValueError unless their axes can be shown."""
    if not isinstance(values, torch.Tensor):
        try:
            values = torch.as_tensor(values)
        except (TypeError, RuntimeError) as error:
            kind = type(values).__name__
            raise TypeError(f"a tensor is wanted here, not {kind}: {error}") from error
    if values.is_complex():
        raise ValueError("complex numbers cannot be shown here")
    if values.is_meta:
        raise ValueError('a tensor on the device "meta" has a shape but no numbers to show')
    if values.ndim == 3:
        raise ValueError(
            f"a matrix has two axes, and this has shape {tuple(values.shape)}: "
            "pick one sequence, for example [0]"
        )
    if values.ndim not in axes:
        allowed = " or ".join(str(n) for n in axes)
        raise ValueError(f"{allowed} axes can be shown, this has shape {tuple(values.shape)}")
    if values.numel() == 0:
        raise ValueError(f"nothing to show: the shape is {tuple(values.shape)}")
    # In this order: not every device knows float64.
    return values.detach().cpu().to(torch.float64)


def written(grid, decimals, small=True):
    """The entries of a float64 matrix as text, with the fewest decimals that fit them all."""
    entries = [[float(value) for value in row] for row in grid]
    finite = [value for row in entries for value in row if math.isfinite(value)]
    places = next(
        (n for n in range(decimals) if all(abs(v - round(v, n)) < WHOLE for v in finite)), decimals
    )
    return [[number(value, places, small) for value in row] for row in entries]


def number(value, decimals=3, small=True):
    """One number as a person writes it; never -0.

    small    two significant digits below 0.001, where the decimals would show nothing
    """
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if abs(value) >= 1e6:
        return power(value, 2)
    nearest = round(value)
    if abs(value - nearest) < max(WHOLE, 1e-6 * abs(value)):
        return str(nearest)
    if small and abs(value) < 0.000995:
        # Two significant digits: a person writes .00034, not .000.
        decimals = 1 - math.floor(math.log10(abs(value)))
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("0.", ".", 1) if abs(float(text)) < 1 else text


def power(value, digits):
    """A number with its power of ten, 1.23e7, with at most so many digits after the point."""
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{int(exponent)}"


class _Written:
    def __init__(self, cells, row_names, head):
        self.cells, self.row_names, self.head = cells, row_names, head

    def __repr__(self):
        rows = self.cells if self.head is None else [self.head, *self.cells]
        names = self.row_names if self.head is None else ["", *self.row_names]
        columns = list(zip(*rows, strict=True))
        widths = [max(_width(cell) for cell in column) for column in columns]
        first = max(_width(name) for name in names)
        lines = []
        for name, row in zip(names, rows, strict=True):
            start = name + " " * (first - _width(name) + 2 if first else 0)
            cells = [" " * (w - _width(cell)) + cell for cell, w in zip(row, widths, strict=True)]
            lines.append((start + "  ".join(cells)).rstrip())
        return "\n".join(lines)


def _width(text):
    """Columns a text takes in a fixed-width font: an accent none, a wide character two."""
    return sum(
        0 if category(c) in ("Mn", "Me") else 2 if east_asian_width(c) in "WF" else 1 for c in text
    )
