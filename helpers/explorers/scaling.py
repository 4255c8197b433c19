"""Lesson 05's explorer: what the size of the scores does to one row of weights."""

from functools import lru_cache

import numpy as np
import torch
import torch.nn.functional as F

from helpers.explorers.drawing import (
    COOL,
    FAINT,
    LIT,
    QUIET,
    bar,
    frame,
    line,
    points,
    short,
    text,
)
from helpers.explorers.panel import Explorer

WIDTHS = tuple(2**n for n in range(11))  # d_k from 1 to 1024
TEMPERATURES = (0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32)
MEASURES = ("largest weight", "entropy, bits", "gradient")
ROWS = 8
_MOST = {"largest weight": 1.0, "entropy, bits": 3.0, "gradient": 0.5}


def explore_scaling():
    """Sliders for d_k, the division by √d_k and a temperature, and what they do to a row.

    The scores are lesson 05's: 2,048 queries of 8 keys for each d_k, drawn at random. One of the
    queries is shown as bars; its largest weight, its entropy (3 bits when all eight weights are
    alike, 0 when one has everything) and its gradient (the norm of the Jacobian of its softmax)
    stand in the curves of all widths.
    """
    return ScalingExplorer()


def random_raw(d_k):
    """Raw scores (256, T, T) of queries and keys with components of mean 0 and variance 1."""
    generator = torch.Generator().manual_seed(d_k)
    q = torch.randn(256, 8, d_k, generator=generator)  # (256, T, d_k)
    k = torch.randn(256, 8, d_k, generator=generator)  # (256, T, d_k)
    return q @ k.transpose(-2, -1)  # (256, T, T)


def jacobian(w):
    """(..., T, T): how each weight of a row answers to each of its scores."""
    return torch.diag_embed(w) - w[..., :, None] * w[..., None, :]


def measures(w):
    """Largest weight, entropy in bits and gradient of rows of weights (..., T): (..., 3)."""
    w = w.double()
    gradient = torch.linalg.matrix_norm(jacobian(w))
    return torch.stack([w.amax(dim=-1), -torch.xlogy(w, w).sum(dim=-1) / np.log(2), gradient], -1)


@lru_cache
def _raw(d_k):
    return random_raw(d_k)


def weights_of(d_k, scaled, temperature):
    """The weights (256, T, T) of all queries in one setting."""
    return F.softmax(_raw(d_k) / (d_k**0.5 if scaled else 1) / temperature, dim=-1)


@lru_cache(maxsize=256)
def _measured(d_k, scaled, temperature):
    """The first rows (8, T) of a setting, and the means of all queries (3,); float64."""
    w = weights_of(d_k, scaled, temperature)
    return w[0].double(), measures(w).mean(dim=(0, 1))


@lru_cache
def sweep(scaled):
    """Means over all queries for every width, at temperature 1: (widths, 3)."""
    return torch.stack([_measured(d_k, scaled, 1)[1] for d_k in WIDTHS])


class ScalingExplorer(Explorer):
    NAME, HIGH = "Explorer: scaling", 250
    SETTINGS = {"d_k": 64, "scaled": False, "temperature": 1, "row": 7}

    def controls(self):
        import ipywidgets as widgets

        wide = widgets.Layout(width="24em")
        named = {"description_width": "initial"}
        controls = {
            "d_k": widgets.SelectionSlider(
                options=WIDTHS, value=64, description="d_k", style=named, layout=wide
            ),
            "scaled": widgets.Checkbox(
                description="divide by √d_k", indent=False, layout=widgets.Layout(width="12em")
            ),
            "temperature": widgets.SelectionSlider(
                options=TEMPERATURES,
                value=1,
                description="temperature",
                style=named,
                layout=wide,
            ),
            "row": widgets.IntSlider(
                7, 0, ROWS - 1, description="row (query)", style=named, layout=wide
            ),
        }
        return controls, [["d_k", "scaled"], ["temperature", "row"]]

    def numbers(self, d_k, scaled, temperature, row):
        """The row (T,), its three measures, and their means over all queries, as float64."""
        rows, means = _measured(d_k, scaled, temperature)
        return rows[row], measures(rows[row]), means

    def state(self, d_k, scaled, temperature, row):
        one, own, mean = self.numbers(d_k, scaled, temperature, row)
        divided = "divided by √d_k" if scaled else "not divided"
        warm = "" if temperature == 1 else f", temperature {temperature}"
        largest, entropy, gradient = (short(value) for value in own)
        return (
            f"d_k = {d_k}, {divided}{warm}. Row {row}: largest weight {largest}, entropy {entropy} "
            f"bits, gradient {short(own[2], 3)}. Mean of 2,048 rows: {short(mean[0])}, "
            f"{short(mean[1])}, {short(mean[2], 3)}."
        )

    def drawn(self, d_k, scaled, temperature, row):
        one, own, mean = self.numbers(d_k, scaled, temperature, row)
        colour = COOL if scaled else LIT
        parts = [text(8, 18, f"weights of row {row} over 8 keys", bold=True)]
        parts.append(line(30, 54, 270, 54, FAINT) + line(30, 124, 270, 124, FAINT))
        parts += [text(24, y, n, 12, QUIET, "end") for y, n in ((59, "1"), (129, ".5"), (199, "0"))]
        for j, weight in enumerate(one.tolist()):
            high = 140 * weight
            parts.append(bar(34 + 30 * j, 194 - high, 24, high, colour))
            parts.append(text(46 + 30 * j, 189 - high, short(weight), 12, None, "middle"))
            parts.append(text(46 + 30 * j, 210, j, 12, QUIET, "middle"))
        parts.append(line(30, 194, 270, 194))
        parts.append(text(150, 228, "key", 13, QUIET, "middle"))
        place = WIDTHS.index(d_k) / (len(WIDTHS) - 1)
        for i, name in enumerate(MEASURES):
            parts.append(_chart(320 + 172 * i, name, i, place, own[i], mean[i], colour))
        parts.append(_legend(320, 243, colour))
        return frame(830, self.HIGH, self.state(d_k, scaled, temperature, row), *parts)

    def picture(self):
        from matplotlib.figure import Figure

        from helpers.pictures import figure

        d_k, row = self.SETTINGS["d_k"], self.SETTINGS["row"]
        drawn = Figure(figsize=(8, 2.5), layout="constrained")
        axes = drawn.subplots(1, 4, width_ratios=[3, 2, 2, 2])
        found = []
        for shift, scaled, colour in ((-0.2, False, LIT), (0.2, True, COOL)):
            one, own, _ = self.numbers(d_k, scaled, 1, row)
            heights = [round(w, 3) for w in one.tolist()]
            axes[0].bar(np.arange(8) + shift, heights, width=0.4, color=colour)
            for ax, curve in zip(axes[1:], sweep(scaled).T, strict=True):
                ax.semilogx(WIDTHS, curve.round(decimals=3), ".-", base=2, color=colour)
            found.append([short(own[0]), short(own[2], 3)])
        axes[0].set(title=f"row {row} at d_k = {d_k}", xlabel="key", ylim=(0, 1), xticks=range(8))
        axes[1].text(6, 0.86, "raw", color=LIT, ha="right")
        axes[1].text(1024, 0.21, "divided\nby √d_k", color=COOL, ha="right", va="center")
        for ax, name in zip(axes[1:], MEASURES, strict=True):
            ax.set(title=name, xlabel="d_k", ylim=(0, _MOST[name]))
            ax.set_xticks([1, 32, 1024], ["1", "32", "1024"])
            ax.minorticks_off()
        (raw, raw_gradient), (even, even_gradient) = found
        return figure(
            drawn,
            f"Weights of one row of 8 keys at d_k = {d_k}: raw, the largest is {raw} and the "
            f"gradient {raw_gradient}; divided by √d_k, {even} and {even_gradient}. Beside it, "
            "for d_k from 1 to 1024, mean largest weight, entropy and gradient: raw, the first "
            "rises to nearly 1 and the others fall; divided, all three stay level.",
            "Run the cell for sliders: d_k, the division, a temperature. Here without them, "
            f"d_k = {d_k}, raw and divided",
        )


def _chart(x, name, i, place, own, mean, colour):
    """One measure for every width, raw and divided, and where the setting stands in it."""
    high, wide, top, most = 140, 140, 54, _MOST[name]
    places = tuple(n / (len(WIDTHS) - 1) for n in range(len(WIDTHS)))
    parts = [text(x, 18, name, bold=True), line(x, top + high, x + wide, top + high)]
    for value, at in ((most, top), (0, top + high)):
        parts.append(text(x - 6, at + 5, short(value), 12, QUIET, "end"))
    parts.append(line(x, top, x + wide, top, FAINT))
    for n, anchor in ((0, "start"), (5, "middle"), (10, "end")):
        parts.append(text(x + wide * places[n], top + high + 16, WIDTHS[n], 12, QUIET, anchor))
    for scaled, shade in ((False, LIT), (True, COOL)):
        curve = tuple(sweep(scaled)[:, i].tolist())
        path = points(curve, places, 0, most, x, top, wide, high)
        dashes = "" if scaled else ' stroke-dasharray="6 3"'
        parts.append(f'<path d="{path}" stroke="{shade}" stroke-width="2" fill="none"{dashes}/>')
    at = x + wide * place
    for value, filled in ((mean, False), (own, True)):
        y = top + high * (1 - float(value) / most)
        fill = colour if filled else "#fff"
        parts.append(
            f'<circle cx="{at:.4g}" cy="{y:.4g}" r="{5 if filled else 6}" fill="{fill}" '
            f'stroke="{colour}" stroke-width="2"/>'
        )
    return "".join(parts)


def _legend(x, y, colour):
    ring = f'stroke="{colour}" stroke-width="2"/>'
    return (
        line(x, y - 5, x + 26, y - 5, LIT, ' stroke-width="2" stroke-dasharray="6 3"')
        + text(x + 32, y, "raw", 13)
        + line(x + 80, y - 5, x + 106, y - 5, COOL, ' stroke-width="2"')
        + text(x + 112, y, "divided, means at temperature 1", 13)
        + f'<circle cx="{x + 345}" cy="{y - 5}" r="5" fill="{colour}" {ring}'
        + text(x + 356, y, "this row", 13)
        + f'<circle cx="{x + 430}" cy="{y - 5}" r="6" fill="#fff" {ring}'
        + text(x + 442, y, "mean", 13)
    )
