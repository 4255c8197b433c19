"""`make present` in Chromium on a 1280×800 screen: how it looks, and what fits."""

import re
import secrets
import shutil
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from driver import START_SECONDS, _wait_for

from helpers.tools import lab
from helpers.tools.normal_form import read, text
from helpers.tools.replay import surroundings

pytestmark = pytest.mark.browser
NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
SCREEN = {"width": 1280, "height": 800}
FITS = 688  # pixels of height that style allows a code cell with its output
MAY_SCROLL = 20  # one code cell in so many, over the whole course

HEIGHTS = """() => jupyterapp.shell.currentWidget.content.widgets
  .filter(w => w.model.type === 'code')
  .map(w => [w.model.id, Math.ceil(w.node.getBoundingClientRect().height)])"""


@contextmanager
def presented(root):
    """JupyterLab as `make present` starts it, below `root`; yields a path's address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    start = lab.present_command(lab.to_present("01", root), port, root) + [
        "--ServerApp.open_browser=False",
        f"--IdentityProvider.token={token}",
        "--LabApp.expose_app_in_browser=True",
    ]
    state = root / ".jupyter"
    state.mkdir()
    with surroundings() as environ:
        environ |= {"JUPYTER_CONFIG_DIR": str(state), "JUPYTER_RUNTIME_DIR": str(state / "run")}
        with open(state / "log", "wb") as log:
            server = subprocess.Popen(start, cwd=root, env=environ, stdout=log, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(server, f"{address}/api?token={token}", state / "log")
            yield lambda path: f"{address}/doc/tree/{path}?token={token}"
        finally:
            server.terminate()
            server.wait(20)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("presented")
    shutil.copytree(NOTEBOOKS, root / "notebooks", ignore=shutil.ignore_patterns("[!0-9]*"))
    lab.make_copies(root)
    return root


@pytest.fixture(scope="module")
def address(root):
    with presented(root) as found:
        yield found


@pytest.fixture
def opened(browser, address):
    """open(path): a page with the notebook, its kernel ready."""
    context = browser.new_context(viewport=SCREEN)

    def open_one(path):
        page = context.new_page()
        page.goto(address(path))
        page.wait_for_selector(
            '.jp-Notebook-ExecutionIndicator[data-status="idle"]',
            state="attached",
            timeout=1000 * START_SECONDS,
        )
        page.wait_for_function(
            """() => jupyterapp.shell.currentWidget.content.widgets.every(
                w => w.node.isConnected && (w.model.type !== 'markdown' || w.rendered))"""
        )
        return page

    yield open_one
    context.close()


def test_a_lecture_begins_at_the_top_in_large_type(opened, root):
    page = opened("work/" + LESSONS[0].name)
    size = "e => parseFloat(getComputedStyle(e).fontSize)"
    assert page.locator(".jp-RenderedMarkdown p").first.evaluate(size) >= 17
    assert page.locator(".jp-CodeCell .cm-content").first.evaluate(size) >= 16
    for bar in (".jp-SideBar.jp-mod-left", ".jp-SideBar.jp-mod-right", "#jp-bottom-panel"):
        assert not page.locator(bar).first.is_visible(), bar
    assert page.evaluate("jupyterapp.shell.mode") == "single-document"
    title = page.locator("h1").first
    assert title.is_visible() and title.bounding_box()["y"] < SCREEN["height"] / 3
    room = page.locator(".jp-WindowedPanel-outer").first.evaluate("e => e.clientHeight")
    assert room >= FITS
    run_first_code_cell(page)
    assert (root / "build" / "present" / "settings").is_dir()


def run_first_code_cell(page):
    """What is presented is live: the kernel of this notebook runs a cell and answers."""
    counted = page.evaluate(
        """async () => {
          const { content, sessionContext } = jupyterapp.shell.currentWidget;
          await sessionContext.ready;
          await sessionContext.session.kernel.info;
          const cell = content.widgets.find(w => w.model.type === 'code');
          cell.model.sharedModel.setSource('6 * 7');
          content.activeCellIndex = content.widgets.indexOf(cell);
          await jupyterapp.commands.execute('notebook:run-cell');
          return cell.model.outputs.toJSON().map(o => o.data['text/plain']);
        }"""
    )
    assert counted == ["42"]


def measure(page, path):
    """[(height in pixels, cell's name)] of every code cell, live where there is an explorer."""
    cells = [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]
    if any(re.search(r"^explore_\w+\(", text(cell["source"]), re.MULTILINE) for cell in cells):
        page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(
        """() => document.querySelector('.jp-Notebook-ExecutionIndicator').dataset.status
                 === 'idle' && [...document.images].every(i => i.complete)""",
        timeout=240_000,
    )
    page.wait_for_timeout(500)
    heights = page.evaluate(HEIGHTS)
    assert len(heights) == len(cells)
    # Lab may give a cell another id when it opens a file; the order is the file's.
    return [
        (height, f"{path.name[:2]} #{cell['id']}")
        for (_, height), cell in zip(heights, cells, strict=True)
    ]


def test_code_and_output_fit_the_screen(opened, request):
    found = []
    for path in LESSONS:
        page = opened("work/" + path.name)
        found += measure(page, path)
        page.close()
    tall = sorted((entry for entry in found if entry[0] > FITS), reverse=True)
    lines = [f"{height} px  {name}" for height, name in tall]
    report = f"{len(tall)} of {len(found)} code cells need more than {FITS} px:"
    for line in [report, *lines]:
        request.node.user_properties.append(("too tall", line))
    assert len(tall) * MAY_SCROLL <= len(found), "\n".join([report, *lines])


def test_the_measure_sees_a_cell_that_does_not_fit(opened, root):
    notebook = read(LESSONS[0])
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    tall = root / "work" / "tall.ipynb"
    source = (root / "work" / LESSONS[0].name).read_text(encoding="utf-8")
    line = text(code[1]["source"]).splitlines()[0]
    assert source.count(f'"{line}') == 1
    tall.write_text(source.replace(f'"{line}', '"' + "1\\n" * 40 + line), encoding="utf-8")
    (_, before), (height, name) = measure(opened("work/tall.ipynb"), tall)[:2]
    assert height > FITS and name.endswith(f"#{code[1]['id']}")
