"""The bench: bars that can be missed, keys that stay, one table, one file."""

import json
import math
import subprocess
import sys

import pytest

from helpers.tools import bench, costs
from helpers.tools.bench import CannotMeasure, Figure, main, table
from helpers.tools.normal_form import RAISES


@pytest.mark.parametrize(
    ("value", "bounds", "holds"),
    [
        (1.2, {}, None),
        (1.2, {"most": 1.25}, True),
        (1.26, {"most": 1.25}, False),
        (51, {"least": 50}, True),
        (49, {"least": 50}, False),
        (1.0, {"least": 0.8, "most": 1.3}, True),
        (1.4, {"least": 0.8, "most": 1.3}, False),
        (0.7, {"least": 0.8, "most": 1.3}, False),
        (math.nan, {"most": 1.0}, False),
    ],
)
def test_a_figure_knows_whether_it_holds(value, bounds, holds):
    assert Figure("a", value, **bounds).holds is holds


@pytest.fixture
def groups(monkeypatch):
    """Three groups of made-up figures in place of the real ones, and a log of their calls."""
    called = []

    def good(rounds):
        """Good."""
        called.append(("good", rounds))
        yield Figure("good.one", 1.0, over="two", most=2)

    def bad(rounds):
        """Bad."""
        called.append(("bad", rounds))
        yield Figure("bad.one", 3.0, most=2)
        yield Figure("bad.two", 3.0)

    def absent(rounds):
        """Absent."""
        called.append(("absent", rounds))
        raise CannotMeasure("it is not there")
        yield

    found = {"good": good, "bad": bad, "absent": absent}
    monkeypatch.setattr(bench, "GROUPS", found)
    return called


def run(tmp_path, *arguments):
    written = tmp_path / "build" / "bench.json"
    status = main([*arguments], written)
    return status, json.loads(written.read_text(encoding="utf-8")) if written.exists() else None


def test_all_bars_held_is_exit_0(groups, tmp_path, capsys):
    status, content = run(tmp_path, "--only", "good")
    assert (status, groups) == (0, [("good", bench.ROUNDS)])
    said = capsys.readouterr().out
    assert "good.one" in said and "holds" in said and "MISSES" not in said
    figure = content["figures"]["good.one"]
    assert figure == {
        "value": 1.0, "unit": "x", "over": "two", "least": None, "most": 2, "holds": True,
    }  # fmt: skip
    assert content["rounds"] == bench.ROUNDS >= 5
    assert content["measured_with"]["torch"] and content["left_out"] == {}


def test_a_missed_bar_is_said_and_exit_1(groups, tmp_path, capsys):
    status, content = run(tmp_path, "--without", "absent")
    assert status == 1 and [name for name, _ in groups] == ["good", "bad"]
    assert "1 of 3 miss their bar: bad.one" in capsys.readouterr().out
    assert content["figures"]["bad.one"]["holds"] is False


def test_what_cannot_be_measured_is_said_and_exit_1(groups, tmp_path, capsys):
    status, content = run(tmp_path, "--only", "absent, good", "--rounds", "7")
    assert status == 1 and ("good", 7) in groups
    assert "absent: not measured, it is not there" in capsys.readouterr().out
    assert content["left_out"] == {"absent": "it is not there"}
    assert list(content["figures"]) == ["good.one"]


def test_an_unknown_group_is_refused(groups, tmp_path, capsys):
    status, content = run(tmp_path, "--only", "godo")
    assert status == 2 and content is None and groups == []
    assert "godo" in capsys.readouterr().out


def test_the_table_is_lined_up():
    lines = table([Figure("a", 1.0, most=2), Figure("longer", 12_345.6, "ms", "imports", least=3)])
    assert len(lines) == 3
    assert lines[2].split("  ")[0] == "longer" and "12,346 ms" in lines[2]
    assert lines[1].index("1") == lines[2].index("12,346")


def test_keys_are_the_same_at_every_run_and_nothing_is_measured_twice():
    figures, left_out = bench.measure(["size", "imports"], 1)
    keys = [figure.key for figure in figures]
    lessons = costs.lessons()
    assert keys == [f"size.{n}" for n in lessons] + ["imports.helpers", "imports.helpers.s"]
    assert not left_out and all(figure.holds for figure in figures)


def test_a_slope_is_found_from_its_points():
    assert bench._slope([t**2 * 3e-9 for t in bench.LENGTHS]) == pytest.approx(2)
    flat_then_steep = [1 if t < bench.SLOPE_FROM else t for t in bench.LENGTHS]
    assert bench._slope(flat_then_steep) == pytest.approx(1)


def lesson(folder, number, *cells):
    """A lesson's file with these code cells, each a source or (source, tags)."""
    cells = [cell if isinstance(cell, tuple) else (cell, []) for cell in cells]
    notebook = {
        "cells": [
            {"cell_type": "code", "id": f"c{place}", "source": source, "metadata": {"tags": tags}}
            for place, (source, tags) in enumerate(cells)
        ]
    }
    path = folder / f"{number}_a.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path


def test_a_lessons_own_functions_are_measured(tmp_path, monkeypatch, capsys):
    path = lesson(tmp_path, "08", "print('noise')\ndef twice(x):\n    return 2 * x", "twice = None")
    monkeypatch.setattr(costs, "lessons", lambda: {"08": path})
    assert bench._names_of("08", ["twice"])["twice"](4) == 8
    assert capsys.readouterr().out == ""
    with pytest.raises(CannotMeasure, match="no longer defines thrice"):
        bench._names_of("08", ["thrice"])


@pytest.fixture
def light_yardstick(monkeypatch):
    """A yardstick that imports nothing: these tests are not about its size."""
    monkeypatch.setattr(costs, "BASELINE", ["pass"])


TRAINED = (
    "def train(): pass\nshakespeare = {}",
    "train()\nfinal = {{'none': 2.53, 'average': 2.84, 'by place': 2.48, 'head': {}}}\n"
    "wide_loss, both = 2.36, (0, 0.4)",
)


@pytest.mark.parametrize(
    ("shakespeare", "head", "missed"),
    [
        (True, 2.46, []),
        (True, 2.5, ["training.head.loss"]),
        (False, 2.5, []),  # on the short text only the order is asked for
        (False, 2.6, ["training.head"]),
    ],
)
def test_training_is_read_from_lesson_09(
    light_yardstick, tmp_path, monkeypatch, shakespeare, head, missed
):
    first, second = TRAINED
    path = lesson(tmp_path, "09", first.format(shakespeare), second.format(head))
    monkeypatch.setattr(costs, "lessons", lambda: {"09": path})
    figures, left_out = bench.measure(["training"], 1)
    assert left_out == {}
    assert [figure.key for figure in figures if figure.holds is False] == missed
    assert {figure.key: figure.value for figure in figures}["training.head.loss"] == head


def test_a_lesson_09_that_fails_or_has_other_names_is_said(light_yardstick, tmp_path, monkeypatch):
    for cells, why in [
        (["1 / 0"], "#c0 raised ZeroDivisionError"),
        ([("1 / 0", [RAISES])], "names have changed: final"),
    ]:
        path = lesson(tmp_path, "09", *cells)
        monkeypatch.setattr(costs, "lessons", lambda path=path: {"09": path})
        figures, left_out = bench.measure(["training"], 1)
        assert figures == [] and why in left_out["training"]


def test_the_real_lessons_still_hold_what_is_read_from_them():
    """Without running them: a lesson that renames would be noticed only by the next bench."""
    lessons = costs.lessons()
    fused = lessons["08"].read_text(encoding="utf-8")
    for name in (*bench.CALLS, "extra_memory"):
        assert f"def {name}(" in fused
    if "09" in lessons:
        trained = lessons["09"].read_text(encoding="utf-8")
        for name in ("final = {", "wide_loss = ", "both = ", "shakespeare = ", "train("):
            assert name in trained


def test_it_is_a_command():
    tool = costs.NOTEBOOKS.parent / "helpers" / "tools" / "bench.py"
    child = subprocess.run(
        [sys.executable, tool, "--only", "nothing"], capture_output=True, text=True
    )
    assert child.returncode == 2 and "there are size, imports" in child.stdout
