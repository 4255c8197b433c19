"""Every notebook and every explorer in JupyterLab, driven in a real Chromium.

`make test-browser` runs this; `make test` shows it as skipped (see conftest.py).
"""

import base64
import io
import json
import re
import shutil
import socket
import statistics
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from driver import Sheet, lab
from PIL import Image

from helpers.tools.normal_form import read, text

pytestmark = pytest.mark.browser
NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
SLACK, LIMIT_MS = 3, 100

# One cell for each explorer; `head` once more with the longest line.
CELLS = {
    "scaling": "explore_scaling()",
    "head": "explore_head()",
    "head64": "explore_head(block_size=64, begin='Ay, good and thick. ' * 4)",
    "average": "explore_average()",
    "masking": "explore_masking()",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A root with the lessons, and a notebook for each explorer with the explorer twice."""
    root = tmp_path_factory.mktemp("lab")
    for path in LESSONS:
        shutil.copy(path, root)
    for name, call in CELLS.items():
        (root / f"{name}.ipynb").write_text(_notebook(IMPORT, BARE, call, call), encoding="utf-8")
    (root / "unfit.ipynb").write_text(_notebook(*UNFIT), encoding="utf-8")
    return root


IMPORT = """import torch
torch.set_num_threads(1)
from helpers import explore_average, explore_head, explore_masking, explore_scaling"""
# The least that a slider can do, to compare with.
BARE = """import ipywidgets as widgets
slider, shown = widgets.IntSlider(50, description="bare"), widgets.HTML("<svg height='20'/>")
def moved(change):
    shown.value = f"<svg height='20'><text y='15'>{slider.value}</text></svg>"
slider.observe(moved, "value")
bare = widgets.VBox([slider, shown])
bare.add_class("bare")
bare"""
# What no lesson may do: raise, ask another machine, write an error to the console.
UNFIT = [
    "from IPython.display import HTML\nHTML('<img src=\"http://elsewhere.invalid/a.png\">')",
    "HTML('<img src=\"data:,\" onerror=\"console.error(\\'broken\\')\">')",
    "1 / 0",
    "'not reached'",
]


def _notebook(*sources):
    cells = [
        {
            "cell_type": "code",
            "id": f"c{n}",
            "metadata": {},
            "source": source,
            "outputs": [],
            "execution_count": None,
        }
        for n, source in enumerate(sources)
    ]
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture(scope="module")
def server(folder):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with lab(folder, port) as found:
        yield found


@pytest.fixture(scope="module")
def context(browser):
    found = browser.new_context(viewport={"width": 1440, "height": 900})
    yield found
    found.close()


@contextmanager
def opened(context, server, name):
    sheet = Sheet(context, *server, name)
    try:
        yield sheet
    finally:
        sheet.close()


# ---------------------------------------- lessons
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_a_lesson_runs_from_top_to_bottom(context, server, path):
    with opened(context, server, path.name) as sheet:
        raised, count = sheet.run_all()
        assert raised == []
        assert count == sum(cell["cell_type"] == "code" for cell in read(path)["cells"])
        calls = _explorers_in(path)
        if calls:
            assert sheet.explorers().count() == calls
        assert sheet.complaints == []


def _explorers_in(path):
    cells = [text(c["source"]) for c in read(path)["cells"] if c["cell_type"] == "code"]
    return sum(len(re.findall(r"^explore_\w+\(", source, re.MULTILINE)) for source in cells)


# In a fresh copy, which Lab does not trust yet, style sheets are taken out of stored outputs.
UNSTYLED = """() => {
  const notebook = jupyterapp.shell.currentWidget.content;
  const index = notebook.widgets.findIndex(w => w.model.id === 'sheet');
  notebook.scrollToItem(index, 'start');
}"""


def test_a_stored_sheet_is_readable_before_anything_is_run(context, server):
    (path,) = (path for path in LESSONS if path.name.startswith("10"))
    with opened(context, server, path.name) as sheet:
        sheet.page.evaluate(UNSTYLED)
        first = sheet.page.locator(".helpers-sheet").first
        first.wait_for()
        assert first.locator("style").count() == 0
        bands = first.locator(".helpers-sheet-band").all()
        places = [[one.bounding_box() for one in band.locator("table").all()] for band in bands]
        assert len(places) == 4
        for tables in places:
            assert len({table["y"] for table in tables}) == 1, "one under another"
        border = "node => getComputedStyle(node).borderLeftWidth"
        assert {td.evaluate(border) for td in first.locator("tbody td").all()} == {"1px"}


def test_what_a_lesson_may_not_do_is_noticed(context, server):
    with opened(context, server, "unfit.ipynb") as sheet:
        assert sheet.run_all() == [["c2"], 4]
        sheet.page.wait_for_timeout(500)
        assert any("request to http://elsewhere" in line for line in sheet.complaints)
        assert any("console: broken" in line for line in sheet.complaints)


# ---------------------------------------- explorers, by keyboard
@pytest.fixture(scope="module")
def bench(context, server, request):
    """A notebook with an explorer, run once; tests of one explorer share it."""
    with opened(context, server, f"{request.param}.ipynb") as sheet:
        assert sheet.run_all()[0] == []
        yield sheet


@pytest.fixture
def explorer(bench):
    """The notebook, and the first of its two explorers as it begins."""
    bench.run_again()
    bench.explorers()
    yield bench, bench.page.locator(".explorer").nth(0)
    complaints, bench.complaints = bench.complaints, []
    assert complaints == []


class Seen:
    """What an explorer shows now: its words, its picture, its height."""

    def __init__(self, box):
        found = box.evaluate(
            """box => [box.querySelector('.explorer-state').textContent.trim(),
                       box.querySelector('svg').outerHTML,
                       box.getBoundingClientRect().height]"""
        )
        self.words, self.picture, self.height = found


def after(sheet, box, key, wanted):
    """Press a key, wait until the words hold `wanted` and the picture says the same."""
    before = Seen(box)
    sheet.page.keyboard.press(key)
    sheet.page.wait_for_function(
        """([box, wanted]) => {
          const said = box.querySelector('.explorer-state').textContent.trim();
          const shown = box.querySelector('svg').getAttribute('aria-label');
          return said.includes(wanted) && said === shown;
        }""",
        arg=[box.element_handle(), wanted],
    )
    now = Seen(box)
    assert now.picture != before.picture and now.height == before.height
    return now


def focus(box, name):
    box.get_by_label(name, exact=True).first.focus()


@pytest.mark.parametrize("bench", ["scaling"], indirect=True)
def test_scaling_by_keyboard(explorer):
    sheet, box = explorer
    focus(box, "d_k")
    seen = after(sheet, box, "ArrowRight", "d_k = 128")
    tall = _bars(seen.picture, "#c2500a")
    focus(box, "divide by √d_k")
    low = _bars(after(sheet, box, "Space", "divided by √d_k").picture, "#00406e")
    assert max(low) < max(tall)
    focus(box, "temperature")
    after(sheet, box, "ArrowRight", "temperature 2")
    focus(box, "row (query)")
    after(sheet, box, "ArrowLeft", "Row 6:")
    focus(box, "d_k")
    assert _bars(after(sheet, box, "Home", "d_k = 1,").picture, "#00406e")
    after(sheet, box, "End", "d_k = 1024,")


@pytest.mark.parametrize("bench", ["head"], indirect=True)
def test_head_by_keyboard(explorer):
    sheet, box = explorer
    focus(box, "position")
    after(sheet, box, "ArrowLeft", "Position 30, n, draws on u at 29")
    after(sheet, box, "ArrowDown", "Position 29, u, draws on u at 29")
    focus(box, "mask")
    after(sheet, box, "Space", "mask off")
    focus(box, "weights")
    after(sheet, box, "ArrowDown", "draws on r at 28")
    after(sheet, box, "ArrowDown", "; untrained")
    focus(box, "line of text")
    sheet.page.keyboard.press("Control+A")
    after(sheet, box, "Delete", "The line is empty")
    for key, wanted in (
        ("<", "U+003C"),
        ("b", "Position 1, b"),
        ("&", "Position 2, &"),
        ("$", "Position 3, $"),
        ("é", "U+00E9"),
        ('"', "U+0022"),
    ):
        before = Seen(box)
        sheet.page.keyboard.insert_text(key)
        sheet.page.wait_for_function(
            "([box, wanted]) => box.textContent.includes(wanted)",
            arg=[box.element_handle(), wanted],
        )
        assert Seen(box).height == before.height
    assert box.locator("b").count() == 0


@pytest.mark.parametrize("bench", ["average"], indirect=True)
def test_average_by_keyboard(explorer):
    sheet, box = explorer
    focus(box, "shape")
    after(sheet, box, "ArrowUp", "fading: .02 .03 .06 .13 .25 .51;")
    after(sheet, box, "ArrowUp", "last token only: 0 0 0 0 0 1;")
    after(sheet, box, "ArrowUp", "uniform: .17 .17 .17 .17 .17 .17;")
    focus(box, "2 ,")
    after(sheet, box, "ArrowRight", "drawn by hand: .09 0 .73 0 0 .18;")
    focus(box, "row")
    after(sheet, box, "ArrowLeft", "Row 4, g, drawn by hand: .11 0 .89 0 0;")


@pytest.mark.parametrize("bench", ["masking"], indirect=True)
def test_masking_by_keyboard(explorer):
    sheet, box = explorer
    focus(box, "mask")
    after(sheet, box, "ArrowDown", "rows sum to .090, .335, 1")
    after(sheet, box, "ArrowDown", "row 0 is NaN")
    focus(box, "added to every score")
    after(sheet, box, "ArrowLeft", "rows 1 and 2 of out are wrong")  # now the ones are zeros
    after(sheet, box, "ArrowLeft", "no fault shows on these scores")
    focus(box, "mask")
    after(sheet, box, "Home", "right: no fault")
    focus(box, "row 0, key 1: score 200")
    sheet.page.keyboard.press("Space")
    focus(box, "mask")
    after(sheet, box, "ArrowDown", "0 misses 0")


def _bars(picture, colour):
    return [float(h) for h in re.findall(rf'height="([\d.]+)" fill="{colour}"', picture)]


@pytest.mark.parametrize("bench", list(CELLS), indirect=True)
def test_every_control_has_a_name_and_takes_the_keyboard(explorer):
    sheet, box = explorer
    reached = sheet.page.evaluate(
        """box => [...box.querySelectorAll('input, select, .noUi-handle')].map(e => {
             e.focus();
             const labels = [...(e.labels ?? [])].map(l => l.textContent.trim()).join(' ');
             const live = box.querySelector('[aria-live=polite]') !== null;
             const off = e.disabled || e.closest('[disabled]') !== null;
             return [labels || e.getAttribute('aria-label'),
                     off || document.activeElement === e, live];
           })""",
        box.element_handle(),
    )
    assert len(reached) >= 3
    for name, focused, live in reached:
        assert name and focused and live, reached


@pytest.mark.parametrize("bench", list(CELLS), indirect=True)
def test_an_accessibility_checker_finds_nothing(explorer):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe not installed")
    sheet, _ = explorer
    found = axe.Axe().run(sheet.page, context=".explorer")
    rules = {v["id"]: v["nodes"][0]["html"][:200] for v in found.response["violations"]}
    assert rules == {}


@pytest.mark.parametrize("bench", ["head"], indirect=True)
def test_two_in_one_notebook_and_a_cell_run_twice(explorer):
    sheet, box = explorer
    other = sheet.page.locator(".explorer").nth(1)
    other.scroll_into_view_if_needed()
    before = Seen(other).picture
    box.scroll_into_view_if_needed()
    focus(box, "position")
    after(sheet, box, "ArrowLeft", "Position 30")
    assert Seen(other).picture == before
    sheet.page.evaluate(
        """() => { jupyterapp.shell.currentWidget.content.activeCellIndex = 2;
                   return jupyterapp.commands.execute('notebook:run-cell'); }"""
    )
    sheet.page.wait_for_function(
        """() => document.querySelectorAll('.explorer')[0]
                 ?.querySelector('.explorer-state')?.textContent.includes('Position 31')"""
    )
    fresh = sheet.page.locator(".explorer").nth(0)
    fresh.scroll_into_view_if_needed()
    focus(fresh, "position")
    after(sheet, fresh, "ArrowLeft", "Position 30")


@pytest.mark.parametrize("bench", ["head"], indirect=True)
def test_a_slider_dragged_fast_ends_where_it_was_let_go(explorer):
    sheet, box = explorer
    handle = box.locator(".noUi-handle").first
    spot = handle.bounding_box()
    x, y = spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2
    sheet.page.mouse.move(x, y)
    sheet.page.mouse.down()
    heights = set()
    for n in range(60):
        sheet.page.mouse.move(x - 120 * (n % 7) / 6, y)
        heights.add(Seen(box).height)
    sheet.page.mouse.move(x - 400, y)
    sheet.page.mouse.up()
    sheet.page.wait_for_function(
        "box => box.querySelector('.explorer-state').textContent.includes('Position 0, A')",
        arg=box.element_handle(),
    )
    assert heights == {Seen(box).height}


# ---------------------------------------- time
MOVED = {
    "scaling": "d_k",
    "head": "position",
    "head64": "position",
    "average": "row",
    "masking": "added to every score",
}


@pytest.mark.parametrize("bench", list(MOVED), indirect=True)
def test_a_key_changes_pixels_within_a_tenth_of_a_second(explorer, record_property):
    """p95 over 40 moves, from the key to the frame with the new picture; three times' slack.

    On a machine too busy for a bare slider to be quick, three times what that takes, beside it.
    The best of three rounds: what else the machine does can only add.
    """
    sheet, box = explorer
    name = sheet.name.removesuffix(".ipynb")
    bare = sheet.page.locator(".bare")
    rounds = []
    while len(rounds) < 3 and (not rounds or rounds[-1][0] >= LIMIT_MS):
        bare.locator(".noUi-handle").focus()
        least = _moves(sheet, bare)
        focus(box, MOVED[name])
        rounds.append(
            tuple(
                at(times)
                for times in (_moves(sheet, box), least)
                for at in (_p95, statistics.median)
            )
        )
    p95, middle, bare_p95, bare_middle = min(rounds)
    note = (
        f"{name}: key to pixels {middle:.0f} ms, p95 {p95:.0f} ms; a bare slider "
        f"{bare_middle:.0f} and {bare_p95:.0f}"
    )
    print(note)
    record_property("explorer", note)
    assert p95 < SLACK * max(LIMIT_MS, bare_p95), note


def _p95(times):
    return sorted(times)[int(0.95 * len(times))]


def _moves(sheet, box):
    """Milliseconds from a key to the frame that shows the picture it makes."""
    sheet.page.evaluate(
        """box => {
          window.times = [];
          window.watcher?.disconnect();
          const svg = () => box.querySelector('svg');
          let pressed = null, last = svg().outerHTML;
          window.addEventListener('keydown', e => { pressed = performance.now(); }, true);
          window.watcher = new MutationObserver(() => {
            if (pressed === null || !svg() || svg().outerHTML === last) return;
            last = svg().outerHTML;
            const from = pressed;
            pressed = null;
            // The picture is painted with the next frame: a task queued from it comes after.
            requestAnimationFrame(() => setTimeout(() => {
              window.times.push(performance.now() - from);
            }));
          });
          window.watcher.observe(box, {childList: true, subtree: true});
        }""",
        box.element_handle(),
    )
    for n in range(40):
        way = "Left" if n // 5 % 2 == 0 else "Right"
        sheet.page.keyboard.press("Arrow" + way)
        sheet.page.wait_for_function("n => window.times.length > n", arg=n, polling=20)
    return sheet.page.evaluate("window.times")


@pytest.mark.parametrize("bench", ["head64"], indirect=True)
def test_no_frame_is_without_its_matrix(explorer):
    """Every frame that Chromium paints during moves has the dark half of the grid."""
    sheet, box = explorer
    panel = box.locator("svg image").bounding_box()
    focus(box, "position")
    frames = []
    session = sheet.page.context.new_cdp_session(sheet.page)

    def keep(frame):
        frames.append(base64.b64decode(frame["data"]))
        session.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    session.on("Page.screencastFrame", keep)
    session.send("Page.startScreencast", {"format": "png", "everyNthFrame": 1})
    for n in range(40):
        after(sheet, box, "ArrowLeft", f"Position {62 - n},")
    session.send("Page.stopScreencast")
    session.detach()
    assert len(frames) > 20
    dark = [_dark(frame, panel, sheet.page.viewport_size["width"]) for frame in frames]
    assert min(dark) > 0.8 * max(dark) > 0.3, dark


def _dark(frame, panel, width):
    """The share of dark pixels in a part of the page, as a screencast shows it."""
    image = Image.open(io.BytesIO(frame)).convert("L")
    scale = image.width / width
    corners = (panel["x"], panel["y"], panel["x"] + panel["width"], panel["y"] + panel["height"])
    return float((np.asarray(image.crop([scale * at for at in corners])) < 80).mean())
