"""What heatmap and figure draw, what they store, and what they say of what they cannot draw."""

import base64
import io
import re
from html.parser import HTMLParser

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from PIL import Image
from torch import nn

from helpers import Eye, figure, heatmap
from helpers.pictures import HIGH, INCH, SHARP, WIDE, Picture, undrawable

torch.set_num_threads(1)
TEXT = "Ay, if thou dost not know me, si"
ALT = "a picture that a test looks at"
NAN, INF = float("nan"), float("inf")


def random(*shape, seed=0):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed))


def normal(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def pixels(picture):
    return np.asarray(Image.open(io.BytesIO(picture.png())).convert("RGB"))


def colours_of_cells(picture, i=0):
    """The colour in the upper left corner of each cell, (rows, columns, 3)."""
    ax, image = picture.axes[i], pixels(picture)
    rows, columns = picture.arrays[i].shape
    box = ax.get_position()
    high, wide = image.shape[:2]
    y = [(1 - box.y1 + (r + 0.14) * box.height / rows) * high for r in range(rows)]
    x = [(box.x0 + (c + 0.14) * box.width / columns) * wide for c in range(columns)]
    return image[np.ix_(np.array(y).astype(int), np.array(x).astype(int))].astype(int)


def names(picture, i=0):
    ax = picture.axes[i]
    return [[t.get_text() for t in ticks] for ticks in (ax.get_yticklabels(), ax.get_xticklabels())]


# ---------------------------------------- what is drawn
def test_cells_have_the_colours_of_their_values():
    values = torch.tensor([[0.0, 0.25, 0.5], [0.5, 0.75, 1.0]])
    seen = colours_of_cells(heatmap(values))
    wanted = matplotlib.colormaps["cividis"](values.numpy())[..., :3] * 255
    assert np.abs(seen - wanted).max() <= 8
    assert not (seen[0, 1] == seen[0, 2]).all()


def test_origin_rows_and_columns_of_a_matrix_that_is_not_square():
    values = torch.zeros(2, 3)
    values[0, 2] = 1
    picture = heatmap(values, rows="ab", columns="xyz")
    assert names(picture) == [["a", "b"], ["x", "y", "z"]]
    bright = colours_of_cells(picture).sum(axis=2) > 400
    assert bright.tolist() == [[False, False, True], [False, False, False]]


def test_a_signed_map_has_its_middle_at_0():
    picture = heatmap(torch.tensor([[-1.0, 0.0, 0.25]]), signed=True)
    cell = colours_of_cells(picture)[0]
    assert picture.axes[0].images[0].get_clim() == (-1, 1)
    assert cell[1].min() > 240 and np.ptp(cell[1]) <= 3
    assert cell[0][2] > cell[0][0] and cell[2][0] > cell[2][2]  # purple below, orange above


def test_hatched_nan_and_lit_cells_look_different_from_all_others():
    values = torch.tensor([[0.0, NAN, 1.0], [-INF, INF, 0.5]])
    seen = colours_of_cells(heatmap(values))
    assert np.ptp(seen[1, 0]) <= 3 and 120 < seen[1, 0].mean() < 225
    for odd in (seen[0, 1], seen[1, 1]):
        assert odd[0] > 200 and odd[1] < 100 and odd[2] > 120
    lit = colours_of_cells(heatmap(torch.tensor([[True, False]])))[0]
    assert lit[0][0] > lit[0][2] + 100 and lit[1].min() > 220


def test_arrays_are_masked_where_it_is_hatched():
    future = torch.ones(3, 3, dtype=torch.bool).triu(1)
    for picture in (
        heatmap(Eye().masked, "eye"),
        heatmap(Eye().weights, "eye", masked="future"),
        heatmap(Eye().weights, "eye", masked=future),
        heatmap(Eye().weights, "eye", masked=future.tolist()),
        heatmap(Eye().causal, "eye", masked=future.numpy()),
    ):
        assert picture.arrays[0].mask.tolist() == future.tolist()
        assert picture.axes[0].patch.get_hatch()
    assert heatmap(Eye().weights, "eye").axes[0].patch.get_hatch() is None
    kept = heatmap(Eye().weights, "eye").arrays[0]
    np.testing.assert_allclose(kept, Eye().weights, atol=1e-7)


def test_panels_share_one_scale_and_a_grid_beside_them_is_lit():
    small, large = torch.full((3, 3), 0.2), torch.full((3, 3), 0.8)
    picture = heatmap({"small": small, "large": large, "heard": small > 0}, "eye", title="all")
    assert [ax.get_title() for ax in picture.axes] == ["small", "large", "heard"]
    limits = [ax.images[0].get_clim() for ax in picture.axes]
    assert limits[0] == limits[1] == (0, pytest.approx(0.8)) and limits[2] == (0, 1)
    assert [ax.images[0].get_cmap().name for ax in picture.axes] == ["cividis", "cividis", "heard"]
    assert (colours_of_cells(picture, 2) == [194, 80, 10]).all()
    assert colours_of_cells(picture, 1).mean() > 2 * colours_of_cells(picture, 0).mean()


LIMITS = [
    (torch.tensor([[0.0, 0.5]]), {}, (0, 0.5)),
    (torch.tensor([[-2.0, 0.5]]), {}, (-2, 0.5)),
    (torch.tensor([[-2.0, -1.0]]), {}, (-2, 0)),
    (torch.tensor([[-2.0, 0.5]]), {"signed": True}, (-2, 2)),
    (torch.tensor([[-1e-9, 0.5]]), {}, (0, 0.5)),
    (torch.tensor([[0.25, 9.0]]), {"masked": torch.tensor([[False, True]])}, (0, 0.25)),
    (torch.tensor([[0.25, NAN, INF, -INF]]), {}, (0, 0.25)),
    (torch.zeros(2, 2), {}, (0, 1)),
    (-torch.zeros(2, 2), {"signed": True}, (-1, 1)),
    (torch.full((2, 2), NAN), {}, (0, 1)),
    (torch.zeros(2, 2), {"limits": torch.tensor([-1.0, 3.0])}, (-1, 3)),
]


@pytest.mark.parametrize(("values", "named", "limits"), LIMITS)
def test_colour_limits(values, named, limits):
    assert heatmap(values, **named).axes[0].images[0].get_clim() == limits


def numbers_drawn(picture, i=0):
    return [p for p in picture.axes[i].findobj() if (p.get_gid() or "").startswith("numbers")]


def test_numbers_stand_in_cells_while_they_can_be_read():
    assert numbers_drawn(heatmap(random(8, 8)))
    assert not numbers_drawn(heatmap(random(9, 8))) and not numbers_drawn(heatmap(random(8, 9)))
    assert not numbers_drawn(heatmap(random(8, 8) > 0.5))
    # A larger one has a colour bar in their place.
    assert [ax.get_label() for ax in heatmap(random(8, 9)).figure.axes][1:] == ["<colorbar>"]
    assert len(heatmap(random(8, 8)).figure.axes) == 1
    assert len(heatmap(random(9, 9) > 0.5).figure.axes) == 1


def test_a_number_is_drawn_within_its_cell_and_not_where_it_is_hatched():
    for values in (random(8, 8), normal(8, 8) * 1e5, normal(8, 8) * 1e-9, normal(3, 3) * 1e30):
        picture = heatmap(values, signed=True, masked="future")
        for shape in numbers_drawn(picture):
            x, y = shape.get_path().vertices.T
            distance = np.abs(x - np.round(x))
            assert distance.max() < 0.47
            assert (np.round(y) >= np.round(x)).all()  # none in the future


def test_grid_lines_only_where_cells_are_large():
    def lines(size):
        return heatmap(random(size, size)).axes[0].findobj(LineCollection)

    assert lines(16) and not lines(17)


# ---------------------------------------- kinds of input
KINDS = (torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.uint8)


def test_any_dtype():
    values = torch.tensor([[0, 1], [1, 2]])
    expected = repr(heatmap(values.float()))
    for dtype in KINDS:
        assert repr(heatmap(values.to(dtype))) == expected


def test_any_kind_of_matrix():
    values = random(3, 4)
    expected = repr(heatmap(values))
    wide = torch.zeros(3, 8)
    wide[:, ::2] = values
    for same in (
        nn.Parameter(values),
        values.clone().requires_grad_() * 1,
        values.T.contiguous().T,
        wide[:, ::2],
        values.numpy(),
        values.tolist(),
    ):
        assert repr(heatmap(same)) == expected


def test_nothing_of_the_callers_changes():
    values = torch.tensor([[-0.0, NAN], [INF, -INF]], dtype=torch.float64)
    mask = torch.tensor([[True, False], [False, False]])
    bits, before = values.view(torch.int64).clone(), mask.clone()
    panels, tokens = {"a": values}, ["a", "b"]
    settings, state = dict(matplotlib.rcParams), torch.get_rng_state()
    numpy_state = np.random.get_state()[1].copy()
    picture = heatmap(panels, tokens, masked=mask)
    assert picture.png() == picture.png()
    assert torch.equal(values.view(torch.int64), bits) and torch.equal(mask, before)
    assert panels == {"a": values} and tokens == ["a", "b"]
    assert dict(matplotlib.rcParams) == settings
    assert torch.equal(torch.get_rng_state(), state)
    assert (np.random.get_state()[1] == numpy_state).all()
    assert torch.get_default_dtype() is torch.float32


def test_pyplot_keeps_its_figures_but_for_the_one_that_is_handed_over():
    from matplotlib import pyplot

    mine, _ = pyplot.subplots()
    other, ax = pyplot.subplots()
    try:
        heatmap(random(2, 2)).png()
        assert pyplot.get_fignums() == [mine.number, other.number]
        assert figure(ax, alt=ALT).figure is other
        assert pyplot.get_fignums() == [mine.number]
    finally:
        pyplot.close(mine)
        pyplot.close(other)


ERRORS = [
    (random(4, 8, 8), {}, r"shape \(4, 8, 8\): pick one sequence, for example \[0\]"),
    (random(8), {}, r"2 axes can be shown, this has shape \(8,\)"),
    (random(0, 3), {}, r"nothing to show: the shape is \(0, 3\)"),
    (random(129, 3), {}, r"\(129, 3\) is too large to draw .limit 128 a side."),
    (torch.zeros(2, 2, device="meta"), {}, 'device "meta"'),
    (torch.zeros(2, 2, dtype=torch.cfloat), {}, "complex"),
    ({}, {}, "no matrix to draw"),
    ({"a": random(2, 2), "b": random(2, 3)}, {}, r"one shape; these are \[\(2, 2\), \(2, 3\)\]"),
    (random(3, 3), {"tokens": "ey"}, "2 tokens were given for 3 rows"),
    (random(3, 2), {"tokens": "eye"}, "3 tokens were given for 2 columns"),
    (random(2, 2), {"masked": "past"}, 'masked is "future" or a boolean matrix'),
    (random(2, 2), {"masked": torch.zeros(2, 2)}, "must be boolean of shape .2, 2., .*float32"),
    (random(2, 2), {"masked": torch.zeros(3, 3) > 0}, r"of shape \(2, 2\), .*\(3, 3\)"),
    (random(2, 2), {"limits": (1, 0)}, r"limits are \(low, high\)"),
    (random(2, 2), {"limits": (0, NAN)}, r"limits are \(low, high\)"),
]


@pytest.mark.parametrize(("values", "named", "message"), ERRORS)
def test_what_cannot_be_drawn_is_said(values, named, message):
    with pytest.raises(ValueError, match=message):
        heatmap(values, **named)


def test_figure_refuses_what_it_cannot_show():
    with pytest.raises(TypeError, match="takes a matplotlib figure, not Tensor"):
        figure(random(2, 2), alt=ALT)
    with pytest.raises(ValueError, match="alt must say in a sentence"):
        figure(Figure(), alt="too short")


# ---------------------------------------- names
def test_tokens_as_they_are_read():
    tokens = ["$x_1$", "\n", " ", "a_b", "שלום", "é", "$", "^"]
    picture = heatmap(random(8, 8), tokens)
    shown = ["$x_1$", "↵", "␣", "a_b", "שלום", "é", "$", "^"]
    assert names(picture) == [shown, shown]
    assert all(not t.get_parse_math() for t in picture.axes[0].get_xticklabels())
    picture.png()


def test_what_the_font_lacks_is_boxed_and_said():
    picture = heatmap({"漢": random(2, 2)}, ["🙂", "e"], title="Odd", axis_names=("query", "字"))
    assert names(picture) == [["□", "e"], ["□", "e"]]
    assert picture.title == (
        "Odd (□ stands for what the font cannot draw: U+5B57, U+6F22, U+1F642)"
    )
    assert picture.axes[0].get_title() == "□" and picture.axes[0].get_xlabel() == "□ →"
    assert undrawable("aé↵␣∅□…←→") == []


def boxes_of(texts, renderer):
    return [t.get_window_extent(renderer) for t in texts if t.get_text()]


def all_names(T, longest):
    return [(("word" * 9)[: 1 + (7 * i) % longest]) for i in range(T)]


SHAPES = [(1, 1), (1, 8), (8, 1), (3, 3), (8, 8), (5, 16), (16, 16), (8, 64), (32, 32), (128, 3)]
LAYOUTS = [(shape, "", 1) for shape in SHAPES]
LAYOUTS += [(shape, "long", 1) for shape in SHAPES[2:7:2]]
LAYOUTS += [((8, 8), "", 8), ((3, 3), "long", 3), ((32, 32), "", 3)]


@pytest.mark.parametrize(("shape", "kind", "panels"), LAYOUTS)
def test_nothing_is_cut_off_or_overlaps(shape, kind, panels):
    """Every label as matplotlib measures it, for the plan measures by arithmetic."""
    rows, columns = shape
    values = torch.zeros(shape)
    values[0, 0] = -1234.5
    picture = heatmap(
        {f"panel {i}": values for i in range(panels)} if panels > 1 else values,
        rows=all_names(rows, 30) if kind else ("Wm␣gj" * 30)[:rows],
        columns=all_names(columns, 30) if kind else ("Wm␣gj" * 30)[:columns],
    )
    picture.figure.set_dpi(INCH * SHARP)
    renderer = FigureCanvasAgg(picture.figure).get_renderer()
    picture.figure.draw_without_rendering()
    page = picture.figure.bbox
    width, height = page.width, page.height
    assert width <= WIDE + 1
    if max(shape) <= 8 and panels <= 3:
        assert height <= HIGH + 1
    assert height <= (4.0 if panels <= 3 else 5.2) * INCH * SHARP
    for ax in picture.figure.axes:
        down = boxes_of(ax.get_yticklabels(), renderer)
        across = boxes_of(ax.get_xticklabels(), renderer)
        axis_labels = boxes_of([ax.xaxis.label, ax.yaxis.label], renderer)
        for box in (*down, *across, *axis_labels, *boxes_of([ax.title], renderer)):
            assert box.x0 >= -1 and box.y0 >= -1
            assert box.x1 <= width + 1 and box.y1 <= height + 1
        for one, two in zip(across, across[1:], strict=False):
            assert one.x1 <= two.x0 + 2  # a pixel of hinting each
        for label in axis_labels:
            assert not any(label.overlaps(box) for box in (*down, *across) if box.width)


def test_names_are_at_least_six_points_and_thinned_where_they_would_touch():
    for size in (32, 128):
        ax = heatmap(torch.zeros(size, size), ("thou" * 32)[:size]).axes[0]
        labels = ax.get_yticklabels()
        assert min(label.get_fontsize() for label in labels) >= 5.7
        if size <= 32:
            assert len(labels) == size and ax.get_xlabel() == "key →"
        else:
            step = -(-size // len(labels))
            assert step >= 3 and ax.get_xlabel() == f"key, one in {step} →"


def test_panels_that_are_too_wide_go_into_rows():
    picture = heatmap({f"f{i}": torch.zeros(8, 8) for i in range(8)}, TEXT[:8])
    places = [ax.get_position() for ax in picture.axes]
    assert len({round(box.y0, 3) for box in places}) == 2
    assert [ax.get_title() for ax in picture.axes] == [f"f{i}" for i in range(8)]
    order = [(-round(box.y0, 3), box.x0) for box in places]
    assert order == sorted(order)
    # Every row of panels names its rows; the others of the row need not.
    assert [bool(names(picture, i)[0]) for i in range(8)] == [True, False, False, False] * 2
    assert all(names(picture, i)[1] for i in range(8))


# ---------------------------------------- what is stored
class Read(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.said = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.said.append(data)


def test_html_is_escaped_and_whole():
    title, alt = "<b>\"Two\" & 'one'</b>", 'An <img onerror="x"> & "more" of it'
    bundle = heatmap(random(2, 2), "ab", title=title, alt=alt)._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    read = Read(bundle["text/html"])
    assert [tag for tag, _ in read.tags] == ["figure", "figcaption", "img"]
    image = read.tags[2][1]
    assert image["alt"] == alt and read.said == [title]
    png = base64.b64decode(image["src"].removeprefix("data:image/png;base64,"))
    assert int(image["width"]) == round(Image.open(io.BytesIO(png)).width / SHARP)
    assert "figcaption" not in heatmap(random(2, 2))._repr_mimebundle_()["text/html"]


def test_alt_text_made_from_the_values():
    eye = Eye()
    for values, words in [
        (eye.weights, "Heatmap, 3 rows by 3 columns; the largest entry is 1, row e, column e."),
        (eye.causal, "Influence grid, 3 rows by 3 columns; 6 of 9 cells are lit."),
        ({"a": eye.scores, "b": eye.raw}, "Heatmaps of a, b, 3 rows by 3 columns; the largest "
         "entry of a is 2, row e, column y."),
        (torch.full((3, 3), NAN), "Heatmap, 3 rows by 3 columns; no entry is a finite number."),
        (torch.full((3, 3), -INF), "Heatmap, 3 rows by 3 columns; every cell is masked."),
        (torch.tensor([[NAN, 0, 0], [0, 0, -INF], [0, 0.5, INF]]), "Heatmap, 3 rows by 3 columns; "
         "the largest entry is .500, row e, column y; 2 of 9 are NaN or inf."),
    ]:  # fmt: skip
        assert heatmap(values, "eye").alt == words
    assert heatmap(eye.weights, "eye", title="Look here").alt.startswith("Look here. Heatmap, ")
    assert heatmap(eye.weights, "eye", title="Why?").alt.startswith("Why? Heatmap, ")
    assert heatmap(eye.weights, "eye", alt="mine").alt == "mine"


def chunks(png):
    return re.findall(rb"(IHDR|PLTE|tRNS|IDAT|IEND)", png)


WORST = {
    "8×8 dense": lambda: heatmap(random(8, 8), TEXT[:8]),
    "8×8 of four digits": lambda: heatmap(normal(8, 8) * 4000, TEXT[:8], signed=True),
    "8×8 signed": lambda: heatmap(normal(8, 8), TEXT[:8], signed=True),
    "tiny": lambda: heatmap(normal(8, 8) * 1e-7, TEXT[:8], signed=True),
    "64×64 signed": lambda: heatmap(normal(64, 64), signed=True),
    "eight panels": lambda: heatmap({f"{i}": normal(8, 8, seed=i) for i in range(8)}, signed=True),
    "nine panels": lambda: heatmap({f"{i}": random(8, 8, seed=i) for i in range(9)}),
}


@pytest.mark.parametrize("name", WORST)
def test_a_png_is_small_opaque_and_of_a_palette(name):
    picture = WORST[name]()
    png = picture.png()
    assert len(png) <= min(8000 * len(picture.axes), 40000)
    image = Image.open(io.BytesIO(png))
    assert image.mode == "P" and b"tRNS" not in chunks(png)
    corners = np.asarray(image.convert("RGB"))[[0, 0, -1, -1], [0, -1, 0, -1]]
    assert (corners == 255).all()


def test_a_figure_of_ones_own_is_small_and_opaque():
    drawn = Figure(figsize=(4, 2.5), facecolor="none")
    ax = drawn.subplots()
    ax.imshow(random(16, 16).numpy())
    ax.set(xlabel="key", ylabel="query", title="plain")
    picture = figure(drawn, alt=ALT, title="Plain")
    png = picture.png()
    assert len(png) <= 8000 and Image.open(io.BytesIO(png)).mode == "P"
    assert (pixels(picture)[[0, -1], [0, -1]] == 255).all()
    page = drawn.bbox
    for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
        box = text.get_window_extent()
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= page.width and box.y1 <= page.height


def test_a_picture_keeps_its_parts():
    picture = heatmap({"a": random(9, 9), "b": random(9, 9)})
    assert isinstance(picture, Picture)
    assert len(picture.axes) == len(picture.arrays) == 2  # the colour bar is not among them
    assert picture.figure.axes[2].get_label() == "<colorbar>"
    assert [t.get_text() for t in picture.figure.axes[2].get_yticklabels()] == ["0", "1.00"]
