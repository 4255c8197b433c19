"""Numbers typed from a sheet: read, checked, and a slip of arithmetic named.

A slip is a wrong way to work out one part from the parts before it. Each is worked out from the
right numbers and from the student's own; what agrees with what was typed is named.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import torch

from helpers.checker.report import Result, Stage, Table
from helpers.labels import visible
from helpers.matrices import written
from helpers.sheet_page import PARTS

# One in the last of three decimals, and for a sum of products as much again.
CLOSE = {"out": 0.0021, "out_unmasked": 0.0021}
CLOSE_OTHERS = 0.0011
LONGEST = 5000  # characters of one part
EMPTY = {"", "?", "_", ".", "..", "...", "…", "·", "-?"}
INF = float("inf")
NUMBERS = "a number, a fraction such as 1/2, -inf, or ? for not yet"


class Unreadable(ValueError):
    """What was typed is no matrix of numbers; the message is for the student."""


class Slip(NamedTuple):
    slug: str
    sentence: str
    made: Callable  # from the numbers by name to the matrix that this slip gives


# ---------------------------------------- reading what was typed
def read(typed, rows, columns):
    """Rows of numbers, None where there is none yet; [] when nothing was typed at all."""
    if typed is None or typed is ...:
        return []
    if hasattr(typed, "tolist") and not isinstance(typed, type):
        try:
            typed = typed.tolist()
        except Exception as error:
            raise Unreadable(f"it cannot be read: {error}") from error
    if isinstance(typed, str):
        if typed.strip() in EMPTY:
            return []
        if len(typed) > LONGEST:
            raise Unreadable(f"it has {len(typed)} characters")
        lines = [
            line for line in re.split(r"(?<=\s)/|/(?=\s)|[\n;|]", f" {typed} ") if line.strip()
        ]
        commas = "," in typed
        found = [line.replace(",", " ").split() for line in lines]
    elif isinstance(typed, list | tuple):
        if all(row is None or row is ... for row in typed):
            return []
        commas = False
        found = [[row] * columns if row is None or row is ... else row for row in typed]
        for number, row in enumerate(found):
            if isinstance(row, str):
                found[number] = row.replace(",", " ").split()
            elif not isinstance(row, list | tuple):
                raise Unreadable(f"row {number} is no list of numbers")
    else:
        raise Unreadable(
            f"a text or a list of rows is wanted, this is of type {type(typed).__name__}"
        )
    if not found:
        return []
    if len(found) != rows:
        how = "a row a line, or / between spaces" if isinstance(typed, str) else "one list a row"
        raise Unreadable(f"it has {_count(len(found), 'row')}, {rows} are wanted: {how}")
    for number, row in enumerate(found):
        if len(row) != columns:
            tip = ". Write decimals with a point" if commas else ""
            raise Unreadable(
                f"row {number} has {_count(len(row), 'number')}, {columns} are wanted{tip}"
            )
    values = [[_number(entry, number) for entry in row] for number, row in enumerate(found)]
    return values if any(v is not None for row in values for v in row) else []


def _number(entry, row):
    if entry is None or entry is ...:
        return None
    said = str(entry).strip() if isinstance(entry, str | int | float) else ""
    if isinstance(entry, str) and said in EMPTY:
        return None
    plain = said.replace("−", "-").replace("–", "-").replace("∞", "inf").replace("oo", "inf")
    try:
        if (fraction := re.fullmatch(r"([-+]?[\d.]+)/([\d.]+)", plain)) is not None:
            return float(fraction[1]) / float(fraction[2])
        if len(plain) == 1 and not plain.isascii():
            return unicodedata.numeric(plain)
        return float(plain)
    except (ValueError, ZeroDivisionError, OverflowError):
        shown = said[:20] or type(entry).__name__
        raise Unreadable(f"row {row} holds {shown!r}; expected is {NUMBERS}") from None


def _count(n, what):
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


# ---------------------------------------- how each part is made
def _softmax(scores, dim=-1):
    return torch.softmax(scores, dim=dim)


def _past(t):
    return torch.ones_like(t, dtype=torch.bool).tril()


def _average(t):
    lower = torch.ones(len(t), len(t), dtype=t.dtype).tril()
    return lower / lower.sum(dim=-1, keepdim=True) @ t


RECIPE = {
    "xbow": lambda n: _average(n["x"]),
    "q": lambda n: n["x"] @ n["Wq"],
    "k": lambda n: n["x"] @ n["Wk"],
    "v": lambda n: n["x"] @ n["Wv"],
    "raw": lambda n: n["q"] @ n["k"].T,
    "scores": lambda n: n["raw"] / n["q"].shape[-1] ** 0.5,
    "weights_unmasked": lambda n: _softmax(n["scores"]),
    "out_unmasked": lambda n: n["weights_unmasked"] @ n["v"],
    "masked": lambda n: n["scores"].masked_fill(~_past(n["scores"]), -INF),
    "exp": lambda n: n["masked"].exp(),
    "weights": lambda n: _softmax(n["masked"]),
    "out": lambda n: n["weights"] @ n["v"],
    "average_of_v": lambda n: _average(n["v"]),
}


# ---------------------------------------- the slips, commonest first
def _projected(name):
    W = f"W{name}"
    others = [other for other in ("q", "k", "v") if other != name]

    def letters(n, places=False):
        count = n["x"].shape[1] - len(n["x"])
        kept = n["x"].clone()
        kept[:, :count] *= not places
        kept[:, count:] *= places
        return kept @ n[W]

    def shifted(n):
        count = n["x"].shape[1] - len(n["x"])
        kept = n["x"].clone()
        kept[:, count:] = kept[:, count:].roll(1, dims=1)
        kept[-1, count:] = 0
        return kept @ n[W]

    return [
        Slip("place-forgotten", f"Only the letter's row of {W} was taken. The place has a row too, "
             "and the two are added.", letters),
        Slip("letter-forgotten", f"Only the place's row of {W} was taken. The letter has a row "
             "too, and the two are added.", lambda n: letters(n, True)),
        Slip("rows-multiplied", f"The two rows of {W} were multiplied. x @ {W} adds them.",
             lambda n: letters(n) * letters(n, True)),
        Slip("rows-subtracted", f"One row of {W} was subtracted from the other. x @ {W} adds them.",
             lambda n: letters(n) - letters(n, True)),
        Slip("place-from-1", "The places were counted from 1. The first token stands at 0.",
             shifted),
        *(Slip("other-projection", f"These are the numbers of x @ W{other}, the row of {other}. "
               f"{name} takes {W}.", lambda n, o=other: n["x"] @ n[f"W{o}"]) for other in others),
    ]  # fmt: skip


def _products(n):
    return n["q"][:, None, :] * n["k"][None, :, :]  # (T, T, head_size)


def _one_product(last):
    def made(n):
        products = _products(n)
        order = range(products.shape[-1])
        found = torch.zeros(products.shape[:2], dtype=products.dtype)
        for c in order if last else reversed(order):
            found = torch.where(products[..., c] != 0, products[..., c], found)
        return found

    return made


def _largest_product(n):
    products = _products(n)
    return products.gather(-1, products.abs().argmax(-1, keepdim=True))[..., 0]


_NO_SUM = (
    "The sum was forgotten: one product was written down. A dot product multiplies pair by pair "
    "and adds all four."
)
_RAW = [
    Slip("row-for-column", "A row was used for a column: row i belongs to the query i, column j to "
         "the key j.", lambda n: n["k"] @ n["q"].T),
    Slip("added-not-multiplied", "The numbers were added where they are multiplied: a dot product "
         "multiplies pair by pair, then adds the products.",
         lambda n: n["q"].sum(-1)[:, None] + n["k"].sum(-1)[None, :]),
    Slip("sum-forgotten", _NO_SUM, _largest_product),
    Slip("sum-forgotten", _NO_SUM, _one_product(last=False)),
    Slip("sum-forgotten", _NO_SUM, _one_product(last=True)),
    Slip("sums-multiplied", "The query was added up, the key was added up, and the sums were "
         "multiplied. Multiply pair by pair first.",
         lambda n: n["q"].sum(-1)[:, None] * n["k"].sum(-1)[None, :]),
    Slip("sign-lost", "A minus sign was lost in a product.", lambda n: _products(n).abs().sum(-1)),
    Slip("scaled-early", "You have divided already. raw is the dot product as it comes; the "
         "division makes it scores.", lambda n: n["q"] @ n["k"].T / n["q"].shape[-1] ** 0.5),
    Slip("values-for-keys", "The queries met the values. A query is compared with keys.",
         lambda n: n["q"] @ n["v"].T),
    Slip("queries-alone", "The queries met the queries. A query is compared with keys.",
         lambda n: n["q"] @ n["q"].T),
    Slip("keys-alone", "The keys met the keys. A query is compared with keys.",
         lambda n: n["k"] @ n["k"].T),
]  # fmt: skip
_SCORES = [
    Slip("scale-forgotten", "You forgot the scale: raw is divided by √4, which is 2.",
         lambda n: n["raw"]),
    Slip("divided-by-4", "You divided by 4, √4 is 2.", lambda n: n["raw"] / 4),
    Slip("multiplied", "You multiplied by 2. The scale divides.", lambda n: n["raw"] * 2),
    Slip("subtracted", "You subtracted 2. The scale divides.", lambda n: n["raw"] - 2),
    Slip("root-of-T", "You divided by √3, the root of T. The scale is √head_size, √4 = 2.",
         lambda n: n["raw"] / 3**0.5),
    Slip("divided-by-T", "You divided by 3, which is T. The scale is √head_size, √4 = 2.",
         lambda n: n["raw"] / 3),
    Slip("root-of-C", "You divided by √C. The scale is √head_size, √4 = 2.",
         lambda n: n["raw"] / n["x"].shape[1] ** 0.5),
    Slip("divided-by-C", "You divided by C. The scale is √head_size, √4 = 2.",
         lambda n: n["raw"] / n["x"].shape[1]),
    Slip("root-of-raw", "You took the root of the score. The root is that of head_size: √4 = 2.",
         lambda n: n["raw"].clamp(min=0).sqrt()),
    Slip("row-for-column", "A row was used for a column: row i of scores comes from row i of raw.",
         lambda n: (n["raw"] / n["q"].shape[-1] ** 0.5).T),
]  # fmt: skip


def _filled(n, allowed, fill=-INF):
    return n["scores"].masked_fill(~allowed, fill)


_MASKED = [
    Slip("mask-forgotten", "Nothing is masked: a position may not look at those after it.",
         lambda n: n["scores"]),
    Slip("filled-with-0", "Forbidden scores became 0, and exp(0) is 1. They become -inf.",
         lambda n: _filled(n, _past(n["scores"]), 0.0)),
    Slip("diagonal-masked", "The diagonal is masked too. A token may read itself.",
         lambda n: _filled(n, _past(n["scores"]).tril(-1))),
    Slip("one-ahead", "The mask begins one place too far right: the next token is still seen.",
         lambda n: _filled(n, torch.ones_like(n["scores"]).tril(1) == 1)),
    Slip("other-triangle", "The other triangle is masked: above the diagonal is the future.",
         lambda n: _filled(n, _past(n["scores"]).T)),
    Slip("zeros-masked", "A score of 0 at an allowed place is a score like any other. It stays.",
         lambda n: _filled(n, _past(n["scores"]) & (n["scores"] != 0))),
    Slip("plus-inf", "The sign is missing: +inf would take all the weight. Forbidden is -inf.",
         lambda n: _filled(n, _past(n["scores"]), INF)),
    Slip("exp-early", "These are exponentials already. masked still holds scores.",
         lambda n: n["masked"].exp()),
]  # fmt: skip


def _powers(name, base=None, zero=1.0):
    def made(n):
        s = n[name]
        powers = s.exp() if base is None else base**s
        return torch.where(s == 0, torch.full_like(s, zero), powers)

    return made


def _shared(powers, total=None):
    """Divide by the sum of a row, or by what `total` makes of the powers."""

    def made(n):
        p = powers(n)
        return p / (p.sum(-1, keepdim=True) if total is None else total(p))

    return made


def _exp(name):
    return [
        Slip("exp-of-0", "exp(0) is 1, not 0.", _powers(name, zero=0.0)),
        Slip("base-2", "These are powers of 2. e is 2.718.", _powers(name, base=2.0)),
        Slip("base-10", "These are powers of 10. e is 2.718.", _powers(name, base=10.0)),
        Slip("e-times", "e was multiplied by the score. exp(s) is e to the power of s.",
             lambda n: (n[name] * math.e).masked_fill(n[name] == -INF, 0.0)),
        Slip("sign-lost", "A minus sign was lost: exp of a negative number is below 1.",
             lambda n: torch.where(n[name] == -INF, 0.0, n[name].abs().exp())),
        Slip("mask-forgotten", "The future has an exponential of its own here. exp(-inf) is 0.",
             lambda n: n["scores"].exp()),
        Slip("filled-with-0", "exp(-inf) is 0, not 1.",
             lambda n: n[name].masked_fill(n[name] == -INF, 0.0).exp()),
        Slip("scale-forgotten", "These are exponentials of raw: you forgot the scale.",
             lambda n: n["raw"].masked_fill(n[name] == -INF, -INF).exp()),
        Slip("divided-early", "These are divided by the sum already. exp comes before.",
             lambda n: _softmax(n[name])),
    ]  # fmt: skip


def _weights(name, causal):
    powers = _powers(name)

    def raw(n):
        return n["raw"].masked_fill(n[name] == -INF, -INF)

    def finite(n):
        return n[name].masked_fill(n[name] == -INF, 0.0)

    found = [
        Slip("not-divided", "The exponentials are not divided yet: divide each by the sum of "
             "its row.", powers),
        Slip("exp-forgotten", "The scores were divided by their sum. exp comes first.",
             lambda n: finite(n) / finite(n).sum(-1, keepdim=True)),
        Slip("row-for-column", "A row was used for a column: the exponentials are divided by the "
             "sum of their column, and a query shares out its row.",
             lambda n: _softmax(n[name], 0)),
        Slip("exp-of-0", "exp(0) is 1, not 0: the zeros among the scores have weight too.",
             _shared(_powers(name, zero=0.0))),
        Slip("base-2", "These come from powers of 2. e is 2.718.",
             _shared(_powers(name, base=2.0))),
        Slip("base-10", "These come from powers of 10. e is 2.718.",
             _shared(_powers(name, base=10.0))),
        Slip("scale-forgotten", "You forgot the scale: these are the weights of raw.",
             lambda n: _softmax(raw(n))),
        Slip("divided-by-the-rest", "Each exponential was divided by the sum of the others. Its "
             "own belongs to the sum.", _shared(powers, lambda p: p.sum(-1, keepdim=True) - p)),
        Slip("divided-by-largest", "The exponentials were divided by the largest of the row. "
             "Divide by the sum.", _shared(powers, lambda p: p.amax(-1, keepdim=True))),
        Slip("divided-by-T", "The exponentials were divided by T. Divide by the sum of the row.",
             _shared(powers, len)),
        Slip("sign-lost", "A minus sign was lost: exp of a negative number is below 1.",
             _shared(lambda n: torch.where(n[name] == -INF, 0.0, n[name].abs().exp()))),
        Slip("averaged", "All allowed weights are equal: the scores were not used.",
             lambda n: (n[name] > -INF) / (n[name] > -INF).sum(-1, keepdim=True)),
        Slip("transposed", "A row was used for a column: the weights are right and stand across.",
             lambda n: _softmax(n[name]).T),
    ]  # fmt: skip
    if not causal:
        return found + [
            Slip("mask-too-early", "The future is masked here already; this part has no mask.",
                 lambda n: _softmax(n["masked"])),
        ]  # fmt: skip
    return [
        Slip("mask-forgotten", "You forgot the mask: these are the weights without it.",
             lambda n: _softmax(n["scores"])),
        Slip("mask-after-softmax", "The mask came after the softmax: the sum held the future too, "
             "and what is left does not sum to 1.", lambda n: _softmax(n["scores"]).tril()),
        Slip("filled-with-0", "exp(-inf) is 0, not 1: the future still has weight.",
             lambda n: _softmax(finite(n))),
        *found,
    ]  # fmt: skip


def _blended(weights, other_slip):
    """Slips of weights @ v."""

    def one_term(n):
        return n[weights].diagonal()[:, None] * n["v"]

    def largest(n, times=False):
        place = n[weights].argmax(-1)
        share = n[weights].amax(-1, keepdim=True) if times else 1.0
        return n["v"][place] * share

    no_sum = "The sum was forgotten: "
    before = "masked" if weights == "weights" else "scores"
    return [
        other_slip,
        Slip("row-for-column", f"A row was used for a column: take row i of {weights}, not "
             "column i.", lambda n: n[weights].T @ n["v"]),
        Slip("keys-averaged", "These are averages of the keys. What is carried home are values.",
             lambda n: n[weights] @ n["k"]),
        Slip("queries-averaged", "These are averages of the queries. What is carried home are "
             "values.", lambda n: n[weights] @ n["q"]),
        Slip("averaged", "All values read have the same share here: that is average_of_v.",
             lambda n: _average(n["v"])),
        Slip("sum-forgotten", f"{no_sum}this is the value with the largest weight, copied. Each "
             "value takes its weight, and all are added.", largest),
        Slip("sum-forgotten", f"{no_sum}this is one value times its weight. Each value takes its "
             "weight, and all are added.", lambda n: largest(n, True)),
        Slip("sum-forgotten", f"{no_sum}this is each token's own value times its own weight. Add "
             "what the others give.", one_term),
        Slip("own-value", "These are the values themselves. No weight has touched them.",
             lambda n: n["v"]),
        Slip("not-divided", "These are sums with the exponentials. The weights are the "
             "exponentials divided by the sum of their row.", lambda n: n[before].exp() @ n["v"]),
        Slip("scores-for-weights", "The scores multiply the values here. Softmax comes between.",
             lambda n: n[before].masked_fill(n[before] == -INF, 0.0) @ n["v"]),
        Slip("added-not-multiplied", "Weights and values were added. Multiply each value by its "
             "weight, then add.",
             lambda n: n[weights].sum(-1, keepdim=True) + n["v"].sum(0, keepdim=True)),
    ]  # fmt: skip


def _averages(of):
    return [
        Slip("divided-by-T", "Every row is divided by T. Row i has i + 1 tokens to average.",
             lambda n: n[of].cumsum(0) / len(n[of])),
        Slip("not-divided", "These are sums. Divide row i by i + 1.", lambda n: n[of].cumsum(0)),
        Slip("count-off-by-one", "The count is off by one: row i has i + 1 tokens, itself "
             "included.", lambda n: n[of].cumsum(0) / torch.arange(len(n[of]))[:, None]),
        Slip("mask-forgotten", "Every row averages the whole word. Row i stops at token i.",
             lambda n: n[of].mean(0, keepdim=True).expand_as(n[of])),
        Slip("own-value", f"These are the rows of {of} themselves. Average them with those before.",
             lambda n: n[of]),
    ]  # fmt: skip


SLIPS = {
    "xbow": _averages("x"),
    "q": _projected("q"),
    "k": _projected("k"),
    "v": _projected("v"),
    "raw": _RAW,
    "scores": _SCORES,
    "weights_unmasked": _weights("scores", causal=False),
    "out_unmasked": _blended(
        "weights_unmasked",
        Slip("mask-too-early", "The future is left out here; this part has no mask.",
             lambda n: _softmax(n["masked"]) @ n["v"]),
    ),
    "masked": _MASKED,
    "exp": _exp("masked"),
    "weights": _weights("masked", causal=True),
    "out": _blended(
        "weights",
        Slip("mask-forgotten", "You forgot the mask: the future has a share in these rows.",
             lambda n: _softmax(n["scores"]) @ n["v"]),
    ),
    "average_of_v": _averages("v"),
}  # fmt: skip


# ---------------------------------------- slips of the pen, entry by entry
def _cut(value, decimals):
    return math.trunc(value * 10**decimals) / 10**decimals


def _digits(value):
    return sorted(f"{abs(value):.3f}".strip("0."))


_PEN = (
    ("sign-lost", "A minus sign was lost, or one too many written.", lambda t, r: t == -r != 0),
    ("rounded", "This is rounded to two decimals or fewer. The sheet keeps three, since later "
     "steps build on them.", lambda t, r: abs(t - r) < 0.06 and t in (round(r, 2), round(r, 1))),
    ("cut-off", "The last decimals were cut off. Round to three.",
     lambda t, r: abs(t - r) < 0.06 and t in (_cut(r, 2), _cut(r, 1))),
    ("point-moved", "The decimal point has moved.",
     lambda t, r: r not in (0, INF, -INF) and any(abs(t - r * f) < 0.0011 * f
                                                  for f in (0.1, 0.01, 10, 100))),
    ("digits-swapped", "Two digits have changed places.",
     lambda t, r: abs(t) < INF and _digits(t) == _digits(r) and len(_digits(r)) > 1),
)  # fmt: skip


# ---------------------------------------- the check
def judged(sheet, typed, unnamed=()):
    """The result of checking parts by name; see `Sheet.judge`."""
    title = f"sheet of {visible(sheet.word)}"
    if unnamed:
        said = "Say which part it is, as in judge(q=…). Its parts: " + ", ".join(RECIPE) + "."
        return Result(title, "not readable", open=(said,))
    unknown = [name for name in typed if name not in RECIPE]
    if unknown:
        said = f"The sheet has no part {unknown[0]!r} to fill in. Its parts: {', '.join(RECIPE)}."
        return Result(title, "not readable", open=(said,))
    right, values, unread = _right(sheet), {}, []
    for name in [name for name in RECIPE if name in typed]:
        try:
            values[name] = read(typed[name], *right[name].shape)
        except Unreadable as error:
            unread.append(f"{name}: {error}.")
        except Exception:  # an object that does not even let itself be looked at
            unread.append(f"{name}: it cannot be read. A row holds {NUMBERS}.")
    if unread:
        return Result(title, "not readable", open=tuple(unread))
    if not any(values.values()):
        return Result(title, "not attempted", open=("Nothing to check yet.",))
    return _Judge(sheet, right, values).result(title)


@lru_cache(maxsize=32)
def _right(sheet):
    """{part: its right numbers in float64}, to be read and not written into."""
    return {name: getattr(sheet, name).double() for name in (*RECIPE, "x", "Wq", "Wk", "Wv")}


class _Judge:
    """Goes through the parts in order; `own` holds the student's numbers where there are any."""

    def __init__(self, sheet, right, values):
        self.sheet, self.right, self.values = sheet, right, values
        self.own = dict(right)
        self.good, self.carried, self.open, self.missing = [], [], [], []
        self.said, self.faults, self.where, self.tables = [], [], [], []
        for name in RECIPE:
            self._part(name, values.get(name, []))
            if values.get(name) == []:
                self.missing.append(name)

    def _part(self, name, rows):
        filled = [(i, j) for i, row in enumerate(rows) for j, v in enumerate(row) if v is not None]
        if not filled:
            if self._slipped():  # a slip goes on through what was not typed
                self.own[name] = RECIPE[name](self.own)
            return
        if len(filled) < self.right[name].numel():
            self.open.append(name)
        typed = {(i, j): rows[i][j] for i, j in filled}
        want = self.right[name]
        wrong = [at for at in filled if not self._close(name, typed[at], want[at])]
        from_own = RECIPE[name](self.own)
        if not wrong:
            self.good.append(name)
        elif all(self._close(name, typed[at], from_own[at]) for at in filled):
            self.carried.append(name)
        else:
            self._name(name, typed, filled, from_own)
            self._show(name, rows, want)
        mine = want.clone() if not wrong else from_own.clone()
        for at in filled:
            mine[at] = typed[at]
        if not torch.equal(mine, want):
            self.own[name] = mine

    def _close(self, name, a, b):
        a, b = float(a), float(b)
        return a == b or abs(a - b) <= CLOSE.get(name, CLOSE_OTHERS)

    # -------------------------------- what went wrong
    def _name(self, name, typed, filled, from_own):
        """Say what was done: one slip for the whole part, else one for each row or entry."""
        slips = self._made(name)
        target = from_own if self._nearer(name, typed, from_own) else self.right[name]
        wrong = [at for at in filled if not self._close(name, typed[at], target[at])]
        whole = [s for s, m in slips if self._agrees(name, typed, filled, m)]
        if not whole:
            whole = [s for s, m in slips if self._agrees(name, typed, wrong, m)]
            whole = whole if len(wrong) > 1 else []
        if whole:
            self._say(name, "", whole)
            return
        rows = {}
        for at in wrong:
            rows.setdefault(at[0], []).append(at)
        for i, places in rows.items():
            row = f", row {i} ({self._row(name, i)})"
            known = [s for s, m in slips if self._agrees(name, typed, places, m)]
            pens = [self._pen(typed[at], float(target[at])) for at in places]
            if len(places) > 1 and known:
                self._say(name, row, known)
            elif all(pens):
                for slug, sentence in dict.fromkeys(pens):
                    self._say(name, row, [Slip(slug, sentence, None)])
            elif known:
                self._say(name, row, known)
            else:
                columns = ", ".join(str(j) for _, j in places)
                self.said.append(f"{name}{row}, column {columns}: this is not it, and it is no "
                                 "slip known by name. Work it out once more.")  # fmt: skip
            self.where += [f"{name}{row}: {self._working(name, i, j)}" for i, j in places]

    def _made(self, name):
        """(slip, matrix) from the student's numbers and from the right ones, finite or not."""
        sources = (self.own, self.right) if self._slipped() else (self.right,)
        return [(slip, slip.made(n).double()) for n in sources for slip in SLIPS[name]]

    def _slipped(self):
        """Do the student's numbers differ from the right ones, be it by rounding?"""
        return any(self.own[part] is not self.right[part] for part in self.right)

    def _nearer(self, name, typed, from_own):
        """Does the part fit the student's own earlier numbers better than the right ones?"""
        own = sum(self._close(name, value, from_own[at]) for at, value in typed.items())
        right = sum(self._close(name, value, self.right[name][at]) for at, value in typed.items())
        return own > right

    def _agrees(self, name, typed, places, matrix):
        return all(self._close(name, typed[at], matrix[at]) for at in places)

    def _pen(self, typed, right):
        for slug, sentence, made in _PEN:
            if made(typed, right):
                return slug, sentence
        return None

    def _say(self, name, where, slips):
        sentences = dict.fromkeys(slip.sentence for slip in slips)
        for number, sentence in enumerate(list(sentences)[:2]):
            either = "Or, with the same numbers: " if number else ""
            self.said.append(f"{name}{where}: {either}{sentence}")
        self.faults += [slip.slug for slip in slips if slip.sentence in list(sentences)[:2]]

    # -------------------------------- where to look
    def _row(self, name, i):
        return getattr(self.sheet, PARTS[name].rows)[i]

    def _working(self, name, i, j):
        """How this entry is made from the numbers before it, without its result."""
        n = self.own
        if name in ("q", "k", "v"):
            ones = [c for c, at in zip(self.sheet.channels, n["x"][i], strict=True) if at]
            return f"add the rows {' and '.join(repr(c) for c in ones)} of W{name}, column {j}"
        if name == "raw":
            return f"{_listed(n['q'][i])} · {_listed(n['k'][j])}"
        if name == "scores":
            return f"{_one(n['raw'][i, j])} / √4"
        if name == "masked":
            return f"is key {j} after query {i}? If not, the score stays {_one(n['scores'][i, j])}"
        if name == "exp":
            return f"e to the power of {_one(n['masked'][i, j])}"
        if name in ("weights", "weights_unmasked"):
            powers = n["masked" if name == "weights" else "scores"][i].exp()
            return f"{_one(powers[j])} / ({' + '.join(map(_one, powers))})"
        if name in ("out", "out_unmasked"):
            weights = n["weights" if name == "out" else "weights_unmasked"][i]
            return f"{_listed(weights)} · {_listed(n['v'][:, j])}"
        values = n["v" if name == "average_of_v" else "x"][: i + 1, j]
        return f"({' + '.join(map(_one, values))}) / {i + 1}"

    def _show(self, name, rows, want):
        part = PARTS[name]
        blank = [[v is None for v in row] for row in rows]
        shown = [[0.0 if v is None else v for v in row] for row in rows]
        mine = written(torch.tensor(shown, dtype=torch.float64), 3)
        mine = [
            ["?" if empty else cell for empty, cell in zip(flags, row, strict=True)]
            for flags, row in zip(blank, mine, strict=True)
        ]
        columns = tuple(getattr(self.sheet, part.columns)) if part.columns else ("",) * len(want[0])
        marked = tuple(
            any(
                v is not None and not self._close(name, v, w)
                for v, w in zip(row, right, strict=True)
            )
            for row, right in zip(rows, want.tolist(), strict=True)
        )
        names = tuple(getattr(self.sheet, part.rows))
        self.tables += [f"{name}:", Table(names, columns, written(want, 3), mine, marked)]

    def result(self, title):
        lines = []
        if self.good:
            lines.append(f"Right: {', '.join(self.good)}.")
        if self.carried:
            lines.append(f"Right, carried on from your own numbers: {', '.join(self.carried)}.")
        lines += self.said
        if self.missing or self.open:
            lines.append(f"Not filled in yet: {', '.join(self.missing + self.open)}.")
        folded = []
        if self.where:
            folded.append(Stage("Work it out again", tuple(dict.fromkeys(self.where))))
        if self.tables:
            folded.append(Stage("The right numbers", tuple(self.tables)))
        done = "right so far" if self.missing or self.open else "right"
        verdict = "wrong" if self.said else done
        faults = tuple(dict.fromkeys(self.faults))
        return Result(title, verdict, faults, (), tuple(lines), tuple(folded))


def _one(value):
    return written([[float(value)]], 3)[0][0]


def _listed(row):
    return f"({', '.join(written([row.tolist()], 3)[0])})"
