"""Strict replay notices a wrong picture, a wrong digit and a wrong shape in a lesson.

One replay does it all: a copy of lesson 02, up to its first heatmap of weights, with that cell
repeated at the end. Each repetition draws a picture that differs in one way from the stored
one, or stores a text that differs in one digit from what the cell shows.
"""

import copy
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from helpers.tools.normal_form import compared, dumps, normal_form, read, text

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"

# Runs before the repetitions: each mutant stands in for heatmap and changes one thing.
MUTANTS = """
from helpers import heatmap as good_heatmap

def with_changed_value(values, *arguments, **named):
    def change(weights):
        weights = weights.detach().clone()
        weights[-1, 0] += 0.002
        return weights
    if isinstance(values, dict):
        values = {name: change(weights) for name, weights in values.items()}
    else:
        values = change(values)
    return good_heatmap(values, *arguments, **named)

def after(change):
    def mutant(*arguments, **named):
        picture = good_heatmap(*arguments, **named)
        change(picture.axes[0])
        return picture
    return mutant

def relabel(axes):
    labels = [label.get_text() for label in axes.get_xticklabels()]
    axes.set_xticklabels(["Z", *labels[1:]])

def redraw(axes):
    image = axes.images[0]
    axes.imshow(image.get_array(), cmap=image.cmap, norm=image.norm, origin="lower")
    image.remove()

mutants = {
    "nothing": good_heatmap,
    "a plotted value": with_changed_value,
    "a tick label": after(relabel),
    "the origin": after(redraw),
    "the direction of an axis": after(lambda axes: axes.invert_yaxis()),
    "the colour limits": after(lambda axes: axes.images[0].set_clim(0, 2)),
    "the colour map": after(lambda axes: axes.images[0].set_cmap("gray")),
    "a panel's title": after(lambda axes: axes.set_title("another")),
}
"""
PICTURE = re.findall(r'^    "(.+)": ', MUTANTS, re.MULTILINE)


def shown(cell):
    return "".join(value for values in compared(cell["outputs"]).values() for value in values)


def with_other_digit(cell, pattern):
    """The cell with the last digit of the first match of `pattern` changed in its stored text."""

    def other(match):
        found = match.group()
        return found[:-1] + str((int(found[-1]) + 1) % 10)

    changed = copy.deepcopy(cell)
    for output in changed["outputs"]:
        where, key = (output, "text") if "text" in output else (output["data"], "text/plain")
        where[key] = re.sub(pattern, other, text(where[key]), count=1)
    assert shown(changed) != shown(cell)
    return changed


def doctored(lesson):
    """(notebook, what each of its code cells has changed: None for the lesson's own)."""
    cells = [cell for cell in lesson["cells"] if cell["cell_type"] == "code"]
    drawing = next(
        n
        for n, cell in enumerate(cells)
        if "heatmap(" in text(cell["source"]) and "cividis" in shown(cell)
    )
    own = cells[: drawing + 1]
    setup = {**own[0], "source": MUTANTS, "outputs": []}
    repeated = [
        {**own[-1], "source": f'heatmap = mutants["{what}"]\n' + text(own[-1]["source"])}
        for what in PICTURE
    ]
    digit = r"(?<![\w.(])\d*\.\d+|(?<![\w.(])\d+(?![\w.])"
    digits = next(c for c in own if "matrix(" in text(c["source"]) and re.search(digit, shown(c)))
    shape = r"(?<=\d, )\d+(?=\))"
    shapes = next(c for c in own if "shapes(" in text(c["source"]) and re.search(shape, shown(c)))
    changed = [with_other_digit(digits, digit), with_other_digit(shapes, shape)]
    what = [None] * (len(own) + 1) + [*PICTURE, "a printed digit", "a printed shape"]
    cells = [
        {**cell, "id": f"cell-{n}"} for n, cell in enumerate([*own, setup, *repeated, *changed])
    ]
    return normal_form({**lesson, "cells": cells}), what


def replay(notebook, folder):
    """Cells that pass and cells that fail in a strict replay, by their number."""
    (folder / "lesson.ipynb").write_text(dumps(notebook), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p helpers.tools.replay\n")
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "--junitxml=report.xml", "lesson.ipynb"]
    run = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)
    assert (folder / "report.xml").exists(), run.stdout + run.stderr
    cases = ElementTree.parse(folder / "report.xml").iter("testcase")
    return {
        int(case.get("name").removeprefix("Cell ")): case.find("failure") is None for case in cases
    }


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    lesson = read(next(NOTEBOOKS.glob("02_*.ipynb")))
    notebook, what = doctored(lesson)
    passed = replay(notebook, tmp_path_factory.mktemp("bites"))
    assert len(passed) == len(what)
    return [(changed, passed[number]) for number, changed in enumerate(what)]


def test_unchanged_cells_pass(replayed):
    own = [passed for changed, passed in replayed if changed in (None, "nothing")]
    assert all(own), own


@pytest.mark.parametrize("change", [*PICTURE[1:], "a printed digit", "a printed shape"])
def test_replay_sees_a_change_of(change, replayed):
    assert dict(replayed)[change] is False
