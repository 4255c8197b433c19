"""Copies to hand out, made from the stored notebooks: build/handout/.

    python helpers/tools/handout.py [--run]

    students/   without solutions and answers, and without the outputs of exercises
    lecturer/   headings, code and pictures; exercise cells are empty, to type into
    *.html      the sheet of the pencil example to print, blank and filled

With --run every copy is executed as well: none may raise, and a student's must show what the
lesson shows.
"""

import os
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from helpers.tools.normal_form import (
    EXEMPT,
    NotebookError,
    dumps,
    normal_form,
    read,
    tags,
    text,
)

ROOT = Path(__file__).resolve().parents[2]
EXERCISE = "exercise"
HINTS = ("Hint",)
# Room for a pencil, as much as the page has: what is printed is smaller than what is written.
HANDWRITING = (
    ".helpers-sheet table:not(.given) tbody td{height:8.8mm;min-width:8.5mm}"
    ".helpers-sheet .helpers-sheet-band{margin:4mm 0;gap:4px 12px}"
)

_FOLDED = re.compile(r"<details>\s*<summary>\s*(.*?)\s*</summary>.*?</details>\s*", re.DOTALL)
_ENDS_IN_ANSWER = re.compile(r"<summary>\s*Answer\b(?:(?!<details>).)*</details>\s*\Z", re.DOTALL)
_CHECKED = re.compile(r'^check\("\w+", \w+\)$', re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} .+$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_DATA = re.compile(r"\]\(\.\./")


def for_students(notebook):
    """A copy without what is folded, hints apart, and without the outputs of exercises.

    The code that follows an answer, up to the next prose, confirms it and often shows the cure:
    it goes with the answer. An exercise keeps its cell and its check.
    """
    cells, gone = [], confirming(notebook["cells"])
    for cell in normal_form(notebook)["cells"]:
        source = text(cell["source"])
        if cell["id"] in gone:
            continue
        if cell["cell_type"] == "markdown":
            source = _FOLDED.sub(lambda m: m.group() if m.group(1) in HINTS else "", source)
            source = source.rstrip()
            if not source:
                continue
        elif EXERCISE in tags(cell):
            cell = {**cell, "outputs": []}
        cells.append({**cell, "source": _from_the_copy(source)})
    return normal_form({**notebook, "cells": cells})


def confirming(cells):
    """Ids of the code cells that confirm an answer: all that follow it, up to the next prose.

    Only where the answer ends its cell: code after further prose belongs to that prose.
    """
    found, after_answer = set(), False
    for cell in cells:
        if cell["cell_type"] == "markdown":
            after_answer = _ENDS_IN_ANSWER.search(text(cell["source"])) is not None
        elif after_answer and EXERCISE not in tags(cell):
            found.add(cell["id"])
    return found


def for_the_lecturer(notebook):
    """A copy with headings, code and pictures; other outputs appear when a cell is run."""
    cells = []
    for cell in normal_form(notebook)["cells"]:
        source = text(cell["source"])
        if cell["cell_type"] == "markdown":
            headings = _HEADING.findall(_FENCE.sub("", source))
            if not headings:
                continue
            source = "\n\n".join(headings)
        elif EXERCISE in tags(cell):
            checks = _CHECKED.findall(source)
            source = "\n".join(f"# {line}" for line in checks) + "\n" if checks else ""
            cell = {**cell, "outputs": []}
        else:
            cell = {**cell, "outputs": [o for o in cell["outputs"] if _is_picture(o)]}
        cells.append({**cell, "source": _from_the_copy(source)})
    return normal_form({**notebook, "cells": cells})


COPIES = {"students": for_students, "lecturer": for_the_lecturer}


def _is_picture(output):
    return "<img" in text(output.get("data", {}).get("text/html", ""))


def _from_the_copy(markdown):
    """A copy lies two folders deeper than the lesson."""
    return _DATA.sub("](../../../", markdown)


def build(root=ROOT):
    """Write all copies and both sheets anew; returns the paths, in order."""
    out = root / "build" / "handout"
    shutil.rmtree(out, ignore_errors=True)
    paths = []
    for kind, derive in COPIES.items():
        (out / kind).mkdir(parents=True)
        for lesson in sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb")):
            copy = out / kind / lesson.name
            copy.write_text(dumps(derive(read(lesson))), encoding="utf-8", newline="\n")
            paths.append(copy)
    return paths + print_sheets(out)


def print_sheets(out):
    """The sheet of the pencil example, blank and filled, as pages to print on A4 across.

    The entries to be filled in are as large on both, so that one can be laid beside the other.
    """
    from helpers.sheet import Sheet

    sheet, paths = Sheet(), []
    for name, page in (("sheet_blank.html", sheet.blank()), ("sheet_filled.html", sheet.filled())):
        document = page.document().replace("</head>", f"<style>{HANDWRITING}</style></head>", 1)
        (out / name).write_text(document, encoding="utf-8", newline="\n")
        paths.append(out / name)
    return paths


def run_all(copies):
    """Execute the copies, two at a time. Returns lines that name what raised or differs."""
    with ThreadPoolExecutor(max(1, len(copies))) as pool:
        found = pool.map(run_one, copies)
    return [line for lines in found for line in lines]


def run_one(copy):
    """Lines for one copy; a student's is compared with what it stores, exercises apart."""
    from helpers.tools.refresh import differences, run
    from helpers.tools.replay import surroundings

    where = f"{copy.parent.name}/{copy.name}"
    stored = read(copy)
    try:
        with surroundings(os.environ) as environ:
            fresh = run(stored, copy.parent, environ)
    except NotebookError as error:
        return [f"{where}: {error}"]
    if copy.parent.name != "students":
        return []
    for cell in stored["cells"] + fresh["cells"]:
        if EXERCISE in tags(cell):
            cell["metadata"] = {"tags": [*tags(cell), EXEMPT]}
    return [f"{where}: {cell} shows something else" for cell, _ in differences(stored, fresh)]


def main(arguments):
    if arguments not in ([], ["--run"]):
        print(__doc__)
        return 2
    paths = build()
    print(f"{len(paths)} files in build/handout/")
    if not arguments:
        return 0
    copies = [path for path in paths if path.suffix == ".ipynb"]
    complaints = run_all(copies)
    print("\n".join(complaints) or f"{len(copies)} copies run")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
