"""The replay as on other machines: does a condition make what it says, and is a change noticed?"""

import json
import subprocess
from pathlib import Path

import pytest

from helpers.tools.portable import CONDITIONS, Condition, checkout, main, obstacle, replay


@pytest.fixture
def repository(tmp_path):
    """A small repository with one lesson, whose two cells tell where and how they run."""
    root = tmp_path / "root"
    (root / "notebooks").mkdir(parents=True)
    (root / "data").mkdir()
    (root / "data" / "scene.txt").write_text("Ay, good\n")
    cells = [
        ("a", "import os, time\nsaid = 'set up'", []),
        ("b", "print(said)", [{"output_type": "stream", "name": "stdout", "text": "set up\n"}]),
    ]
    notebook = {
        "cells": [
            {
                "cell_type": "code",
                "id": name,
                "metadata": {},
                "source": source,
                "execution_count": 1 + number,
                "outputs": outputs,
            }
            for number, (name, source, outputs) in enumerate(cells)
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (root / "notebooks" / "01_one.ipynb").write_text(json.dumps(notebook) + "\n")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], cwd=root, check=True)
    return root


def test_an_unchanged_output_is_no_complaint_and_a_changed_one_is_named(repository):
    assert replay(repository, "notebooks", "") == []
    (line,) = replay(repository, "notebooks", "\nsaid = 'something else'")
    assert "01_one.ipynb" in line and "#b" in line and "something else" in line


@pytest.mark.parametrize("again", ["each", "all"])
def test_a_cell_that_shows_something_else_the_second_time_is_named(repository, again):
    counted = "\nglobals().setdefault('said', 'set up')\nruns = globals().get('runs', 0) + 1"
    assert replay(repository, "notebooks", counted, again) == []
    (line,) = replay(repository, "notebooks", f"{counted}\nsaid += '!' * (runs - 1)", again)
    assert "#b" in line and "set up!" in line


def test_after_a_restart_nothing_is_left(repository):
    assert replay(repository, "notebooks", "", "half") == []
    kept = "\nassert not os.path.exists('kept')\nopen('kept', 'w').close()"
    (line,) = replay(repository, "notebooks", kept, "half")
    assert "#a raised AssertionError" in line


def test_a_cell_that_raises_is_named(repository):
    (line,) = replay(repository, ".", "\nassert False")
    assert "#a raised AssertionError" in line


def test_a_checkout_is_what_the_condition_says(repository, tmp_path):
    (repository / "data" / "tinyshakespeare.txt").write_text("First")
    plain = checkout(Condition(), tmp_path / "1", repository)
    assert (plain / "data" / "tinyshakespeare.txt").exists()
    without = checkout(Condition(text="without"), tmp_path / "2", repository)
    assert not (without / "data" / "tinyshakespeare.txt").exists()
    odd = checkout(CONDITIONS["odd-path"], tmp_path / "3", repository)
    assert " " in odd.name and not odd.name.isascii()
    ends = checkout(Condition(crlf=True), tmp_path / "4", repository)
    assert b"\r\n" in (ends / "notebooks" / "01_one.ipynb").read_bytes()
    assert (ends / "data" / "scene.txt").read_bytes() == b"Ay, good\n"


def test_what_cannot_be_tried_is_said(repository):
    assert "make data" in obstacle(Condition(text="with"), repository)
    assert obstacle(Condition(text="without"), repository) is None


def test_an_unknown_name_is_refused(capsys):
    assert main(["windows-95"]) == 2
    assert "two-threads" in capsys.readouterr().out


def test_every_condition_changes_something():
    assert all(condition != Condition() for condition in CONDITIONS.values())
    assert Path(CONDITIONS["from-the-root"].start) == Path(".")
