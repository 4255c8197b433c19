"""Ten questions: one right choice and three wrong ones each, every one with its reason."""

import re
from collections import Counter
from html.parser import HTMLParser

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers import Eye, Head, ten_questions
from helpers.quiz import QUESTIONS

torch.set_num_threads(1)


def right_letters(quiz):
    return "".join(
        next(letter for letter, (_, _, right) in choices.items() if right)
        for _, choices in quiz.questions
    )


# ---------------------------------------- the questions
def test_there_are_ten_and_each_lesson_but_this_has_one():
    assert len(QUESTIONS) == 10 and len({question.asked for question in QUESTIONS}) == 10
    lessons = [question.lesson for question in QUESTIONS]
    assert lessons == sorted(lessons) and set(lessons) == set(range(1, 10))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.asked[:40])
def test_a_question_has_four_choices_each_with_a_reason_of_its_own(question):
    choices = [question.right, *question.wrong]
    assert len(choices) == 4 and question.asked.endswith("?")
    for place in (0, 1):
        assert len({choice[place].lower() for choice in choices}) == 4
    for said, why in choices:
        assert said and len(why.split()) >= 5 and why.endswith(".")


def test_the_right_choice_is_not_given_away_by_its_length():
    longest = [max([q.right, *q.wrong], key=lambda c: len(c[0])) is q.right for q in QUESTIONS]
    assert sum(longest) <= 6


def test_what_can_be_run_is_as_the_right_choice_says():
    eye = Eye()
    key = nn.Linear(384, 16, bias=False)
    call = F.scaled_dot_product_attention
    past = torch.ones(3, 3).tril() == 1
    kept = call(eye.q[None], eye.k[None], eye.v[None], attn_mask=past)[0]
    changed = eye.x.clone()
    changed[2] += 1
    head = Head(5, 4, 3)
    found = {
        1: "rows 2 and later" if _moved(eye, changed) == [2] else "",
        2: "its own sum" if (eye.average.sum(-1) - 1).abs().max() < 1e-6 else "",
        3: str(tuple(key.weight.shape)),
        4: "each row, along the last axis" if _rows_alone(eye.weights) else "",
        6: "v[0], unchanged" if torch.equal(eye.out[0], eye.v[0]) else "",
        7: "it must travel with the head and is not trained"
        if "tril" in head.state_dict() and "tril" not in dict(head.named_parameters())
        else "",
        8: "may attend" if torch.allclose(kept, eye.out) else "",
    }
    for lesson, said in found.items():
        assert said in [q.right[0] for q in QUESTIONS if q.lesson == lesson]


def _moved(eye, changed):
    return (eye.average @ changed != eye.xbow).any(-1).nonzero()[:, 0].tolist()


def _rows_alone(weights):
    ones = torch.ones(len(weights))
    return torch.allclose(weights.sum(-1), ones) and not torch.allclose(weights.sum(0), ones)


# ---------------------------------------- placing
def test_another_seed_places_the_choices_elsewhere_and_keeps_them():
    for seed in range(20):
        quiz = ten_questions(seed)
        assert repr(quiz) == repr(ten_questions(seed))
        for (question, choices), source in zip(quiz.questions, QUESTIONS, strict=True):
            assert question is source and list(choices) == list("abcd")
            assert {(said, why) for said, why, _ in choices.values()} == {
                source.right,
                *source.wrong,
            }
            assert [choice[:2] for choice in choices.values() if choice[2]] == [source.right]
    assert len({right_letters(ten_questions(seed)) for seed in range(20)}) == 20


def test_the_default_spreads_the_right_choices_over_all_letters():
    counts = Counter(right_letters(ten_questions()))
    assert set(counts) == set("abcd") and max(counts.values()) <= 4


@pytest.mark.parametrize("seed", [1.0, "1", None, True])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(ValueError, match="seed is a whole number"):
        ten_questions(seed)


def test_any_whole_number_will_do():
    assert ten_questions(-1).judge(right_letters(ten_questions(-1))).verdict == "right"
    assert repr(ten_questions(10**40))


def test_nothing_else_is_touched():
    state = torch.get_rng_state()
    ten_questions(3)
    assert torch.equal(torch.get_rng_state(), state)


# ---------------------------------------- judging
@pytest.mark.parametrize("seed", range(6))
def test_ten_right_letters_are_right_and_each_wrong_one_gets_its_reason(seed):
    quiz = ten_questions(seed)
    letters = right_letters(quiz)
    assert quiz.judge(letters).verdict == "right" and "10 of 10" in repr(quiz.judge(letters))
    for place, (question, choices) in enumerate(quiz.questions):
        for letter, (said, why, right) in choices.items():
            if right:
                continue
            result = quiz.judge(letters[:place] + letter + letters[place + 1 :])
            assert (result.verdict, result.faults) == ("wrong", (f"question-{place + 1}",))
            assert f"Question {place + 1}, {letter} ({said}): {why}" in repr(result)
            assert f"See lesson {question.lesson:02d}." in repr(result)
            assert "9 of 10 are right" in repr(result)


def test_some_may_be_left_out():
    quiz = ten_questions()
    letters = right_letters(quiz)
    some = quiz.judge(letters[:4] + "??????")
    assert some.verdict == "right so far"
    assert "4 of 4 are right." in repr(some) and "Left out: 6." in repr(some)


def test_letters_are_read_in_many_ways():
    quiz = ten_questions(2)
    letters = right_letters(quiz)
    for answer in (letters.upper(), " ".join(letters), ",".join(letters), list(letters),
                   tuple(letters), f"{letters[:5]}\n{letters[5:]}"):  # fmt: skip
        assert quiz.judge(answer).verdict == "right", answer
    assert quiz.judge([*letters[:9], None]).verdict == "right so far"


@pytest.mark.parametrize("nothing", [None, ..., "", " ", "??????????", [], [None] * 10, "? ? ?"])
def test_nothing_is_not_attempted(nothing):
    assert ten_questions().judge(nothing).verdict == "not attempted"


class Hostile:
    def __str__(self):
        raise RuntimeError("no")


BAD = [
    "abc", "abcdabcde", "abcdabcdabc", "abcdabcdae", 5, {"a": 1}, [Hostile()] * 10, "é" * 10,
    torch.zeros(10), Hostile(), "a" * 100_000, ["ab"] * 10,
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_what_cannot_be_read_says_what_is_wanted(bad):
    result = ten_questions().judge(bad)
    assert result.verdict == "not readable" and "Give ten letters from a to d" in repr(result)


def test_the_count_of_letters_is_said():
    assert "these are 3" in repr(ten_questions().judge("abc"))


# ---------------------------------------- showing
class Outline(HTMLParser):
    """Nesting of <details>, and whether each <summary> is the first thing in one."""

    def __init__(self):
        super().__init__()
        self.open, self.depths, self.orphans, self.last = [], [], 0, None

    def handle_starttag(self, tag, attributes):
        if tag == "details":
            self.depths.append(self.open.count("details"))
        if tag == "summary" and self.last != "details":
            self.orphans += 1
        self.open.append(tag)
        self.last = tag

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.last = None


def test_shown_as_nested_folds_without_a_script():
    shown = ten_questions()._repr_html_()
    outline = Outline()
    outline.feed(shown)
    assert outline.open == [] and outline.orphans == 0
    assert Counter(outline.depths) == {0: 10, 1: 40}
    assert not re.search(r"<script|onclick|<details open|http", shown)


def test_as_text_every_choice_has_its_verdict_and_reason():
    shown = repr(ten_questions())
    assert len(re.findall(r"^\d+\. ", shown, re.M)) == 10
    assert len(re.findall(r"^   [a-d]  .+: Right\. .+$", shown, re.M)) == 10
    assert len(re.findall(r"^   [a-d]  .+: No\. .+$", shown, re.M)) == 30
