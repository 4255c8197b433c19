"""Every exercise: its solution is right, its hint gives nothing away, its cell runs unfilled."""

import ast
import re
from pathlib import Path

import pytest

from helpers import check
from helpers.tools.normal_form import read, tags, text

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
FOLDED = re.compile(r"<details>\s*<summary>(\w+)[^<]*</summary>(.*?)</details>", re.S)
FENCE = re.compile(r"```python\n(.*?)```", re.S)
CHECKED = re.compile(r'^check\("(\w+)", (\w+)\)$', re.M)


def exercises():
    """(exercise, name of the attempt, cell source, hint, solution, imports) of every lesson."""
    for path in sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")):
        cells, imports = read(path)["cells"], []
        for cell, after in zip(cells, cells[1:] + [{"source": ""}], strict=True):
            source = text(cell["source"])
            if "exercise" not in tags(cell):
                if cell["cell_type"] == "code":
                    imports += imported(source)
                continue
            (exercise, attempt), *_ = CHECKED.findall(source) or [("", "")]
            folded = dict(FOLDED.findall(text(after["source"])))
            yield pytest.param(
                exercise,
                attempt,
                source,
                folded.get("Hint", ""),
                folded.get("Solution", ""),
                "\n".join(imports),
                id=f"{path.name[:2]}-{exercise}",
            )


def imported(source):
    """The import statements of a cell: what a reader has at hand below it."""
    return [ast.unparse(n) for n in ast.parse(source).body if isinstance(n, IMPORTS)]


IMPORTS = (ast.Import, ast.ImportFrom)
ALL = list(exercises())
given = pytest.mark.parametrize("exercise, attempt, source, hint, solution, imports", ALL)


def defined(code, name, imports):
    namespace = {"__name__": "attempt"}
    exec(imports, namespace)
    exec(compile(code, f"<{name}>", "exec"), namespace)
    return namespace[name]


@given
def test_solution_is_right(exercise, attempt, source, hint, solution, imports):
    fences = FENCE.findall(solution)
    assert len(fences) == 1, "one fence of Python, which defines the whole answer"
    result = check(exercise, defined(fences[0], attempt, imports))
    assert (result.verdict, result.faults, result.remarks) == ("right", (), ())


@given
def test_unfilled_cell_is_not_attempted(exercise, attempt, source, hint, solution, imports):
    code = CHECKED.sub("", source)
    assert check(exercise, defined(code, attempt, imports)).verdict == "not attempted"


@given
def test_hint_does_not_hold_the_solution(exercise, attempt, source, hint, solution, imports):
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
