"""The course as static pages: links, formulas, pictures, folding. Chromium looks at them in
browser/test_pages.py."""

import json
import re

import pytest
from bs4 import BeautifulSoup

from helpers.tools import pages
from helpers.tools.normal_form import read, text

LESSONS = sorted((pages.ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """{name: soup} of all pages, from a checkout whose path has a space."""
    root = tmp_path_factory.mktemp("pages") / "a course"
    (root / "notebooks").mkdir(parents=True)
    for path in LESSONS:
        (root / "notebooks" / path.name).write_bytes(path.read_bytes())
    index = pages.build(root)
    return {p.name: BeautifulSoup(p.read_text(), "html.parser") for p in index.parent.iterdir()}


def test_there_is_a_page_a_lesson_and_an_index(built):
    assert set(built) == {"index.html", *(path.stem + ".html" for path in LESSONS)}
    listed = [link["href"] for link in built["index.html"].select("ol.lessons h2 a")]
    assert listed == [path.stem + ".html" for path in LESSONS]


def test_each_link_leads_somewhere(built):
    for name, soup in built.items():
        for link in soup.find_all("a", href=True):
            page, _, anchor = link["href"].partition("#")
            if re.match(r"[a-z]+:", page):
                continue
            assert (page or name) in built, f"{name} links to {page}"
            if anchor:
                assert built[page or name].find(id=anchor), f"{name}: no #{anchor}"


def test_nothing_comes_from_elsewhere(built):
    for name, soup in built.items():
        assert soup.find_all(["script", "link", "iframe", "object"]) == []
        for element in soup.find_all(src=True):
            assert element["src"].startswith("data:image/"), name
        assert not re.search(r"url\(|@import", " ".join(s.text for s in soup.find_all("style")))


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_a_page_holds_what_the_lesson_holds(built, path):
    soup = built[path.stem + ".html"]
    cells = read(path)["cells"]
    stored = json.dumps(cells, ensure_ascii=False)
    code = [text(c["source"]) for c in cells if c["cell_type"] == "code"]
    shown = [pre.text for pre in soup.select("main div.cell.code > .highlight pre")]
    assert [s.strip() for s in shown] == [s.strip() for s in code]
    alts = [image["alt"] for image in soup.find_all("img")]
    assert len(alts) == stored.count("<img") and min(map(len, alts), default=20) >= 20
    summaries = [s.text for s in soup.find_all("summary")]
    assert len(summaries) == stored.count("<summary>")
    assert not soup.find("details", open=True)
    prose = "\n".join(text(c["source"]) for c in cells if c["cell_type"] == "markdown")
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", prose, flags=re.S)
    assert len(soup.find_all("math")) == len(re.findall(r"\$\$.+?\$\$|\$.+?\$", prose, re.S))
    assert [h.find(string=True) for h in soup.find_all("h1")] == [prose[2:].splitlines()[0]]


def test_an_explorer_says_how_to_run_it():
    notebook = _notebook("explore_scaling()", "x = 1")
    (first, second) = _page(notebook).select("div.cell.code")
    assert "make lab NB=05" in first.text and "explorer" in first.text
    assert second.select(".live") == []


def test_code_that_confirms_an_answer_is_told_apart(built):
    for path in LESSONS:
        cells, found = read(path)["cells"], set()
        for before, cell in zip(cells, cells[1:], strict=False):
            source = text(before["source"]).rstrip()
            if cell["cell_type"] == "code" and "<summary>Answer" in source[-1000:]:
                if not source.endswith("</details>"):
                    continue  # the code belongs to the prose between
                found.add("cell-" + cell["id"])
        marked = {cell["id"] for cell in built[path.stem + ".html"].select(".confirming")}
        assert found <= marked and len(marked) <= 2 * len(found)


def test_pages_that_cannot_be_made_leave_those_that_are_there(tmp_path):
    lesson = tmp_path / "notebooks" / "01_one.ipynb"
    lesson.parent.mkdir()
    index = tmp_path / "build" / "html" / "index.html"
    index.parent.mkdir(parents=True)
    index.write_text("as it was")
    lesson.write_text(json.dumps({**_notebook("x = 1", markdown="# Untimed"), "cells": []}))
    with pytest.raises(pages.PageError, match="01_one.ipynb: its first cell"):
        pages.build(tmp_path)
    assert index.read_text() == "as it was"


def test_rows_of_a_table_without_head_are_named():
    (table,) = _page(_notebook(markdown="| | |\n|---|---|\n| **Time** | 5 |")).find_all("table")
    assert table.thead is None
    assert table.th["scope"] == "row" and table.th.text == "Time"
    (table,) = _page(_notebook(markdown="| a | b |\n|---|---|\n| **c** | 5 |")).find_all("table")
    assert [cell.text for cell in table.find_all("th")] == ["a", "b"]


def test_formulas_become_mathml():
    soup = _page(_notebook(markdown=r"So $a < b$, and" + "\n\n" + r"$$\frac{a}{\sqrt{d_k}}$$"))
    inline, block = soup.find_all("math")
    assert inline["display"] == "inline" and inline.mo.text == "<"
    assert block["display"] == "block" and block.mfrac.msqrt.msub.text == "dk"
    assert "$" not in soup.main.text


def test_an_unknown_command_is_named():
    with pytest.raises(pages.PageError, match=r"no MathML for \\nosuch"):
        pages.mathml(r"\nosuch{a}", "inline")


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        (f"{LESSONS[1].name}#Step-1", f"{LESSONS[1].stem}.html#Step-1"),
        ("#Step-1", "#Step-1"),
        ("https://arxiv.org/abs/1706.03762", "https://arxiv.org/abs/1706.03762"),
        ("../data/scene.txt", "data/scene.txt"),
    ],
)
def test_links_are_turned_to_pages(url, wanted):
    linked = []
    made = pages.PageRenderer.render(f"[a]({url})", linked=linked)
    assert f'href="{wanted}"' in made
    assert [p.name for p in linked] == (["scene.txt"] if "scene" in url else [])


def test_a_link_to_a_lesson_still_to_come_is_left_as_its_words():
    made = pages.PageRenderer.render("Next: [99 · Rest](99_rest.ipynb) a while")
    assert made == "<p>Next: 99 · Rest a while</p>\n"


@pytest.mark.parametrize(
    "url", ["../no_such.txt", "../../outside.txt", "helpers", "01_misspelt.ipynb"]
)
def test_a_link_to_nothing_is_named(url):
    with pytest.raises(pages.PageError, match="leads to no file of the course"):
        pages.PageRenderer.render(f"[a]({url})")


def _notebook(*sources, markdown="Words."):
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

    cells = [new_markdown_cell(markdown), *map(new_code_cell, sources)]
    return new_notebook(cells=cells, metadata={"language_info": {"name": "python"}})


def _page(notebook):
    lesson = pages.Opening("05", "05 · Five", "05_five.html", "do", "5")
    resources = {"lesson": lesson, "lessons": [lesson], "course": "C", "style": ""}
    page, _ = pages.PageExporter().from_notebook_node(notebook, resources)
    return BeautifulSoup(page, "html.parser")
