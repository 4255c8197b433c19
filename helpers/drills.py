"""Drills for the whiteboard: each is drawn from a seed, shows its task, and judges an answer.

A task has `judge(answer)`, which returns a result with `verdict` and never raises, whatever it is
handed. The verdict is "right", "right so far", "wrong", "not attempted" or "not readable"; for a
sentence, whose words are looked at and no more, "all points there" or "points missing".
"""

from __future__ import annotations

import difflib
import re
from functools import cached_property
from html import escape
from random import SystemRandom
from typing import NamedTuple
from zlib import crc32

import torch

from helpers.broken import FAULTS, RIGHT, Evidence, differing, evidence
from helpers.checker.report import Result, Stage
from helpers.matrices import number
from helpers.sheet import WORDS, Sheet

LONGEST = 2000  # characters of an answer that are read


def drill(kind, seed=0, strangers=0):
    """A task: "order", "shapes", "head" or "sentence". Another seed, another task.

    kind       order     put shuffled lines of code in order
               shapes    fill in shapes for sizes B, T, C, head_size
               head      say what is broken in a head, from its first and last row, the row sums
                         of its weights and its influence grid
               sentence  say in one sentence what is asked
    seed       None draws a task nobody has seen; its seed stands in the title, to have it again
    strangers  for "order": how many lines, 0 to 7, are mixed in that are wrong and stay out

    As the last line of a cell the task shows itself; `drill(…).judge(answer)` judges an answer.
    Raises ValueError for another kind, and for a seed or `strangers` that is no whole number.
    """
    if not isinstance(kind, str) or kind not in _KINDS:
        near = isinstance(kind, str) and difflib.get_close_matches(kind, _KINDS, 1, 0.4)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise ValueError(f"no drill {kind!r}{hint} There are: {', '.join(_KINDS)}")
    seed = SystemRandom().randrange(10**6) if seed is None else seed
    for what, value in {"seed": seed, "strangers": strangers}.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"{what} is a whole number, this is {value!r}")
    if kind == "order":
        return Order(seed, strangers)
    if strangers:
        raise ValueError(f"strangers are for the drill 'order', not for {kind!r}")
    return _KINDS[kind](seed)


class Task:
    """What all drills share: drawing from a seed, showing, and the frame of judging."""

    kind = ""

    def __init__(self, seed):
        self.seed = seed
        # Of any size and sign, and a task of its own for each kind.
        number = crc32(f"{self.kind} {seed}".encode())
        self._generator = torch.Generator().manual_seed(number)

    def _shuffled(self, items):
        order = torch.randperm(len(items), generator=self._generator).tolist()
        return [items[n] for n in order]

    def _from(self, low, high):
        return int(torch.randint(low, high + 1, (), generator=self._generator))

    def judge(self, answer=None):
        """The result for an answer; `...`, None and an empty text are not attempts yet."""
        try:
            if _nothing(answer):
                return self._result("not attempted", "Nothing to judge yet.")
            return self._judged(answer)
        except _Unreadable as error:
            return self._result("not readable", str(error))
        except Exception:  # an answer of any other make: what is wanted is said, nothing raised
            return self._result("not readable", f"This cannot be read. {self.wanted}")

    def _result(self, verdict, *lines, faults=(), folded=()):
        return Result(f"{self.kind}, seed {self.seed}", verdict, tuple(faults), (), lines, folded)

    def _titled(self):
        return f"Seed {self.seed}. {self.title}"

    def __repr__(self):
        return "\n".join([self._titled(), *self._text()])

    def _repr_html_(self):
        return (
            f'<div class="helpers-drill"><style>{_STYLE}</style>'
            f"<p><strong>{escape(self._titled())}</strong></p>{self._html()}</div>"
        )


class _Unreadable(ValueError):
    """An answer that is none; the message is for the student."""


def _nothing(answer):
    if answer is None or answer is ...:
        return True
    if isinstance(answer, str):
        return not answer.strip(" \n\t.?…_")
    if isinstance(answer, dict):
        return all(_nothing(value) for value in answer.values())
    if isinstance(answer, list | tuple):
        return all(_nothing(value) for value in answer)
    return False


# ---------------------------------------- order
class Line(NamedTuple):
    """A line of code: what it makes, what it needs first, and why it is wrong, if it is."""

    code: str
    makes: str
    needs: tuple[str, ...] = ()
    why_not: str = ""


_STEPS = (
    Line("q, k, v = x @ Wq, x @ Wk, x @ Wv", "q, k, v"),
    Line("raw = q @ k.transpose(-2, -1)", "raw", ("q, k, v",)),
    Line("scores = raw / head_size**0.5", "scores", ("raw",)),
    Line("future = torch.ones(T, T).triu(1) == 1", "future"),
    Line('masked = scores.masked_fill(future, float("-inf"))', "masked", ("scores", "future")),
    Line("weights = F.softmax(masked, dim=-1)", "weights", ("masked",)),
    Line("out = weights @ v", "out", ("weights", "q, k, v")),
)
_STRANGERS = (
    Line("scores = raw / head_size", "scores", (), "the root is missing: √head_size"),
    Line("raw = q @ v.transpose(-2, -1)", "raw", (), "a query is compared with keys, not values"),
    Line(
        "weights = F.softmax(masked, dim=-2)", "weights", (), "columns would sum to one, not rows"
    ),
    Line("masked = scores * ~future", "masked", (), "a score of 0 still has weight: exp(0) = 1"),
    Line("future = torch.ones(T, T).tril() == 1", "future", (), "that triangle is the past"),
    Line("out = weights @ k", "out", (), "what is averaged are values"),
    Line("out = v @ weights", "out", (), "(B, T, head_size) @ (B, T, T) does not even run"),
)


class Order(Task):
    kind = "order"
    wanted = 'Give the letters of the lines in order, as in "cab".'

    def __init__(self, seed, strangers=0):
        super().__init__(seed)
        if not 0 <= strangers <= len(_STRANGERS):
            raise ValueError(f"strangers is 0 to {len(_STRANGERS)}, this is {strangers}")
        lines = self._shuffled([*_STEPS, *self._shuffled(_STRANGERS)[:strangers]])
        if lines == list(_STEPS):
            lines = lines[::-1]
        self.lines = dict(zip("abcdefghijklmn", lines, strict=False))
        rest = f"; {strangers} of them are wrong and stay out" if strangers else ""
        self.title = f"Put these lines in order, from x to out{rest}"

    def _text(self):
        return [f"  {letter}  {line.code}" for letter, line in self.lines.items()]

    def _html(self):
        rows = "".join(
            f"<tr><th>{letter}</th><td><code>{escape(line.code)}</code></td></tr>"
            for letter, line in self.lines.items()
        )
        return f"<table><tbody>{rows}</tbody></table>"

    def _judged(self, answer):
        if not isinstance(answer, str):
            answer = "".join(str(part) for part in answer)
        letters = re.sub(r"[\s,;>→-]", "", answer[:LONGEST].lower())
        unknown = [letter for letter in letters if letter not in self.lines]
        if unknown:
            raise _Unreadable(f"There is no line {unknown[0]!r}. {self.wanted}")
        made = {}
        for place, letter in enumerate(letters, start=1):
            line = self.lines[letter]
            if letter in made.values():
                return self._result("wrong", f"Line {letter} stands there twice.")
            if line.why_not:
                said = f"Line {letter} stays out: {line.why_not}."
                return self._result("wrong", said, faults=("stranger",))
            lacking = [name for name in line.needs if name not in made]
            if lacking:
                maker = next(
                    a for a, b in self.lines.items() if b in _STEPS and b.makes == lacking[0]
                )
                said = (
                    f"Line {letter}, at place {place}, needs {lacking[0]}: line {maker} makes it."
                )
                return self._result("wrong", said, faults=("too-early",))
            made[line.makes] = letter
        missing = [line.makes for line in _STEPS if line.makes not in made]
        if missing:
            return self._result(
                "wrong", f"In order so far. Nothing makes {missing[0]} yet.", faults=("missing",)
            )
        return self._result("right", "Every line finds what it needs.")


# ---------------------------------------- shapes
_ASKED = (
    "Wq", "query.weight", "q", "k.transpose(-2, -1)", "raw", "weights[0]", "weights.sum(dim=-1)",
    "out",
)  # fmt: skip
_AXES = ("B", "T", "C", "head_size")


class Shapes(Task):
    kind = "shapes"
    wanted = "Give a dict of tuples, such as {'q': (2, 3, 5)}, or the tuples in order."

    def __init__(self, seed):
        super().__init__(seed)
        # Pairwise different, so that a size says which axis it is; C is the largest.
        B, T, head_size, C = sorted(self._shuffled(list(range(2, 13)))[:4])
        B, T, head_size = self._shuffled([B, T, head_size])
        self.sizes = dict(zip(_AXES, (B, T, C, head_size), strict=True))
        self.shapes = _shapes(**self.sizes)
        said = ", ".join(f"{name} = {size}" for name, size in self.sizes.items())
        self.title = f"Fill in the shapes: {said}"

    def _text(self):
        return [f"  {name:20} ?" for name in _ASKED]

    def _html(self):
        rows = "".join(f"<tr><td><code>{name}</code></td><td>?</td></tr>" for name in _ASKED)
        return f"<table><tbody>{rows}</tbody></table>"

    def _judged(self, answer):
        if not isinstance(answer, dict):
            if not isinstance(answer, list | tuple) or len(answer) != len(_ASKED):
                raise _Unreadable(self.wanted)
            answer = dict(zip(_ASKED, answer, strict=True))
        unknown = [name for name in answer if name not in _ASKED]
        if unknown:
            raise _Unreadable(f"{str(unknown[0])[:40]!r} is not asked. Asked: {', '.join(_ASKED)}.")
        given = {name: _shape(value) for name, value in answer.items() if not _nothing(value)}
        wrong = {n: shape for n, shape in given.items() if shape != self.shapes[n]}
        open_ = [name for name in _ASKED if name not in given]
        lines = [f"{name}: {self._why(name, shape)}" for name, shape in wrong.items()]
        right = [name for name in given if name not in wrong]
        if right:
            lines.insert(0, f"Right: {', '.join(right)}.")
        if open_:
            lines.append(f"Not filled in yet: {', '.join(open_)}.")
        verdict = "wrong" if wrong else "right so far" if open_ else "right"
        return self._result(verdict, *lines, faults=wrong)

    def _why(self, name, shape):
        want, said = self.shapes[name], str(shape).replace(" ", "")
        by_size = {size: axis for axis, size in self.sizes.items()}
        if len(shape) != len(want):
            return f"{said} has {len(shape)} axes, {len(want)} are wanted. {_REASONS[name]}"
        if sorted(shape) == sorted(want):
            return f"{said} has the axes in another order. {_REASONS[name]}"
        for place, (found, size) in enumerate(zip(shape, want, strict=True)):
            if found != size:
                found = f"{found} = {by_size[found]}" if found in by_size else f"{found}"
                return f"axis {place} is {by_size[size]} there, not {found}. {_REASONS[name]}"
        return _REASONS[name]


_REASONS = {
    "Wq": "x @ Wq uses up C and leaves head_size.",
    "query.weight": "nn.Linear stores the transpose of Wq.",
    "q": "Each of the B · T rows of x goes from C numbers to head_size.",
    "k.transpose(-2, -1)": "The last two axes change places, the batch stays in front.",
    "raw": "A row a query, a column a key, in every sequence.",
    "weights[0]": "The weights of one sequence, without the batch.",
    "weights.sum(dim=-1)": "The last axis is summed away: one total a row.",
    "out": "Every position takes home a blend of values.",
}


def _shapes(B, T, C, head_size):
    """The shapes asked for, from the tensors themselves."""
    x, Wq = torch.zeros(B, T, C), torch.zeros(C, head_size)
    q = k = v = x @ Wq
    raw = q @ k.transpose(-2, -1)
    weights = torch.softmax(raw, dim=-1)
    made = {
        "Wq": Wq,
        "query.weight": torch.nn.Linear(C, head_size, bias=False, device="meta").weight,
        "q": q,
        "k.transpose(-2, -1)": k.transpose(-2, -1),
        "raw": raw,
        "weights[0]": weights[0],
        "weights.sum(dim=-1)": weights.sum(dim=-1),
        "out": weights @ v,
    }
    return {name: tuple(tensor.shape) for name, tensor in made.items()}


def _shape(value):
    """A tuple of ints from a tuple, a list, a torch.Size, one int, or a text such as "(2, 3)"."""
    if isinstance(value, str):
        parts = re.split(r"[\s,×x@]+", value[:LONGEST].strip(" ()[]"))
        value = [part for part in parts if part]
    elif isinstance(value, int):
        value = (value,)
    sizes = []
    for part in value:
        if isinstance(part, bool) or not isinstance(part, int | str):
            raise _Unreadable("A shape is made of numbers, such as (2, 3, 5).")
        if not re.fullmatch(r"\d{1,9}", str(part).strip()):
            raise _Unreadable(
                f"A shape is made of numbers, such as (2, 3, 5); this has {part!r:.20}."
            )
        sizes.append(int(part))
    return tuple(sizes)


# ---------------------------------------- a broken head
class BrokenHead(Task):
    kind = "head"
    wanted = "Give the letter of one line, such as 'a'."
    OPTIONS = 6

    def __init__(self, seed):
        super().__init__(seed)
        self.sheet = Sheet(WORDS[self._from(0, len(WORDS) - 1)], self._from(0, 9))
        # One patient in eighteen is healthy.
        drawn = self._from(0, len(FAULTS))
        self._fault = (*FAULTS, RIGHT)[drawn]
        others = self._shuffled([f for f in FAULTS if f is not self._fault])
        options = [self._fault, *others[: self.OPTIONS - 2]]
        if self._fault is not RIGHT:
            options.append(RIGHT)
        else:
            options.append(others[self.OPTIONS - 2])
        self.options = dict(zip("abcdef", self._shuffled(options), strict=True))
        self.title = (
            f"What is broken in this head? It reads {self.sheet.word} "
            f"with the weights of Sheet({self.sheet.word!r}, {self.sheet.seed})"
        )

    @cached_property
    def evidence(self):
        """What this head shows on its word."""
        return evidence(self._fault, self.sheet)

    @cached_property
    def right(self):
        """What the right head shows there."""
        return evidence(RIGHT, self.sheet)

    def _rows(self):
        """(what is shown, of the right head, of this one) as texts."""
        for name, said in zip(Evidence._fields, _SAID, strict=True):
            yield (
                said,
                _written(getattr(self.right, name)),
                _written(getattr(self.evidence, name)),
            )

    def _text(self):
        rows = [("", "right head", "this head"), *self._rows()]
        widths = [max(len(row[n]) for row in rows) for n in range(3)]
        lines = [
            "  " + "   ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return [*lines, "", *(f"  {letter}  {f.name}" for letter, f in self.options.items())]

    def _html(self):
        rows = "".join(
            f'<tr><th scope="row">{said}</th><td><code>{right}</code></td>'
            f"<td><code>{mine}</code></td></tr>"
            for said, right, mine in self._rows()
        )
        head = "<tr><td></td><th>right head</th><th>this head</th></tr>"
        choices = "".join(
            f"<tr><th>{letter}</th><td>{escape(fault.name)}</td></tr>"
            for letter, fault in self.options.items()
        )
        return (
            f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
            f"<table><tbody>{choices}</tbody></table>"
        )

    def _judged(self, answer):
        if not isinstance(answer, str):
            raise _Unreadable(self.wanted)
        said = answer[:LONGEST].strip().strip("'\"().").lower()
        claimed = self.options.get(said)
        if claimed is None:
            named = {f.name.lower(): f for f in self.options.values()}
            near = difflib.get_close_matches(said, named, 1, 0.7)
            if not near:
                raise _Unreadable(f"{said[:30]!r} is none of the letters. {self.wanted}")
            claimed = named[near[0]]
        if claimed is self._fault:
            return self._result("right", f"{_capital(claimed.name)}. {claimed.why}")
        theirs = evidence(claimed, self.sheet)
        part = differing(theirs, self.evidence)[0]
        want, found = _written(getattr(theirs, part)), _written(getattr(self.evidence, part))
        said = dict(zip(Evidence._fields, _SAID, strict=True))[part]
        return self._result(
            "wrong",
            f"If it were that ({claimed.name}), the {said} would be {want}. Here: {found}.",
            _triage(self.evidence, self.right),
            faults=(claimed.name,),
        )


_SAID = ("first row of out", "last row of out", "row sums of weights", "influence grid")


def _written(values):
    """A row as numbers; a grid as rows of 1 and 0 parted by /."""
    if values.dtype is torch.bool:
        return " / ".join(" ".join(str(int(v)) for v in row) for row in values)
    # Rounded first: 1 is 1 to a reader of three decimals, and a leak below them shows in the grid.
    return "  ".join(number(round(float(v), 3)) for v in values)


def _triage(found, right):
    """The rule of lesson 06, for the two rows as they are."""
    wrong = differing(found, right)
    match ("first" in wrong, "last" in wrong):
        case (True, False):
            return "The last row is right and the first is wrong: think of the mask."
        case (False, True):
            return (
                "The first row is right and the last is wrong: think of the scale, or of q and k."
            )
        case (True, True):
            return "Neither row is right: axis, triangle, diagonal, late scaling, tensor averaged."
    return "Both rows are right. Then the sums and the grid decide: who can be heard?"


def _capital(text):
    return text[:1].upper() + text[1:]


# ---------------------------------------- in a sentence
class Said(NamedTuple):
    """What is asked, a model answer, and the points it makes: {point: pattern of its words}."""

    question: str
    model: str
    points: dict[str, str]


_SENTENCES = (
    Said(
        "How is a token's output computed?",
        "It is the weighted sum of the values the token may see, the weights being the softmax of "
        "its query's scaled dot products with their keys.",
        {
            "what is summed: the values": r"\bvalues?\b|\bv\b",
            "a weighted sum": r"weight|average|blend|mean|mix",
            "where weights come from: softmax": r"softmax",
            "query meets keys": r"quer(?=.*\bkey)|\bkeys?\b(?=.*quer)",
            "a dot product": r"dot|product|@",
            "the scale": r"scal|divid|√|root|sqrt",
            "which tokens it may see": r"\bsee|\bpast|before|earlier|mask|up to|allow|so far",
        },
    ),
    Said(
        "Why are the raw scores divided by √head_size?",
        "A dot product of head_size terms has a spread of about √head_size, and without the "
        "division softmax would harden onto one key and pass on hardly any gradient.",
        {
            "scores grow with head_size": r"grow|large|spread|varia|deviation|size",
            "by its root": r"root|√|sqrt|deviation",
            "softmax hardens": r"softmax|satur|hard|one[- ]hot|single|peak|sharp",
            "what is lost: the gradient": r"gradient|learn|train",
        },
    ),
    Said(
        "Why are forbidden scores -inf, and before the softmax?",
        "exp(-inf) is exactly 0, so the forbidden tokens get no weight, and since it happens "
        "before the division the weights left over still sum to one.",
        {
            "exp(-inf) is 0": r"\bexp|zero|\b0\b|no weight",
            "the rest sums to one": r"\bsum|\bone\b|\b1\b|normal|rows?\b",
            "before the division": r"before|first|divi|denominator|softmax",
        },
    ),
    Said(
        "What are a query, a key and a value?",
        "The query says what a token looks for, the key what it offers to be matched with, and the "
        "value what it hands over when it is matched.",
        {
            "query: looks for": r"quer\w*.*(look|search|ask|want|seek)",
            "key: is matched": r"key\w*.*(offer|match|compar|advert|answer|label)",
            "value: is handed over": r"value\w*.*(hand|giv|carr|contribut|content|pass|bring)",
        },
    ),
    Said(
        "Right shapes are not a proof: what do you look at?",
        "The first and the last row of the output against numbers worked by hand, the row sums of "
        "the weights, and the influence grid, which must be the lower triangle.",
        {
            "first and last row": r"first|row 0|last",
            "row sums": r"\bsum",
            "influence grid": r"influence|grid|hear|perturb|chang|triang",
            "numbers known beforehand": r"hand|pencil|known|number|example|\beye\b|expected",
        },
    ),
)


class Sentence(Task):
    kind = "sentence"
    wanted = "Give a text."

    def __init__(self, seed):
        super().__init__(seed)
        self.said = _SENTENCES[seed % len(_SENTENCES)]
        self.title = f"In one sentence: {self.said.question}"

    def _text(self):
        return []

    def _html(self):
        return ""

    def judge(self, answer=None):
        result = super().judge(answer)
        # The question is all there is to show, so one cell can hold it and the answer.
        result.open = (self.title, *result.open)
        return result

    def _judged(self, answer):
        if not isinstance(answer, str):
            raise _Unreadable(self.wanted)
        text = " ".join(answer[:LONGEST].lower().split())
        found = [p for p, words in self.said.points.items() if re.search(words, text)]
        lacking = [point for point in self.said.points if point not in found]
        lines = [f"I read: {'; '.join(found)}."] if found else []
        if lacking:
            lines.append(f"I miss: {'; '.join(lacking)}.")
        lines.append("I only look for words. Compare with the model answer, and judge yourself.")
        model = Stage("Model answer", (self.said.model,))
        verdict = "points missing" if lacking else "all points there"
        return self._result(verdict, *lines, faults=lacking, folded=(model,))


_KINDS = {"order": Order, "shapes": Shapes, "head": BrokenHead, "sentence": Sentence}

_STYLE = """
.helpers-drill{color:var(--jp-content-font-color1,inherit)}
.helpers-drill p{margin:4px 0}
.helpers-drill table{display:inline-table;vertical-align:top;margin:4px 28px 4px 0;
border-collapse:collapse;font-size:var(--jp-code-font-size,13px)}
.helpers-drill td,.helpers-drill th{text-align:left;padding:2px 24px 2px 0;border:0;
background:none;white-space:pre-wrap;color:var(--jp-content-font-color1,inherit)}
.helpers-drill code{background:none;padding:0;font-family:var(--jp-code-font-family,monospace);
font-size:inherit;white-space:pre;color:inherit}
.helpers-drill tbody tr,.helpers-drill tbody tr:nth-child(odd){background:none}
""".replace("\n", "")
