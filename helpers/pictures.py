"""Pictures of tensors: heatmaps on one scale, and any figure, stored so that replay can read them.

A notebook stores a picture twice: as HTML with its alt text, for people, and as text that states
what the axes hold (`helpers.described`), so that a replay fails when the picture would differ.
"""

import base64
import html
import io
import math
from functools import lru_cache

import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ft2font import LoadFlags
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from PIL import Image

from helpers.described import described
from helpers.labels import labels
from helpers.matrices import number, plain, power, written

INCH = 100  # CSS pixels to an inch of figure, as the reader sees it
SHARP = 1.5  # pixels drawn to a CSS pixel, for dense screens and projectors
POINT = INCH * SHARP / 72  # pixels drawn to a point of text
# In pixels drawn: what a projector leaves for a picture, what a large one may take instead (its
# names would be too small to read), and the width of a notebook.
HIGH, HIGH_IF_LARGE, WIDE = 390, 520, 1350
BYTES_A_PANEL, BYTES_A_PICTURE = 8000, 40000
# Shades of a colour map, the most that keep a picture within its size: odd, so that 0 has one of
# its own in a signed map. Numbers in the cells take bytes, and say what a shade cannot.
SHADES = (101, 51, 25, 15, 9, 5)
SHADES_WITH_NUMBERS = (25, 15)
COLOURS = (32, 16, 8)  # of any other figure
NUMBERS_UP_TO, NUMBERS_IN_ALL = 8, 512
LARGEST = 128
LONGEST_NAME = 12
CLEAR = (0.0, 0.0, 0.0, 0.0)
HEARD = ListedColormap(["#eeeeee", "#c2500a"], name="heard").with_extremes(bad=CLEAR)
GREYS = ("#ffffff", "#000000", "#dcdcdc", "#8a8a8a", "#444444", "#b4b4b4", "#686868")
NO_NUMBER = "#e2479c"  # the ground of NaN and inf, like nothing in the colour maps


class Picture:
    """A drawn figure: shows itself in a notebook, and gives tests its axes and arrays.

    figure   the matplotlib figure
    axes     its axes, left to right
    arrays   the (rows, columns) arrays that its heatmaps show, masked where they are hatched
    title    the line above the picture, which says what to notice
    alt      the sentence for a reader who cannot see it
    """

    def __init__(self, figure, alt, title="", palettes=COLOURS):
        self.figure, self.alt, self.title, self._palettes = figure, alt, title, palettes
        self.axes = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
        self.arrays = [image.get_array() for ax in self.axes for image in ax.images]

    def png(self):
        """The picture as the bytes of a palette PNG: 8 KB a panel, 40 KB in all.

        What holds too much for that loses shades first, then sharpness.
        """
        room = min(BYTES_A_PANEL * max(1, len(self.axes)), BYTES_A_PICTURE)
        for sharp in (SHARP, 1.25, 1.0):
            self.figure.set_dpi(INCH * sharp)
            canvas = FigureCanvasAgg(self.figure)
            canvas.draw()
            image = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])
            for palette in self._palettes:
                file = io.BytesIO()
                _reduced(image, palette).save(file, "PNG", optimize=True)
                if file.tell() <= room:
                    return file.getvalue()
        return file.getvalue()

    def _repr_mimebundle_(self, include=None, exclude=None):
        data = base64.b64encode(self.png()).decode("ascii")
        width = round(self.figure.get_figwidth() * INCH)
        caption = f"<figcaption>{_escaped(self.title)}</figcaption>" if self.title else ""
        shown = (
            f'<figure>{caption}<img alt="{_escaped(self.alt)}" width="{width}" '
            f'src="data:image/png;base64,{data}"></figure>'
        )
        return {"text/html": shown, "text/plain": repr(self)}

    def __repr__(self):
        return described(self)


def heatmap(
    values,
    tokens=None,
    *,
    title="",
    alt="",
    rows=None,
    columns=None,
    axis_names=("query", "key"),
    masked=None,
    signed=False,
    limits=None,
    decimals=None,
):
    """One matrix, or several side by side on one colour scale, as a Picture.

    values      (rows, columns) tensor, or a dict of them by name; any device and dtype. A boolean
                one, such as an influence grid, is drawn lit and unlit
    tokens      names for rows and columns alike: a string, one a character, or a sequence
    rows, columns  names where the two differ; left out, positions are numbered
    title       what to notice
    alt         a sentence for a reader who cannot see it; left out, one is made
    axis_names  what a row and what a column stands for; None for neither
    masked      True where a cell is hatched: a (rows, columns) boolean tensor, or "future" for
                all cells above the diagonal. Entries of -inf are hatched by themselves; NaN and
                inf stand on a ground of their own
    signed      a diverging map centred on 0, instead of cividis from 0 (or the lowest entry)
    limits      (low, high) of the colours; left out, those of the largest entry shown
    decimals    at most, in the cells: 3 for up to 4 columns, else 2. Numbers stand in the cells
                while there are at most 8 rows and 8 columns (and 8 such panels)

    Panels that would be wider than a notebook go into several rows.

    Raises ValueError for values that are not a matrix (the batch still on), empty, or of more
    than 128 rows or columns, and for a wrong number of tokens.
    """
    panels = values if isinstance(values, dict) else {"": values}
    if not panels:
        raise ValueError("no matrix to draw")
    for word, said in (("title", title), ("alt", alt)):
        if not isinstance(said, str):
            raise TypeError(f"{word} is text, not {type(said).__name__}")
    grids = {str(name): _grid(value, masked) for name, value in panels.items()}
    lit = {str(n): torch.as_tensor(v).dtype is torch.bool for n, v in panels.items()}
    shape = {grid.shape for grid in grids.values()}
    if len(shape) > 1:
        raise ValueError(f"side by side, matrices must be of one shape; these are {sorted(shape)}")
    (n_rows, n_columns) = shape.pop()
    row_names = labels(tokens if rows is None else rows, n_rows, "rows")
    column_names = labels(tokens if columns is None else columns, n_columns, "columns")
    axis_names = tuple(axis_names or ("", ""))
    missing = undrawable("".join([*row_names, *column_names, *grids, *axis_names]))
    note = ", ".join(f"U+{ord(character):04X}" for character in missing)
    noted = f"{title} (□ stands for what the font cannot draw: {note})".strip() if note else title
    row_names, column_names, axis_names, names = (
        _boxed(some, missing) for some in (row_names, column_names, axis_names, grids)
    )
    graded = [grid for name, grid in grids.items() if not lit[name]]
    low, high = map(float, _limits(graded, signed) if limits is None else limits)
    if not low < high:
        raise ValueError(f"limits are (low, high), these are ({low}, {high})")
    decimals = (3 if n_columns <= 4 else 2) if decimals is None else decimals
    cells = len(grids) * n_rows * n_columns
    numbered = max(n_rows, n_columns) <= NUMBERS_UP_TO and cells <= NUMBERS_IN_ALL
    shades = SHADES_WITH_NUMBERS if numbered else SHADES
    cmaps = [_map("PuOr_r" if signed else "cividis", n) for n in shades]
    bar = (low, high) if graded and not numbered else None
    plan = _Plan(row_names, column_names, axis_names, names, bar)
    figure, axes = plan.figure()
    entries = {}
    for i, (ax, (name, grid)) in enumerate(zip(axes, grids.items(), strict=True)):
        norm = Normalize(0, 1) if lit[name] else Normalize(low, high)
        image = ax.imshow(
            grid,
            cmap=HEARD if lit[name] else cmaps[0],
            norm=norm,
            origin="upper",
            interpolation="nearest",
        )
        # Masked cells are transparent, so that the hatched ground of the axes shows through.
        hatch = "///" if np.ma.getmaskarray(grid).any() else None
        ax.patch.set(facecolor="#dcdcdc", edgecolor="#8a8a8a", hatch=hatch, linewidth=0)
        plan.name(ax, i)
        _mark_what_is_no_number(ax, grid)
        _grid_lines(ax, n_rows, n_columns)
        if numbered and not lit[name]:
            entries[ax] = image, grid, _briefly(grid, decimals, max(abs(low), abs(high)))
        elif not lit[name]:
            graded_image = image
    every = {cell for *_, rows in entries.values() for row in rows for cell in row}
    widest = max((_glyphs(cell)[2] for cell in every), default=0.0)
    for ax, drawn in entries.items():
        _numbers(ax, *drawn, widest)
    if bar:
        plan.colour_bar(figure, graded_image)
    maps = [HEARD] if any(lit.values()) else []
    palettes = [_palette([*maps, cmap]) for cmap in cmaps] if graded else [_palette(maps)]
    words = alt or _alt(title, grids, row_names, column_names, lit)
    return Picture(figure, words, noted, palettes)


def figure(drawn, alt, title=""):
    """Any matplotlib figure as a Picture; a figure of pyplot's is closed, so it shows once.

    drawn   the figure, or one of its axes
    alt     the sentence for a reader who cannot see it: at least 20 characters
    """
    drawn = getattr(drawn, "figure", drawn)
    if not isinstance(drawn, Figure):
        raise TypeError(f"figure takes a matplotlib figure, not {type(drawn).__name__}")
    if not isinstance(alt, str) or len(alt.strip()) < 20:
        raise ValueError("alt must say in a sentence what the picture shows and what to notice")
    if not drawn.axes:
        raise ValueError("the figure has no axes: nothing is drawn in it yet")
    if drawn.canvas.manager is not None:
        from matplotlib import pyplot

        pyplot.close(drawn)
    drawn.patch.set(facecolor="white", alpha=1.0)
    if drawn.get_layout_engine() is None and all(ax.get_subplotspec() for ax in drawn.axes):
        drawn.set_layout_engine("tight")  # labels that stand outside would be cut off
    # Laid out once and for all: the ticks that are described are those that are drawn.
    drawn.draw_without_rendering()
    drawn.set_layout_engine("none")
    return Picture(drawn, alt, title)


# ---------------------------------------- values
def _grid(value, masked):
    """(rows, columns) float64 array, masked where hatched."""
    tensor = plain(value, axes=(2,))
    if max(tensor.shape) > LARGEST:
        raise ValueError(f"{tuple(tensor.shape)} is too large to draw (limit {LARGEST} a side)")
    hatched = tensor == float("-inf")
    if isinstance(masked, str):
        if masked != "future":
            raise ValueError(f'masked is "future" or a boolean matrix, not {masked!r}')
        hatched |= torch.ones(tensor.shape, dtype=torch.bool).triu(1)
    elif masked is not None:
        cover = torch.as_tensor(masked).detach().cpu()
        if cover.dtype is not torch.bool or cover.shape != tensor.shape:
            raise ValueError(
                f"masked must be boolean of shape {tuple(tensor.shape)}, "
                f"this is {cover.dtype} of {tuple(cover.shape)}"
            )
        hatched |= cover
    # A new tensor, since this one may share its memory with the caller's; and -inf, so that
    # what is hatched is told from the NaN that matplotlib masks as well.
    return np.ma.masked_array(tensor.masked_fill(hatched, float("-inf")), hatched)


def _shown(grid):
    """The finite entries that are not hatched."""
    entries = grid.compressed()
    return entries[np.isfinite(entries)]


def _limits(grids, signed):
    entries = np.concatenate([_shown(grid) for grid in grids] or [np.zeros(0)])
    largest = float(np.abs(entries).max(initial=0.0)) or 1.0
    if signed:
        return -largest, largest
    lowest, highest = float(entries.min(initial=0.0)), float(entries.max(initial=0.0))
    lowest = 0.0 if -lowest < 1e-6 * highest else lowest  # the noise of a softmax is no entry
    return (lowest, highest) if lowest < highest else (0.0, 1.0)


@lru_cache
def _map(name, shades):
    return colormaps[name].resampled(shades).with_extremes(bad=CLEAR)


def _palette(maps):
    """The colours of a heatmap, so that each cell keeps its own: (n, 3) of whole numbers."""
    shades = [cmap(np.arange(cmap.N))[:, :3] for cmap in maps]
    ground = [to_rgb(colour) for colour in (*GREYS, NO_NUMBER)]
    return np.rint(np.concatenate([*shades, ground]) * 255).astype(np.uint8)


def _reduced(image, palette):
    """The image in the given colours, or in so many of its own."""
    if not isinstance(palette, int):
        given = Image.new("P", (1, 1))
        given.putpalette(palette.tobytes())
        return image.quantize(palette=given, dither=Image.Dither.NONE)
    # Octree, since median cut gives away the few bright cells that matter most. It makes the
    # white ground a light grey, so its colours are mended and then used as given ones.
    octree = image.quantize(palette, method=Image.Quantize.FASTOCTREE)
    colours = np.array(octree.getpalette("RGB"), dtype=np.uint8).reshape(-1, 3)[:palette]
    colours[colours.min(axis=1) > 245] = 255
    return _reduced(image, colours)


def _brief(value, decimals):
    """A number in the space of a cell or a colour bar."""
    return power(value, 0) if 0 < abs(value) < 0.001 else number(value, decimals)


def _briefly(grid, decimals, scale):
    """The entries as they stand in the cells: with as many decimals as there is room for."""
    largest = float(np.abs(_shown(grid)).max(initial=0.0))
    if scale < 0.001:
        return [[_brief(float(value), decimals) for value in row] for row in grid.filled(0.0)]
    whole_digits = len(str(int(largest))) if largest >= 1 else 0
    wide = grid.shape[1] > 4
    room = 3 - bool((_shown(grid) < 0).any()) if wide else 4  # digits, so that they can be read
    places = max(0, min(decimals, room - whole_digits))
    return written(grid.filled(0.0), places, small=False)


# ---------------------------------------- drawing
class _Plan:
    """Where everything stands, in pixels: by arithmetic, since measuring drawn text costs time.

    Lengths are whole pixels, so that equal numbers get equal pixels, which compress well.
    """

    gap = 24  # between panels

    def __init__(self, row_names, column_names, axis_names, names, bar):
        self.n_rows, self.n_columns = len(row_names), len(column_names)
        self.row_names, self.column_names = _cut(row_names), _cut(column_names)
        self.axis_names, self.names = axis_names, names
        self.bar = bar and {value: _brief(value, 2) for value in bar}
        self.turned = False
        self._place()
        wordy = max(map(len, self.column_names)) > 1
        if wordy and not self.counted and self._wide(7) > self.cell:
            self.turned = True
            self._place()

    def _wide(self, size):
        return max(_width(name, size) for name in self.column_names)

    @property
    def counted(self):
        return all(name.isdigit() for name in self.column_names)

    def _place(self):
        longest = max(self.n_rows, self.n_columns)
        small = longest <= NUMBERS_UP_TO
        size = 10 if longest <= 16 else 8
        across, down = (self._axis_name(i, 1) for i in (1, 0))
        self.left = 16 + max(_width(name, size) for name in self.row_names) + (28 if down else 0)
        self.ticks = (self._wide(size) if self.turned else round(1.25 * size * POINT)) + 6
        self.above = 27 if any(self.names) else 0  # the panel's name
        self.right = 12 if self.bar is None else 39 + max(_width(t, 9) for t in self.bar.values())
        self.bottom = 12
        self.top = 6 + self.above + self.ticks + (26 if across else 0)
        panels = len(self.names)
        high = HIGH if longest <= 16 else HIGH_IF_LARGE
        most = min(80 if small else 34, (high - self.top - self.bottom) // self.n_rows)
        least = min(most, 30 if small else max(4, min(30, 320 // self.n_columns)))
        for self.bands in range(1, panels + 1):
            self.abreast = -(-panels // self.bands)
            room = WIDE - self.left - self.right - (self.abreast - 1) * self.gap
            fits = room // (self.abreast * self.n_columns)
            if self.bands > 1:
                fits = min(fits, 40)
            if fits >= min(least, 40):
                break
        self.cell = cell = max(4, min(most, fits))
        self.wide, self.high = cell * self.n_columns, cell * self.n_rows
        self._choose_sizes()
        # A short side must still leave room for the name of its axis.
        across, down = self._axis_name(1, self.column_step), self._axis_name(0, self.row_step)
        beside = (_width(across, 9) - self.wide) // 2 + 6
        self.left, self.right = max(self.left, beside), max(self.right, beside)
        self.bottom = max(self.bottom, (_width(down, 9) - self.high) // 2 + 6)

    def _choose_sizes(self):
        size = min(10.0, max(6.0, 1.1 * self.cell / POINT))
        line = size * POINT
        # Names of every second row would read as if they were all: better far apart.
        self.row_step = 1 if 0.9 * line <= self.cell else max(3, math.ceil(1.1 * line / self.cell))
        self.column_step = self.row_step
        self.row_size = min(size, 0.95 * self.cell * self.row_step / POINT)
        self.column_size = self.row_size if self.turned else size
        spare = 0.98 * self.cell * self.column_step
        if not self.turned and self._wide(size) > spare:
            self.column_size = max(min(size, 7.0), size * spare / self._wide(size))
            if self.counted:
                needed = self._wide(self.column_size) + 4
                self.column_step = max(self.column_step, math.ceil(needed / self.cell))

    def _axis_name(self, i, step):
        name = self.axis_names[i] and self.axis_names[i] + (f", one in {step}" if step > 1 else "")
        return name and (f"{name} →" if i else f"← {name}")

    def figure(self):
        band = self.above + self.ticks + self.high + 14
        width = self.left + self.abreast * (self.wide + self.gap) - self.gap + self.right
        height = self.top + self.high + (self.bands - 1) * band + self.bottom
        dot = 1 / (INCH * SHARP)
        figure = Figure(figsize=(width * dot, height * dot), dpi=INCH * SHARP, facecolor="white")
        axes = []
        for i in range(len(self.names)):
            x = self.left + i % self.abreast * (self.wide + self.gap)
            y = height - self.top - self.high - i // self.abreast * band
            box = (x / width, y / height, self.wide / width, self.high / height)
            axes.append(figure.add_axes(box))
        return figure, axes

    def name(self, ax, i):
        """The names of rows and columns, of both axes and of the panel."""
        for axis, names, step, size, shown in (
            (ax.xaxis, self.column_names, self.column_step, self.column_size, True),
            (ax.yaxis, self.row_names, self.row_step, self.row_size, i % self.abreast == 0),
        ):
            places = range(0, len(names), step) if shown else ()
            axis.set_ticks(places, names[::step] if shown else (), fontsize=size, parse_math=False)
        ax.xaxis.tick_top()
        ax.tick_params(length=0, pad=2)
        ax.tick_params("x", rotation=90 if self.turned else 0)
        ax.spines[:].set_visible(False)
        words = {"fontsize": 9, "labelpad": 3, "color": "#444444", "parse_math": False}
        if i < self.abreast:
            ax.xaxis.set_label_position("top")
            ax.set_xlabel(self._axis_name(1, self.column_step), **words)
        if i % self.abreast == 0:
            ax.set_ylabel(self._axis_name(0, self.row_step), **words)
        name = self.names[i]
        if name:
            room = self.wide + self.gap - 10
            size = max(7.0, min(10.0, 10 * room / _width(name, 10)))
            while len(name) > 2 and _width(name, size) > room:
                name = name[:-2] + "…"
            ax.set_title(name, fontsize=size, pad=4, parse_math=False)

    def colour_bar(self, figure, image):
        last = figure.axes[self.abreast - 1].get_position()
        dot = 1 / (figure.get_figwidth() * INCH * SHARP)
        box = (last.x1 + 12 * dot, last.y0, 15 * dot, last.height)
        bar = figure.colorbar(image, cax=figure.add_axes(box, label="<colorbar>"))
        bar.set_ticks([*self.bar], labels=[*self.bar.values()], fontsize=9)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0, pad=2)


def _cut(names):
    return [n if len(n) <= LONGEST_NAME else n[: LONGEST_NAME - 1] + "…" for n in names]


def _width(text, size):
    """The width of a text in pixels, to the next whole one."""
    return math.ceil(sum(_advance(character) for character in text) * size * POINT)


@lru_cache(maxsize=1024)
def _advance(character):
    font = get_font(findfont(FontProperties()))
    return font.load_char(ord(character), LoadFlags.NO_SCALE).horiAdvance / font.units_per_EM


def _grid_lines(ax, n_rows, n_columns):
    if max(n_rows, n_columns) > 16:
        return
    down = [[(c - 0.5, -0.5), (c - 0.5, n_rows - 0.5)] for c in range(1, n_columns)]
    across = [[(-0.5, r - 0.5), (n_columns - 0.5, r - 0.5)] for r in range(1, n_rows)]
    lines = LineCollection(down + across, colors="white", linewidths=0.6, gid="grid lines")
    ax.add_collection(lines, autolim=False)


def _mark_what_is_no_number(ax, grid):
    """A ground of their own for NaN and inf, which colour maps leave out like hatched cells."""
    odd = np.argwhere(~np.isfinite(grid.filled(0.0)))
    if len(odd):
        cells = [Path.unit_rectangle().vertices + (j - 0.5, i - 0.5) for i, j in odd]
        path = Path.make_compound_path(*(Path(cell, closed=True) for cell in cells))
        ax.add_artist(PathPatch(path, facecolor=NO_NUMBER, linewidth=0, gid="no number"))


def _numbers(ax, image, grid, entries, widest):
    """The entries, drawn as two outlines (dark and light): one text object a cell costs 1 ms."""
    colours = image.cmap(image.norm(grid.filled(0.0)))[..., :3]
    bright = colours @ np.array([0.299, 0.587, 0.114]) > 0.5
    bright |= ~np.isfinite(grid.filled(0.0))
    points = ax.bbox.width / grid.shape[1] / POINT  # width of a cell
    size = min(11.0, 0.86 * points / max(widest, 1.6))
    for shade, chosen in (("black", bright), ("white", ~bright)):
        pieces = [
            _outline(entries[i][j], j, i, size / points)
            for i, j in np.argwhere(chosen & ~np.ma.getmaskarray(grid))
        ]
        if pieces:
            path = Path.make_compound_path(*pieces)
            patch = PathPatch(path, facecolor=shade, linewidth=0, gid=f"numbers {shade}")
            ax.add_artist(patch)


def _outline(text, x, y, size):
    """The text's outline, centred on (x, y) in data units, where a cell is 1 × 1, y down."""
    vertices, codes, width = _glyphs(text)
    scaled = np.empty_like(vertices)
    scaled[:, 0] = x + (vertices[:, 0] - width / 2) * size
    scaled[:, 1] = y - (vertices[:, 1] - 0.36) * size
    return Path(scaled, codes)


@lru_cache(maxsize=4096)
def _glyphs(text):
    """Outline of a text at size 1, and its width; remembered, for the same numbers recur."""
    path = TextPath((0, 0), text, size=1, prop=FontProperties(), usetex=False)
    return path.vertices, path.codes, path.vertices[:, 0].max() if len(path.vertices) else 0.0


# ---------------------------------------- words
def _alt(title, grids, row_names, column_names, lit):
    """A sentence made from the values, for a picture whose author wrote none."""
    kind = "Influence grid" if all(lit.values()) else "Heatmap"
    names = [name for name in grids if name]
    what = f"{kind}{'s' if len(names) > 1 else ''} of {', '.join(names)}" if names else kind
    size = f"{len(row_names)} rows by {len(column_names)} columns"
    start = f"{title}. " if title and title[-1] not in ".?" else f"{title} " if title else ""
    (name, grid) = next(iter(grids.items()))
    which = f" of {name}" if name else ""
    odd = int((~np.isfinite(grid.compressed())).sum())
    if not len(grid.compressed()):
        lines = f"every cell{which} is masked"
    elif lit[name]:
        lines = f"{int(grid.sum())} of {grid.size} cells{which} are lit"
    elif not len(_shown(grid)):
        lines = f"no entry{which} is a finite number"
    else:
        finite = np.ma.masked_invalid(grid)
        row, column = np.unravel_index(np.ma.argmax(finite), grid.shape)
        lines = (
            f"the largest entry{which} is {number(float(grid[row, column]))}, "
            f"row {row_names[row]}, column {column_names[column]}"
        )
        lines += f"; {odd} of {grid.size} are NaN or inf" if odd else ""
    return f"{start}{what}, {size}; {lines}."


def _escaped(text):
    return html.escape(str(text), quote=True)


def undrawable(text):
    """The characters of a text, each once and sorted, that the pictures' font has no shape for."""
    known = get_font(findfont(FontProperties())).get_charmap()
    return sorted({character for character in text if ord(character) not in known})


def _boxed(names, missing):
    table = str.maketrans(dict.fromkeys(missing, "□"))
    return [name.translate(table) for name in names]
