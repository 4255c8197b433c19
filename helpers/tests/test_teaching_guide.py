"""The teaching guide and the notebooks say the same.

`differences` compares the guide with the lessons; each of its rules is shown able to fail, on the
real guide against a lesson changed in one way. Its numbers are computed again, in `FACTS` and from
`Eye`, or stand in the lesson.
"""

import json
import math
import re
from fractions import Fraction
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from helpers import Eye
from helpers.sheet import Sheet

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
GUIDE = (NOTEBOOKS / "README.md").read_text(encoding="utf-8")

LEADS = [
    "Open with.",
    "Ten minutes behind.",
    "Board, and it stays.",
    "Type live.",
    "Exit question.",
]
LESSON_TABLES = [
    ["Section", "Min", "Cut"],
    ["Predict", "Usual wrong answers", "What to say"],
]
COURSE_PARTS = [
    "Entry diagnostic",
    "One lecture of 90 minutes",
    "Three lectures of 50 minutes",
    "Self-study",
    "Ten questions students will ask",
    "Rubric for the whiteboard",
]


WORDS = (
    "zero one two three four five six seven eight nine ten "
    "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"
).split()


# ---------------------------------------- what a notebook holds
class Lesson:
    """Title, minutes, sections, predictions and code cells of a notebook."""

    def __init__(self, notebook):
        cells = [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]
        prose = [source for kind, source in cells if kind == "markdown"]
        self.code = [source for kind, source in cells if kind == "code"]
        self.text = "\n".join([source for _, source in cells] + list(_outputs(notebook)))
        self.title = prose[0].splitlines()[0].removeprefix("# ")
        self.number = self.title[:2]
        self.minutes = int(re.search(r"\*\*Time\*\* \| (\d+) minutes", prose[0])[1])
        paragraphs = [part for source in prose for part in re.split(r"\n\s*\n", source)]
        self.sections = [part[3:].strip() for part in paragraphs if part.startswith("## ")]
        asked = [re.search(r"\*\*Predict(?::\*\*|\*\*)(.*)", part, re.S) for part in paragraphs]
        self.predictions = [_one_line(found[1]) for found in asked if found]


def _outputs(notebook):
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            yield "".join(output.get("text") or output.get("data", {}).get("text/plain", ""))


def _one_line(text):
    return " ".join(text.split())


def stored():
    paths = sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


# ---------------------------------------- what the guide holds
class Part:
    """What the guide says of one lesson."""

    def __init__(self, title, text):
        self.title, self.text = title, text
        self.leads = re.findall(r"^\*\*([^*]+\.)\*\*", text, re.M)
        found = tables(text)
        self.headers = [table[0] for table in found]
        rows = {tuple(table[0]): table[1:] for table in found}
        sections, predictions = (rows.get(tuple(header), []) for header in LESSON_TABLES)
        self.minutes = [(name, int(least), int(cut or 0)) for name, least, cut in sections]
        self.predictions = predictions
        self.boards = re.findall(r"```text\n(.*?)```", text, re.S)
        self.live = re.findall(r"```python\n(.*?)\n```", text, re.S)

    def after(self, lead):
        """The paragraph that a lead begins, on one line."""
        found = re.search(rf"\*\*{re.escape(lead)}\*\* (.*?)(?=\n\n|\Z)", self.text, re.S)
        return _one_line(found[1]) if found else ""


def parts(guide):
    """{number: Part} of the lessons, in the order of the guide."""
    pieces = re.split(r"^### (\d\d · .*)$", guide, flags=re.M)
    return {
        title[:2]: Part(title, text) for title, text in zip(pieces[1::2], pieces[2::2], strict=True)
    }


def course_part(guide, heading):
    """The text under a heading, up to the next one."""
    found = re.search(rf"^#{{2,3}} {re.escape(heading)}$\n(.*?)(?=^#|\Z)", guide, re.M | re.S)
    return found[1] if found else ""


def tables(text):
    """Every table as rows of cells, its header first."""
    found = []
    for block in re.findall(r"(?:^\|.*\n?)+", text, re.M):
        rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in block.splitlines()]
        found.append([rows[0], *rows[2:]])
    return found


def only_table(guide, heading):
    """Its rows below the header; none when the part is missing or has two tables."""
    found = tables(course_part(guide, heading))
    return found[0][1:] if len(found) == 1 else []


# ---------------------------------------- the comparison
def differences(guide, notebooks):
    """One line for each place where the guide is not what the lessons are."""
    lessons = {lesson.number: lesson for lesson in map(Lesson, notebooks)}
    told = parts(guide)
    found = [f"guide: no part {name!r}" for name in COURSE_PARTS if not course_part(guide, name)]
    if list(told) != list(lessons):
        found.append(f"guide: lessons {list(told)}, notebooks {list(lessons)}")
    for number in told.keys() & lessons.keys():
        lesson_found = _differences(told[number], lessons[number])
        found += [f"{number}: {line}" for line in lesson_found]
    return found + list(_plans(guide, lessons))


def _differences(part, lesson):
    if part.title != lesson.title:
        yield f"title {part.title!r}, notebook {lesson.title!r}"
    if part.leads != LEADS:
        yield f"has {part.leads}, wanted {LEADS}"
    if part.headers != LESSON_TABLES:
        yield f"its tables are {part.headers}"
    named = [name for name, _, _ in part.minutes]
    if named != lesson.sections:
        yield f"sections {_apart(named, lesson.sections)}"
    if (total := sum(least for _, least, _ in part.minutes)) != lesson.minutes:
        yield f"minutes add up to {total}, the notebook's Time is {lesson.minutes}"
    if (cut := sum(cut for _, _, cut in part.minutes)) < 10:
        yield f"cuts save {cut} minutes of ten"
    if any(cut > least for _, least, cut in part.minutes):
        yield "cuts more than a section has"
    quoted = [row[0] for row in part.predictions]
    if quoted != lesson.predictions:
        yield f"predictions {_apart(quoted, lesson.predictions)}"
    if not all(wrong and say for _, wrong, say in part.predictions):
        yield "a prediction without a wrong answer or without what to say"
    if not part.live:
        yield "nothing to type live"
    for block in part.live:
        if not any(f"\n{block}\n" in f"\n{source}\n" for source in lesson.code):
            yield f"no cell holds these lines: {block!r}"
    for lead in ("Ten minutes behind.", "Type live."):
        for quoted in re.findall(r'"([^"]+)"', part.after(lead)):
            if quoted not in _one_line(lesson.text):
                yield f"{lead} quotes {quoted!r}, which the notebook has not"
    if not re.fullmatch(r".*\? \*[^*]+\*", part.after("Exit question.")):
        yield "an exit question without an answer"


def _apart(told, real):
    return f"only in the guide: {[t for t in told if t not in real]}, only in the notebook: " + str(
        [r for r in real if r not in told]
    )


def _plans(guide, lessons):
    for heading in ("One lecture of 90 minutes", "Three lectures of 50 minutes"):
        for *_, number, sections in only_table(guide, heading):
            known = lessons[number].sections if number in lessons else []
            for name in sections.split("; "):
                if name not in known:
                    yield f"{heading}: no section {name!r} in lesson {number}"
    sittings = only_table(guide, "Self-study")
    listed = [number for _, numbers, *_ in sittings for number in numbers.split(", ")]
    if listed != list(lessons):
        yield f"Self-study: lessons {listed}, notebooks {list(lessons)}"
    for _, numbers, minutes, _ in sittings:
        total = sum(lessons[n].minutes for n in numbers.split(", ") if n in lessons)
        if total != int(minutes):
            yield f"Self-study: {numbers} takes {total} minutes, not {minutes}"


def test_the_guide_says_what_the_notebooks_say():
    assert not (found := differences(GUIDE, stored())), "\n".join(found)


# ---------------------------------------- the comparison bites
def changed(old, new, number="05"):
    """The stored notebooks, with one text of one lesson replaced."""
    notebooks = stored()
    (notebook,) = [nb for nb in notebooks if Lesson(nb).number == number]
    hits = 0
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        hits += source.count(old)
        cell["source"] = source.replace(old, new)
    assert hits == 1, f"{old!r} stands {hits} times in lesson {number}"
    return notebooks


CHANGES = {
    "a heading": ("## Measure how dot products grow", "## See dot products grow", "sections"),
    "a section more": ("## Traps\n", "## Temperature\n\n## Traps\n", "sections"),
    "a section fewer": ("## Traps\n", "", "sections"),
    "a prediction": ("the standard deviation at d_k = 1024.", "the spread at 1024.", "predictions"),
    "a prediction fewer": ("**Predict:** does the y keep", "Does the y keep", "predictions"),
    "the minutes": ("| **Time** | 40 minutes |", "| **Time** | 45 minutes |", "minutes add up"),
    "the title": ("# 05 · Divide by √d_k", "# 05 · Divide by a root", "title"),
    "words to skip from": ("Two more are so close", "Two others are so close", "quotes", "06"),
    "the line to type": ("scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5  # (B, T, T)",
                         "scores = q @ k.mT / k.shape[-1] ** 0.5  # (B, T, T)", "no cell holds"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_lesson_that_changes_is_noticed(change):
    old, new, complaint, *number = change
    before = differences(GUIDE, stored())
    after = differences(GUIDE, changed(old, new, *number))
    assert any(complaint in line for line in after if line not in before), after


def test_a_lesson_that_is_missing_is_noticed():
    assert any("lessons" in line for line in differences(GUIDE, stored()[1:]))


GAPS = {
    "a lead": ("**Exit question.** How much", "How much", "wanted"),
    "a course part": ("### Self-study", "### At home", "no part 'Self-study'"),
    "a cut": ("| Your turn | 4 | 4 |", "| Your turn | 4 | |", "cuts save"),
    "a cut too deep": ("| Recap | 1 | |", "| Recap | 1 | 2 |", "cuts more"),
    "an answer": ("| (8, 4); (4, 8, 65) |", "| |", "without a wrong answer"),
    "a plan's section": ("| Make a row out of any numbers |\n", "| Softmax |\n", "no section"),
    "an exit answer": ("\n*A quarter: 1/(t+1), whatever the token is.*", "", "without an answer"),
    "a sitting": ("| 1 | 01, 02 | 70 |", "| 1 | 01, 02 | 60 |", "takes 70 minutes"),
}


@pytest.mark.parametrize(("old", "new", "complaint"), GAPS.values(), ids=GAPS)
def test_a_gap_in_the_guide_is_noticed(old, new, complaint):
    assert old in GUIDE
    found = differences(GUIDE.replace(old, new, 1), stored())
    assert any(complaint in line for line in found), found


# ---------------------------------------- plans, rubric, questions
def test_the_lectures_last_what_they_say():
    lecture = only_table(GUIDE, "One lecture of 90 minutes")
    assert sum(int(minutes) for minutes, *_ in lecture) == 90
    lengths = {}
    for which, minutes, *_ in only_table(GUIDE, "Three lectures of 50 minutes"):
        lengths[which] = lengths.get(which, 0) + int(minutes)
    assert lengths == {"1": 50, "2": 50, "3": 50}


def test_self_study_says_how_many_sittings():
    sittings = only_table(GUIDE, "Self-study")
    assert [which for which, *_ in sittings] == [str(n + 1) for n in range(len(sittings))]
    said = course_part(GUIDE, "Self-study").split()[0].lower()
    assert said == WORDS[len(sittings)]


def test_ten_questions_with_answers():
    rows = only_table(GUIDE, "Ten questions students will ask")
    assert [row[0].split(".")[0] for row in rows] == [str(n) for n in range(1, 11)]
    assert all(question.endswith("?") or "?" in question for question, _ in rows)
    assert all(len(answer.split()) >= 8 for _, answer in rows)


def test_the_rubric_adds_up():
    rows = only_table(GUIDE, "Rubric for the whiteboard")
    assert all(len(row) == 4 and all(row) for row in rows)
    assert f"{WORDS[2 * len(rows)]} in all" in course_part(GUIDE, "Rubric for the whiteboard")


# ---------------------------------------- the diagnostic, executed
def test_the_diagnostic_is_answered_by_torch():
    questions, answers = tables(course_part(GUIDE, "Entry diagnostic"))
    assert len(questions) == len(answers) == 6  # a header and five
    for (n, asked, *_), (m, right, wrong) in zip(questions[1:], answers[1:], strict=True):
        assert n == m
        value = eval(_code(asked)[0], {"torch": torch})
        value = list(value.shape) if asked.startswith("the shape of") else value.tolist()
        assert json.loads(_code(right)[0]) == value, asked
        assert value not in [json.loads(slip) for slip in _code(wrong) if slip[0] in "[1234567890"]


def test_the_wrong_answers_of_the_diagnostic_come_from_the_slips_named():
    _, answers = tables(course_part(GUIDE, "Entry diagnostic"))
    wrong = [[json.loads(slip) for slip in _code(row[2]) if slip != "@"] for row in answers[1:]]
    two = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    assert wrong[1] == [two.mean(dim=1).tolist(), two.mean().item()]
    entrywise = torch.tensor([1.0, 2.0, 0.0]) * torch.tensor([3.0, -1.0, 5.0])
    assert wrong[3] == [entrywise.tolist()]
    turned = torch.ones(4, 8, 16).permute(2, 1, 0)
    assert wrong[4] == [list(turned.shape)]


def _code(cell):
    return re.findall(r"`([^`]+)`", cell)


# ---------------------------------------- the board, against eye
def board(text):
    """{name: rows} of the lines `name = [..] [..]`."""
    lines = re.findall(r"^(\w+)\s*= (\[.*\])$", text, re.M)
    return {
        name: [[_number(n) for n in row.split()] for row in re.findall(r"\[([^\]]+)\]", rows)]
        for name, rows in lines
    }


def _number(word):
    return -math.inf if word == "-inf" else float(Fraction(word) if "/" in word else word)


def test_what_goes_on_the_board_is_eye():
    seen = set()
    for number, part in parts(GUIDE).items():
        for block in part.boards:
            lines = board(block)
            assert len(lines) == len(block.splitlines()), f"{number}: {block}"
            for name, rows in lines.items():
                real = getattr(Eye(), name)
                torch.testing.assert_close(
                    torch.tensor(rows), real.float(), atol=5.1e-4, rtol=0,
                    msg=lambda m, where=f"{number}, {name}": f"{where}: {m}",
                )  # fmt: skip
                seen.add(name)
    assert {"x", "xbow", "q", "k", "v", "raw", "scores", "masked", "weights", "out"} <= seen


# ---------------------------------------- numbers, computed again
def n(value, decimals=3):
    """A number as the guide writes it: no 0 in front of the point, no zeros behind."""
    text = f"{float(value):.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text and float(text) == int(float(text)) else text
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def row(values, decimals=3, joined=" "):
    return joined.join(n(value, decimals) for value in values)


def shape(*sizes):
    return f"({', '.join(str(size) for size in sizes)})"


B, T, C, HEAD_SIZE = 4, 8, 384, 16


def lesson_01():
    eye = Eye()
    fading = (eye.xbow[1] + eye.x[2]) / 2
    yield row(eye.x.sum(dim=0))
    yield ".75 .25 .25 .25 .5" if fading.tolist() == [0.75, 0.25, 0.25, 0.25, 0.5] else "?"
    yield shape(*torch.zeros(T, C)[:2].shape)  # `past` with its own token left out
    yield shape(*torch.zeros(B, T, C)[:, :3].shape)  # and with the batch left in
    letters = [[[c == "e", c == "y"] for c in word] for word in ("eye", "yee", "eey")]
    ends = torch.tensor(letters).float().mean(dim=1)
    assert (ends == ends[0]).all()
    assert "A quarter" in parts(GUIDE)["01"].text
    assert 1 / (3 + 1) == 0.25


def lesson_02():
    eye, numbers = Eye(), torch.tensor([2.0, 0.0, 1.0])
    yield f"1 + 1/2 + 1/3 = {n(eye.average[:, 0].sum())}"
    assert (numbers / numbers.sum() * 3).tolist() == [2, 0, 1]
    yield "2/3, 0, 1/3"
    weights = F.softmax(numbers, dim=-1)
    yield f"the 0 gets {n(weights[1])}; the 2 gets {n(weights[0])}"
    yield f"{n(F.softmax(torch.zeros(5), dim=-1)[0], 1)} each"
    torch.testing.assert_close(F.softmax(numbers + 1, dim=-1), weights, atol=1e-6, rtol=0)
    yield row(eye.x[2])  # what the row held before it was set by hand


def lesson_03():
    asks = torch.tensor([2.0, 1.0])
    offers = torch.tensor([[3.0, 1.0], [-1.0, 2.0], [-2.0, -1.0]])
    yield row(offers @ asks, joined=", ").replace("-", "−")
    yield shape(*(offers[0] * asks).int().tolist())
    weights = F.softmax(torch.tensor([3.0, 1.0, 0.0]), dim=-1)
    yield f"{n(weights[0])} for the lamp"
    yield f"pulls more than the rope's 2: {weights @ torch.tensor([6.0, 10.0, 2.0]):.1f}"
    eye = Eye()
    yield shape(*(eye.Wk[0] + eye.Wk[4]).int().tolist())
    yield shape(*(eye.Wk[0] * eye.Wk[4]).int().tolist()) + ", multiplied"
    x, key = torch.zeros(B, T, C), torch.nn.Linear(C, HEAD_SIZE, bias=False)
    wider = torch.nn.Linear(C, 64, bias=False)
    yield f"Batch and time stay: {shape(*key(x).shape)}"
    yield (
        f"{shape(*key.weight.shape)}, then {shape(*wider.weight.shape)} and "
        f"{shape(*wider(x).shape)}"
    )
    yield f"one wider last axis: {shape(*(x @ torch.zeros(C, 3 * HEAD_SIZE)).shape)}"
    assert eye.average_of_v[2, 3] == 1


def lesson_04():
    eye = Eye()
    yield shape(*(eye.q[1] * eye.k[2]).int().tolist())
    yield f"one sum: {n(eye.q[1] @ eye.k[2])}"
    yield f"q0·k1 is {n(eye.raw[0, 1])}, q1·k0 is {n(eye.raw[1, 0])}"
    k = torch.zeros(B, T, HEAD_SIZE)
    yield f"stays in front: {shape(*k.transpose(-2, -1).shape)}"
    yield shape(*k.permute(2, 1, 0).shape)
    yield f"8 queries against 8 keys: {shape(*(k @ k.transpose(-2, -1)).shape)}"
    powers, weights = eye.raw[0].exp(), F.softmax(eye.raw, dim=-1)
    yield f"e⁴ is {powers[1]:.1f} of {powers.sum():.0f}: {n(weights[0, 1])}"
    yield f"less: {n(eye.raw[0, 1])} of {n(eye.raw[0].sum())}"
    w = weights[1]
    yield f"{n(w[2])} of place 2 and {n(w[1])} of place 1: {n(w @ eye.v[:, 3])}"
    assert eye.raw[0, 0] == 0
    yield f"still gets weight {n(weights[0, 0])}"
    yield row(weights[0])


def lesson_05():
    eye = Eye()
    yield row((eye.raw / 4)[0], 1, ", ")
    yield row(eye.scores[0])
    sums = eye.scores.exp().sum(dim=-1)
    assert sums[0] == pytest.approx(sums[1].item()) and sums[0] > 2 * sums[2]
    yield f"both {n(sums[0])}"
    yield f"they were halved: {n(eye.weights_unmasked[0, 1])}"
    lost = F.softmax(eye.raw, dim=-1)[0] - eye.weights_unmasked[0]
    assert lost[1] > 0 and -lost[2] > lost[1] / 2
    yield f"at place 2: {n(eye.out_unmasked[0, 3])}"
    yield f"its root is {n(1024**0.5)}"
    pairs = F.softmax(torch.tensor([[2.0, 0.0], [8.0, 0.0]]), dim=-1)
    slopes = pairs[:, 0] * pairs[:, 1]
    assert 300 < slopes[0] / slopes[1] < 320
    yield f"More than 300: {n(slopes[0])} to {n(slopes[1], 5)}"
    yield f"1/√64 = {n(1 / 64**0.5)}"
    yield f"4 · 4 = {4 * 4}"
    assert 4 / 2 == 4**0.5  # the exit question


def lesson_06():
    eye = Eye()
    yield row(eye.masked.exp().sum(dim=-1), joined=", ")
    yield f"v[0], {row(eye.v[0])}"
    yield f"{n(eye.scores.exp().sum(dim=-1)[0])} in row 0"
    leaks = F.softmax(eye.scores.masked_fill(~eye.causal, -10.0), dim=-1)
    yield f"{n(leaks[0, 1], 6)}: too little for three decimals"
    yield row(F.softmax(eye.scores.tril(), dim=-1)[0])
    assert eye.scores[0, 0] == 0


def lesson_07():
    eye = Eye()
    yield row(eye.out_unmasked[0])
    yield f"the head masks: {row(eye.out[0])}"
    learned = 3 * C * HEAD_SIZE
    yield f"3 · 384 · 16 = {learned:,}"
    yield f"{learned + 3 * HEAD_SIZE:,}; {learned + T * T:,}; {3 * C * C:,}"
    score = torch.tensor(5.0)
    yield f"e⁵ is {score.exp():.0f}, enough for {n(torch.sigmoid(score))}"
    yield f"5 · √4 = {5 * 4**0.5:.0f}"


def lesson_08():
    eye = Eye()
    yield f"and gets {row(eye.v[0])}"
    c_attn = torch.nn.Linear(C, 3 * HEAD_SIZE, bias=False)
    yield f"three widths stacked: {shape(*c_attn.weight.shape)}"
    yield f"{shape(*c_attn.weight.T.shape)}; {shape(3 * C, C)}"
    call = F.scaled_dot_product_attention
    newest = [t[None] for t in (eye.q[-1:], eye.k, eye.v)]
    assert torch.equal(call(*newest, is_causal=True)[0, 0], eye.v[0])
    torch.testing.assert_close(call(*newest)[0, 0], eye.out[-1], atol=1e-6, rtol=0)


def lesson_09():
    right = torch.tensor([1 / 2, 1 / 8])
    mean, nothing = -right.log().mean(), torch.tensor(65.0).log()
    yield f"the mean of ln 2 and ln 8, {n(mean, 2)}; and ln 65, {n(nothing, 2)}"
    yield f"{n(-right.mean().log(), 2)} takes the mean before the logarithm"
    yield f"{n(-right.log2().mean())} a logarithm to base 2"


def lesson_10():
    eye = Eye()
    yield f"would get nothing. {row(eye.weights_unmasked[0])}"
    shares = eye.scores[0] / eye.scores[0].sum()
    assert (shares * 3).tolist() == [0, 2, 1]
    slip = Sheet().judge(
        scores="0 1 .5 / .5 0 1 / 0 .5 -.5",
        masked="0 -inf -inf / .5 0 -inf / 0 .5 -.5",
        weights="1 0 0 / 1.649 1 0 / 1 1.649 .607",
    )
    assert slip.faults == ("divided-by-4", "not-divided")
    (model,) = re.findall(r"A token's output is[^.]+\.", _stored_text("10"))
    yield f"*{_one_line(model)}*"
    meaning = _one_line(model).removeprefix("A token's output is ").rstrip(".")
    assert meaning in course_part(GUIDE, "Rubric for the whiteboard")


def _stored_text(number):
    (text,) = [lesson.text for lesson in map(Lesson, stored()) if lesson.number == number]
    return text


FACTS = {name[-2:]: made for name, made in list(globals().items()) if name.startswith("lesson_")}


@pytest.mark.parametrize("number", FACTS)
def test_numbers_of_a_lesson_computed_again(number):
    text = _one_line(parts(GUIDE)[number].text)
    missing = [phrase for phrase in FACTS[number]() if phrase not in text]
    assert missing == []


def course_facts():
    eye = Eye()
    yield f"`eye` has {n(eye.raw[0, 1])} and {n(eye.raw[1, 0])}"
    last = eye.raw[2]
    yield f"is {row(last, joined=', ').replace('-', '−')}: its sum is {n(last.sum())}"
    ones = (eye.weights_unmasked.tril() @ eye.v)[:, 0]
    yield f"is {row(ones, joined=', ')}"
    same = eye.q @ eye.q.T
    assert torch.equal(same, same.T)


def test_numbers_of_the_course_part_computed_again():
    text = _one_line(GUIDE)
    assert [phrase for phrase in course_facts() if phrase not in text] == []


def unfounded(guide, notebooks):
    """Numbers with two decimals or more, or with thousands, that a lesson does not hold."""
    lessons = {lesson.number: lesson for lesson in map(Lesson, notebooks)}
    everything = "\n".join(lesson.text for lesson in lessons.values())
    told = {"course": guide.split("## The lessons")[0]}
    told |= {number: part.text for number, part in parts(guide).items()}
    for number, text in told.items():
        known = " ".join(FACTS[number]()) if number in FACTS else ""
        known += lessons[number].text if number in lessons else everything
        known += " ".join(f"{float(w):.3f}".replace("0.", ".", 1) for w in _eye_numbers())
        for found in re.findall(r"(?<![\w.,])\d*\.\d{2,}|\d+,\d{3}", text):
            if not re.search(rf"(?<![\d.]){re.escape(found)}(?!\d)", known):
                yield f"{number}: {found}"


def _eye_numbers():
    eye = Eye()
    names = ("weights", "out", "weights_unmasked", "out_unmasked", "xbow", "average")
    return [value for name in names for value in getattr(eye, name).flatten().tolist()]


def test_every_number_stands_in_its_lesson():
    assert list(unfounded(GUIDE, stored())) == []


def test_a_number_from_nowhere_is_noticed():
    wrong = GUIDE.replace(".844 for the lamp", ".848 for the lamp")
    assert list(unfounded(wrong, stored())) == ["03: .848"]
