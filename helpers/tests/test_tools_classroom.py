"""A class on one server: is what goes wrong noticed? All but the hub itself, which takes longer."""

import json
from pathlib import Path

import pytest

from helpers.tools import classroom
from helpers.tools.classroom import Student, changes, faults, main, report, settings, snapshot


@pytest.fixture
def notebook():
    """A lesson of two cells, one of which is compared."""

    def cell(name, said, tags):
        output = {"output_type": "stream", "name": "stdout", "text": said}
        return {
            "cell_type": "code",
            "id": name,
            "metadata": {"tags": tags},
            "source": "print()",
            "execution_count": 1,
            "outputs": [output],
        }

    cells = [cell("a", "Ay, good\n", []), cell("b", "3.1 ms\n", ["nbval-ignore-output"])]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


# ---------------------------------------- what is written
def test_a_new_a_changed_and_a_missing_file_are_named(tmp_path):
    for name in ("kept", "longer", "gone"):
        (tmp_path / name).write_text("a")
    before = snapshot([tmp_path])
    assert list(changes(before, snapshot([tmp_path]))) == []
    (tmp_path / "longer").write_text("ab")
    (tmp_path / "gone").unlink()
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "new").write_text("")
    found = [line.replace(str(tmp_path), "") for line in changes(before, snapshot([tmp_path]))]
    assert found == ["new: /below/new", "gone: /gone", "changed: /longer"]


def test_bytecode_is_no_complaint_nor_a_folder_that_is_not_there(tmp_path):
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_text("")
    assert snapshot([tmp_path, tmp_path / "nowhere"]) == {}


def test_the_checkout_is_watched():
    assert Path(__file__).resolve().parents[2] in classroom.places()


# ---------------------------------------- what a student got
def test_an_output_that_differs_is_named_and_a_measured_one_is_not(notebook):
    saved = json.loads(json.dumps(notebook))
    saved["cells"][1]["outputs"][0]["text"] = "2.9 ms\n"
    assert faults(notebook, saved) == []
    saved["cells"][0]["outputs"][0]["text"] = "Nay, bad\n"
    (line,) = faults(notebook, saved)
    assert "#a" in line and "Nay, bad" in line


def test_a_copy_that_was_never_run_fails(notebook):
    (line,) = faults(notebook, classroom.stripped(notebook))
    assert "#a" in line


FIGURES = {"start": 1.0, "lasted": 2.0, "rest": 0}


def test_one_student_who_differs_fails_the_class(tmp_path, capsys):
    students = [Student("one", tmp_path), Student("two", tmp_path, faults=["cell 1 #a: -x"])]
    assert report(students, [], **FIGURES) == 1
    said = capsys.readouterr().out
    assert "FAILED" in said and "cell 1 #a" in said
    assert said.splitlines()[-1] == "1 passed, 1 failed"


def test_a_file_written_elsewhere_fails_the_class(tmp_path, capsys):
    assert report([Student("one", tmp_path)], [], **FIGURES) == 0
    assert report([Student("one", tmp_path)], ["new: notebooks/x"], **FIGURES) == 1
    assert "new: notebooks/x" in capsys.readouterr().out


# ---------------------------------------- the hub
@pytest.mark.parametrize(
    ("hub", "proxy", "remedy"),
    [(None, "/bin/proxy", "pip install"), ("a spec", None, "npm install -g")],
)
def test_what_is_missing_is_said_in_a_line(monkeypatch, capsys, hub, proxy, remedy):
    monkeypatch.setattr(classroom.importlib.util, "find_spec", lambda name: hub)
    monkeypatch.setattr(classroom.shutil, "which", lambda name: proxy)
    assert main([]) == 2
    (line,) = capsys.readouterr().out.splitlines()
    assert "missing" in line and remedy in line


def test_the_hub_listens_on_this_machine_only_and_nobody_logs_in_by_a_form(tmp_path):
    ports = classroom.free_ports(3)
    assert len(set(ports)) == 3
    environ = dict.fromkeys(classroom.PASSED_ON, "1")
    said = settings(tmp_path, "a token", ports, environ)
    addresses = [line for line in said.splitlines() if "http://" in line]
    assert len(addresses) == 3 and all("'http://127.0.0.1:" in line for line in addresses)
    assert "c.JupyterHub.authenticator_class = 'null'" in said
    compile(said, "jupyterhub_config.py", "exec")
