"""Static pages and printed sheets in Chromium, from file://: quiet, complete, accessible, and
good to hand out on paper."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from helpers.tools import handout, pages

pytestmark = pytest.mark.browser
LESSONS = sorted((pages.ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
NAMES = ["index.html", *(path.stem + ".html" for path in LESSONS)]
SHEETS = ["../handout/sheet_blank.html", "../handout/sheet_filled.html"]
GRAVE = {"serious", "critical"}
WIDTHS = {"laptop": (1280, 800), "telephone": (390, 800)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("pages")
    (root / "notebooks").mkdir()
    for path in LESSONS:
        (root / "notebooks" / path.name).write_bytes(path.read_bytes())
    (root / "build" / "handout").mkdir(parents=True)
    handout.print_sheets(root / "build" / "handout")
    return pages.build(root).parent


@pytest.fixture
def look(browser, folder):
    """look(name, size): a page, and what it said or asked for that it should not have."""
    contexts = []

    def look_at(name, size=WIDTHS["laptop"]):
        context = browser.new_context(viewport={"width": size[0], "height": size[1]})
        contexts.append(context)
        page, complaints = context.new_page(), []
        page.on("console", lambda m: complaints.append(f"console: {m.text}"))
        page.on("pageerror", lambda error: complaints.append(f"page error: {error}"))
        page.on("request", lambda request: _note(request.url, folder.parent, complaints))
        page.goto((folder / name).as_uri())
        return page, complaints

    yield look_at
    for context in contexts:
        context.close()


def _note(url, folder, complaints):
    if not url.startswith(("data:", folder.as_uri())):
        complaints.append(f"request to {url}")


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_quiet_and_complete(look, name):
    page, complaints = look(name)
    pictures = page.locator("img").evaluate_all("all => all.map(i => i.naturalWidth > 0)")
    assert all(pictures)
    for formula in page.locator("math").all():
        box = formula.bounding_box()
        assert box["width"] > 10 and box["height"] > 10
    for block in page.locator("details").all():
        height = block.bounding_box()["height"]
        block.locator("summary").first.focus()
        page.keyboard.press("Enter")
        assert block.bounding_box()["height"] > height
    assert complaints == []


def test_the_watch_bites(look):
    page, complaints = look("index.html")
    page.evaluate(
        """() => new Promise(done => {
          console.error('a complaint');
          const image = new Image();
          image.onerror = done;
          image.src = 'http://127.0.0.1:9/from-elsewhere.png';
        })"""
    )
    assert "console: a complaint" in complaints
    assert "request to http://127.0.0.1:9/from-elsewhere.png" in complaints


@pytest.mark.parametrize("name", NAMES + SHEETS)
def test_a_page_is_accessible(look, name):
    """axe-core finds nothing serious or critical, with all that is folded in sight.

    The whole set of rules takes seconds a page; on the telephone only those run that width can
    change.
    """
    page, _ = look(name)
    unfold(page)
    assert violations(page) == []
    page, _ = look(name, WIDTHS["telephone"])
    unfold(page)
    assert violations(page, ["scrollable-region-focusable", "meta-viewport"]) == []
    across = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert across <= 0, "the page as a whole scrolls sideways"


def unfold(page):
    page.locator("details").evaluate_all("all => all.forEach(d => d.open = true)")


def violations(page, rules=None):
    """A line for each serious or critical violation, with the first place it occurs at."""
    options = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": rules}
    return [
        f"{found['id']} ({found['impact']}): {found['help']}: {found['nodes'][0]['html'][:120]}"
        for found in Axe().run(page, options=options).response["violations"]
        if found["impact"] in GRAVE
    ]


BROKEN = {
    "image-alt": "document.querySelector('img').removeAttribute('alt')",
    "color-contrast": "document.querySelector('main p').style.color = '#bbb'",
    "html-has-lang": "document.documentElement.removeAttribute('lang')",
    "scrollable-region-focusable": """() => {
        const pre = document.querySelector('.output pre');
        pre.removeAttribute('tabindex'); pre.style.width = '3em';
    }""",
}


@pytest.mark.parametrize("rule", BROKEN)
def test_the_checker_bites(look, rule):
    page, _ = look("02_average_as_a_matmul.html")
    page.evaluate(BROKEN[rule])
    assert any(line.startswith(rule) for line in violations(page, [rule]))


def test_one_walks_the_course_by_its_links(look):
    page, complaints = look("index.html")
    page.locator("ol.lessons a").first.click()
    for number, path in enumerate(LESSONS):
        assert page.url.endswith(path.stem + ".html")
        assert page.locator("h1").inner_text().startswith(path.name[:2])
        if number + 1 < len(LESSONS):
            page.locator("main a", has_text=LESSONS[number + 1].name[:2] + " ·").last.click()
    page.locator("footer a", has_text="All lessons").click()
    assert page.url.endswith("index.html")
    assert complaints == []


@pytest.mark.parametrize("name", NAMES[1:])
def test_paper_has_the_lesson_and_no_solution(look, name):
    page, _ = look(name)
    page.emulate_media(media="print")
    # Of a quiz the choices are printed, and not what is said of them.
    told = (".prose summary", ".exercise .output", ".helpers-quiz p")
    for gone in ("header", "footer", ".live", ".anchor-link", *told):
        shown = page.locator(gone).evaluate_all("all => all.filter(e => e.checkVisibility())")
        assert shown == [], gone
    seen = page.locator("main").inner_text()
    assert "Recap" in seen and "Predict" in seen
    for block in page.locator(".prose details").all():
        assert not block.is_visible()
    for cell in page.locator(".confirming").all():
        assert not cell.is_visible(), "it would give the answer away"
    for choice in page.locator(".helpers-quiz summary").all():
        assert choice.is_visible()
    assert 4 <= printed_pages(page) <= 16
    unfold(page)
    for block in page.locator(".prose details").all():
        assert block.is_visible(), "what the reader has opened is printed"
    for cell in page.locator(".confirming").all():
        assert cell.is_visible()


def printed_pages(page):
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True, format="A4")))


@pytest.mark.parametrize("name", SHEETS)
def test_a_sheet_is_one_page_to_write_on(look, name):
    page, complaints = look(name)
    assert printed_pages(page) == 1
    page.emulate_media(media="print")
    entries = page.locator("table:not(.given) tbody td").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect()).map(box => [box.width, box.height])"
    )
    millimetre = 96 / 25.4
    assert len(entries) > 100
    assert min(width for width, _ in entries) > 8 * millimetre
    assert min(height for _, height in entries) > 8 * millimetre
    assert complaints == []
