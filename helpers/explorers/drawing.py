"""Live pictures: an SVG frame of fixed size, and in it matrices as PNGs of one pixel a cell.

Matplotlib takes 100 ms and more for a redraw; this takes less than one, and a browser scales the
pixels up. Lengths are in units that are a CSS pixel in Lab's usual fonts and grow with them.
"""

import base64
import html
import io
from functools import lru_cache

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from PIL import Image

from helpers.labels import visible
from helpers.matrices import number

INK, QUIET, FAINT = "#000000", "#444444", "#dcdcdc"
LIT, UNLIT, COOL, NO_NUMBER = "#c2500a", "#eeeeee", "#00406e", "#e2479c"
SHADES = 64
HIDDEN, ODD, OFF, ON = range(SHADES, SHADES + 4)  # places in the palette after the shades
EM = 14  # units to an em of the notebook's text
OUTSIDE = "▯"  # stands for a character that is not in the vocabulary, or cannot be shown as one

_CIVIDIS = np.rint(colormaps["cividis"](np.linspace(0, 1, SHADES))[:, :3] * 255).astype(np.uint8)
_REST = [[round(255 * part) for part in to_rgb(c)] for c in (FAINT, NO_NUMBER, UNLIT, LIT)]
_PALETTE = _CIVIDIS.tobytes() + bytes(sum(_REST, []))
_LIGHT = _CIVIDIS @ np.array([0.299, 0.587, 0.114]) > 128  # shades on which black is read


def escaped(text):
    """Any text as it may stand in HTML and SVG, in quotes as well."""
    return html.escape(str(text), quote=True)


@lru_cache(maxsize=1024)
def sign(token):
    """A token as one character, so that it can stand on a small axis."""
    name = visible(token)
    return name if len(name) == 1 else OUTSIDE


def short(value, decimals=2):
    """A number as the lessons write it; a weight too small for its decimals is not called 0."""
    value = float(value)
    least = 10.0**-decimals
    if 0 < value < least / 2:
        return f"<{number(least, decimals)}"
    return number(round(value, decimals), decimals, small=False)


def shades(values, hidden=None):
    """Places in the palette for weights (rows, columns) from 0 to 1, or for booleans."""
    values = np.asarray(values)
    if values.dtype == bool:
        return np.where(values, ON, OFF).astype(np.uint8)
    with np.errstate(invalid="ignore"):
        places = np.clip(np.nan_to_num(values, nan=0.0) * (SHADES - 1), 0, SHADES - 1)
    places = np.rint(places).astype(np.uint8)
    places[~np.isfinite(values)] = ODD
    if hidden is not None:
        places[np.asarray(hidden)] = HIDDEN
    return places


def pixels(places):
    """Places in the palette, (rows, columns), as the address of a PNG of one pixel a cell."""
    image = Image.fromarray(places, "P")
    image.putpalette(_PALETTE)
    file = io.BytesIO()
    image.save(file, "PNG", transparency=HIDDEN)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")


def frame(width, height, words, *parts):
    """The parts in a picture of width by height units; `words` say what it shows."""
    # em, so that it grows with the fonts of a presentation; a white ground, for dark themes.
    return (
        f'<svg role="img" aria-label="{escaped(words)}" viewBox="0 0 {width} {height}" '
        f'style="display:block;width:{width / EM:.4g}em;max-width:100%;background:#fff">'
        f'<g font-family="sans-serif" font-size="14" fill="{INK}" xml:space="preserve">'
        f"{''.join(parts)}</g></svg>"
    )


def text(x, y, words, size=None, colour=None, anchor=None, bold=False):
    """A line of words with its baseline at y."""
    more = (f' font-size="{size}"' if size else "") + (f' fill="{colour}"' if colour else "")
    more += f' text-anchor="{anchor}"' if anchor else ""
    more += ' font-weight="bold"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}"{more}>{escaped(words)}</text>'


def letters(signs, xs, ys, size, colour=None):
    """Single characters, each in its place: one element, since one a character takes ten times
    the bytes. `xs` and `ys` are sequences as long as `signs`."""
    if not len(signs):
        return ""
    at = [" ".join(f"{place:.4g}" for place in places) for places in (xs, ys)]
    if len(set(ys)) == 1:  # the characters after the first keep to its line
        at[1] = f"{ys[0]:.4g}"
    more = f' fill="{colour}"' if colour else ""
    return (
        f'<text x="{at[0]}" y="{at[1]}" font-size="{size:g}" text-anchor="middle"{more}>'
        f"{escaped(''.join(signs))}</text>"
    )


def bar(x, y, width, height, colour, more=""):
    return (
        f'<rect x="{x:.4g}" y="{y:.4g}" width="{width:.4g}" height="{height:.4g}" '
        f'fill="{colour}"{more}/>'
    )


def line(x1, y1, x2, y2, colour=QUIET, more=""):
    return f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="{colour}" fill="none"{more}/>'


def matrix_panel(
    values, x, y, size, signs, *, pattern, hidden=None, row=None, numbers=False, axes=("", "")
):
    """A square matrix with its tokens: rows to the left of x, columns above y.

    values   (T, T) weights or booleans
    signs    T single characters
    pattern  an id for the hatching, its own in each explorer
    hidden   (T, T) booleans, what is hatched
    row      the row to frame
    numbers  write the entries into the cells
    axes     what a row and a column stand for
    """
    values = np.asarray(values)
    n = len(values)
    cell = size / n
    high = min(16.0, max(1.02 * cell, 7.0))
    step = 1 if cell >= 8 else 2
    places = np.arange(0, n, step)
    middle = (places + 0.5) * cell
    kept = [signs[i] for i in places]
    parts = []
    if hidden is not None and np.any(hidden):
        parts.append(
            f'<pattern id="{pattern}" width="6" height="6" patternUnits="userSpaceOnUse">'
            f'<rect width="6" height="6" fill="{FAINT}"/>'
            '<path d="M0 6L6 0" stroke="#8a8a8a"/></pattern>'
        )
        parts.append(bar(x, y, size, size, f"url(#{pattern})"))
    parts.append(
        f'<image x="{x:g}" y="{y:g}" width="{size:g}" height="{size:g}" '
        f'style="image-rendering:pixelated" href="{pixels(shades(values, hidden))}"/>'
    )
    parts.append(letters(kept, np.full(len(kept), x - 0.75 * high), y + middle + 0.35 * high, high))
    parts.append(letters(kept, x + middle, np.full(len(kept), y - 0.35 * high), high))
    if n <= 16:  # white lines between the cells
        cuts = "".join(
            f"M{x:g} {y + i * cell:.4g}h{size:g}M{x + i * cell:.4g} {y:g}v{size:g}"
            for i in range(1, n)
        )
        parts.append(f'<path d="{cuts}" stroke="#fff" opacity=".7"/>')
    if numbers:
        parts.append(_entries(values, x, y, cell, hidden))
    if row is not None:
        edge = bar(x, y + row * cell, size, cell, "none", f' stroke="{LIT}" stroke-width="3"')
        parts.append(edge)
    down, across = axes
    if across:
        parts.append(text(x, y - high - 5, f"{across} →", 13, QUIET))
    if down:
        turned = f"rotate(-90 {x - 1.5 * high - 4:g} {y + size:g})"
        words = text(x - 1.5 * high - 4, y + size, f"← {down}", 13, QUIET)
        parts.append(words.replace("<text", f'<text transform="{turned}"', 1))
    return "".join(parts)


def _entries(values, x, y, cell, hidden):
    """Every entry that is not hatched, as text: light on the dark shades, dark on the others."""
    places = shades(values, hidden)
    found = []
    for i, j in np.argwhere(places != HIDDEN):
        shade = places[i, j]
        bright = _LIGHT[shade] if shade < SHADES else shade != ON
        entry = "nan" if shade == ODD else short(values[i, j], 3 if cell >= 45 else 2)
        ink = "" if bright else ' fill="#fff"'
        at = f'x="{x + (j + 0.5) * cell:.4g}" y="{y + (i + 0.5) * cell + 5:.4g}"'
        found.append(f"<text {at}{ink}>{escaped(entry)}</text>")
    size = min(15.0, 0.36 * cell)
    return f'<g font-size="{size:.3g}" text-anchor="middle">{"".join(found)}</g>'


@lru_cache
def points(values, places, low, high, x, y, width, height):
    """A curve as `M… L…`: values and places are tuples, places from 0 to 1 of the width."""
    at = [
        f"{x + p * width:.4g} {y + height * (1 - (v - low) / (high - low)):.4g}"
        for v, p in zip(values, places, strict=True)
    ]
    return "M" + "L".join(at)
