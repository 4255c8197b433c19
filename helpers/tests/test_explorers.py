"""Explorers: their numbers are the lessons', their pictures show those numbers, any text does.

What needs a browser (keys, pixels, the time between them) is in `browser/`.
"""

import ast
import base64
import inspect
import io
import json
import random
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image
from torch.testing import assert_close

from helpers import Eye, explore_average, explore_head, explore_masking, explore_scaling
from helpers.explorers import average, drawing, head, masking, scaling
from helpers.explorers.line import read_line
from helpers.head import Head
from helpers.text import vocabulary
from helpers.tools.costs import redrawn
from helpers.tools.normal_form import normal_form

torch.set_num_threads(1)
NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
SVG = "{http://www.w3.org/2000/svg}"
EVERY = [explore_scaling, explore_head, explore_average, explore_masking]
TEXTS = [
    "",
    "a",
    "A y",
    "<b>bold</b>",
    "Fish & chips &amp; $x$ $$ 'q' \"q\"",
    '"><script>alert(1)</script>',
    "日本語 é ß 😀 👩‍👩‍👧 \u0301",
    "\u200b\u202e\ufeff\x00\x07\ud800",
    "line\nbreak\ttab\r",
    "x" * 500,
    "   ",
    "ab$" * 30,
]


def cells_of(lesson, *ids):
    """The names that these cells of a lesson define, run as they are stored."""
    notebook = json.loads(next(NOTEBOOKS.glob(f"{lesson}_*.ipynb")).read_text(encoding="utf-8"))
    sources = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}
    namespace = {}
    for name in ids:
        exec(compile(sources[name], f"<{lesson} #{name}>", "exec"), namespace)
    return namespace


def a_lines_tree(source, name):
    """A function of a source, as a tree without its docstring."""
    (found,) = [n for n in ast.walk(ast.parse(source)) if getattr(n, "name", None) == name]
    if ast.get_docstring(found):
        del found.body[0]
    return ast.dump(found)


def elements(svg, tag):
    return list(ET.fromstring(svg).iter(tag if "<svg xmlns" in svg else tag.removeprefix(SVG)))


def rectangles(svg, colour):
    """(x, y, width, height) of the rectangles of a colour."""
    return [
        tuple(float(rect.get(side)) for side in ("x", "y", "width", "height"))
        for rect in elements(svg, "rect")
        if rect.get("fill") == colour
    ]


def places_shown(svg, i=0):
    """Places in the palette of the i-th matrix in a picture, (rows, columns)."""
    address = elements(svg, "image")[i].get("href")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.split(",")[1]))))


# ---------------------------------------- scaling
@pytest.fixture(scope="module")
def lesson_05():
    ids = ["setup", "random-raw", "raws", "variance", "slope", "jacobian", "measure", "table"]
    return cells_of("05", *ids)


def test_the_scores_and_the_jacobian_are_the_code_of_lesson_05():
    notebook = next(NOTEBOOKS.glob("05_*.ipynb")).read_text(encoding="utf-8")
    cells = {c["id"]: "".join(c["source"]) for c in json.loads(notebook)["cells"]}
    for name, cell in (("random_raw", "random-raw"), ("jacobian", "jacobian")):
        ours = a_lines_tree(inspect.getsource(getattr(scaling, name)), name)
        theirs = a_lines_tree(cells[cell], name)
        assert ours == theirs
        assert ours != a_lines_tree(cells[cell].replace("-", "+"), name)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("i", range(6))
def test_scaling_shows_the_means_of_lesson_05(lesson_05, i, scaled):
    d_k = lesson_05["widths"].tolist()[i]
    table = lesson_05["table_scaled" if scaled else "table"]
    *_, means = scaling.ScalingExplorer().numbers(d_k, scaled, 1, 0)
    assert_close(means[[0, 2]], table[i, 2:], atol=1e-6, rtol=0)
    assert_close(scaling.sweep(scaled)[scaling.WIDTHS.index(d_k)], means, atol=0, rtol=0)


@pytest.mark.parametrize("temperature", [scaling.TEMPERATURES[0], 1, 4, scaling.TEMPERATURES[-1]])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("d_k", [1, 2, 64, 1024])
def test_a_row_is_the_softmax_of_the_lessons_row(lesson_05, d_k, scaled, temperature):
    scores = lesson_05["random_raw"](d_k) / (d_k**0.5 if scaled else 1) / temperature
    for row in (0, 7):
        one, own, _ = scaling.ScalingExplorer().numbers(d_k, scaled, temperature, row)
        assert_close(one, F.softmax(scores, dim=-1)[0, row].double(), atol=1e-6, rtol=0)
        gradient = torch.linalg.matrix_norm(lesson_05["jacobian"](one))
        bits = sum(-p * np.log2(p) for p in one.tolist() if p > 0)
        assert_close(own, torch.tensor([one.max(), bits, gradient]).double(), atol=1e-6, rtol=0)


def test_entropy_is_3_bits_for_equal_weights_and_0_for_a_single_one():
    rows = torch.stack([torch.full((8,), 1 / 8), torch.eye(8)[3]])
    wanted = torch.tensor([[1 / 8, 3, (7 / 64) ** 0.5], [1, 0, 0]]).double()
    assert_close(scaling.measures(rows), wanted, atol=1e-6, rtol=0)


def test_temperature_and_division_do_the_same():
    divided = scaling.weights_of(16, True, 1)
    assert_close(scaling.weights_of(16, False, 4), divided, atol=1e-6, rtol=0)


@pytest.mark.parametrize(("d_k", "scaled", "temperature"), [(1, False, 32), (1024, True, 0.1)])
def test_bars_and_circles_stand_at_the_numbers(d_k, scaled, temperature):
    explorer = explore_scaling()
    one, own, means = explorer.numbers(d_k, scaled, temperature, 3)
    svg = explorer.drawn(d_k, scaled, temperature, 3)
    colour = drawing.COOL if scaled else drawing.LIT
    bars = [height for *_, height in rectangles(svg, colour)]
    assert_close(torch.tensor(bars).double(), 140 * one, atol=0.1, rtol=1e-3)
    circles = [float(c.get("cy")) for c in elements(svg, "circle")][:6]
    most = torch.tensor([1.0, 3.0, 0.5]).double()
    wanted = torch.stack([means, own], dim=1) / most[:, None]
    assert_close(
        torch.tensor(circles).double(), 54 + 140 * (1 - wanted.flatten()), atol=0.1, rtol=0
    )


# ---------------------------------------- head
@pytest.fixture(scope="module")
def lesson_07():
    return cells_of("07", "setup", "head", "programmed", "pieces", "same", "strings")


def test_untrained_on_the_running_line_is_the_head_of_lesson_07(lesson_07):
    explorer = explore_head(begin="Ay, good")
    _, masked = explorer.numbers("Ay, good", 0, True, head.UNTRAINED)
    assert_close(torch.from_numpy(masked).float(), lesson_07["weights"][0], atol=1e-6, rtol=0)
    _, unmasked = explorer.numbers("Ay, good", 0, False, head.UNTRAINED)
    wanted = F.softmax(lesson_07["scores"], dim=-1)[0]
    assert_close(torch.from_numpy(unmasked).float(), wanted, atol=1e-6, rtol=0)


def random_lines(count, longest, seed):
    chosen = random.Random(seed)
    return ["".join(chosen.choices(vocabulary, k=chosen.randint(1, longest))) for _ in range(count)]


@pytest.mark.parametrize("block_size", [1, 8, 32, 64])
def test_weights_times_values_are_the_out_of_every_head(block_size):
    explorer = explore_head(block_size=block_size)
    for name, (embed, some_head) in explorer.heads.items():
        for line in random_lines(10, block_size, seed=block_size) + ["a" * block_size]:
            _, w = explorer.numbers(line, 0, True, name)
            with torch.no_grad():
                x = embed(head.encode(line)[None])
                out = torch.from_numpy(w).float() @ some_head.value(x)[0]
                assert_close(out, some_head(x)[0], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("block_size", [8, 32, 64])
def test_programmed_heads_do_their_jobs_on_any_line(block_size):
    explorer = explore_head(block_size=block_size)
    last = "a" + "b" * (block_size - 1)  # the hardest: one vowel, as far away as can be
    for line in [*random_lines(40, block_size, seed=5), last]:
        _, w = explorer.numbers(line, 0, True, head.LAST_VOWEL)
        _, p = explorer.numbers(line, 0, True, head.PREVIOUS)
        vowel = None
        for i, character in enumerate(line):
            vowel = i if character in head.VOWELS else vowel
            if vowel is not None:
                assert w[i, vowel] > 0.99
            assert p[i, max(0, i - 1)] > 0.99


def test_for_8_places_the_weights_by_hand_are_those_of_lesson_07():
    embed, by_hand = head.programmed(head.LAST_VOWEL, 8)
    assert by_hand.query.weight[:2, 0].tolist() == [200, 20]
    assert by_hand.key.weight[1, len(vocabulary) :].tolist() == list(range(8))
    answer = cells_of("07", "setup", "head", "programmed", "pieces", "strings", "vowel-try")
    assert answer["Wk"][6:, 1].tolist() == list(range(8))


@pytest.mark.parametrize("mask", [True, False])
@pytest.mark.parametrize("T", [1, 3, 8, 9, 32, 33, 64])
def test_the_grid_and_the_bars_are_the_weights(T, mask):
    explorer = explore_head(block_size=64)
    line = ("Ay, good and thick. I have drunk thinner soup in houses where th")[:T]
    position = T // 2
    for name in explorer.heads:
        _, w = explorer.numbers(line, position, mask, name)
        svg = explorer.drawn(line, position, mask, name)
        future = np.triu(np.ones((T, T), dtype=bool), 1)
        seen = places_shown(svg).astype(int)
        wanted = np.rint(w * (drawing.SHADES - 1))
        if mask:
            wanted[future] = drawing.HIDDEN
        assert np.array_equal(seen, wanted)
        bars = [height for *_, height in rectangles(svg, drawing.COOL)]
        high = 130 if T <= 32 else 70
        shown = [high * weight for weight in w[position] if weight >= 0.002]
        assert bars == pytest.approx(shown, rel=1e-3)
        said = explorer.state(line, position, mask, name)
        most = int(w[position].argmax())
        assert f"draws on {drawing.sign(line[most])} at {most} (" in said


def test_a_trained_head_joins_and_is_never_stored():
    torch.manual_seed(0)
    table, trained = torch.nn.Embedding(65, 20), Head(20, 6, 16)
    explorer = explore_head(trained, table)
    assert explorer.block_size == 16 and list(explorer.heads)[-1] == head.TRAINED
    _, w = explorer.numbers("Ay, good", 0, True, head.TRAINED)
    with torch.no_grad():
        x = table(head.encode("Ay, good")[None])
        out = torch.from_numpy(w).float() @ trained.value(x)[0]
        assert_close(out, trained(x)[0], atol=1e-5, rtol=0)
    without = explore_head(block_size=16)
    assert repr(explorer) == repr(without)
    assert explorer._repr_mimebundle_()["text/html"] == without._repr_mimebundle_()["text/html"]


class TransposedHead(Head):
    def forward(self, x):
        return super().forward(x.flip(1))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"trained": Head(20, 6, 16)}, TypeError, "embed is missing"),
        ({"trained": torch.nn.Linear(2, 2), "embed": len}, TypeError, "it has no query"),
        ({"block_size": 0}, ValueError, "from 1 to 64, got 0"),
        ({"block_size": 65}, ValueError, "from 1 to 64, got 65"),
        ({"block_size": True}, ValueError, "got True"),
        (
            {"trained": Head(20, 6, 16), "embed": torch.nn.Embedding(65, 20), "block_size": 17},
            ValueError,
            "from 1 to 16, got 17",
        ),
        (
            {"trained": TransposedHead(20, 6, 16), "embed": torch.nn.Embedding(65, 20)},
            ValueError,
            "not what the five moves give",
        ),
    ],
)
def test_what_cannot_be_explored_is_refused_in_words(arguments, error, words):
    with pytest.raises(error, match=words):
        explore_head(**arguments)


# ---------------------------------------- average
@pytest.fixture(scope="module")
def lesson_02():
    return cells_of("02", "setup", "row-times", "eye-matrix", "average", "eye-hand", "hand")


def average_settings(**changes):
    return average.AverageExplorer.SETTINGS | changes


def test_average_shows_the_matrices_of_lesson_02(lesson_02):
    explorer = explore_average()
    for row in range(8):
        _, weights, _, _, eye_out = explorer.numbers(
            **average_settings(row=row, shape=average.UNIFORM)
        )
        assert_close(weights, lesson_02["average"], atol=0, rtol=0)
        wanted = (lesson_02["eye_average"] @ Eye().x)[min(row, 2)]
        assert_close(eye_out, wanted, atol=1e-6, rtol=0)
    _, leaning, *_ = explorer.numbers(**average_settings(shape=average.HAND))
    assert_close(leaning, lesson_02["leaning"], atol=1e-6, rtol=0)
    hands = dict(zip(average.HANDS, [0, 3, 0, 0, 0, 0, 0, 0], strict=True))
    changes = {"shape": average.HAND, "row": 2, **hands}
    *_, eye_out = explorer.numbers(**average_settings(**changes))
    assert_close(eye_out, (lesson_02["by_hand"] @ Eye().x)[2], atol=1e-6, rtol=0)


@pytest.mark.parametrize("T", [1, 2, 5, 8])
@pytest.mark.parametrize("shape", average.SHAPES)
def test_every_row_is_normalised_and_reads_the_past(shape, T):
    chosen = random.Random(T)
    for row in range(T):
        for by_hand in ([0] * 8, [10] * 8, [chosen.randint(0, 10) for _ in range(8)]):
            weights = average.with_row(shape, row, T, by_hand)
            assert_close(weights.sum(dim=1), torch.ones(T), atol=1e-6, rtol=0)
            assert (weights >= 0).all() and torch.equal(weights.tril(), weights)
            others = [i for i in range(T) if i != row]
            assert torch.equal(weights[others], average.averaging_matrix(T)[others])
    last = average.with_row(average.LAST, T - 1, T, [0] * 8)[-1]
    assert last.tolist() == [0.0] * (T - 1) + [1.0]
    fading = average.with_row(average.FADING, T - 1, T, [0] * 8)[-1]
    assert_close(fading[1:], 2 * fading[:-1], atol=1e-6, rtol=0)


def test_shares_add_up_letter_by_letter():
    changes = {"shape": average.HAND, "row": 6, "typed": "Ay, good"}
    hands = dict(zip(average.HANDS, [0, 0, 0, 0, 0, 1, 3, 0], strict=True))
    read, weights, shares, *_ = explore_average().numbers(**average_settings(**changes, **hands))
    assert shares["o"] == pytest.approx(1) and sum(shares.values()) == pytest.approx(1)
    assert list(shares) == ["A", "y", ",", "␣", "g", "o", "d"]
    assert weights[6, 5:7].tolist() == [0.25, 0.75]


def test_a_slider_that_is_moved_draws_by_hand():
    explorer = explore_average()
    explorer.box  # noqa: B018
    explorer._controls["h0"].value = 9
    assert explorer.settings["shape"] == explorer._controls["shape"].value == average.HAND
    assert ".50 0 .39" in explorer.words.value
    assert explorer._controls["h6"].disabled and not explorer._controls["h5"].disabled
    explorer._controls["shape"].value = average.FADING
    assert explorer.settings["shape"] == average.FADING


# ---------------------------------------- masking
@pytest.fixture(scope="module")
def lesson_06():
    ids = ["setup", "unmasked", "eye-masked", "running", "three", "six-code", "renormalised"]
    names = cells_of("06", *ids)
    return {
        "right": names["read_past"],
        "no mask": names["read_all"],
        "filled with 0": names["filled_with_zero"],
        "after softmax": names["after_softmax"],
        "every 0": names["every_zero"],
        **names["six"],
        "renormalised": names["renormalised"],
        "fill -1e9": lambda s: names["fill"](s, ~names["allowed"], -1e9),
    }, names["attend"]


def test_the_gallery_is_the_lessons(lesson_06):
    assert list(masking.GALLERY) == list(lesson_06[0])


@pytest.mark.parametrize("name", masking.GALLERY)
def test_masks_give_the_weights_of_lesson_06(lesson_06, name):
    masks, attend = lesson_06
    ours, theirs = masking.GALLERY[name][0], masks[name]
    generator = torch.Generator().manual_seed(6)
    cases = [Eye().scores, torch.zeros(3, 3), Eye().scores - 12, 300 * Eye().scores]
    cases += [3 * torch.randn(3, 3, generator=generator) for _ in range(30)]
    for scores in cases:
        kept = scores.clone()
        wanted = theirs(scores.clone())
        assert_close(ours(scores), wanted, atol=0, rtol=0, equal_nan=True)
        assert torch.equal(scores, kept)
    eye = Eye()
    for add, loud in ((0, False), (-20, False), (20, True)):
        weights, heard, out, _ = masking.examined(name, add, loud)

        def harsher(scores, add=add, loud=loud):
            scores = scores + add
            scores[..., 0, 1] = 200.0 if loud else scores[..., 0, 1]
            return theirs(scores)

        expected = harsher(eye.scores)
        assert_close(weights, expected, atol=0, rtol=0, equal_nan=True)
        result = attend(eye.x, harsher, eye.Wq, eye.Wk, eye.Wv)
        assert_close(out, result, atol=1e-6, rtol=0, equal_nan=True)
        svg = explore_masking().drawn(mask=name, add=add, loud=loud)
        assert np.array_equal(places_shown(svg, 1) == drawing.ON, heard.numpy())
        assert np.array_equal(places_shown(svg), drawing.shades(weights.double().numpy()))


@pytest.mark.parametrize(
    ("mask", "add", "loud", "words"),
    [
        ("right", -20, True, "no fault; rows sum to 1, and only the past is heard"),
        ("no mask", 0, False, "0 hears 1 and 2, 1 hears 2; rows 0 and 1 of out are wrong"),
        ("after softmax", 0, False, "rows sum to .090, .335, 1; the future leaks"),
        ("every 0", 0, False, "row 0 is NaN; rows 0, 1 and 2 of out are wrong"),
        ("every 0", -12, False, "no fault shows on these scores"),
        ("A fill -10", 0, False, "0 hears 1 and 2, 1 hears 2; out is right to three decimals"),
        ("A fill -10", -12, False, "rows 0 and 1 of out are wrong"),
        ("B diagonal too", 0, False, "row 0 is NaN; the past is lost: 0 misses 0, 1 misses 1"),
        ("C upper", 0, False, "the past is lost: 1 misses 0, 2 misses 0 and 1"),
        ("E (1-mask)*-inf", 0, False, "rows 0, 1 and 2 are NaN"),
        ("F one ahead", 0, False, "the future leaks: 0 hears 1, 1 hears 2;"),
        ("renormalised", 0, False, "no fault shows on these scores"),
        ("renormalised", 0, True, "row 0 is NaN"),
        ("fill -1e9", 20, True, "no fault shows on these scores"),
    ],
)
def test_a_fault_is_said_in_words(mask, add, loud, words):
    assert words in explore_masking().state(mask=mask, add=add, loud=loud)


# ---------------------------------------- any text
@pytest.mark.parametrize("typed", TEXTS)
@pytest.mark.parametrize("make", [explore_head, explore_average])
def test_any_text_is_drawn_escaped_and_at_the_same_height(make, typed):
    explorer = make()
    explorer.box  # noqa: B018
    before = re.search(r'viewBox="[^"]*"', explorer.view.value).group()
    for text in (typed, typed + "é<", typed):
        explorer._controls["typed"].value = text
        root = ET.fromstring(explorer.view.value)  # well formed, or it raises
        assert {e.tag for e in root.iter()} <= {
            *("svg", "g", "text", "rect", "path", "image", "pattern", "circle")
        }
        ET.fromstring(f"<p>{explorer.words.value}</p>")
        assert re.search(r'viewBox="[^"]*"', explorer.view.value).group() == before
        longest = 32 if make is explore_head else 8
        foreign = sorted({c for c in text[-longest:] if c not in vocabulary})
        assert ("Not among the 65 characters" in explorer.words.value) == bool(foreign)
        assert (f"Of {len(text)} characters" in explorer.words.value) == (len(text) > longest)
        assert ("is empty" in explorer.words.value) == (text == "")
        explorer.words.value.encode(), explorer.view.value.encode()


def test_a_line_is_read_as_it_says():
    read = read_line("xx a<é\n", 5, ", since 5 fit")
    assert (read.text, read.signs) == (" a  \n", ("␣", "a", "▯", "▯", "↵"))
    assert read.note == (
        "Of 7 characters the last 5 are read, since 5 fit. Not among the 65 characters, read as a "
        "space (▯): < (U+003C), é (U+00E9)."
    )
    assert read_line("Ay", 5).note == ""


def test_the_position_follows_the_end_of_the_line_and_never_leaves_it():
    explorer = explore_head(begin="Ay")
    explorer.box  # noqa: B018
    typed, position = explorer._controls["typed"], explorer._controls["position"]
    typed.value = "Ay, good"
    assert (position.value, position.max) == (7, 7)
    position.value = 2
    typed.value = "Ay, good and"
    assert (position.value, position.max) == (2, 11)
    typed.value = "A"
    assert position.value == 0 and position.disabled and position.max > position.min
    typed.value = ""
    assert "is empty" in explorer.words.value
    typed.value = "Ay, "
    assert (position.value, position.max, position.disabled) == (3, 3, False)


# ---------------------------------------- moves
def moves(explorer, count, seed=0):
    """Random moves of random controls, as a reader would make them."""
    chosen = random.Random(seed)
    controls = explorer._controls
    for _ in range(count):
        name = chosen.choice(sorted(controls))
        control = controls[name]
        if name == "typed":
            control.value = chosen.choice(TEXTS)
        elif isinstance(control.value, bool):
            control.value = not control.value
        elif hasattr(control, "options"):
            control.value = chosen.choice(list(control.options))
        else:
            control.value = chosen.randint(control.min, control.max)


@pytest.mark.parametrize("make", EVERY)
def test_a_thousand_quick_moves_end_where_the_controls_stand(make):
    explorer = make()
    explorer.box  # noqa: B018
    height = re.search(r'viewBox="[^"]*"', explorer.view.value).group()
    for seed in range(10):
        moves(explorer, 100, seed)
        shown = {name: control.value for name, control in explorer._controls.items()}
        assert explorer.settings == shown
        assert explorer.view.value == explorer.drawn(**shown)
        assert drawing.escaped(explorer.state(**shown)) == explorer.words.value
        assert re.search(r'viewBox="[^"]*"', explorer.view.value).group() == height


@pytest.mark.parametrize("make", EVERY)
def test_a_move_redraws_once(make, monkeypatch):
    explorer = make()
    explorer.box  # noqa: B018
    drawn = []
    monkeypatch.setattr(explorer, "drawn", lambda **settings: drawn.append(settings) or "<svg/>")
    name, value = {
        explore_scaling: ("d_k", 2),
        explore_head: ("typed", "Ay"),
        explore_average: ("h0", 5),
        explore_masking: ("mask", "C upper"),
    }[make]
    explorer._controls[name].value = value
    assert len(drawn) == 1


@pytest.mark.parametrize("make", EVERY)
def test_two_of_a_kind_do_not_disturb_each_other(make):
    one, other = make(), make()
    one.box, other.box  # noqa: B018
    before = other.view.value
    moves(one, 60)
    assert other.view.value == before
    assert one.pattern != other.pattern
    assert one._controls["mask" if "mask" in one._controls else "row"].model_id not in before
    views = [e._repr_mimebundle_()[KEY]["model_id"] for e in (one, one, other)]
    assert views[0] == views[1] != views[2]


KEY = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def sent(monkeypatch):
    """The messages that widgets send, as JSON."""
    from ipywidgets.widgets.widget import Widget

    messages = []
    monkeypatch.setattr(
        Widget, "_send", lambda self, msg, buffers=None: messages.append(json.dumps(msg))
    )
    return messages


def test_a_move_sends_less_than_10_kb(sent):
    explorer = explore_head()
    explorer.box  # noqa: B018
    sizes = []
    for name in explorer.heads:
        explorer._controls["weights"].value = name
        for mask in (True, False):
            explorer._controls["mask"].value = mask
            for position in range(31, -1, -1):
                sent.clear()
                explorer._controls["position"].value = position
                sizes.append(sum(len(message.encode()) for message in sent))
    assert len(explorer.numbers(**explorer.settings)[1]) == 32
    assert 1000 < max(sizes) < 10_000


@pytest.mark.parametrize("make", [explore_scaling, explore_average, explore_masking])
def test_the_other_explorers_send_little_as_well(make, sent):
    explorer = make()
    explorer.box  # noqa: B018
    sizes = []
    for seed in range(300):
        sent.clear()
        moves(explorer, 1, seed)
        sizes.append(sum(len(message.encode()) for message in sent))
    assert 1000 < max(sizes) < 10_000


def test_a_move_takes_a_fiftieth_of_a_new_pyplot_figure(record_property):
    import matplotlib

    matplotlib.use("agg")
    explorer = explore_head()
    explorer.box  # noqa: B018
    read, w = explorer.numbers(**explorer.settings)
    assert len(w) == 32
    redrawn(w, read.signs)
    ratios, ours = [], []
    for position in range(30, 15, -1):  # side by side, so that other load meets both
        start = perf_counter()
        redrawn(w, read.signs)
        middle = perf_counter()
        explorer._controls["position"].value = position
        end = perf_counter()
        ratios.append((middle - start) / (end - middle))
        ours.append(end - middle)
    note = f"a move {1000 * median(ours):.2f} ms, pyplot {median(ratios):.0f} times as long"
    record_property("explorer", note)
    assert median(ratios) > 50, note


# ---------------------------------------- what is stored
@pytest.mark.parametrize("make", EVERY)
def test_a_picture_with_alt_text_is_stored_and_no_widget(make):
    explorer = make()
    bundle = explorer._repr_mimebundle_()
    output = {"output_type": "execute_result", "data": bundle, "metadata": {}}
    cell = {
        "cell_type": "code",
        "id": "a",
        "metadata": {},
        "source": "explore()",
        "outputs": [output],
    }
    stored = normal_form({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    data = stored["cells"][0]["outputs"][0]["data"]
    assert KEY in bundle and sorted(data) == ["text/html", "text/plain"]
    page = "".join(data["text/html"])
    assert "Run the cell" in page and len(re.search(r'alt="([^"]+)"', page).group(1)) > 100
    png = base64.b64decode(re.search(r"base64,([^\"]+)", page).group(1))
    assert len(png) < 25_000 and Image.open(io.BytesIO(png)).height <= 400 * 1.5
    assert "".join(data["text/plain"]) == repr(make())


def test_the_stored_picture_does_not_depend_on_moves():
    explorer = explore_masking()
    before = repr(explorer)
    explorer.box  # noqa: B018
    moves(explorer, 20)
    assert repr(explorer) == before


@pytest.mark.parametrize("make", EVERY)
def test_every_control_has_a_label_and_a_slider_of_more_than_one_value(make):
    explorer = make()
    explorer.box  # noqa: B018
    for control in explorer._controls.values():
        assert control.description.strip()
        if hasattr(control, "min"):
            assert control.min < control.max
    descriptions = [control.description for control in explorer._controls.values()]
    assert len(set(descriptions)) == len(descriptions)


def test_widgets_are_imported_only_when_one_is_shown():
    code = """
import sys
import helpers
names = [helpers.explore_scaling, helpers.explore_head]
explorer = names[1]()
late = "ipywidgets" in sys.modules
explorer._repr_mimebundle_()
print(late, "ipywidgets" in sys.modules)
"""
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("make", EVERY)
def test_the_generator_of_the_notebook_is_left_alone(make):
    torch.manual_seed(11)
    wanted = torch.rand(3)
    torch.manual_seed(11)
    explorer = make()
    explorer.box  # noqa: B018
    moves(explorer, 5)
    assert torch.equal(torch.rand(3), wanted)
