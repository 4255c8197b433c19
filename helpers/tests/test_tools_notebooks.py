"""Normal form, comparing outputs, refreshing: the tools that store a notebook."""

import copy
import json

import pytest

from helpers.tools import refresh as tool
from helpers.tools.normal_form import (
    EXEMPT,
    WIDGET_VIEW,
    NotebookError,
    compared,
    dumps,
    normal_form,
    read,
)
from helpers.tools.replay import surroundings


def code(id, source, *outputs, tags=(), **other):
    cell = {"cell_type": "code", "id": id, "source": source, "outputs": list(outputs)}
    return {**cell, "metadata": {"tags": list(tags)}, "execution_count": None, **other}


def notebook(*cells, **other):
    return {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 4, **other}


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def result(**data):
    data = {key.replace("_", "/", 1): value for key, value in data.items()}
    return {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": 9}


UNTIDY = notebook(
    {"cell_type": "markdown", "id": "m", "metadata": {"editable": True}, "source": "# A\n\n"},
    code("a", "print(1)\nx\n", stream("a\n"), result(text_plain="1\n2"), stream("b\n")),
    code("empty", ""),
    code("b", "y", stream("10%\r20%\rdone\n"), execution_count=7, metadata={"scrolled": True}),
    code(
        "e",
        "1/0",
        {
            "output_type": "error",
            "ename": "E",
            "evalue": "\x1b[31mno\x1b[0m",
            "traceback": ["\x1b[0;31mE\x1b[0m", "Cell In[1], line 1", "File /a/b.py:3", "E: no"],
        },
    ),
    metadata={"widgets": {"state": {}}, "kernelspec": {"name": "mine"}},
)


# ---------------------------------------- normal form
def test_normal_form_is_idempotent_and_changes_nothing_given():
    given = copy.deepcopy(UNTIDY)
    once = normal_form(UNTIDY)
    assert given == UNTIDY
    assert normal_form(once) == once
    assert dumps(normal_form(json.loads(dumps(once)))) == dumps(once)


def test_normal_form_sets_and_drops_what_it_says():
    text, a, empty, b, e = normal_form(UNTIDY)["cells"]
    assert set(normal_form(UNTIDY)["metadata"]) == {"kernelspec", "language_info"}
    assert [c["execution_count"] for c in (a, empty, b, e)] == [1, None, 2, 3]
    assert text["source"] == ["# A"] and a["source"] == ["print(1)\n", "x"]
    assert text["metadata"] == b["metadata"] == {}
    merged, shown = a["outputs"]
    assert merged["text"] == ["a\n", "b\n"]
    assert shown["execution_count"] == 1 and shown["data"]["text/plain"] == ["1\n", "2"]
    assert b["outputs"][0]["text"] == ["done\n"]
    assert e["outputs"][0]["evalue"] == "no"
    assert e["outputs"][0]["traceback"] == ["E", "Cell In[1], line 1", "E: no"]


def test_normal_form_keeps_a_widgets_picture_and_drops_its_view():
    view = result(text_plain="grid", text_html="<figure>", **{WIDGET_VIEW: {"model_id": "1"}})
    (cell,) = normal_form(notebook(code("a", "x", view)))["cells"]
    assert set(cell["outputs"][0]["data"]) == {"text/plain", "text/html"}


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ([code("", "x")], "cell 1 has no valid id"),
        ([code("a", "x"), code("a", "y")], "cell 2 #a: the id is used twice"),
        (
            [{"cell_type": "markdown", "id": "m", "source": "", "attachments": {"p.png": {}}}],
            "a pasted picture",
        ),
    ],
)
def test_normal_form_refuses(cells, says):
    with pytest.raises(NotebookError, match=says):
        normal_form(notebook(*cells))


def test_pictures_are_compared_by_their_words_only():
    def outputs(png, words):
        return [result(text_html=f'<img src="data:image/png;base64,{png}">', text_plain=words)]

    assert compared(outputs("AAAA", "one")) == compared(outputs("BBBB+/=", "one"))
    assert compared(outputs("AAAA", "one")) != compared(outputs("AAAA", "two"))


# ---------------------------------------- refresh
def write(folder, *cells):
    path = folder / "01_try.ipynb"
    path.write_text(json.dumps(notebook(*cells)), encoding="utf-8")
    return path


def refused(path):
    before = path.read_bytes()
    accepted, lines = tool.refresh(path)
    assert not accepted
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    return "\n".join(lines)


def test_refresh_stores_outputs_and_says_when_nothing_changed(tmp_path):
    timed = "import time\nprint(time.perf_counter())"
    path = write(tmp_path, code("a", "print('here')\n6 * 7"), code("t", timed, tags=[EXEMPT]))
    accepted, lines = tool.refresh(path)
    assert accepted and "stored" in lines[0]
    first = read(path)["cells"][0]
    assert compared(first["outputs"]) == {"stdout": ["here\n"], "text/plain": ["42"]}
    stored = path.read_bytes()
    assert tool.refresh(path) == (True, ["01_try.ipynb: unchanged"])
    assert path.read_bytes() == stored  # the timing too: only its number was new


def test_refresh_refuses_a_cell_that_differs_on_another_machine(tmp_path):
    source = "import os\nprint('first')\nprint(os.environ.get('ATEN_CPU_CAPABILITY'))"
    said = refused(write(tmp_path, code("same", "1"), code("differs", source)))
    assert "01_try.ipynb: refused" in said
    assert "cell 2 #differs differs under ATEN_CPU_CAPABILITY=avx2" in said
    assert "-None" in said and "+avx2" in said and "first" not in said


def test_refresh_refuses_an_error_and_names_it(tmp_path):
    said = refused(write(tmp_path, code("fine", "1"), code("bad", "1 / 0"), code("late", "2")))
    assert "cell 2 #bad raised ZeroDivisionError: division by zero" in said


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        (
            code("a", "1", tags=["raises-exception"]),
            "is tagged raises-exception and raised nothing",
        ),
        (code("a", "", stream("careful", "stderr")), "wrote to stderr: careful"),
        (code("a", "", result(image_png="AAAA")), "shows a picture without alt text"),
    ],
)
def test_what_a_finished_cell_may_not_hold(cell, says):
    assert any(
        says in complaint for complaint in tool._unfit(normal_form(notebook(cell))["cells"][0])
    )


def test_measurements_stay_unless_their_words_change():
    def cells(text, source="run()"):
        return normal_form(notebook(code("t", source, stream(text), tags=[EXEMPT])))

    def kept(new, old):
        return compared(tool.keep_measurements(new, old)["cells"][0]["outputs"])["stdout"][0]

    assert kept(cells("loop 12.1 ms"), cells("loop  9.87 ms")) == "loop  9.87 ms"
    assert kept(cells("loop 12.1 s"), cells("loop 9.87 ms")) == "loop 12.1 s"
    assert kept(cells("loop 12.1 ms", "run(2)"), cells("loop 9.87 ms")) == "loop 12.1 ms"


def test_find_takes_numbers_and_paths(tmp_path):
    for name in ("01_a.ipynb", "02_b.ipynb"):
        (tmp_path / name).write_text("{}")
    one, two = tmp_path / "01_a.ipynb", tmp_path / "02_b.ipynb"
    assert tool.find([], tmp_path) == [one, two]
    assert tool.find(["2", "01"], tmp_path) == [two, one]
    assert tool.find([str(one)], tmp_path) == [one]
    with pytest.raises(NotebookError, match="no lesson 7"):
        tool.find(["7"], tmp_path)
    with pytest.raises(NotebookError, match="no file"):
        tool.find(["none.ipynb"], tmp_path)


def test_surroundings_keep_the_readers_settings_out():
    with surroundings({"MPLBACKEND": "agg", "KEPT": "1"}) as environ:
        assert "MPLBACKEND" not in environ
        assert environ["KEPT"] == environ["OMP_NUM_THREADS"] == environ["MKL_NUM_THREADS"] == "1"


def test_a_readers_copies_are_never_replayed(tmp_path):
    from helpers.tools.replay import ROOT, pytest_ignore_collect

    assert pytest_ignore_collect(ROOT / "work" / "01_try.ipynb") is True
    assert pytest_ignore_collect(ROOT / "notebooks" / "01_try.ipynb") is None
    assert pytest_ignore_collect(tmp_path / "work" / "01_try.ipynb") is None
