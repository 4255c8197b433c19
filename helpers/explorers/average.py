"""Lesson 02's explorer: one row of the averaging matrix, reshaped."""

from functools import lru_cache

import torch

from helpers.explorers.drawing import (
    COOL,
    FAINT,
    LIT,
    QUIET,
    bar,
    frame,
    letters,
    line,
    matrix_panel,
    short,
    text,
)
from helpers.explorers.line import read_line
from helpers.explorers.panel import Explorer
from helpers.handsized import Eye

LONGEST = 8
UNIFORM, LAST, FADING, HAND = "uniform", "last token only", "fading", "drawn by hand"
SHAPES = (UNIFORM, LAST, FADING, HAND)
BEGIN_BY_HAND = (1, 0, 7, 0, 0, 2, 0, 0)  # lesson 02's row that leans on the comma
HANDS = tuple(f"h{j}" for j in range(LONGEST))


def explore_average():
    """Choose a row of the averaging matrix and reshape it: evenly, the last token only, fading,
    or drawn by hand with a slider for each position, always divided by its sum.

    It shows the matrix, the row, and what the row makes of `eye` (row 2 at most, its named
    channels) and of a line of up to 8 characters that you type (the share of each letter).
    """
    return AverageExplorer()


def averaging_matrix(T):
    """(T, T): row i holds 1/(i+1) up to the diagonal."""
    triangle = torch.ones(T, T).tril()  # (T, T)
    return triangle / triangle.sum(dim=1, keepdim=True)  # (T, T)


def shaped(shape, row, T, by_hand):
    """A row of weights (T,): numbers for positions 0 to `row`, divided by their sum.

    by_hand  numbers for the positions, of which none is negative; when all in reach are 0 there
             is nothing to divide, and the row is uniform
    """
    numbers = torch.zeros(T)
    reach = row + 1
    if shape == LAST:
        numbers[row] = 1.0
    elif shape == FADING:
        numbers[:reach] = 0.5 ** torch.arange(row, -1, -1.0)
    elif shape == HAND and sum(by_hand[:reach]):
        numbers[:reach] = torch.tensor(by_hand[:reach], dtype=torch.float32)
    else:
        numbers[:reach] = 1.0
    return numbers / numbers.sum()


def with_row(shape, row, T, by_hand):
    """The averaging matrix (T, T) with one row reshaped."""
    weights = averaging_matrix(T)
    weights[row] = shaped(shape, row, T, by_hand)
    return weights


@lru_cache(maxsize=64)  # the words and the picture of a move share what is computed
def _found(typed, shape, row, by_hand):
    read = read_line(typed, LONGEST)
    T = len(read.text)
    eye, eye_row = Eye(), min(row, 2)
    eye_out = (with_row(shape, eye_row, 3, by_hand) @ eye.x)[eye_row]
    if not T:
        return read, None, {}, eye_row, eye_out
    weights = with_row(shape, row, T, by_hand)
    names = list(dict.fromkeys(read.signs))
    letters_of = torch.tensor([[float(s == name) for name in names] for s in read.signs])
    bag = (weights @ letters_of)[row]  # (T, T) @ (T, letters) -> (T, letters)
    return read, weights, dict(zip(names, bag.tolist(), strict=True)), eye_row, eye_out


class AverageExplorer(Explorer):
    NAME, HIGH = "Explorer: averaging matrix", 286
    SETTINGS = {"typed": "Ay, good", "shape": HAND, "row": 5} | dict(
        zip(HANDS, BEGIN_BY_HAND, strict=True)
    )

    def controls(self):
        import ipywidgets as widgets

        named = {"description_width": "initial"}
        controls = {
            "typed": widgets.Text(
                self.SETTINGS["typed"],
                description="line of text",
                style=named,
                layout=widgets.Layout(width="18em"),
            ),
            "row": widgets.IntSlider(
                self.SETTINGS["row"],
                0,
                LONGEST - 1,
                description="row",
                style=named,
                layout=widgets.Layout(width="18em"),
            ),
            "shape": widgets.Dropdown(
                options=SHAPES,
                value=self.SETTINGS["shape"],
                description="shape",
                style=named,
                layout=widgets.Layout(width="16em"),
            ),
        }
        for name, start in zip(HANDS, BEGIN_BY_HAND, strict=True):
            controls[name] = widgets.IntSlider(
                start,
                0,
                10,
                description=name,
                style=named,
                layout=widgets.Layout(width="14em"),
            )
        return controls, [["typed", "row", "shape"], HANDS[:4], HANDS[4:]]

    def settled(self, settings, controls):
        """A slider that is moved draws by hand; sliders that the row does not reach are off."""
        if any(settings[name] != self.settings[name] for name in HANDS):
            controls["shape"].value = settings["shape"] = HAND
        read = read_line(settings["typed"], LONGEST)
        last = max(0, len(read.text) - 1)
        controls["row"].max = max(1, last)
        controls["row"].disabled = last == 0
        controls["row"].value = settings["row"] = min(controls["row"].value, last)
        for j, name in enumerate(HANDS):
            sign = f" {read.signs[j]}" if j < len(read.signs) else ""
            controls[name].description = f"{j}{sign}"
            controls[name].disabled = not read.text or j > settings["row"]
        return settings

    def numbers(self, typed, shape, row, **hands):
        """The Line; its weights (T, T) and shares {letter: weight}; eye's row and result (C,)."""
        return _found(typed, shape, row, tuple(hands[name] for name in HANDS))

    def state(self, **settings):
        read, weights, _, eye_row, eye_out = self.numbers(**settings)
        channels = zip(Eye.channels, eye_out.tolist(), strict=True)
        said = ", ".join(f"{name} {short(value)}" for name, value in channels)
        on_eye = f"On eye, row {eye_row}: {said}."
        if weights is None:
            return f"The line is empty: type up to {LONGEST} characters. {on_eye}"
        row, shape = settings["row"], settings["shape"]
        some = [settings[name] for name in HANDS[: row + 1]]
        if shape == HAND and not sum(some):
            shape = "all sliders at 0, nothing to divide, so uniform"
        drawn = " ".join(short(w) for w in weights[row, : row + 1].tolist())
        note = f" {read.note}" if read.note else ""
        return f"Row {row}, {read.signs[row]}, {shape}: {drawn}; together 1. {on_eye}{note}"

    def drawn(self, **settings):
        read, weights, shares, eye_row, eye_out = self.numbers(**settings)
        parts = [text(610, 22, f"eye, row {eye_row}: weights @ x", bold=True)]
        channels = dict(zip(Eye.channels, eye_out.tolist(), strict=True))
        parts.append(_lengths(channels, 610, 32, 17))
        if weights is None:
            parts.append(text(290, 150, "An empty line has no rows.", 16, QUIET, "middle"))
            return frame(830, self.HIGH, self.state(**settings), *parts)
        row, T = settings["row"], len(weights)
        hidden = torch.ones(T, T).triu(1).bool()
        parts.append(
            matrix_panel(
                weights.double().numpy(),
                56,
                46,
                232,
                read.signs,
                pattern=self.pattern,
                hidden=hidden.numpy(),
                row=row,
                numbers=True,
                axes=("position", "reads"),
            )
        )
        parts.append(text(326, 22, f"row {row}, {read.signs[row]}", bold=True))
        parts += [line(340, y, 580, y, FAINT) for y in (54, 144)] + [line(340, 234, 580, 234)]
        parts += [text(334, y, n, 12, QUIET, "end") for y, n in ((59, "1"), (149, ".5"), (239, 0))]
        pitch = 240 / T
        xs = [340 + pitch * (j + 0.5) for j in range(T)]
        for x, weight in zip(xs[: row + 1], weights[row].tolist(), strict=False):
            wide, high = min(30.0, 0.8 * pitch), 180 * weight
            parts.append(bar(x - wide / 2, 234 - high, wide, high, COOL))
            parts.append(text(x, 229 - high, short(weight), 12, None, "middle"))
        parts.append(letters(read.signs, xs, [254] * T, 16))
        parts.append(bar(xs[row] - 10, 261, 20, 3, LIT))
        parts.append(text(610, 146, "the line: share of each letter", bold=True))
        parts.append(_lengths(shares, 610, 154, min(17.0, 128 / len(shares))))
        return frame(830, self.HIGH, self.state(**settings), *parts)

    def picture(self):
        from helpers.pictures import heatmap

        typed, row = self.SETTINGS["typed"], self.SETTINGS["row"]
        return heatmap(
            with_row(self.SETTINGS["shape"], row, LONGEST, list(BEGIN_BY_HAND)),
            typed,
            axis_names=("position", "reads"),
            masked="future",
            title=f"Run the cell to reshape a row. Here row {row}, drawn by hand",
            alt=f"The averaging matrix of {typed} with row {row} drawn by hand: .10 for the A, .70 "
            "for the comma, .20 for itself. The other rows share their weight evenly.",
        )


def _lengths(values, x, y, step):
    """Bars to the right, a name before and the number behind each."""
    parts = []
    for n, (name, value) in enumerate(values.items()):
        base = y + step * (n + 0.8)
        parts.append(text(x + 40, base, name, 13, None, "end"))
        parts.append(bar(x + 46, base - 0.65 * step, 110 * value, 0.7 * step, COOL))
        parts.append(text(x + 52 + 110 * value, base, short(value), 12))
    return "".join(parts)
