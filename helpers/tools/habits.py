"""What can be counted of a good lesson: rules that a test holds every notebook to.

A rule is a generator: it takes a Lesson and yields one line for each place that breaks it.
"""

import ast
import re
import statistics
from functools import cached_property
from pathlib import Path

from helpers.tools.normal_form import (
    EXEMPT,
    RAISES,
    NotebookError,
    compared,
    dumps,
    name,
    normal_form,
    read,
    tags,
    text,
)

KB = 150
PICTURE_KB = 40
COLUMNS = 79
CELLS = (20, 45)
WORDS = (600, 1300)
LONG_CELL, LONG_CELLS, MEDIAN_LINES = 12, 3, 5
EXEMPT_CELLS = 4
ALT = 20
PREDICTIONS = 3

# Helpers that show something: a cell's last line, so at most one in a cell.
SHOWING = {"check", "figure", "heatmap", "matrix", "one_head", "shapes"}
SHOWING |= {"explore_average", "explore_head", "explore_masking", "explore_scaling"}
FILLER = r"\b(simply|just|obviously|as (we|you) can see|of course)\b"

RULES = {}


def rule(function):
    RULES[function.__name__] = function
    return function


class Lesson:
    """A notebook file, read in the ways that the rules need."""

    def __init__(self, path):
        self.path = Path(path)
        self.folder = self.path.parent
        self.stored = self.path.read_text(encoding="utf-8")
        self.notebook = read(self.path)
        self.lessons = sorted(p.name for p in self.folder.glob("[0-9][0-9]_*.ipynb"))

    @cached_property
    def cells(self):
        """(name, cell, source) of every cell."""
        cells = enumerate(self.notebook["cells"], start=1)
        return [(name(cell, number), cell, text(cell["source"])) for number, cell in cells]

    @cached_property
    def code(self):
        return [entry for entry in self.cells if entry[1]["cell_type"] == "code"]

    @cached_property
    def prose(self):
        """(name, markdown without fenced and inline code) of the other cells."""
        kept = []
        for where, cell, source in self.cells:
            if cell["cell_type"] == "markdown":
                source = re.sub(r"^(```|~~~).*?^\1", "", source, flags=re.MULTILINE | re.DOTALL)
                kept.append((where, re.sub(r"`[^`\n]*`", "code", source)))
        return kept

    @cached_property
    def shown(self):
        """(name, MIME type or stream, text) of every output."""
        return [
            (where, kind, value)
            for where, cell, _ in self.code
            for kind, values in compared(cell.get("outputs", []), rules=[]).items()
            for value in values
        ]


def complaints(path):
    """Everything that a lesson breaks, a line each, beginning with the rule's name."""
    lesson = Lesson(path)
    return [f"{r}: {line}" for r, function in RULES.items() for line in function(lesson)]


# ---------------------------------------- the file
@rule
def is_in_normal_form(lesson):
    try:
        wanted = dumps(normal_form(lesson.notebook)).splitlines()
    except NotebookError as error:
        yield str(error)
        return
    for number, (found, want) in enumerate(zip(lesson.stored.split("\n"), wanted, strict=False)):
        if found != want:
            yield f"line {number + 1} is {found[:60]!r}, in normal form {want[:60]!r}: make refresh"
            return
    if lesson.stored != "\n".join(wanted) + "\n":
        yield "the file's end differs from normal form: make refresh"


@rule
def stays_small(lesson):
    size = len(lesson.stored.encode()) / 1024
    if size > KB:
        yield f"{size:.0f} KB, at most {KB}"


@rule
def was_run_in_order(lesson):
    counts = [cell.get("execution_count") for _, cell, source in lesson.code if source.strip()]
    if counts != list(range(1, len(counts) + 1)):
        yield f"execution counts are {counts}"


@rule
def stores_every_output(lesson):
    for where, cell, source in lesson.code:
        if not cell.get("outputs") and _shows_something(source):
            yield f"{where} shows something, and no output is stored"


def _shows_something(source):
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return False
    calls = [node for node in ast.walk(ast.Module(body, [])) if isinstance(node, ast.Call)]
    functions = (ast.FunctionDef, ast.ClassDef)
    if any(getattr(c.func, "id", "") == "print" for c in calls) and not any(
        isinstance(statement, functions) for statement in body
    ):
        return True
    last = body[-1].value if body and isinstance(body[-1], ast.Expr) else None
    if isinstance(last, ast.Call):
        return getattr(last.func, "id", "") in SHOWING
    return last is not None and not (isinstance(last, ast.Constant) and last.value in (None, ...))


@rule
def stores_no_widgets(lesson):
    if "widgets" in lesson.notebook["metadata"]:
        yield "widget state in the metadata"
    for where, cell, _ in lesson.code:
        for output in cell.get("outputs", []):
            if any("widget" in mime for mime in output.get("data", {})):
                yield f"{where} stores a widget view"


@rule
def stores_only_errors_that_are_meant(lesson):
    for where, cell, _ in lesson.code:
        raised = any(o["output_type"] == "error" for o in cell.get("outputs", []))
        if raised != (RAISES in tags(cell)):
            yield f"{where} {'raises without' if raised else 'has'} the tag {RAISES}" + (
                "" if raised else " and raises nothing"
            )


@rule
def stores_no_warnings(lesson):
    for where, kind, value in lesson.shown:
        if kind == "stderr":
            yield f"{where} writes to stderr: {value.strip()[:60]!r}"


@rule
def names_no_machine(lesson):
    for where, kind, value in lesson.shown:
        if kind != "text/html":
            for hit in re.findall(
                r"\b0x[0-9a-f]{6,}|(?<![\w.])/(?:home|Users|tmp|root)/\S+", value
            ):
                yield f"{where} shows {hit}"


@rule
def holds_nothing_remote(lesson):
    remote = r"<script|<iframe|<img[^>]+src=[\"']?https?:|!\[[^\]]*\]\(https?:|<link"
    markdown = [(w, source) for w, c, source in lesson.cells if c["cell_type"] == "markdown"]
    for where, source in markdown + [(w, v) for w, k, v in lesson.shown if k == "text/html"]:
        if hit := re.search(remote, source, re.IGNORECASE):
            yield f"{where} holds {hit.group()[:40]!r}"


# ---------------------------------------- what replay may leave out
@rule
def exempts_few_cells(lesson):
    exempt = [entry for entry in lesson.code if EXEMPT in tags(entry[1])]
    if len(exempt) > EXEMPT_CELLS:
        yield f"{len(exempt)} cells are not compared, at most {EXEMPT_CELLS}"
    for where, _, source in exempt:
        if not re.search(r"^\s*(assert\b|(torch\.testing\.)?assert_close\()", source, re.MULTILINE):
            yield f"{where} is not compared and asserts nothing"


@rule
def marks_exemptions_by_tag(lesson):
    for where, cell, source in lesson.code:
        if re.search(r"#\s*(NBVAL_|PYTEST_VALIDATE)", source) or "nbval-skip" in tags(cell):
            yield f"{where}: the one mark is the tag {EXEMPT}"


# ---------------------------------------- code
@rule
def fits_a_projector(lesson):
    for where, _, source in lesson.code:
        for line in source.split("\n"):
            if len(line) > COLUMNS:
                yield f"{where} has {len(line)} columns, at most {COLUMNS}: {line.strip()[:40]!r}"


@rule
def ends_no_line_in_a_semicolon(lesson):
    for where, _, source in lesson.code:
        if re.search(r";\s*$", source, re.MULTILINE):
            yield f"{where} has a trailing ;"


@rule
def uses_no_magics(lesson):
    for where, _, source in lesson.code:
        if re.search(r"^\s*[!%]|get_ipython\(", source, re.MULTILINE):
            yield f"{where} has a magic or a shell command"


@rule
def imports_no_star(lesson):
    for where, _, source in lesson.code:
        if re.search(r"^\s*from \S+ import \*", source, re.MULTILINE):
            yield f"{where} imports *"


@rule
def sets_one_thread_first(lesson):
    if not lesson.code or "torch.set_num_threads(1)" not in lesson.code[0][2]:
        yield "the first code cell does not call torch.set_num_threads(1)"


@rule
def keeps_cells_short(lesson):
    sizes = [sum(bool(line.strip()) for line in source.split("\n")) for *_, source in lesson.code]
    if sizes and statistics.median(sizes) > MEDIAN_LINES:
        yield f"median {statistics.median(sizes):g} lines a code cell, at most {MEDIAN_LINES}"
    if (long := sum(size > LONG_CELL for size in sizes)) > LONG_CELLS:
        yield f"{long} code cells of more than {LONG_CELL} lines, at most {LONG_CELLS}"


@rule
def calls_one_helper_a_cell(lesson):
    for where, _, source in lesson.code:
        if len(re.findall(rf"\b(?:{'|'.join(SHOWING)})\(", source)) > 1:
            yield f"{where} calls more than one helper that shows something"


# ---------------------------------------- outputs
@rule
def describes_every_picture(lesson):
    for where, kind, _ in lesson.shown:
        if kind.startswith("image/"):
            yield f"{where} shows a picture without alt text: wrap it, figure(fig, alt=…)"
    markdown = [(w, source) for w, c, source in lesson.cells if c["cell_type"] == "markdown"]
    for where, html in markdown + [(w, v) for w, k, v in lesson.shown if k == "text/html"]:
        alts = [re.search(r'\balt="([^"]*)"', tag) for tag in re.findall(r"<img\b[^>]*>", html)]
        alts = [alt.group(1) if alt else "" for alt in alts]
        for alt in alts + re.findall(r"!\[([^\]]*)\]\(", html):
            if len(alt.strip()) < ALT:
                yield f"{where} has a picture with the alt text {alt!r}: at least {ALT} characters"


@rule
def keeps_pictures_small(lesson):
    for where, _, value in lesson.shown:
        for data in re.findall(r"data:image/png;base64,([A-Za-z0-9+/=]+)", value):
            if (size := len(data) * 3 / 4 / 1024) > PICTURE_KB:
                yield f"{where} has a picture of {size:.0f} KB, at most {PICTURE_KB}"


@rule
def shows_few_decimals(lesson):
    exempt = {where for where, cell, _ in lesson.code if EXEMPT in tags(cell)}
    for where, kind, value in lesson.shown:
        if kind == "text/html" or where in exempt:
            continue
        for number in re.findall(r"(?<![\w.])-?\d*\.\d+(?:e[+-]?\d+)?(?![\w.])", value):
            digits = re.search(r"\.(\d*)", number).group(1)
            if re.fullmatch(r"-0*\.0+", number):
                yield f"{where} shows a negative zero, {number}"
            elif len(digits) > 3 and "e" not in number and abs(float(number)) >= 0.001:
                yield f"{where} shows {number}: three decimals at most"


# ---------------------------------------- prose and frame
@rule
def has_one_title(lesson):
    titles = [(w, t) for w, s in lesson.prose for t in re.findall(r"^# .+", s, re.MULTILINE)]
    if len(titles) != 1 or not titles or titles[0][0] != lesson.cells[0][0]:
        yield f"one H1, in the first cell; found {[title for _, title in titles]}"


@rule
def says_what_comes(lesson):
    opening = lesson.prose[0][1].lower() if lesson.prose else ""
    for word in ("you will do", "you will learn", "you need", "minutes"):
        if word not in opening:
            yield f"the first cell has no {word!r}"


@rule
def ends_with_what_was_learnt(lesson):
    ending = "\n".join(source for _, source in lesson.prose[-3:]).lower()
    for word in ("recap", "on your own", "further reading"):
        if word not in ending:
            yield f"the last cells have no {word!r}"


@rule
def asks_for_predictions(lesson):
    found = sum(len(re.findall(r"\*\*Predict", source)) for _, source in lesson.prose)
    if found < PREDICTIONS:
        yield f"{found} predictions (**Predict …**), at least {PREDICTIONS}"


@rule
def is_of_a_lessons_length(lesson):
    cells = len(lesson.cells)
    if not CELLS[0] <= cells <= CELLS[1]:
        yield f"{cells} cells, expected {CELLS[0]} to {CELLS[1]}"
    words = count_words(lesson)
    if not WORDS[0] <= words <= WORDS[1]:
        yield f"{words} words, expected {WORDS[0]} to {WORDS[1]}"


def count_words(lesson):
    """Words a reader reads: without code, addresses and HTML tags."""
    words = 0
    for _, source in lesson.prose:
        source = re.sub(r"<[^>]+>|\]\([^)]*\)|https?://\S+", " ", source)
        words += sum(bool(re.search(r"\w", word)) for word in source.split())
    return words


@rule
def is_plain(lesson):
    for where, source in lesson.prose:
        for hit in re.finditer(FILLER, source, re.IGNORECASE):
            yield f"{where} says {hit.group()!r}"
        if re.search(r"\w!(?=\s|$)", source, re.MULTILINE):
            yield f"{where} has an exclamation mark"
        if hit := re.search("[\U0001f300-\U0001faff\u2705\u274c]", source):
            yield f"{where} has an emoji, {hit.group()}"


@rule
def links_resolve(lesson):
    """Local links, read from notebooks/ and from a copy in work/, which holds lessons only."""
    headings = {
        title.strip().replace(" ", "-")
        for _, cell, source in lesson.cells
        if cell["cell_type"] == "markdown"
        for title in re.findall(r"^#+ (.+)", source, re.MULTILINE)
    }
    for where, target in _links(lesson.prose):
        path, _, anchor = target.partition("#")
        if not path:
            if anchor not in headings:
                yield f"{where}: no heading for #{anchor}"
        elif not (lesson.folder / path).exists():
            yield f"{where}: {path} does not exist"
        elif not path.startswith("../") and path not in lesson.lessons:
            yield f"{where}: {path} would not resolve from work/"


def _links(prose):
    for where, source in prose:
        for target in re.findall(r"\]\(\s*<?([^)>\s]+)", source):
            if not re.match(r"[a-z]+:", target):
                yield where, target


@rule
def links_to_its_neighbours(lesson):
    here = lesson.lessons.index(lesson.path.name)
    linked = {target.partition("#")[0] for _, target in _links(lesson.prose[-1:])}
    for what, place in (("previous", here - 1), ("next", here + 1)):
        if 0 <= place < len(lesson.lessons) and lesson.lessons[place] not in linked:
            yield f"the last cell has no link to the {what} lesson, {lesson.lessons[place]}"


@rule
def calls_lessons_by_their_titles(lesson):
    titled = re.compile(r"\[(\d\d · [^\]]+)\]\(([^)#\s]+\.ipynb)")
    for where, source in lesson.prose:
        for said, target in titled.findall(source):
            path = lesson.folder / target
            if path.exists() and " ".join(said.split()) != (title := _title(path)):
                yield f"{where} calls {target} {said!r}; its title is {title!r}"


def _title(path):
    return text(read(path)["cells"][0]["source"]).split("\n")[0].removeprefix("# ")


# ---------------------------------------- report
def exempt_cells(folder):
    """Lines that name the cells which replay does not compare, lesson by lesson."""
    lines = []
    for path in sorted(Path(folder).glob("[0-9][0-9]_*.ipynb")):
        names = [f"#{cell['id']}" for _, cell, _ in Lesson(path).code if EXEMPT in tags(cell)]
        if names:
            lines.append(f"{path.name}: {', '.join(names)}")
    return lines
