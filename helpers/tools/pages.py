"""The course as static pages: build/html/, one a lesson and an index.

    python helpers/tools/pages.py

Read from the stored notebooks; nothing is run. The pages work from file://, without script and
without network: formulas become MathML here, pictures are already in the notebooks, styles are
in each page. Links between lessons lead to pages, a link to a lesson still to come is left as
its words, and a file of the course that a lesson links to is copied beside the pages. On paper a
page is what one would hand out: what is folded, and the code that confirms an answer, stay away
unless the reader has opened them.
"""

import ast
import html
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import jinja2
import nbformat
from bs4 import BeautifulSoup
from latex2mathml.converter import convert
from nbconvert.exporters.templateexporter import TemplateExporter
from nbconvert.filters import Highlight2HTML, strip_ansi
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from traitlets.config import Config

import helpers
from helpers.tools.handout import confirming
from helpers.tools.normal_form import text

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = Path(__file__).parent / "page_template"
COURSE = "Self-attention, one head, step by step"
INTRODUCTION = (
    "Ten lessons build one head of self-attention in PyTorch, in small steps, from an average in "
    "two loops. Each step is shown to equal the step before it where it should, and to differ "
    "where it should."
)
# Outputs with longer lines scroll sideways on a telephone, and must then be reachable by keyboard.
NARROW = 40


class PageError(Exception):
    """What a lesson holds that no page can be made of, in one line."""


class Opening(NamedTuple):
    """What the index says of a lesson, read from its first cell."""

    number: str
    title: str
    page: str
    doing: str
    minutes: str


def build(root=ROOT):
    """Write all pages anew; returns the path of the index.

    Raises PageError, and leaves the pages that are there, when one cannot be made.
    """
    paths = sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    notebooks = [nbformat.read(path, as_version=4) for path in paths]
    lessons = [opening(path, nb) for path, nb in zip(paths, notebooks, strict=True)]
    course = {
        "course": COURSE,
        "introduction": INTRODUCTION,
        "style": (TEMPLATE / "page.css").read_text(encoding="utf-8"),
        "lessons": lessons,
    }
    contents = jinja2.Template((TEMPLATE / "contents.html.j2").read_text(encoding="utf-8"))
    pages = {"index.html": contents.render(course)}
    exporter = PageExporter(root=root)
    for number, (path, notebook) in enumerate(zip(paths, notebooks, strict=True)):
        resources = {
            **course,
            "lesson": lessons[number],
            "before": lessons[number - 1] if number else None,
            "after": lessons[number + 1] if number + 1 < len(lessons) else None,
            "confirming": confirming(notebook.cells),
        }
        try:
            pages[lessons[number].page], _ = exporter.from_notebook_node(notebook, resources)
        except PageError as error:
            raise PageError(f"{path.name}: {error}") from error
    out = root / "build" / "html"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for name, page in pages.items():
        (out / name).write_text(page, encoding="utf-8", newline="\n")
    for linked in exporter.linked:
        target = out / linked.relative_to(root.resolve())
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(linked, target)
    return out / "index.html"


def opening(path, notebook):
    """Number, title, page, what one does and how long, of a lesson in the course's frame."""
    first = text(notebook.cells[0].source) if notebook.cells else ""
    found = [
        re.search(pattern, first, re.MULTILINE)
        for pattern in (
            r"^# (.+)$",
            r"^\|\s*\*\*You will do\*\*\s*\|\s*(.+?)\s*\|\s*$",
            r"\*\*Time\*\*.*?(\d+)",
        )
    ]
    if not all(found):
        raise PageError(f"{path.name}: its first cell has no title, no deed, or no minutes")
    title, doing, minutes = (match.group(1) for match in found)
    doing = re.sub(r"</?p>", "", PageRenderer.render(doing)).strip()
    return Opening(path.name[:2], title, f"{path.stem}.html", doing, minutes)


class PageRenderer(IPythonRenderer):
    """Markdown with formulas as MathML and links that hold among the pages."""

    def __init__(self, root=ROOT, linked=None):
        super().__init__(escape=False)
        self.root = root
        self.linked = [] if linked is None else linked

    @classmethod
    def render(cls, markdown, **options):
        return MarkdownWithMath(renderer=cls(**options)).render(markdown)

    def inline_math(self, body):
        return mathml(body, "inline")

    def block_math(self, body):
        return mathml(body, "block")

    def latex_environment(self, name, body):
        return mathml(f"\\begin{{{name}}}{body}\\end{{{name}}}", "block")

    def link(self, text, url, title=None):
        place = self._among_pages(url)
        return text if place is None else super().link(text, place, title)

    def _among_pages(self, url):
        """Where a link leads among the pages; None for a lesson that is still to come."""
        path, mark, anchor = url.partition("#")
        if not path or re.match(r"[a-z]+:", url):
            return url
        file = (self.root / "notebooks" / path).resolve()
        lesson = re.fullmatch(r"(\d\d)_\w+\.ipynb", path)
        if lesson and not any(file.parent.glob(f"{lesson[1]}_*.ipynb")):
            return None
        if not file.is_file() or not file.is_relative_to(self.root.resolve()):
            raise PageError(f"the link {url!r} leads to no file of the course")
        if lesson:
            return path.removesuffix(".ipynb") + ".html" + mark + anchor
        self.linked.append(file)
        return file.relative_to(self.root.resolve()).as_posix()


def mathml(formula, display):
    """MathML of a formula in TeX. Raises PageError for a command that is not known."""
    made = convert(html.unescape(formula).strip(), display=display)
    if unknown := re.search(r"\\[A-Za-z]+", made):
        raise PageError(f"no MathML for {unknown.group()} in the formula {formula.strip()!r}")
    return made


class PageExporter(TemplateExporter):
    """nbconvert with the course's own template. `linked` collects files to copy."""

    output_mimetype = "text/html"

    def __init__(self, root=ROOT, **options):
        super().__init__(
            file_extension=".html",
            template_name=TEMPLATE.name,
            extra_template_basedirs=[str(TEMPLATE.parent)],
            **options,
        )
        self.root = root
        self.linked = []

    @property
    def default_config(self):
        """Of an output's forms a page takes the first of these."""
        shown = Config({"NbConvertBase": {"display_data_priority": ["text/html", "text/plain"]}})
        shown.merge(super().default_config)
        return shown

    def default_filters(self):
        yield from super().default_filters()
        yield "markdown2html", self.markdown2html
        yield "highlight_code", Highlight2HTML(pygments_lexer="python", parent=self)
        yield "is_explorer", is_explorer
        yield "is_wide", lambda shown: max(map(len, shown.splitlines()), default=0) > NARROW
        yield "plain", strip_ansi

    def markdown2html(self, source):
        made = PageRenderer.render(source, root=self.root, linked=self.linked)
        if "<table" not in made:
            return made
        soup = BeautifulSoup(made, "html.parser")
        for table in soup.find_all("table"):
            _name_rows(table)
        return str(soup)


def _name_rows(table):
    """Markdown cannot leave out a table's head: an empty one goes, bold first cells are heads."""
    head = table.find("thead")
    if head is None or head.get_text(strip=True):
        return
    head.decompose()
    for row in table.find_all("tr"):
        first = row.find("td")
        if first and first.strong and first.get_text(strip=True) == first.strong.get_text():
            first.name = "th"
            first["scope"] = "row"
            first.strong.unwrap()


def is_explorer(source):
    """Whether a cell calls an explorer: a public name of `helpers` that comes from its home."""
    names = {name for name, home in helpers._HOME.items() if home.startswith("explor")}
    try:
        nodes = ast.walk(ast.parse(source))
    except SyntaxError:
        return False
    calls = (node.func for node in nodes if isinstance(node, ast.Call))
    return any(isinstance(function, ast.Name) and function.id in names for function in calls)


def main():
    try:
        index = build()
    except PageError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"the course as pages: {index.relative_to(ROOT).as_posix()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
