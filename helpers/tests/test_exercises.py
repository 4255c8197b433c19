"""Every exercise: its solution is right, its hint gives nothing away, its cell runs unfilled."""

import re
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from helpers import check
from helpers.tools.normal_form import read, tags, text

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
FOLDED = re.compile(r"<details>\s*<summary>(\w+)[^<]*</summary>(.*?)</details>", re.S)
FENCE = re.compile(r"```python\n(.*?)```", re.S)
CHECKED = re.compile(r'^check\("(\w+)", (\w+)\)$', re.M)


def exercises():
    """(lesson, exercise, name of the attempt, cell source, hint, solution) of every lesson."""
    for path in sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")):
        cells = read(path)["cells"]
        for cell, after in zip(cells, cells[1:] + [{"source": ""}], strict=True):
            if "exercise" not in tags(cell):
                continue
            source = text(cell["source"])
            (exercise, attempt), *_ = CHECKED.findall(source) or [("", "")]
            folded = dict(FOLDED.findall(text(after["source"])))
            yield pytest.param(
                exercise,
                attempt,
                source,
                folded.get("Hint", ""),
                folded.get("Solution", ""),
                id=f"{path.name[:2]}-{exercise}",
            )


ALL = list(exercises())
given = pytest.mark.parametrize("exercise, attempt, source, hint, solution", ALL)


def defined(code, name):
    namespace = {"__name__": "attempt", "torch": torch, "nn": nn, "F": F}
    exec(compile(code, f"<{name}>", "exec"), namespace)
    return namespace[name]


@given
def test_solution_is_right(exercise, attempt, source, hint, solution):
    fences = FENCE.findall(solution)
    assert len(fences) == 1, "one fence of Python, which defines the whole answer"
    result = check(exercise, defined(fences[0], attempt))
    assert (result.verdict, result.faults, result.remarks) == ("right", (), ())


@given
def test_unfilled_cell_is_not_attempted(exercise, attempt, source, hint, solution):
    code = CHECKED.sub("", source)
    assert check(exercise, defined(code, attempt)).verdict == "not attempted"


@given
def test_hint_does_not_hold_the_solution(exercise, attempt, source, hint, solution):
    assert len(hint.split()) >= 10, "a hint says something"
    assert "```" not in hint
    squeezed = re.sub(r"\s", "", hint)
    for line in FENCE.findall(solution)[0].splitlines():
        code = re.sub(r"#.*|\s", "", line)
        told = len(code) > 12 and not line.startswith(("def ", "class ")) and code in squeezed
        assert not told, f"the hint gives away: {line.strip()}"


def test_every_lesson_has_one():
    numbers = {path.name[:2] for path in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")}
    assert {param.id[:2] for param in ALL} == numbers
