"""The copies to hand out: nothing of a solution in the students', no prose in the lecturer's.

What a solution is, is read here from the lesson alone, by other means than the tool's: the test
must notice a tool that leaves one in. That the copies run is `make test-handout`.
"""

import ast
import json
import re
from pathlib import Path

import pytest

from helpers.tools import handout
from helpers.tools.normal_form import read, tags, text

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
each_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)

DETAILS = re.compile(r"<details>(.*?)</details>", re.S)
FENCE = re.compile(r"```python\n(.*?)```", re.S)
# Functions that take the steps of their lesson's exercise: what follows builds on the one, and the
# other is what the reader is to write again from memory.
TAUGHT = {"08_the_fused_call.ipynb": {"fused"}, "10_at_the_whiteboard.ipynb": {"self_attention"}}
TELLING = 12  # characters of a line, without spaces, below which it tells nothing


# ---------------------------------------- what must not be there
def folded(lesson):
    """(title, what is below it) of all that a lesson folds, hints left out."""
    for cell in lesson["cells"]:
        for block in DETAILS.findall(text(cell["source"])):
            title, _, inside = block.partition("</summary>")
            title = title.replace("<summary>", "").strip()
            if title != "Hint":
                yield title, inside


def squeezed(value):
    return re.sub(r"\s", "", value)


def parsed(code):
    try:
        return ast.parse(code)
    except SyntaxError:
        return ast.Module([], [])


def bodies(code):
    """[(shape of a function, its name)], for those that do something.

    The shape is blind to names, comments and docstrings: the same steps are the same shape.
    """
    found = []
    for node in ast.walk(parsed(code)):
        if not isinstance(node, ast.FunctionDef):
            continue
        body = [s for s in node.body if not (isinstance(s, ast.Expr) and _constant(s.value))]
        if not body:
            continue
        names = {}
        for inside in ast.walk(node):
            if isinstance(inside, ast.arg):
                inside.arg = names.setdefault(inside.arg, f"n{len(names)}")
        for statement in body:
            for inside in ast.walk(statement):
                if isinstance(inside, ast.Name):
                    inside.id = names.setdefault(inside.id, f"n{len(names)}")
        found.append(("\n".join(ast.dump(statement) for statement in body), node.name))
    return found


def _constant(value):
    return isinstance(value, ast.Constant)


def lines(code):
    """Lines that tell something, without spaces and comments."""
    told = (squeezed(line.partition("#")[0]) for line in code.splitlines())
    return {t for t in told if len(t) > TELLING and not t.startswith(("def", "class", "import"))}


def leaks(lesson, copy):
    """What of a lesson's solutions and answers is left in a copy: a list of lines."""
    found = []
    solutions = [code for _, inside in folded(lesson) for code in FENCE.findall(inside)]
    sources = [text(cell["source"]) for cell in copy["cells"]]
    everything = squeezed(json.dumps(copy, ensure_ascii=False).replace('\\"', '"'))
    everything = everything.replace('\\n","', "").replace("\\n", "")
    unfolded = squeezed("\n".join(DETAILS.sub("", text(c["source"])) for c in lesson["cells"]))
    for title, _ in folded(copy):
        found.append(f"a folded {title!r}")
    for title, inside in folded(lesson):
        for sentence in re.split(r"(?<=[.:?])\s+", FENCE.sub("", inside)):
            if len(sentence) > 30 and squeezed(sentence) in everything:
                found.append(f"of {title!r}: {sentence.strip()}")
    for code in solutions:
        for line in lines(code):
            if line in everything and line not in unfolded:
                found.append(f"a line of a solution: {line}")
    written = [code for source in sources for code in (source, *FENCE.findall(source))]
    shapes = {shape for code in solutions for shape, _ in bodies(code)}
    for code in written:
        for shape, name in bodies(code):
            if shape in shapes:
                found.append(f"the steps of a solution, in {name}")
    for cell in copy["cells"]:
        if "exercise" in tags(cell) and cell["outputs"]:
            found.append(f"an output of #{cell['id']}")
    return found


@each_lesson
def test_nothing_of_a_solution_is_left(path):
    lesson = read(path)
    assert list(folded(lesson)), "a lesson without a solution would make this test empty"
    taught = {f"the steps of a solution, in {name}" for name in TAUGHT.get(path.name, ())}
    assert set(leaks(lesson, handout.for_students(lesson))) == taught


@each_lesson
def test_students_keep_the_rest(path):
    lesson = read(path)
    copy = handout.for_students(lesson)
    kept = {cell["id"]: cell for cell in copy["cells"]}
    for cell in lesson["cells"]:
        source = text(cell["source"])
        if "<details>" in source:
            for block in DETAILS.findall(source):
                if "<summary>Hint</summary>" in block:
                    assert block in text(kept[cell["id"]]["source"])
        elif "exercise" in tags(cell):
            assert text(kept[cell["id"]]["source"]) == source
        elif cell["cell_type"] == "markdown":
            assert text(kept[cell["id"]]["source"]) == source.replace("](../", "](../../../")
    gone = [c["id"] for c in lesson["cells"] if c["id"] not in kept]
    answers = sum(title == "Answer" for title, _ in folded(lesson))
    assert len(gone) <= 2 * answers, f"more than answers and what confirms them: {gone}"


# ---------------------------------------- the test for leaks can fail
def keep_folded(lesson, copy):
    for mine, theirs in zip(_prose(copy), _prose(lesson, copy), strict=True):
        mine["source"] = theirs["source"]


def _prose(notebook, like=None):
    wanted = {c["id"] for c in (like or notebook)["cells"]}
    return [c for c in notebook["cells"] if c["cell_type"] == "markdown" and c["id"] in wanted]


def _solution(lesson):
    return next(code for _, inside in folded(lesson) for code in FENCE.findall(inside))


def unfold(lesson, copy):
    copy["cells"][-1]["source"] = f"Like this:\n\n```python\n{_solution(lesson)}```"


def fill_in(lesson, copy):
    next(c for c in copy["cells"] if "exercise" in tags(c))["source"] = _solution(lesson)


def fill_in_under_other_names(lesson, copy):
    class Other(ast.NodeTransformer):
        def visit_FunctionDef(self, node):
            if not node.name.startswith("__"):
                node.name = "mine"
            names = [a.arg for a in node.args.args]
            for inside in ast.walk(node):
                if isinstance(inside, ast.arg) and inside.arg in names:
                    inside.arg += "_"
                if isinstance(inside, ast.Name) and inside.id in names:
                    inside.id += "_"
            return node

    code = ast.unparse(Other().visit(ast.parse(_solution(lesson))))
    next(c for c in copy["cells"] if "exercise" in tags(c))["source"] = code


def keep_an_output(lesson, copy):
    cell = next(c for c in copy["cells"] if "exercise" in tags(c))
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["right"]}]


def keep_an_answer_as_prose(lesson, copy):
    answer = next((inside for title, inside in folded(lesson) if title == "Answer"), None)
    if answer is None:
        pytest.skip("this lesson has no answer in words")
    copy["cells"][-1]["source"] = answer.strip()


MUTATIONS = [
    keep_folded,
    unfold,
    fill_in,
    fill_in_under_other_names,
    keep_an_output,
    keep_an_answer_as_prose,
]


@each_lesson
@pytest.mark.parametrize("leak", MUTATIONS, ids=lambda leak: leak.__name__)
def test_a_leak_is_noticed(leak, path):
    lesson = read(path)
    copy = handout.for_students(lesson)
    before = leaks(lesson, copy)
    leak(lesson, copy)
    assert len(leaks(lesson, copy)) > len(before)


def test_a_tool_that_leaves_solutions_in_is_noticed(monkeypatch):
    monkeypatch.setattr(handout, "HINTS", ("Hint", "Solution"))
    for lesson in map(read, LESSONS):
        assert any(
            "folded 'Solution'" in line for line in leaks(lesson, handout.for_students(lesson))
        )


def test_the_cure_in_the_cell_after_an_answer_counts():
    lesson = {
        "cells": [
            _cell("a", "<details>\n<summary>Answer</summary>\n\nHalve it.\n\n</details>"),
            _cell("cured", "def cured(t):\n    return t * 0.5 + t.mean()  # halved", code=True),
            _cell("next", "## Your turn"),
            _cell("try", "def half(x):\n    ...\n\ncheck('half', half)", "exercise", code=True),
            _cell(
                "help",
                "<details>\n<summary>Solution</summary>\n\n```python\ndef half(x):\n"
                "    return x * 0.5 + x.mean()\n```\n\n</details>",
            ),
        ],
        "nbformat": 4,
    }
    copy = handout.for_students(lesson)
    assert [cell["id"] for cell in copy["cells"]] == ["next", "try"]
    assert leaks(lesson, copy) == []
    copy["cells"].append(lesson["cells"][1])
    assert leaks(lesson, copy) == ["the steps of a solution, in cured"]


def _cell(id, source, *tags, code=False):
    cell = {"cell_type": "markdown", "id": id, "metadata": {"tags": list(tags)}, "source": source}
    if code:
        cell |= {"cell_type": "code", "outputs": [], "execution_count": None}
    return cell


# ---------------------------------------- the lecturer's copy
@each_lesson
def test_the_lecturer_has_headings_code_and_pictures(path):
    lesson = read(path)
    copy = handout.for_the_lecturer(lesson)
    prose = [text(c["source"]) for c in copy["cells"] if c["cell_type"] == "markdown"]
    said = [line for source in prose for line in source.splitlines() if line]
    assert all(line.startswith("#") for line in said)
    unfenced = [
        re.sub(r"```.*?```", "", text(c["source"]), flags=re.S)
        for c in lesson["cells"]
        if c["cell_type"] == "markdown"
    ]
    assert said == [line for source in unfenced for line in source.splitlines() if line[:1] == "#"]

    code = [c for c in lesson["cells"] if c["cell_type"] == "code"]
    mine = [c for c in copy["cells"] if c["cell_type"] == "code"]
    for before, after in zip(code, mine, strict=True):
        if "exercise" in tags(before):
            assert ast.parse(text(after["source"])).body == [], "comments at most"
            assert after["outputs"] == []
        else:
            assert after["source"] == before["source"]
            pictures = json.dumps(before["outputs"]).count("<img")
            assert json.dumps(after["outputs"]).count("<img") == pictures == len(after["outputs"])


# ---------------------------------------- files
@pytest.fixture
def root(tmp_path):
    root = tmp_path / "a course"
    (root / "notebooks").mkdir(parents=True)
    (root / "notebooks" / "01_one.ipynb").write_text(
        json.dumps(
            {
                "cells": [
                    _cell("title", "# One\n\nA [text](../data/t.txt), [two](02_two.ipynb)."),
                    {**_cell("sum", "print(1 + 1)", code=True), "outputs": [_printed("2\n")]},
                    _cell("try", "a = ...", "exercise", code=True),
                ],
                "metadata": {},
                "nbformat": 4,
                "nbformat_minor": 5,
            }
        )
    )
    return root


def _printed(shown):
    return {"output_type": "stream", "name": "stdout", "text": shown}


def test_build_makes_the_folder_anew(root):
    old = root / "build" / "handout" / "old.ipynb"
    old.parent.mkdir(parents=True)
    old.write_text("old")
    paths = handout.build(root)
    assert [path.relative_to(root / "build" / "handout").as_posix() for path in paths] == [
        "students/01_one.ipynb",
        "lecturer/01_one.ipynb",
        "sheet_blank.html",
        "sheet_filled.html",
    ]
    assert not old.exists() and all(path.is_file() for path in paths)
    source = text(read(paths[0])["cells"][0]["source"])
    assert source.endswith("A [text](../../../data/t.txt), [two](02_two.ipynb).")
    assert (root / "notebooks" / "01_one.ipynb").is_file()


def test_the_sheets_are_pages_of_their_own(tmp_path):
    blank, filled = (path.read_text() for path in handout.print_sheets(tmp_path))
    for page in (blank, filled):
        assert page.startswith("<!doctype html>") and not re.search(r"https?:|<script|<link", page)
    assert ".731" in filled and ".731" not in blank


def test_running_names_what_raises_and_what_differs(root):
    students, lecturer, *_ = handout.build(root)
    assert handout.run_all([students, lecturer]) == []
    students.write_text(students.read_text().replace('"2\\n"', '"3\\n"'))
    lecturer.write_text(lecturer.read_text().replace("1 + 1", "1 + nothing"))
    differs, raised = handout.run_all([students, lecturer])
    assert differs == "students/01_one.ipynb: cell 2 #sum shows something else"
    assert raised.startswith("lecturer/01_one.ipynb: cell 2 #sum raised NameError")
