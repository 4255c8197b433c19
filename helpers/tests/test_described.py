"""The text of a picture changes with whatever a reader would see change, and with nothing else."""

import copy
from functools import cache

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from helpers import Eye, figure, heatmap
from helpers.pictures import Picture

torch.set_num_threads(1)
TEXT = "Ay, if thou dost not know me, si"
ALT = "a picture that a test looks at"


def causal(T, seed=0):
    scores = torch.randn(T, T, generator=torch.Generator().manual_seed(seed))
    future = torch.ones(T, T, dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(future, float("-inf")), dim=-1)


def test_eye_in_words():
    eye = Eye()
    picture = heatmap({"scores": eye.masked}, "eye", title="No one looks ahead", signed=True)
    assert repr(picture) == (
        "[picture] No one looks ahead\n"
        "panel: scores\n"
        "down: ← query | e y e | from 2.5 to -0.5\n"
        "across: key → | e y e | from -0.5 to 2.5\n"
        "colours: PuOr_r from -1 to 1, origin upper\n"
        "     0     //     //\n"
        "     1      0     //\n"
        "     0      1     -1"
    )


def test_a_large_matrix_in_sums():
    lines = repr(heatmap(causal(32), TEXT, masked="future", limits=(0, 1))).splitlines()
    assert lines[1] == f"down: ← query | {' '.join(TEXT.replace(' ', '␣'))} | from 31.5 to -0.5"
    assert lines[3] == "colours: cividis from 0 to 1, origin upper"
    assert lines[4] == "masked: the future, 496 cells"
    assert lines[5] == "row sums: " + " ".join(["1"] * 32)
    sums = [float(text) for text in lines[6].removeprefix("column sums: ").split()]
    np.testing.assert_allclose(sums, causal(32).sum(dim=0), atol=0.00051)
    assert lines[8] == "colour bar: 0 1"


# ---------------------------------------- what must change the text
def heat(T=8, change=None, **named):
    """A heatmap, after a change of the weights and with other arguments."""
    weights = causal(T)
    if change is not None:
        change(weights)
    named = {"tokens": TEXT[:T], "title": "one", "masked": "future", **named}
    return heatmap(weights, **named)


def panels(T=8, **named):
    return heatmap({"a": causal(T), "b": causal(T, 1)}, TEXT[:T], **named)


def add(i, j, amount):
    def change(weights):
        weights[i, j] += amount

    return change


def swap_cells(weights):
    weights[20, 3], weights[25, 7] = weights[25, 7].clone(), weights[20, 3].clone()


def swap_in_row(weights):
    weights[20, [3, 7]] = weights[20, [7, 3]]


def swap_in_column(weights):
    weights[[20, 25], 3] = weights[[25, 20], 3]


def swap_rows(weights):
    weights[[20, 21]] = weights[[21, 20]]


def four_corners(weights):
    """Every row sum and column sum stays."""
    weights[[10, 20], [2, 8]] += 0.01
    weights[[10, 20], [8, 2]] -= 0.01


def on_axes(change, base=heat):
    """A picture whose axes are changed after it was made."""

    def make():
        picture = base()
        change(picture.axes[0])
        return picture

    return make


def origin_lower(ax):
    image = ax.images[0]
    ax.imshow(image.get_array(), cmap=image.cmap, norm=image.norm, origin="lower")
    image.remove()


def tick(ax):
    names = [label.get_text() for label in ax.get_xticklabels()]
    ax.set_xticklabels(["Z", *names[1:]])


def other_mask(T):
    mask = torch.ones(T, T, dtype=torch.bool).triu(1)
    mask[0, T - 1] = False
    return mask


def moved_mask(T):
    """The same count in each row and column."""
    mask = torch.zeros(T, T, dtype=torch.bool)
    mask[[1, 2], [1, 2]] = True
    return mask


ONE_MASK = moved_mask(32)
OTHER_MASK = ONE_MASK[[0, 2, 1, *range(3, 32)]]


@cache
def drawn_large():
    return heat(32)


def large(change=None):
    """The picture of a large matrix, with changed values put in its place: drawing it is slow."""
    weights = causal(32)
    if change is not None:
        change(weights)
    future = np.triu(np.ones((32, 32), dtype=bool), 1)
    picture = drawn_large()
    picture.axes[0].images[0].set_data(np.ma.masked_array(weights.numpy(), future))
    return picture


CHANGES = {
    "value": (heat, lambda: heat(change=add(5, 2, 0.002))),
    "first value": (heat, lambda: heat(change=add(0, 0, -0.002))),
    "two values swapped": (heat, lambda: heat(change=lambda w: w[5].copy_(w[5].roll(1)))),
    "value, masked": (heat, lambda: heat(change=add(5, 2, -float("inf")))),
    "value, NaN": (heat, lambda: heat(change=add(5, 2, float("nan")))),
    "NaN to inf": (
        lambda: heat(change=add(5, 2, float("nan"))),
        lambda: heat(change=add(5, 2, float("inf"))),
    ),
    "token": (heat, lambda: heat(tokens=TEXT[:7] + "T")),
    "tokens swapped": (heat, lambda: heat(tokens=TEXT[:6] + TEXT[7] + TEXT[6])),
    "rows only": (heat, lambda: heat(rows=TEXT[1:9])),
    "columns only": (heat, lambda: heat(columns=TEXT[1:9])),
    "title": (heat, lambda: heat(title="two")),
    "signed": (heat, lambda: heat(signed=True)),
    "high limit": (heat, lambda: heat(limits=(0, 1.01))),
    "low limit": (heat, lambda: heat(limits=(-0.002, 1))),
    "mask off": (heat, lambda: heat(masked=None)),
    "mask cell": (heat, lambda: heat(masked=other_mask(8))),
    "axis name": (heat, lambda: heat(axis_names=("row", "key"))),
    "axis names off": (heat, lambda: heat(axis_names=None)),
    "boolean": (heat, lambda: heatmap(causal(8) > 0, TEXT[:8], title="one", masked="future")),
    "panel name": (
        lambda: heatmap({"a": causal(8)}, TEXT[:8]),
        lambda: heatmap({"b": causal(8)}, TEXT[:8]),
    ),
    "panels swapped": (
        panels,
        lambda: heatmap({"b": causal(8, 1), "a": causal(8)}, TEXT[:8]),
    ),
    "tick label": (heat, on_axes(tick)),
    "origin": (heat, on_axes(origin_lower)),
    "turned upside down": (heat, on_axes(lambda ax: ax.invert_yaxis())),
    "turned left to right": (heat, on_axes(lambda ax: ax.invert_xaxis())),
    "part only": (heat, on_axes(lambda ax: ax.set_xlim(-0.5, 3.5))),
    "limits after": (heat, on_axes(lambda ax: ax.images[0].set_clim(0, 2))),
    "colour map after": (heat, on_axes(lambda ax: ax.images[0].set_cmap("gray"))),
    "panel title after": (heat, on_axes(lambda ax: ax.set_title("new"))),
    "title at the left": (heat, on_axes(lambda ax: ax.set_title("new", loc="left"))),
    "large: value": (large, lambda: large(add(20, 3, 0.002))),
    "large: last value": (large, lambda: large(add(31, 31, 0.002))),
    "large: first value": (large, lambda: large(add(0, 0, -0.002))),
    "large: cells swapped": (large, lambda: large(swap_cells)),
    "large: cells of a row swapped": (large, lambda: large(swap_in_row)),
    "large: cells of a column swapped": (large, lambda: large(swap_in_column)),
    "large: rows swapped": (large, lambda: large(swap_rows)),
    "large: sums kept": (large, lambda: large(four_corners)),
    "large: NaN": (large, lambda: large(add(20, 3, float("nan")))),
    "large: mask cell": (large, lambda: heat(32, masked=other_mask(32))),
    "large: mask moved": (
        lambda: heatmap(torch.zeros(32, 32), masked=ONE_MASK),
        lambda: heatmap(torch.zeros(32, 32), masked=OTHER_MASK),
    ),
    "large: token": (large, lambda: heat(32, tokens=TEXT[:31] + "I")),
    "large: lit cell": (
        lambda: heatmap(causal(32) > 0),
        lambda: heatmap(causal(32, 1) > 1e-2),
    ),
    "tiny value": (
        lambda: heatmap(causal(8) * 1e-6),
        lambda: heatmap(causal(8) * 1e-6 + torch.eye(8).roll(5, 0) * 2e-9),
    ),
    "scale of tiny values": (
        lambda: heatmap(causal(8) * 1e-6),
        lambda: heatmap(causal(8) * 1e-5),
    ),
}


@cache
def in_words(make):
    return repr(make())


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_reader_would_see_change_changes_the_text(name):
    first, second = CHANGES[name]
    assert in_words(first) != repr(second())


def test_the_same_picture_made_twice_has_the_same_text():
    assert in_words(heat) == repr(heat())
    assert in_words(large) == repr(heat(32))


# ---------------------------------------- any figure
def plot_and_parts():
    """Every kind of thing that is read off a figure's axes, and the things by name."""
    drawn = Figure(figsize=(6, 3))
    drawn.suptitle("Both")
    left = right = drawn.subplots()
    left.set_yticks([0, 5, 10])
    left.set_xticks([0, 50, 100])
    parts = {
        "figure": drawn,
        "ax": left,
        "line": left.plot([1, 4, 16, 64], [1, 2, 4, 8], "o-", label="measured")[0],
        "curve": left.plot(np.arange(1, 101), np.sqrt(np.arange(1, 101)), "--")[0],
        "points": left.scatter([1, 2], [3, 4]),
        "text": left.text(2, 3, "here"),
        "arrow": left.annotate("look", (4, 2), (8, 3), arrowprops={"arrowstyle": "->"}),
        "bars": right.bar([0, 1], [0.5, 0.25], label="share"),
        "across": right.barh([3, 4], [1, 2]),
        "field": right.quiver([0], [0], [1], [2]),
        "area": right.fill_between([0, 1], [1, 2]),
        "patch": right.add_patch(Rectangle((0, 0), 1, 1)),
        "right": right,
    }
    left.set_xlabel("d_k")
    left.set_ylabel("spread")
    parts["legend"] = left.legend(title="kinds")
    return Picture(drawn, alt=ALT), parts


def plot():
    return plot_and_parts()[0]


PLOT_CHANGES = {
    "line point": lambda p: p["line"].set_ydata([1, 2, 4.02, 8]),
    "line place": lambda p: p["line"].set_xdata([1, 4, 16, 63]),
    "line style": lambda p: p["line"].set_linestyle(":"),
    "line marker": lambda p: p["line"].set_marker("s"),
    "line label": lambda p: p["line"].set_label("expected"),
    "curve end": lambda p: p["curve"].set_ydata([*np.sqrt(np.arange(1, 100)), 10.1]),
    "curve bent": lambda p: p["curve"].set_ydata(np.arange(1, 101) ** 0.505),
    "curve shuffled": lambda p: p["curve"].set_ydata(np.sqrt(np.arange(1, 101))[::-1]),
    "curve with a hole": lambda p: p["curve"].set_ydata([np.nan, *np.sqrt(np.arange(2, 101))]),
    "cloud": lambda p: p["points"].set_offsets([[1, 3], [2, 5]]),
    "text": lambda p: p["text"].set_text("there"),
    "text moved": lambda p: p["text"].set_position((3, 3)),
    "arrow": lambda p: setattr(p["arrow"], "xy", (5, 2)),
    "bar height": lambda p: p["bars"][1].set_height(0.26),
    "bar place": lambda p: p["bars"][1].set_x(1.1),
    "bar foot": lambda p: p["bars"][1].set_y(0.1),
    "bar label": lambda p: p["bars"].set_label("part"),
    "bar across": lambda p: p["across"][1].set_width(2.1),
    "field": lambda p: p["field"].set_UVC([1], [2.1]),
    "area": lambda p: p["right"].fill_between([0, 1], [1, 3]),
    "patch": lambda p: p["patch"].set_width(2),
    "legend text": lambda p: p["legend"].get_texts()[0].set_text("other"),
    "legend title": lambda p: p["legend"].set_title("sorts"),
    "log scale": lambda p: p["ax"].set_yscale("log"),
    "limits": lambda p: p["ax"].set_ylim(0.5, 20),
    "axis label": lambda p: p["ax"].set_xlabel("T"),
    "ticks": lambda p: p["ax"].set_xticks([1, 64]),
    "title": lambda p: p["ax"].set_title("new"),
    "title of all": lambda p: p["figure"].suptitle("Two"),
    "line gone": lambda p: p["line"].remove(),
    "legend gone": lambda p: p["legend"].remove(),
    "another axes": lambda p: p["figure"].add_axes((0.8, 0.8, 0.1, 0.1)),
}


def test_a_plot_that_changes_changes_its_text():
    picture, parts = plot_and_parts()
    seen = {repr(picture): "nothing"}
    for name, change in PLOT_CHANGES.items():
        change(parts)
        text = repr(picture)
        assert text not in seen, f"after {name} it reads as after {seen[text]}"
        seen[text] = name


def test_a_plot_in_words():
    lines = repr(plot()).splitlines()
    assert lines[:2] == ["[picture]", "above all: Both"]
    assert "line measured - o: (1, 1) (4, 2) (16, 4) (64, 8)" in lines
    assert "bars share: 0.5 0.25, at 0 1" in lines
    assert "bars across: 1 2, at 3 4" in lines
    assert "written: here at (2, 3)" in lines
    assert "Quiver: 1 2 0 0" in lines
    assert "legend: kinds, measured, share" in lines
    curve = next(line for line in lines if line.startswith("line --"))
    assert curve.startswith("line --: (1, 1) (8, 2.83)") and "(100, 10)" in curve
    assert "; 100 in all, mean 6.71, weighted" in curve


def test_plain_imshow_colour_bars_and_log_ticks():
    drawn = Figure()
    left, right = drawn.subplots(1, 2)
    image = left.imshow(causal(3).numpy(), cmap="gray", vmin=0, vmax=1)
    drawn.colorbar(image, ax=left, label="weight")
    right.loglog([1, 100], [1, 100])
    lines = repr(figure(drawn, alt=ALT)).splitlines()
    assert "colours: gray from 0 to 1, origin upper" in lines
    assert "across (log scale): 10^{0} 10^{1} 10^{2} | from 0.794 to 126" in lines
    assert any(line.startswith("colour bar: weight 0.0 0.2") for line in lines)


def test_pictures_in_full_colour_and_without_numbers():
    drawn = Figure()
    drawn.subplots().imshow(np.zeros((4, 5, 3)))
    assert "image of shape (4, 5, 3)" in repr(Picture(drawn, alt=ALT))
    empty = Figure()
    empty.subplots().plot([], [])
    assert "line -:" in repr(Picture(empty, alt=ALT))
    nothing = Figure()
    nothing.subplots().plot(range(50), [np.nan] * 50)
    assert "50 in all" in repr(Picture(nothing, alt=ALT))


# ---------------------------------------- what must not change it
def test_a_picture_reads_the_same_before_and_after_it_is_drawn():
    for picture in (heat(), large(), figure(plot().figure, alt=ALT)):
        before = repr(picture)
        picture.png()
        assert repr(picture) == before
        assert picture._repr_mimebundle_()["text/plain"] == before


@pytest.mark.parametrize("T", [3, 32])
def test_zero_has_one_sign(T):
    zero, other = torch.zeros(T, T), -torch.zeros(T, T)
    other[1, 1] = -1e-9
    text = repr(heatmap(other, limits=(0, 1)))
    assert text == repr(heatmap(zero, limits=(0, 1)))
    assert "-0 " not in text.replace("-0.5", "") and "-.0" not in text


def test_other_kernels_and_devices_change_nothing():
    """The last bits of a sum differ from machine to machine."""
    for make, T in ((heat, 8), (large, 32)):
        noise = torch.randn(T, T, generator=torch.Generator().manual_seed(9)).tril() * 1e-8
        assert in_words(make) == repr(make(change=lambda w, noise=noise: w.add_(noise)))


def test_a_masked_cell_hides_its_value():
    def change(weights):
        weights[0, 5] = float("nan")
        weights[2, 6] = 7.0

    assert repr(heat(change=change, limits=(0, 1))) == repr(heat(limits=(0, 1)))


def test_a_row_of_nan_under_a_mask():
    """Row 0 of a softmax over nothing: what is hatched is told from what is NaN."""
    weights = causal(3)
    weights[0] = float("nan")
    lines = repr(heatmap(weights, "eye", masked="future")).splitlines()
    assert lines[4].split() == ["nan", "//", "//"]
    assert lines[5].split()[2] == "//"


def test_reading_leaves_the_picture_as_it_was():
    picture = plot()
    kept = copy.deepcopy([line.get_xydata() for line in picture.axes[0].lines])
    repr(picture)
    for before, line in zip(kept, picture.axes[0].lines, strict=True):
        assert np.array_equal(before, line.get_xydata())
