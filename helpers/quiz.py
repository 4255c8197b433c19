"""Ten questions across the course, each wrong choice with the reason why it is wrong.

Shown as folded HTML: a question opens to its choices, a choice to its reason. That needs no
script, so it works in a notebook, in an exported page and by keyboard. `QUESTIONS` is the source
for every other form.
"""

from __future__ import annotations

import re
from html import escape
from typing import NamedTuple
from zlib import crc32

import torch

from helpers.checker.report import Result


class Question(NamedTuple):
    """A question: its lesson, the right choice and why, and three wrong ones and why not."""

    lesson: int
    asked: str
    right: tuple[str, str]
    wrong: tuple[tuple[str, str], ...]


QUESTIONS = (
    Question(
        1,
        "Only the character at position 2 changes. Which rows of the causal average xbow move?",
        ("rows 2 and later", "Row t averages positions 0 to t, so position 2 is in it from t = 2."),
        (
            ("row 2 only", "That is x itself. The average carries position 2 on to later rows."),
            ("all rows", "Rows 0 and 1 end before position 2: it is not in their average."),
            ("rows 0 to 2", "Rows 0 and 1 come before it. The past does not hear the future."),
        ),
    ),
    Question(
        2,
        "The averaging matrix has T rows, ones on and below the diagonal. What is each row divided "
        "by?",
        ("its own sum", "Row t has t + 1 ones, and a row of an average sums to one."),
        (
            ("T", "Only the last row has T ones. The first rows would sum to less than one."),
            ("the sum of its column", "Then columns sum to one. A row is what makes an output."),
            ("nothing", "Then it is a running total, not an average."),
        ),
    ),
    Question(
        3,
        "C = 384 and head_size = 16. What is the shape of key.weight in key = nn.Linear(C, "
        "head_size, bias=False)?",
        ("(16, 384)", "nn.Linear stores the transpose: key(x) is x @ key.weight.T."),
        (
            ("(384, 16)", "That is the W of the maths, x @ W. PyTorch stores its transpose."),
            ("(384, 384)", "A projection goes from C down to head_size, not from C to C."),
            ("(4, 8, 16)", "That is k = key(x), a result for one batch. A weight knows no batch."),
        ),
    ),
    Question(
        4,
        "weights is (B, T, T). Which sums are one?",
        (
            "each row, along the last axis",
            "A query shares out a weight of one among the keys, and keys are the last axis.",
        ),
        (
            (
                "each column",
                "Nothing makes a column sum to one: a key may be read by many or none.",
            ),
            ("both", "Softmax divides along one axis. Columns come out as they will."),
            ("the whole (T, T) grid", "It sums to T: one for each of its T rows."),
        ),
    ),
    Question(
        5,
        "Components of q and k are independent, of mean 0 and variance 1. Why divide q · k by "
        "√d_k?",
        (
            "its variance is d_k, so its spread is √d_k",
            "d_k products of variance 1 add up to d_k. Its root is the standard deviation.",
        ),
        (
            (
                "its mean is √d_k",
                "Its mean is 0: products are positive as often as negative.",
            ),
            (
                "rows would not sum to one otherwise",
                "Softmax makes rows sum to one whatever the scale.",
            ),
            (
                "its spread is d_k, and half of it is enough",
                "The variance is d_k; the spread is its root. Dividing by d_k makes rows too even.",
            ),
        ),
    ),
    Question(
        6,
        "Forbidden scores are filled with 0 before the softmax. What goes wrong?",
        (
            "the future keeps a share",
            "exp(0) = 1, so a forbidden key counts like any key with a score of 0.",
        ),
        (
            (
                "rows no longer sum to one",
                "They do: the softmax comes after. That is why it hides.",
            ),
            ("row 0 becomes NaN", "That takes a row of nothing but -inf. Here nothing is -inf."),
            ("nothing", "It would be nothing if a score of 0 meant a weight of 0. exp(0) is 1."),
        ),
    ),
    Question(
        6,
        "After the causal mask, what is row 0 of out?",
        ("v[0], unchanged", "Row 0 has one key, its own, and a weight of 1."),
        (
            ("x[0]", "What is averaged are values: x[0] @ Wv, not x[0]."),
            ("the mean of all values", "That reads the future. Row 0 may read itself alone."),
            ("zeros", "Its one allowed weight is 1, not 0."),
        ),
    ),
    Question(
        7,
        "In Head, why is tril a registered buffer?",
        (
            "it must travel with the head and is not trained",
            "A buffer follows .to(...) and is in the state dict. It is no parameter.",
        ),
        (
            (
                "so that training can adjust it",
                "What may be seen is a rule, not something to learn.",
            ),
            (
                "a plain attribute would slow forward down",
                "It would run as fast, and stay behind on the old device.",
            ),
            (
                "forward could not be causal without it",
                "A triangle made anew in forward masks as well. The buffer saves making it.",
            ),
        ),
    ),
    Question(
        8,
        "In F.scaled_dot_product_attention, what does True in a boolean attn_mask mean?",
        (
            "may attend",
            "True keeps a pair. The lower triangle is handed over as it is.",
        ),
        (
            (
                "may not attend",
                "That is its meaning in nn.MultiheadAttention. The two differ.",
            ),
            ("add 1 to the score", "A boolean mask keeps or blocks. A float mask is added."),
            (
                "the weight becomes 1",
                "A weight depends on all keys of its row, so no mask sets it.",
            ),
        ),
    ),
    Question(
        9,
        "A head without its mask is trained on real text. Its validation loss is excellent. Why is "
        "it useless?",
        (
            "it reads the answer, which is missing when text is being written",
            "The next character stands in its window. The loss at the last position, whose answer "
            "is outside, gives it away.",
        ),
        (
            (
                "it has learnt the training text by heart",
                "Then the validation loss would be high. It cheats on unseen text just as well.",
            ),
            (
                "the validation text overlaps the training text",
                "The split is clean. What leaks is the future inside each window.",
            ),
            (
                "one head is too small",
                "The same head with its mask writes far better text, at a far higher loss.",
            ),
        ),
    ),
)


def ten_questions(seed=0):
    """Ten multiple-choice questions across the course. Another seed, the choices in other places.

    As the last line of a cell they show themselves, folded; `.judge("abca…")` judges ten letters.
    Raises ValueError for a seed that is no whole number.
    """
    return Quiz(seed)


class Quiz:
    """The ten questions with their choices placed by a seed; see `ten_questions`.

    questions   (Question, {"a": (choice, reason, is it right), …}) ten times
    """

    def __init__(self, seed=0):
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise ValueError(f"seed is a whole number, this is {seed!r}")
        generator = torch.Generator().manual_seed(crc32(f"ten questions {seed}".encode()))
        self.questions = []
        for question in QUESTIONS:
            choices = [(*question.right, True), *((*w, False) for w in question.wrong)]
            order = torch.randperm(len(choices), generator=generator).tolist()
            placed = [choices[n] for n in order]
            self.questions.append((question, dict(zip("abcd", placed, strict=True))))

    def judge(self, answers=None):
        """A result for ten letters, as a text or a list; `?` leaves a question out."""
        try:
            letters = _letters(answers)
        except Exception:
            letters = None
        if letters == "":
            return self._result("not attempted", "Nothing to judge yet.")
        if letters is None or len(letters) != len(self.questions):
            count = "" if letters is None else f", these are {len(letters)}"
            return self._result("not readable", f"Give ten letters from a to d, or ?{count}.")
        lines, missed = [], []
        for place, ((question, choices), letter) in enumerate(
            zip(self.questions, letters, strict=True), start=1
        ):
            if letter == "?":
                continue
            said, why, right = choices[letter]
            if not right:
                missed.append(f"question-{place}")
                lines.append(f"Question {place}, {letter} ({said}): {why} {_see(question)}")
        open_ = letters.count("?")
        good = len(letters) - len(missed) - open_
        lines.insert(0, f"{good} of {len(letters) - open_} are right.")
        if open_:
            lines.append(f"Left out: {open_}.")
        verdict = "wrong" if missed else "right so far" if open_ else "right"
        return self._result(verdict, *lines, faults=missed)

    def _result(self, verdict, *lines, faults=()):
        return Result("ten questions", verdict, tuple(faults), (), lines, ())

    def __repr__(self):
        lines = []
        for place, (question, choices) in enumerate(self.questions, start=1):
            lines.append(f"{place}. {question.asked}")
            for letter, (said, why, right) in choices.items():
                lines.append(f"   {letter}  {said}: {_verdict(right)} {why}")
        return "\n".join(lines)

    def _repr_html_(self):
        inner = "".join(
            f"<details><summary><strong>{place}.</strong> {escape(question.asked)}</summary>"
            + "".join(
                f"<details><summary>{letter}) {escape(said)}</summary>"
                f"<p><strong>{_verdict(right)}</strong> {escape(why)}</p></details>"
                for letter, (said, why, right) in choices.items()
            )
            + "</details>"
            for place, (question, choices) in enumerate(self.questions, start=1)
        )
        return f'<div class="helpers-quiz"><style>{_STYLE}</style>{inner}</div>'


def _verdict(right):
    return "Right." if right else "No."


def _see(question):
    return f"See lesson {question.lesson:02d}."


def _letters(answers):
    """Ten letters as one text, "" for no attempt, None for what cannot be read."""
    if answers is None or answers is ...:
        return ""
    if isinstance(answers, list | tuple):
        answers = "".join("?" if a is None or a is ... else str(a) for a in answers)
    if not isinstance(answers, str):
        return None
    letters = re.sub(r"[\s,;.]", "", answers[:1000].lower())
    if not letters.strip("?"):
        return ""
    return letters if set(letters) <= set("abcd?") else None


_STYLE = """
.helpers-quiz{color:var(--jp-content-font-color1,inherit);max-width:80ch}
.helpers-quiz summary{cursor:pointer;padding:2px 0}
.helpers-quiz details details{margin:1px 0 1px 1.6em}
.helpers-quiz p{margin:2px 0 4px 1.4em}
""".replace("\n", "")
