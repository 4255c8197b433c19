"""What a picture holds, in text: read off the axes, so that a replay sees the picture change."""

import numpy as np

from helpers.matrices import number, written

ENTRIES_UP_TO = 8
POINTS_UP_TO = 16


def described(picture):
    """A few lines for each axes: labels, scales, images, lines, bars and written remarks."""
    lines = [f"[picture] {picture.title}".rstrip()]
    for ax in picture.figure.axes:
        lines += _axes(ax)
    return "\n".join(lines)


def _axes(ax):
    if ax.get_label() == "<colorbar>":
        ticks = " ".join(t.get_text() for t in ax.get_yticklabels())
        return [f"colour bar: {ticks}"]
    lines = []
    if ax.get_title():
        lines.append(f"panel: {ax.get_title()}")
    for name, axis in (("down", ax.yaxis), ("across", ax.xaxis)):
        label = axis.label.get_text()
        ticks = " ".join(t.get_text() for t in axis.get_ticklabels())
        scale = "" if axis.get_scale() == "linear" else f" ({axis.get_scale()} scale)"
        if label or ticks:
            lines.append(f"{name}{scale}: {label} | {ticks}".rstrip(" |"))
    for image in ax.images:
        lines += _image(image)
    for line in ax.lines:
        lines.append(_line(line))
    lines += _bars(ax)
    lines += [f"written: {text.get_text()}" for text in ax.texts if text.get_text()]
    legend = ax.get_legend()
    if legend is not None:
        lines.append("legend: " + ", ".join(text.get_text() for text in legend.get_texts()))
    return lines


def _image(image):
    grid = np.ma.masked_array(image.get_array(), dtype=float)
    # Matplotlib masks NaN and inf too; these are said, not hidden.
    odd = np.isnan(grid.data) | np.isposinf(grid.data)
    hidden = np.ma.getmaskarray(grid) & ~odd
    seen = np.where(hidden, 0.0, grid.data)
    low, high = image.get_clim()
    lines = [
        f"colours: {image.get_cmap().name} from {number(float(low))} to {number(float(high))}, "
        f"origin {image.origin}"
    ]
    if max(grid.shape) <= ENTRIES_UP_TO:
        cells = written(_tensor(seen), 3)
        for row, hatched in zip(cells, hidden, strict=True):
            shown = ["//" if h else cell for cell, h in zip(row, hatched, strict=True)]
            lines.append(" ".join(f"{cell:>6}" for cell in shown).rstrip())
        return lines
    if np.array_equal(hidden, np.triu(np.ones_like(hidden), 1)):
        lines.append(f"masked: the future, {hidden.sum()} cells")
    elif hidden.any():
        lines.append(f"masked: {hidden.sum()} cells, by row {_whole(hidden.sum(axis=1))}")
        lines.append(f"masked, weighted by position: {_weighted(hidden)}")
    lines.append(f"row sums: {_numbers(seen.sum(axis=1))}")
    lines.append(f"column sums: {_numbers(seen.sum(axis=0))}")
    lines.append(f"sums weighted by position: {_weighted(seen)}")
    return lines


def _weighted(grid):
    """Row sums weighted by column, and column sums weighted by row: these see a swap."""
    across = grid @ np.arange(1, grid.shape[1] + 1)
    down = np.arange(1, grid.shape[0] + 1) @ grid
    return f"{_numbers(across)} | {_numbers(down)}"


def _line(line):
    x, y = (np.asarray(values, dtype=float) for values in line.get_data())
    label = line.get_label()
    name = "line" if label.startswith("_") else f"line {label}"
    style = f"{line.get_linestyle()} {line.get_marker()}".replace("None", "").strip()
    if len(x) <= POINTS_UP_TO:
        points = " ".join(f"({_short(a)}, {_short(b)})" for a, b in zip(x, y, strict=True))
    else:
        points = (
            f"{len(x)} points from ({_short(x[0])}, {_short(y[0])}) to "
            f"({_short(x[-1])}, {_short(y[-1])}), mean {_short(np.nanmean(y))}, "
            f"weighted mean {_short(np.nanmean(y * np.linspace(0, 1, len(y))))}"
        )
    return f"{name} {style}: {points}".replace("  ", " ")


def _bars(ax):
    lines = []
    for bars in ax.containers:
        heights = [_short(bar.get_height()) for bar in getattr(bars, "patches", [])]
        if heights:
            label = bars.get_label()
            name = "bars" if label.startswith("_") else f"bars {label}"
            lines.append(f"{name}: {' '.join(heights)}")
    return lines


def _tensor(array):
    import torch

    return torch.as_tensor(array, dtype=torch.float64)


def _numbers(values):
    return " ".join(number(float(value), 2) for value in values)


def _whole(values):
    return " ".join(str(int(value)) for value in values)


def _short(value):
    """Three significant digits, the same on every machine; never -0."""
    return f"{float(value):.3g}".replace("-0", "0") if float(f"{value:.3g}") == 0 else (
        f"{float(value):.3g}"
    )
