"""Every stored notebook in normal form and with the countable habits of a good lesson.

The rules are `helpers.tools.habits`. Each is shown able to fail, on a good notebook broken in
one way.
"""

import json
import re
from pathlib import Path

import pytest

from helpers.tools.habits import RULES, complaints
from helpers.tools.normal_form import EXEMPT, RAISES, dumps, normal_form

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("*.ipynb"))

PNG = "iVBORw0KGgo"
SENTENCE = "A row of the matrix says how much each position takes from those before it. "


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_lesson_keeps_the_habits(path):
    assert not (found := complaints(path)), "\n".join(found)


def test_the_readme_lists_every_lesson_and_nothing_else():
    readme = (NOTEBOOKS.parent / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"\]\(notebooks/([^)]+\.ipynb)\)", readme)
    assert listed == [path.name for path in LESSONS]
    others = re.findall(r"\]\(([^):]+)\)", readme)
    assert [link for link in others if not (NOTEBOOKS.parent / link).exists()] == []


# ---------------------------------------- the rules bite
def markdown(id, *lines):
    return {"cell_type": "markdown", "id": id, "metadata": {}, "source": "\n".join(lines)}


def code(id, source, *outputs, tags=()):
    return {
        "cell_type": "code",
        "id": id,
        "metadata": {"tags": list(tags)} if tags else {},
        "source": source,
        "outputs": list(outputs),
        "execution_count": None,
    }


def result(plain, **other):
    data = {"text/plain": plain, **{mime.replace("_", "/"): text for mime, text in other.items()}}
    return {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": None}


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def error():
    return {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["no"]}


def picture(alt="A heatmap of three rows: only the diagonal is lit.", png=PNG):
    html = f'<figure><img alt="{alt}" src="data:image/png;base64,{png}"></figure>'
    return result("[picture] Only the diagonal", text_html=html)


def good_notebook():
    steps = [
        cell
        for number in range(8)
        for cell in (
            markdown(f"why-{number}", f"## Step {number}", "", SENTENCE * 5, "**Predict:** a sum?"),
            code(f"do-{number}", f"weights[{number}].sum()", result(".731")),
        )
    ]
    opening = "**You will do** a.\n**You will learn** b.\n**You need** c.\n**Time** 30 minutes."
    ending = "## Recap\n\n## On your own\n\n## Further reading\n\n"
    links = "[back](01_one.ipynb) [on](03_three.ipynb#Start) [top](#Step-1) [text](../data/t.txt)"
    cells = [
        markdown("title", "# Average the past", "", opening),
        code("setup", "import torch\n\ntorch.set_num_threads(1)"),
        code("draw", 'heatmap(weights, "eye")', picture()),
        code("time", "print(seconds)\nassert fast < slow", stream("3.14159 s"), tags=[EXEMPT]),
        code("raise", "fail()", error(), tags=[RAISES]),
        *steps,
        markdown("end", ending + links),
    ]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def cell(notebook, id):
    return next(c for c in notebook["cells"] if c["id"] == id)


def edit(id, /, **changes):
    def change(notebook):
        found = cell(notebook, id)
        for key, value in changes.items():
            found[key] = value(found[key]) if callable(value) else value

    return change


def append(id, text):
    return edit(id, source=lambda source: source + text)


def more_cells(count, make):
    def change(notebook):
        notebook["cells"][5:5] = [make(f"more-{n}") for n in range(count)]

    return change


def stored(change):
    """A change to the file as it is stored: normal form would undo it."""
    change.after = True
    return change


def set_metadata(notebook):
    notebook["metadata"]["widgets"] = {"state": {}}


def number_cells_anew(notebook):
    cell(notebook, "do-3")["execution_count"] = 40


def strip_outputs(notebook):
    for found in notebook["cells"]:
        if found["cell_type"] == "code":
            found["outputs"], found["execution_count"] = [], None


def widget_view(notebook):
    view = result("HBox()")
    view["data"]["application/vnd.jupyter.widget-view+json"] = {"model_id": "1"}
    cell(notebook, "do-0")["outputs"] = [view]


BREAKERS = [
    ("is_in_normal_form", stored(edit("do-1", metadata={"collapsed": True}))),
    ("is_in_normal_form", stored(set_metadata)),
    ("is_in_normal_form", edit("do-1", id="do-2")),
    ("stays_small", append("why-1", "word " * 32_000)),
    ("was_run_in_order", stored(number_cells_anew)),
    ("was_run_in_order", stored(strip_outputs)),
    ("stores_every_output", edit("do-1", source="weights[1]", outputs=[])),
    ("stores_every_output", edit("draw", outputs=[])),
    ("stores_every_output", edit("time", outputs=[])),
    ("stores_no_widgets", stored(set_metadata)),
    ("stores_no_widgets", stored(widget_view)),
    ("stores_only_errors_that_are_meant", edit("do-1", outputs=[error()])),
    ("stores_only_errors_that_are_meant", edit("raise", outputs=[])),
    ("stores_no_warnings", edit("do-1", outputs=[stream("UserWarning: x", "stderr")])),
    ("names_no_machine", edit("do-1", outputs=[result("<function f at 0x7f3a2c1d0e50>")])),
    ("names_no_machine", edit("do-1", outputs=[result("read /" + "home/ada/scene.txt")])),
    ("holds_nothing_remote", append("why-1", "<script>alert(1)</script>")),
    ("holds_nothing_remote", append("why-1", "![a picture of the tables](https://a.b/c.png)")),
    (
        "exempts_few_cells",
        more_cells(4, lambda id: code(id, "x = 1\nassert x", tags=[EXEMPT])),
    ),
    ("exempts_few_cells", edit("time", source="print(seconds)")),
    ("marks_exemptions_by_tag", append("do-1", "\n# NBVAL_IGNORE_OUTPUT")),
    ("marks_exemptions_by_tag", edit("do-1", metadata={"tags": ["nbval-skip"]})),
    ("fits_a_projector", append("do-1", "  # " + "x" * 80)),
    ("ends_no_line_in_a_semicolon", append("do-1", ";")),
    ("uses_no_magics", edit("do-1", source="!ls")),
    ("uses_no_magics", edit("do-1", source="%timeit x")),
    ("imports_no_star", edit("setup", source="from helpers import *\ntorch.set_num_threads(1)")),
    ("sets_one_thread_first", edit("setup", source="import torch")),
    ("keeps_cells_short", more_cells(4, lambda id: code(id, "x = 1\n" * 13))),
    ("keeps_cells_short", more_cells(16, lambda id: code(id, "x = 1\n" * 6))),
    ("calls_one_helper_a_cell", append("draw", "\nmatrix(weights)")),
    ("describes_every_picture", edit("draw", outputs=[picture(alt="")])),
    ("describes_every_picture", edit("draw", outputs=[result("f", image_png=PNG)])),
    ("describes_every_picture", append("why-1", "![short](../data/t.txt)")),
    ("keeps_pictures_small", edit("draw", outputs=[picture(png="A" * 60_000)])),
    ("shows_few_decimals", edit("do-1", outputs=[result("tensor(0.7311)")])),
    ("shows_few_decimals", edit("do-1", outputs=[result("[-0.000, 1.000]")])),
    ("has_one_title", append("why-1", "\n\n# Another title")),
    ("has_one_title", edit("title", source="## You will do, learn, need, minutes")),
    ("says_what_comes", edit("title", source="# Average the past")),
    ("ends_with_what_was_learnt", edit("end", source="[on](03_three.ipynb)")),
    (
        "asks_for_predictions",
        lambda nb: [edit(f"why-{n}", source=SENTENCE * 5)(nb) for n in range(6)],
    ),
    ("is_of_a_lessons_length", more_cells(30, lambda id: code(id, "x = 1"))),
    ("is_of_a_lessons_length", append("why-1", "word " * 900)),
    ("is_of_a_lessons_length", lambda nb: nb["cells"].__delitem__(slice(5, 13))),
    ("is_plain", append("why-1", "This is simply a sum.")),
    ("is_plain", append("why-1", "It works!")),
    ("is_plain", append("why-1", chr(0x1F600))),
    ("links_resolve", append("why-1", "[a](04_four.ipynb)")),
    ("links_resolve", append("why-1", "[a](README.md)")),
    ("links_resolve", append("why-1", "[a](#No-such-step)")),
    ("links_to_its_neighbours", edit("end", source=lambda source: source.replace("01_one", "02"))),
    ("calls_lessons_by_their_titles", append("why-1", "[03 · Other words](03_three.ipynb)")),
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "t.txt").write_text("t")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "README.md").write_text("{}")
    for name, title in (("01_one.ipynb", "# 01 · Ask one"), ("03_three.ipynb", "# 03 · Ask three")):
        neighbour = {"cells": [{"cell_type": "markdown", "id": "title", "source": title}]}
        (tmp_path / "notebooks" / name).write_text(json.dumps({**neighbour, "nbformat": 4}))
    return tmp_path / "notebooks"


def write(folder, notebook, after=lambda notebook: None):
    notebook = json.loads(dumps(normal_form(notebook)))
    after(notebook)
    path = folder / "02_two.ipynb"
    path.write_text(dumps(notebook), encoding="utf-8")
    return path


def test_a_good_notebook_passes(folder):
    notebook = good_notebook()
    append("why-1", "[03 · Ask three](03_three.ipynb)")(notebook)
    assert complaints(write(folder, notebook)) == []


@pytest.mark.parametrize(
    ("rule", "change"), BREAKERS, ids=[f"{rule}-{n}" for n, (rule, _) in enumerate(BREAKERS)]
)
def test_rule_bites(rule, change, folder):
    notebook = good_notebook()
    if hasattr(change, "after"):
        path = write(folder, notebook, after=change)
    else:
        change(notebook)
        try:
            path = write(folder, notebook)
        except ValueError:  # no normal form at all: stored as it is
            path = folder / "02_two.ipynb"
            path.write_text(dumps(notebook), encoding="utf-8")
    assert rule in {line.split(":")[0] for line in complaints(path)}


def test_every_rule_is_seen_to_bite():
    assert {rule for rule, _ in BREAKERS} == set(RULES)
