"""One head in one picture: every tensor from x to out, in order, with its name and shape."""

from functools import lru_cache

import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.textpath import TextPath

from helpers.labels import labels
from helpers.matrices import number, plain, written
from helpers.pictures import INCH, SHARP, Picture

NUMBERS_UP_TO = (6, 8)  # positions, channels: what leaves a number room to be read
CHANNELS_UP_TO = 24  # of a wider x the first ones are drawn
LONGEST = 32
# In pixels drawn: a low picture's height and a high one's, the width of a notebook, and the parts.
LOW, HIGH, WIDE = 390, 520, 1350
GAP, HEADING, TICKS, KEYS, BOTTOM, SIDE = 36, 50, 24, 22, 8, 270
POINT = INCH * SHARP / 72
SHADES = 25  # odd, so that 0 has a shade of its own
SIGNED, WEIGHTS = (
    ListedColormap(colormaps[name](np.linspace(0, 1, SHADES)), name=name)
    for name in ("PuOr_r", "cividis")
)
GREYS = ("#ffffff", "#000000", "#dcdcdc", "#8a8a8a", "#444444", "#b4b4b4", "#686868")
PALETTE = np.rint(
    [[255 * part for part in to_rgb(c)] for c in (*SIGNED.colors, *WEIGHTS.colors, *GREYS)]
).astype(np.uint8)


def one_head(head, x, tokens=None, *, channels=None, title="", alt=""):
    """A head at work on one sequence: x, q, k, v, scores, masked, weights and out, as a Picture.

    head      a causal head with layers `query`, `key` and `value`, such as lesson 07's
    x         (T, C) or (1, T, C), T at most 32
    tokens    names for the positions: a string, one a character, or a sequence
    channels  names for the channels of x
    title     what to notice
    alt       a sentence for a reader who cannot see it; left out, one is made

    Each heading says which of the five moves made the tensor. Numbers stand in the cells while
    T <= 6 and C, head_size <= 8. Of more than 24 channels the first 24 are drawn. q, k, v and out
    share one colour scale, scores and masked another.

    Raises ValueError for more sequences than one, a wrong number of names, and for a head whose
    own output is not the out that is drawn: it does something else than these five moves.
    """
    parts = _parts(head, x)
    T, C = parts["x"].shape
    if T > LONGEST:
        raise ValueError(f"{T} positions are too many to draw (limit {LONGEST})")
    names = labels(tokens, T, "positions")
    channel_names = None if channels is None else labels(channels, C, "channels")
    plan = _Plan(T, C, parts["q"].shape[1], names, channel_names)
    figure = Figure(figsize=plan.size, dpi=INCH * SHARP, facecolor="white")
    axes = {
        name: figure.add_axes(box, label=name) for row in plan.boxes for name, box in row.items()
    }
    limits = _limits(parts)
    images = {}
    for name, ax in axes.items():
        images[name] = ax.imshow(
            parts[name][:, :CHANNELS_UP_TO] if name == "x" else parts[name],
            cmap=WEIGHTS if name == "weights" else SIGNED,
            norm=Normalize(*limits[name]),
            aspect="auto",
            interpolation="nearest",
        )
        if name == "masked":
            ax.patch.set(facecolor="#dcdcdc", edgecolor="#8a8a8a", hatch="///", linewidth=0)
        plan.name(ax, name, parts[name].shape, limits[name])
    if plan.numbered:
        entries = {
            name: written(torch.as_tensor(i.get_array().filled(0.0)), 3)
            for name, i in images.items()
        }
        longest = max(len(cell) for rows in entries.values() for row in rows for cell in row)
        size = min(16.0, plan.each / (0.62 * longest), 0.6 * plan.cell)
        for name, image in images.items():
            _separate(image)
            _number(image, entries[name], size / plan.each, size / plan.cell)
    plan.arrows(figure)
    words = alt or _alt(title, parts, names)
    return Picture(figure, words, title, [PALETTE])


# ---------------------------------------- values
ROWS = (("x", "q", "k", "v"), ("scores", "masked", "weights", "out"))
GRIDS = ("scores", "masked", "weights")


def _parts(head, x):
    """Every tensor on the way, by name, each (T, columns) float64, masked where it is -inf."""
    if not isinstance(x, torch.Tensor) or x.ndim not in (2, 3):
        raise ValueError("x must be one sequence, (T, C) or (1, T, C)")
    if x.ndim == 3 and len(x) != 1:
        raise ValueError(f"one sequence is drawn, this is a batch of {len(x)}: pick one, as x[0]")
    layers = [getattr(head, name, None) for name in ("query", "key", "value")]
    if not all(isinstance(layer, torch.nn.Module) for layer in layers):
        raise TypeError(f"a head has layers query, key and value; {type(head).__name__} has not")
    C = getattr(layers[0], "in_features", x.shape[-1])
    if x.shape[-1] != C:
        raise ValueError(f"this head reads C = {C} channels, x has {x.shape[-1]}")
    with torch.no_grad():
        x = x.reshape(1, *x.shape[-2:])
        q, k, v = head.query(x), head.key(x), head.value(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        masked = scores.masked_fill(future, float("-inf"))
        weights = torch.softmax(masked, dim=-1)
        out = weights @ v
        theirs = head(x)
    if theirs.shape != out.shape or not torch.allclose(theirs, out, atol=1e-4, rtol=1e-4):
        raise ValueError(
            "this head's output is not what the five moves give: project, score and scale, mask, "
            "softmax, average the values; there is no true picture of it here"
        )
    tensors = dict(x=x, q=q, k=k, v=v, scores=scores, masked=masked, weights=weights, out=out)
    grids = {name: plain(tensor[0], axes=(2,)).numpy() for name, tensor in tensors.items()}
    return {name: np.ma.masked_array(grid, np.isneginf(grid)) for name, grid in grids.items()}


def _limits(parts):
    limits = {"weights": (0.0, 1.0)}
    for alike in (("x",), ("q", "k", "v", "out"), ("scores", "masked")):
        largest = max(float(np.abs(parts[name]).max()) for name in alike) or 1.0
        limits.update(dict.fromkeys(alike, (-largest, largest)))
    return limits


# ---------------------------------------- drawing
class _Plan:
    """Where everything stands, in pixels: by arithmetic, since measuring drawn text costs time."""

    def __init__(self, T, C, head_size, names, channels):
        self.names, self.channels, self.head_size = names, channels, head_size
        self.numbered = T <= NUMBERS_UP_TO[0] and max(C, head_size) <= NUMBERS_UP_TO[1]
        shown = {name: T for name in GRIDS}
        shown |= dict.fromkeys(("q", "k", "v", "out"), head_size)
        shown["x"] = min(C, CHANNELS_UP_TO)
        self.left = 34 + 14 * max(map(len, names))
        above = [HEADING + (TICKS if channels else 4), HEADING + TICKS + KEYS]
        room = (LOW if T <= 4 else HIGH) - sum(above) - 2 * BOTTOM
        self.cell = max(5, min(40, room // (2 * T)))
        most = max(sum(shown[name] for name in row) for row in ROWS)
        across = (WIDE - self.left - 3 * GAP - 12) // most
        self.each = min(66, across)  # of a numbered cell, the width
        if self.numbered:
            widths = {name: self.each * n for name, n in shown.items()}
        else:
            widths = {name: max(1, SIDE // n) * n for name, n in shown.items()}
        full = max(sum(widths[name] for name in row) for row in ROWS) + 3 * GAP
        wide, high = self.left + full + 12, sum(above) + 2 * (self.cell * T + BOTTOM)
        self.size = (wide / INCH / SHARP, high / INCH / SHARP)
        self.boxes, self.marks, top = [], [], high
        for row, head_room in zip(ROWS, above, strict=True):
            gap = (full - sum(widths[name] for name in row)) // 3
            x, y = self.left, top - head_room - self.cell * T
            boxes = {}
            for name in row:
                boxes[name] = (x / wide, y / high, widths[name] / wide, self.cell * T / high)
                x += widths[name] + gap
                # An arrow where one tensor becomes the next; q, k and v stand side by side.
                if name not in ("q", "k", "v", "out"):
                    self.marks.append(((x - gap / 2) / wide, (y + self.cell * T / 2) / high))
            self.boxes.append(boxes)
            top = y - BOTTOM

    def name(self, ax, name, shape, limits):
        """The heading of a panel, the names of its rows and columns."""
        axes = {"x": "(T, C)", **dict.fromkeys(GRIDS, "(T, T)")}.get(name, "(T, head_size)")
        size = f"{axes} = {shape}"
        if not self.numbered:
            largest = number(limits[1], 1)
            scale = "0 to 1" if name == "weights" else f"±{largest}"
            size = f"{shape}  {scale}"
        cut = name == "x" and shape[1] > CHANNELS_UP_TO
        made = {
            "x": f"x, its first {CHANNELS_UP_TO} channels" if cut else "x",
            "q": "1  q = x Wq",
            "k": "1  k = x Wk",
            "v": "1  v = x Wv",
            "scores": f"2  scores = q kᵀ / √{self.head_size}",
            "masked": "3  masked",
            "weights": "4  weights = softmax",
            "out": "5  out = weights v",
        }[name]
        ax.set_title(f"{made}\n{size}", fontsize=9, pad=5, parse_math=False)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0, pad=2)
        ax.xaxis.tick_top()
        ax.xaxis.set_label_position("top")
        words = {"fontsize": 9, "labelpad": 2, "color": "#444444"}
        step = max(1, -(-round(9 * POINT) // self.cell))
        places = range(0, len(self.names), step)
        first = name in ("x", "scores")
        kept = {"fontsize": 9, "parse_math": False}
        ax.set_yticks(places if first else (), self.names[::step] if first else (), **kept)
        if name == "scores":
            ax.set_ylabel("← query", **words)
        if name in GRIDS:
            ax.set_xticks(places, self.names[::step], **kept)
            ax.set_xlabel("key →", **words)
        elif name == "x" and self.channels and self.numbered:
            ax.set_xticks(range(len(self.channels)), self.channels, **kept)
        else:
            ax.set_xticks([])

    def arrows(self, figure):
        for x, y in self.marks:
            figure.text(x, y, "→", fontsize=14, ha="center", va="center", color="#444444")


def _separate(image):
    """White lines between the cells."""
    rows, columns = image.get_array().shape
    down = [[(c - 0.5, -0.5), (c - 0.5, rows - 0.5)] for c in range(1, columns)]
    across = [[(-0.5, r - 0.5), (columns - 0.5, r - 0.5)] for r in range(1, rows)]
    lines = LineCollection(down + across, colors="white", linewidths=0.6)
    image.axes.add_collection(lines, autolim=False)


@lru_cache(maxsize=1024)
def _outline(text):
    return TextPath((0, 0), text, size=1, prop=FontProperties())


def _number(image, entries, wide, high):
    """The entries as two outlines, dark and light: one text object a cell would cost 1 ms."""
    grid = image.get_array()
    colours = image.cmap(image.norm(grid.filled(0.0)))[..., :3]
    bright = colours @ np.array([0.299, 0.587, 0.114]) > 0.5
    for shade, chosen in (("black", bright), ("white", ~bright)):
        pieces = []
        for i, j in np.argwhere(chosen & ~np.ma.getmaskarray(grid)):
            text = _outline(entries[i][j])
            middle = np.array([text.vertices[:, 0].max() / 2, 0.36])
            pieces.append(Path((text.vertices - middle) * (wide, -high) + (j, i), text.codes))
        if pieces:
            path = Path.make_compound_path(*pieces)
            image.axes.add_artist(
                PathPatch(path, facecolor=shade, linewidth=0, gid=f"numbers {shade}")
            )


# ---------------------------------------- words
def _alt(title, parts, names):
    """A sentence made from the values, for a picture whose author wrote none."""
    T, C = parts["x"].shape
    head_size = parts["q"].shape[1]
    weights = parts["weights"]
    last = int(weights[-1].argmax())
    start = f"{title}. " if title and title[-1] not in ".?" else f"{title} " if title else ""
    return (
        f"{start}One head in eight panels: x ({T}, {C}); q, k and v ({T}, {head_size}); scores, "
        f"masked and weights ({T}, {T}), the future hatched in masked; out ({T}, {head_size}). "
        f"Row 0 of the weights reads only itself; the last row, {names[-1]}, reads position "
        f"{last}, {names[last]}, most, with {number(float(weights[-1, last]))}."
    )
