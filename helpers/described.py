"""What a picture holds, in text: read off the axes, so that a replay sees the picture change."""

import math
import re

import numpy as np

from helpers.matrices import number, power, written

ENTRIES_UP_TO = 8
POINTS_UP_TO = 16


def described(picture):
    """A few lines for each axes: labels, scales, images, lines, bars and written remarks.

    Of a matrix of up to 8 rows and columns it holds every entry, of a larger one the sums of rows
    and columns, plain and weighted by position, which see a swap.
    """
    lines = [f"[picture] {picture.title}".rstrip()]
    if picture.figure.get_suptitle():
        lines.append(f"above all: {picture.figure.get_suptitle()}")
    for ax in picture.figure.axes:
        lines += _axes(ax)
    return "\n".join(lines)


def _axes(ax):
    if ax.get_label() == "<colorbar>":
        label = ax.get_ylabel() or ax.get_xlabel()
        ticks = ax.get_yticklabels() or ax.get_xticklabels()
        return [f"colour bar: {label} {_joined(ticks)}".replace("  ", " ")]
    titles = [ax.get_title(loc) for loc in ("left", "center", "right")]
    lines = [f"panel: {title}" for title in titles if title]
    for name, axis, (start, end) in (
        ("down", ax.yaxis, ax.get_ylim()),
        ("across", ax.xaxis, ax.get_xlim()),
    ):
        scale = "" if axis.get_scale() == "linear" else f" ({axis.get_scale()} scale)"
        places, texts = axis.get_ticklocs(), axis.get_ticklabels()
        shown = [
            text
            for place, text in zip(places, texts, strict=True)
            if min(start, end) <= place <= max(start, end)
        ]
        said = (axis.label.get_text(), _joined(shown))
        ends = f"from {_short(start)} to {_short(end)}"
        lines.append(f"{name}{scale}: " + " | ".join([*filter(None, said), ends]))
    for image in ax.images:
        lines += _image(image)
    lines += [_line(line) for line in ax.lines]
    lines += _bars(ax)
    lines += _shapes(ax)
    for text in ax.texts:
        at = ", ".join(_short(value) for value in (*text.get_position(), *getattr(text, "xy", ())))
        lines.append(f"written: {text.get_text()} at ({at})")
    legend = ax.get_legend()
    if legend is not None:
        texts = (legend.get_title(), *legend.get_texts())
        lines.append("legend: " + ", ".join(text.get_text() for text in texts if text.get_text()))
    return lines


def _joined(texts):
    said = " ".join(text.get_text() for text in texts if text.get_text())
    return re.sub(r"\$\\mathdefault\{(.*?)\}\$", r"\1", said)  # how log scales write 10^{1}


def _image(image):
    grid = np.ma.masked_array(image.get_array(), dtype=float)
    low, high = image.get_clim()
    lines = [f"colours: {image.get_cmap().name} from {_brief(low)} to {_brief(high)}"]
    lines[0] += f", origin {image.origin}"
    if grid.ndim != 2:
        return [f"image of shape {grid.shape}, origin {image.origin}: {_values(grid.ravel())}"]
    # Matplotlib masks NaN and inf as it masks what is hatched; these are said, not hidden.
    odd = np.isnan(grid.data) | np.isposinf(grid.data)
    hidden = np.ma.getmaskarray(grid) & ~odd
    seen = np.where(hidden, 0.0, grid.data)
    largest = np.abs(seen[np.isfinite(seen)]).max(initial=0.0)
    scale = max(abs(low), abs(high))
    if 0 < scale < 0.001:
        exponent = math.floor(math.log10(scale))
        seen = seen / 10.0**exponent
        lines.append(f"entries in units of 1e{exponent}:")
    # Unscaled scores hold to two decimals on every machine, weights to three.
    decimals = 3 if largest <= 1.5 else 2
    if max(grid.shape) <= ENTRIES_UP_TO:
        cells = written(seen, decimals)
        for row, hatched in zip(cells, hidden, strict=True):
            shown = ["//" if h else cell for cell, h in zip(row, hatched, strict=True)]
            lines.append(" ".join(f"{cell:>6}" for cell in shown).rstrip())
        return lines
    if np.array_equal(hidden, np.triu(np.ones_like(hidden), 1)):
        lines.append(f"masked: the future, {hidden.sum()} cells")
    elif hidden.any():
        lines.append(f"masked: {hidden.sum()} cells, by row {_numbers(hidden.sum(axis=1), 0)}")
        lines.append(f"masked, weighted by position: {_weighted(hidden)}")
    with np.errstate(invalid="ignore"):  # inf and -inf in a row add up to NaN, and it says so
        lines.append(f"row sums: {_numbers(seen.sum(axis=1), decimals)}")
        lines.append(f"column sums: {_numbers(seen.sum(axis=0), decimals)}")
        lines.append(f"sums weighted by position: {_weighted(seen)}")
    return lines


def _weighted(grid):
    """Row sums weighted by column, and column sums weighted by row."""
    across = grid @ np.arange(1, grid.shape[1] + 1)
    down = np.arange(1, grid.shape[0] + 1) @ grid
    return f"{_numbers(across, 2)} | {_numbers(down, 2)}"


def _line(line):
    style = f"{line.get_linestyle()} {line.get_marker()}".replace("None", "")
    x, y = line.get_xdata(orig=False), line.get_ydata(orig=False)
    points = " ".join(f"({_short(a)}, {_short(b)})" for a, b in zip(*_some(x, y), strict=True))
    start = " ".join(f"line {_label(line)} {style}".split())
    return f"{start}: {points}{_means(y)}"


def _bars(ax):
    lines = []
    for bars in ax.containers:
        across = getattr(bars, "orientation", "") == "horizontal"
        boxes = [bar.get_bbox() for bar in getattr(bars, "patches", [])]
        if across:
            found = [(box.y0 + box.y1, box.x0, box.x1) for box in boxes]
        else:
            found = [(box.x0 + box.x1, box.y0, box.y1) for box in boxes]
        if found:
            ends = [
                f"{_short(end)}" if start == 0 else f"{_short(start)} to {_short(end)}"
                for _, start, end in found
            ]
            middles = " ".join(_short(both / 2) for both, _, _ in found)
            name = f"bars {'across ' if across else ''}{_label(bars)}".rstrip()
            lines.append(f"{name}: {' '.join(ends)}, at {middles}")
    return lines


def _shapes(ax):
    """Arrows, clouds of points, filled areas; what `heatmap` drew for itself has a gid."""
    bars = {id(bar) for bars in ax.containers for bar in getattr(bars, "patches", [])}
    lines = []
    for shape in (*ax.collections, *ax.patches):
        if shape.get_gid() or id(shape) in bars:
            continue
        found = [getattr(shape, name) for name in ("U", "V") if hasattr(shape, name)]
        if hasattr(shape, "get_offsets"):
            found.append(shape.get_offsets())
            if len(found) == 1 and not np.any(found[0]):  # an area, whose path says where it is
                found += [path.vertices for path in shape.get_paths()]
        else:
            found.append(shape.get_patch_transform().transform(shape.get_path().vertices))
        values = np.concatenate([np.ma.filled(np.ma.ravel(part), np.nan) for part in found])
        lines.append(f"{type(shape).__name__} {_label(shape)}".rstrip() + f": {_values(values)}")
    return lines


def _label(artist):
    label = str(artist.get_label() or "")
    return "" if label.startswith("_") else label


def _values(values):
    (some,) = _some(values)
    return f"{' '.join(_short(value) for value in some)}{_means(values)}"


def _some(*rows):
    """All entries of each row, or about 16 evenly spaced ones of a long one, and the last."""
    length = len(rows[0])
    if length <= POINTS_UP_TO:
        return rows
    places = np.unique(np.linspace(0, length - 1, POINTS_UP_TO).round().astype(int))
    return tuple(np.ma.filled(np.ma.asarray(row, dtype=float), np.nan)[places] for row in rows)


def _means(values):
    """For the entries that `_some` leaves out: how many, their mean, and a mean that sees order."""
    values = np.ma.filled(np.ma.asarray(values, dtype=float), np.nan)
    if len(values) <= POINTS_UP_TO:
        return ""
    finite = np.where(np.isfinite(values), values, 0.0)
    weighted = (finite * np.linspace(0, 1, len(values))).mean()
    return f"; {len(values)} in all, mean {_short(finite.mean())}, weighted {_short(weighted)}"


def _numbers(values, decimals):
    return " ".join(number(float(value), decimals) for value in values)


def _brief(value):
    return power(value, 2) if 0 < abs(value) < 0.001 else number(float(value))


def _short(value):
    """Three significant digits, the same on every machine; never -0."""
    text = f"{float(value):.3g}"
    return text.removeprefix("-") if float(text) == 0 else text
