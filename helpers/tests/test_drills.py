"""The drills: each seed gives a task that can be solved, and an answer is judged for what it is."""

import re
from itertools import combinations

import pytest
import torch
import torch.nn.functional as F

from helpers import drill
from helpers.broken import FAULTS, RIGHT, Evidence, differing, evidence, right_head
from helpers.drills import _ASKED, _SENTENCES, _STEPS, _STRANGERS
from helpers.handsized import Eye
from helpers.influence import influence_grid
from helpers.sheet import Sheet

torch.set_num_threads(1)

KINDS = ("order", "shapes", "head", "sentence")
SEEDS = range(40)
each_kind = pytest.mark.parametrize("kind", KINDS)
each_seed = pytest.mark.parametrize("seed", SEEDS)


# ---------------------------------------- drawing
@each_kind
def test_the_same_seed_is_the_same_task_and_nothing_else_is_touched(kind):
    state = torch.get_rng_state()
    first = repr(drill(kind, 5))
    torch.manual_seed(99)
    torch.rand(3)
    assert repr(drill(kind, 5)) == first and repr(drill(kind)) == repr(drill(kind, seed=0))
    torch.set_rng_state(state)
    drill(kind, 6)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("kind", ["order", "shapes", "head"])
def test_another_seed_is_another_task(kind):
    shown = {repr(drill(kind, seed)).partition(". ")[2] for seed in range(40)}
    # Sizes and orders are drawn from many, and by chance two may be the same.
    assert len(shown) >= 39
    following = [repr(drill(kind, seed)).partition(". ")[2] for seed in range(40)]
    assert all(a != b for a, b in zip(following, following[1:], strict=False))


def test_sentences_take_turns():
    asked = [drill("sentence", seed).title for seed in range(10)]
    assert asked[:5] == asked[5:] and len(set(asked)) == len(_SENTENCES) == 5


@each_kind
def test_no_seed_draws_one_and_says_which(kind):
    task = drill(kind, seed=None)
    again = drill(kind, task.seed)
    assert f"Seed {task.seed}." in repr(task) and repr(again) == repr(task)
    assert len({drill(kind, seed=None).seed for _ in range(4)}) > 1


@each_kind
@pytest.mark.parametrize("seed", [-1, -(10**30), 10**30])
def test_any_whole_number_is_a_seed(kind, seed):
    assert repr(drill(kind, seed))


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("shape",), "no drill 'shape'; did you mean 'shapes'? There are: order, shapes, head, s"),
        (("xyzzy",), "no drill 'xyzzy'. There are: order, shapes, head, sentence"),
        ((None,), "no drill None. There are"),
        (("order", 1.0), "seed is a whole number, this is 1.0"),
        (("order", True), "seed is a whole number, this is True"),
        (("order", "1"), "seed is a whole number, this is '1'"),
        (("order", 0, "2"), "strangers is a whole number, this is '2'"),
        (("order", 0, -1), "strangers is 0 to 7, this is -1"),
        (("order", 0, 8), "strangers is 0 to 7, this is 8"),
        (("head", 0, 2), "strangers are for the drill 'order', not for 'head'"),
    ],
)
def test_no_such_drill_is_said_in_one_sentence(arguments, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        drill(*arguments)


def test_a_list_is_no_kind_either():
    with pytest.raises(ValueError, match="no drill"):
        drill(["order"])


# ---------------------------------------- any answer at all
NOTHING = [None, ..., "", "  ", "?", "???", "...", [], ["?", None], {}, {"q": "?"}, (..., ...)]


@each_kind
@pytest.mark.parametrize("nothing", NOTHING, ids=repr)
def test_nothing_is_not_attempted(kind, nothing):
    assert drill(kind).judge(nothing).verdict == "not attempted"
    assert drill(kind).judge().verdict == "not attempted"


class Hostile:
    def __getattribute__(self, name):
        raise RuntimeError("no")

    def __repr__(self):
        raise RuntimeError("no")

    def __str__(self):
        raise RuntimeError("no")


class HostileText(str):
    def strip(self, *_):
        raise RuntimeError("no")


class HostileList(list):
    def __iter__(self):
        raise RuntimeError("no")


LOOP = []
LOOP.append(LOOP)
STRANGE = [
    5, 5.0, True, b"abc", object, print, 1j, range(7), {"a"}, {"a": Hostile()}, {1: 2}, {"q": 3.5},
    [None, "a", 5], [[]], [["a"], ["b"]], "x" * 100_000, "\ud800", "<script>alert(1)</script>",
    torch.zeros(3), torch.zeros(8, 2), Hostile(), [Hostile()] * 8, HostileText("a"),
    HostileList([1]), LOOP, {"q": "(2, 3"}, {"q": (True, 2)}, {"q": float("nan")}, "(2, 3, 5)",
]  # fmt: skip


@each_kind
@pytest.mark.parametrize("number", range(len(STRANGE)))  # pytest itself would look at them
def test_a_strange_answer_is_never_right_and_never_raises(kind, number):
    result = drill(kind).judge(STRANGE[number])
    assert result.verdict in ("not readable", "wrong", "points missing", "not attempted")
    shown = result._repr_html_()
    assert "<script>" not in shown and len(repr(result)) < 2000
    if result.verdict == "not readable":
        assert len(repr(result)) > 40, "says what is wanted"


# ---------------------------------------- order
def by_makes(task):
    return {line.makes: letter for letter, line in task.lines.items() if not line.why_not}


def in_order(task):
    letters = {line: letter for letter, line in task.lines.items()}
    return "".join(letters[line] for line in _STEPS)


def run(lines):
    """Execute lines of the drill on the numbers of a sheet; returns out."""
    sheet = Sheet("cat", 1)
    names = {"x": sheet.x, "Wq": sheet.Wq, "Wk": sheet.Wk, "Wv": sheet.Wv, "torch": torch, "F": F}
    names |= {"T": 3, "head_size": 4}
    exec("\n".join(line.code for line in lines), names)
    return names["out"], sheet.out


@each_seed
def test_order_can_be_solved_and_is_not_solved_already(seed):
    for strangers in (0, seed % 8):
        task = drill("order", seed, strangers)
        assert len(task.lines) == len(_STEPS) + strangers
        assert task.judge(in_order(task)).verdict == "right"
        assert strangers or list(task.lines.values()) != list(_STEPS)


def test_the_right_order_runs_and_gives_attention():
    out, want = run(_STEPS)
    torch.testing.assert_close(out, want)


@pytest.mark.parametrize("stranger", _STRANGERS, ids=lambda line: line.code)
def test_each_stranger_is_wrong_when_run_and_when_judged(stranger):
    lines = [stranger if line.makes == stranger.makes else line for line in _STEPS]
    try:
        out, want = run(lines)
    except RuntimeError:
        assert "does not even run" in stranger.why_not
    else:
        assert "not even run" not in stranger.why_not
        assert not torch.allclose(out, want, atol=1e-3)
    task = drill("order", 3, strangers=7)
    letter = next(a for a, line in task.lines.items() if line == stranger)
    answer = in_order(task).replace(by_makes(task)[stranger.makes], letter)
    result = task.judge(answer)
    assert (result.verdict, result.faults) == ("wrong", ("stranger",))
    assert stranger.why_not in repr(result) and f"Line {letter} stays out" in repr(result)


def test_every_order_that_runs_is_right_and_no_other_is():
    """The line that makes `future` may stand anywhere before it is used."""
    task = drill("order", 2)
    letters = in_order(task)
    future = by_makes(task)["future"]
    rest = letters.replace(future, "")
    used = rest.index(by_makes(task)["masked"])
    for place in range(len(letters)):
        answer = rest[:place] + future + rest[place:]
        right = place <= used
        assert task.judge(answer).verdict == ("right" if right else "wrong")
    for a, b in combinations(range(len(rest)), 2):
        swapped = list(rest)
        swapped[a], swapped[b] = rest[b], rest[a]
        result = task.judge(future + "".join(swapped))
        assert (result.verdict, result.faults) == ("wrong", ("too-early",))


def test_what_is_wrong_with_an_order_is_said():
    task = drill("order", 1)
    letters, makes = in_order(task), by_makes(task)
    early = task.judge(letters[1] + letters[0] + letters[2:])
    assert f"Line {makes['raw']}, at place 1, needs q, k, v: line {letters[0]}" in repr(early)
    assert f"Line {letters[0]} stands there twice" in repr(task.judge(letters[0] * 2))
    short = task.judge(letters[:-1])
    assert short.faults == ("missing",) and "Nothing makes out yet" in repr(short)
    assert "There is no line 'z'" in repr(task.judge("z"))


def test_order_reads_letters_in_many_ways():
    task = drill("order", 4)
    letters = in_order(task)
    for answer in (letters.upper(), ", ".join(letters), " → ".join(letters), list(letters),
                   tuple(letters), f" {letters}\n", "-".join(letters)):  # fmt: skip
        assert task.judge(answer).verdict == "right", answer


# ---------------------------------------- shapes
@each_seed
def test_shapes_can_be_solved_and_sizes_tell_axes_apart(seed):
    task = drill("shapes", seed)
    B, T, C, head_size = (task.sizes[name] for name in ("B", "T", "C", "head_size"))
    assert len({B, T, C, head_size}) == 4 and head_size < C
    right = {
        "Wq": (C, head_size),
        "query.weight": (head_size, C),
        "q": (B, T, head_size),
        "k.transpose(-2, -1)": (B, head_size, T),
        "raw": (B, T, T),
        "weights[0]": (T, T),
        "weights.sum(dim=-1)": (B, T),
        "out": (B, T, head_size),
    }
    assert tuple(right) == _ASKED
    assert task.judge(right).verdict == "right"
    for name, shape in right.items():
        result = task.judge({**right, name: (*shape, 1)})
        assert (result.verdict, result.faults) == ("wrong", (name,))


def answers(task, **changed):
    names = {name.replace("_", "."): value for name, value in changed.items()}
    return {**task.shapes, **names}


@pytest.mark.parametrize(
    "wrong, said",
    [
        (lambda B, T, C, hs: {"Wq": (hs, C)}, "has the axes in another order. x @ Wq uses up C"),
        (lambda B, T, C, hs: {"query.weight": (C, hs)}, "nn.Linear stores the transpose of Wq"),
        (lambda B, T, C, hs: {"q": (B, T, C)}, "axis 2 is head_size there, not"),
        (lambda B, T, C, hs: {"raw": (B, T, hs)}, "axis 2 is T there, not"),
        (lambda B, T, C, hs: {"raw": (T, T)}, "has 2 axes, 3 are wanted. A row a query"),
        (lambda B, T, C, hs: {"weights[0]": (B, T, T)}, "has 3 axes, 2 are wanted"),
        (lambda B, T, C, hs: {"weights.sum(dim=-1)": (B, T, 1)}, "The last axis is summed away"),
        (lambda B, T, C, hs: {"out": (B, T, C)}, f"not {'{C}'} = C"),
        (lambda B, T, C, hs: {"out": (B, T, 999)}, "not 999."),
    ],
)
def test_a_wrong_shape_gets_its_reason(wrong, said):
    for seed in range(5):
        task = drill("shapes", seed)
        B, T, C, head_size = task.sizes.values()
        changed = wrong(B, T, C, head_size)
        result = task.judge({**task.shapes, **changed})
        assert (result.verdict, result.faults) == ("wrong", tuple(changed))
        assert said.replace("{C}", str(C)) in repr(result)


def test_shapes_are_read_in_many_ways_and_may_be_missing():
    task = drill("shapes", 1)
    right = task.shapes
    for how in (list, torch.Size, str, lambda s: " ".join(map(str, s)),
                lambda s: "×".join(map(str, s)), lambda s: str(list(s))):  # fmt: skip
        assert task.judge({name: how(shape) for name, shape in right.items()}).verdict == "right"
    assert task.judge(list(right.values())).verdict == "right"
    some = task.judge({"q": right["q"], "raw": "?"})
    assert some.verdict == "right so far"
    assert "Right: q." in repr(some) and "Not filled in yet: Wq, query.weight" in repr(some)
    assert "'scores' is not asked" in repr(task.judge({"scores": (1, 2)}))


# ---------------------------------------- a broken head
def test_each_fault_keeps_every_shape_and_is_one_fault():
    eye = Eye()
    names = [fault.name for fault in (RIGHT, *FAULTS)]
    assert len(set(names)) == len(names) and all(fault.why for fault in FAULTS)
    for fault in (RIGHT, *FAULTS):
        weights, out = fault.head(eye.q, eye.k, eye.v)
        assert (weights.shape, out.shape) == ((3, 3), (3, 4)), fault.name


def test_the_right_head_is_the_head_of_the_course():
    eye = Eye()
    weights, out = right_head(eye.q, eye.k, eye.v)
    assert torch.equal(weights, eye.weights) and torch.equal(out, eye.out)
    seen = evidence(RIGHT, eye)
    assert torch.equal(seen.first, eye.out[0]) and torch.equal(seen.last, eye.out[-1])
    assert torch.equal(seen.heard, eye.causal)
    torch.testing.assert_close(seen.sums, torch.ones(3))


def test_evidence_is_what_the_head_does():
    sheet = Sheet("dad", 2)
    for fault in FAULTS:
        weights, out = fault.head(sheet.q, sheet.k, sheet.v)
        seen = evidence(fault, sheet)
        torch.testing.assert_close(seen.first, out[0], equal_nan=True)
        torch.testing.assert_close(seen.last, out[-1], equal_nan=True)
        torch.testing.assert_close(seen.sums, weights.sum(-1), equal_nan=True)
        heard = influence_grid(
            lambda x, head=fault.head: head(x @ sheet.Wq, x @ sheet.Wk, x @ sheet.Wv)[1], sheet.x
        )
        assert torch.equal(seen.heard, heard)


# What lesson 06 teaches to read off: is it right in first row, last row, row sums, grid?
SIGNS = {
    "the mask is missing": (False, True, True, False),
    "forbidden scores are set to 0": (False, True, True, False),
    "forbidden scores are set to -10": (True, True, True, False),
    "the mask comes after the softmax": (False, True, False, False),
    "the mask is one position ahead": (False, True, True, False),
    "every score of 0 is masked": (False, None, False, None),
    "the diagonal is masked too": (False, None, False, None),
    "the other triangle is kept": (False, False, True, False),
    "a triangle of ones is added as the mask": (False, True, True, False),
    "the scale is missing": (True, False, True, True),
    "scores are divided by head_size, not by its root": (True, False, True, True),
    "scores are multiplied by the root of head_size": (True, False, True, True),
    "queries and keys are exchanged": (True, False, True, True),
    "softmax runs down the columns": (False, False, False, None),
    "the weights are transposed": (False, False, False, False),
    "the keys are averaged, not the values": (False, False, True, True),
    "the scale comes after the softmax": (False, False, False, True),
}


@pytest.mark.parametrize(
    "example", [Eye(), Sheet("nun", 1), Sheet("map", 2)], ids=["eye", "a", "b"]
)
def test_the_evidence_of_a_fault_is_what_its_kind_leaves(example):
    assert list(SIGNS) and {fault.name for fault in FAULTS} == set(SIGNS)
    right = evidence(RIGHT, example)
    for fault in FAULTS:
        seen = evidence(fault, example)
        lost = set(differing(right, seen))
        found = [name not in lost for name in Evidence._fields]
        for name, sign, is_right in zip(Evidence._fields, SIGNS[fault.name], found, strict=True):
            assert sign is None or sign == is_right, (fault.name, name)


@each_seed
def test_a_head_can_be_diagnosed_and_the_evidence_decides(seed):
    task = drill("head", seed)
    assert len(task.options) == task.OPTIONS == len({f.name for f in task.options.values()})
    assert RIGHT in task.options.values()
    fitting = [
        letter
        for letter, fault in task.options.items()
        if not differing(evidence(fault, task.sheet), task.evidence)
    ]
    assert len(fitting) == 1, "one option fits what is shown, and no other"
    for letter, fault in task.options.items():
        result = task.judge(letter)
        assert result.verdict == ("right" if [letter] == fitting else "wrong")
        if result.verdict == "right":
            assert fault.why in repr(result)
        else:
            assert result.faults == (fault.name,)
            (said,) = re.findall(r"the ([\w ]+) would be (.+)\. Here: (.+)\.", repr(result))
            assert said[1] != said[2], "the two that are shown must look different"


def test_the_drill_shows_the_numbers_it_judges_by():
    task = drill("head", 4)
    shown = repr(task)
    for name in ("first", "last"):
        row = getattr(task.evidence, name).tolist()
        numbers = ["0" if not v else f"{v:.3f}".removeprefix("0") for v in row]
        assert all(n in shown for n in numbers if n.startswith(".")), (name, numbers)
    grid = " / ".join(" ".join(str(int(v)) for v in row) for row in task.evidence.heard)
    assert grid in shown and task.sheet.word in shown


def test_every_fault_is_drawn_and_so_is_health():
    drawn = {drill("head", seed)._fault.name for seed in range(150)}
    assert drawn == {fault.name for fault in (RIGHT, *FAULTS)}
    places = {
        next(a for a, f in drill("head", seed).options.items() if f is drill("head", seed)._fault)
        for seed in SEEDS
    }
    assert places == set("abcdef"), "the right answer stands at every letter"


def test_the_triage_is_said_with_a_wrong_answer():
    seen = set()
    for seed in range(60):
        task = drill("head", seed)
        for letter, fault in task.options.items():
            if fault is not task._fault:
                seen.add(repr(task.judge(letter)).rstrip().splitlines()[-1].strip())
                break
    assert len(seen) == 4 and any("think of the mask" in line for line in seen)


def test_a_diagnosis_is_read_as_a_letter_or_by_name():
    task = drill("head", 0)
    letter = next(a for a, fault in task.options.items() if fault is task._fault)
    for answer in (letter, letter.upper(), f" {letter}) ", f"'{letter}'", task._fault.name,
                   task._fault.name.upper()):  # fmt: skip
        assert task.judge(answer).verdict == "right", answer
    assert "none of the letters" in repr(task.judge("g"))


# ---------------------------------------- in a sentence
@pytest.mark.parametrize("said", _SENTENCES, ids=lambda said: said.question[:30])
def test_a_model_answer_makes_every_point(said):
    seed = _SENTENCES.index(said)
    result = drill("sentence", seed).judge(said.model)
    assert (result.verdict, result.faults) == ("all points there", ())
    assert said.question in repr(result) and said.model in repr(result)
    assert "judge yourself" in repr(result)


@pytest.mark.parametrize("said", _SENTENCES, ids=lambda said: said.question[:30])
def test_the_model_answer_is_shown_only_after_an_attempt(said):
    seed = _SENTENCES.index(said)
    for nothing in ("", None, "..."):
        assert said.model not in repr(drill("sentence", seed).judge(nothing))
    attempt = drill("sentence", seed).judge("It is a matter of numbers in some order or another.")
    assert attempt.verdict == "points missing" and said.model in repr(attempt)
    assert attempt.faults and f"I miss: {'; '.join(attempt.faults)}." in repr(attempt)


OTHER_WORDS = {
    0: "Softmax turns the query-key dot products, divided by √d_k, into weights, and with them the "
       "values of the past are averaged.",
    1: "Their variance grows with head_size, so softmax would saturate and the gradients vanish.",
    2: "Because exp of it is zero and rows are normalised after that.",
    3: "Queries ask, keys are compared with them, and values are what is passed on.",
    4: "Row 0 and the last row by hand, whether rows sum to 1, and who can be heard.",
}  # fmt: skip


@pytest.mark.parametrize("seed", OTHER_WORDS)
def test_a_good_sentence_in_other_words_misses_one_point_at_most(seed):
    assert len(drill("sentence", seed).judge(OTHER_WORDS[seed]).faults) <= 1


@pytest.mark.parametrize("said", _SENTENCES, ids=lambda said: said.question[:30])
def test_a_point_left_out_is_missed(said):
    """Of each model answer's words, those that make one point are struck out."""
    task = drill("sentence", _SENTENCES.index(said))
    for point, pattern in said.points.items():
        struck = said.model.lower()
        while found := re.search(pattern, struck):
            word = found.group(1) if found.groups() else found.group()
            struck = struck.replace(word, " ", 1)
        assert point in task.judge(struck or "nothing").faults


# ---------------------------------------- showing
@each_kind
def test_a_task_shows_itself_as_text_and_as_html(kind):
    for seed in range(3):
        task = drill(kind, seed)
        shown = task._repr_html_()
        assert shown.count("<table") == shown.count("</table") and "<script" not in shown
        assert f"Seed {seed}." in shown and f"Seed {seed}." in repr(task)
        assert "0x" not in repr(task) and repr(task) == repr(drill(kind, seed))
