"""The README's picture is the one that lesson 09 stores."""

import json
import re
import shutil

import pytest

from helpers.tools.cover import CELL, LESSON, NOTEBOOKS, PICTURE, cover, store


def test_readme_shows_what_the_lesson_stores():
    assert (NOTEBOOKS / PICTURE).read_bytes() == cover()


def test_readme_links_to_it_with_a_description():
    readme = (NOTEBOOKS.parent / "README.md").read_text(encoding="utf-8")
    described = re.search(rf"!\[([^\]]+)\]\(notebooks/{PICTURE}\)", readme)
    assert described and len(described[1]) > 40


def test_another_picture_is_stored_anew(tmp_path):
    shutil.copy(NOTEBOOKS / LESSON, tmp_path)
    (tmp_path / PICTURE).write_bytes(b"old")
    store(tmp_path)
    assert (tmp_path / PICTURE).read_bytes() == cover()


def test_a_lesson_without_the_picture_is_an_error(tmp_path):
    notebook = json.loads((NOTEBOOKS / LESSON).read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["id"] == CELL:
            cell["outputs"] = []
    (tmp_path / LESSON).write_text(json.dumps(notebook), encoding="utf-8")
    with pytest.raises(ValueError, match="make refresh NB=09"):
        cover(tmp_path)
