"""Who may be seen, and how the others are blocked."""

from __future__ import annotations

import torch

from ..contracts import INF, lower
from .switch import Option, Step, with_


def _given_scores(s):
    """causal_mask and causal_weights begin at the scores; averaging_matrix has none."""
    return {**s, "raw": s["scores"]}


GIVEN_SCORES = Step("scores", (Option("", (), _given_scores),))


# ---------------------------------------- who may be seen
def _allowed(shape):
    """`shape(T, o)`: which columns a row may see; o is 0 except where queries are fewer."""

    def change(s):
        rows, columns = s["scores"].shape[-2:]
        s = dict(s)
        s["allowed"] = shape(rows, columns, columns - rows)
        return s

    return change


ALL = Option("no mask", ("sees-the-future", "mask-result-thrown-away"),
             _allowed(lambda r, c, o: torch.ones(r, c, dtype=torch.bool)))  # fmt: skip
ALLOWED = Step(
    "allowed",
    (
        Option("", (), _allowed(lambda r, c, o: lower(r, c, o))),
        ALL,
        Option("one ahead", ("one-future-token",), _allowed(lambda r, c, o: lower(r, c, o + 1))),
        Option("not itself", ("diagonal-masked",), _allowed(lambda r, c, o: lower(r, c, o - 1))),
        Option("upper", ("future-instead-of-past",), _allowed(lambda r, c, o: ~lower(r, c, o - 1))),
        Option(
            "strictly upper",
            ("mask-polarity-flipped",),
            _allowed(lambda r, c, o: ~lower(r, c, o)),
        ),
        Option(
            "itself",
            ("only-itself",),
            _allowed(lambda r, c, o: lower(r, c, o) & ~lower(r, c, o - 1)),
        ),
    ),
)
TOP_LEFT = (
    Option("top left", ("aligned-top-left",), _allowed(lambda r, c, o: lower(r, c))),
    Option(
        "top left, one ahead",
        ("aligned-top-left", "one-future-token"),
        _allowed(lambda r, c, o: lower(r, c, 1)),
    ),
    Option(
        "top left, not itself",
        ("aligned-top-left", "diagonal-masked"),
        _allowed(lambda r, c, o: lower(r, c, -1)),
    ),
    Option(
        "top left, turned over",
        ("aligned-top-left", "mask-polarity-flipped"),
        _allowed(lambda r, c, o: ~lower(r, c)),
    ),
    Option(
        "top left, upper",
        ("aligned-top-left", "future-instead-of-past"),
        _allowed(lambda r, c, o: ~lower(r, c, -1)),
    ),
)
ALLOWED_DECODE = Step("allowed", (*ALLOWED.options, *TOP_LEFT))
ALLOWED_NO_MASK = Step(
    "allowed",
    (
        ALL._replace(label="", slugs=()),
        Option(
            "causal", ("masked-though-not-asked",), _allowed(lambda r, c, o: lower(r, c, o))
        ),
        Option(
            "strictly causal",
            ("masked-though-not-asked", "diagonal-masked"),
            _allowed(lambda r, c, o: lower(r, c, o - 1)),
        ),
        Option("one ahead", ("masked-though-not-asked", "one-future-token"),
               _allowed(lambda r, c, o: lower(r, c, o + 1))),
        Option("upper", ("masked-though-not-asked", "future-instead-of-past"),
               _allowed(lambda r, c, o: ~lower(r, c, o - 1))),
        Option("strictly upper", ("masked-though-not-asked", "mask-polarity-flipped"),
               _allowed(lambda r, c, o: ~lower(r, c, o))),
    ),
)  # fmt: skip


# ---------------------------------------- how it is blocked
def _masked(method):
    return with_(masked=lambda s: method(s["scores"], s["allowed"]))


def filled(value):
    return _masked(lambda s, m: s.masked_fill(~m, value))


def added(value):
    return _masked(lambda s, m: s + value * (~m).to(s.dtype))


def _after(value):
    """The mask meets the weights instead of the scores."""
    return with_(masked=lambda s: s["scores"], late_fill=lambda s: value)


def _zeros_twice(s):
    return {**filled(0.0)(s), "late_fill": 0.0}


def _zeros_as_mask(s, m):
    cut = s * m
    return cut.masked_fill(cut == 0, -INF)


def _values_masked(value):
    def change(s):
        v = s["avg"]
        rows, columns = v.shape[-2:]
        s = dict(s)
        s["masked"] = s["scores"]
        s["avg"] = v.masked_fill(~lower(rows, columns), value)
        return s

    return change


ZERO = ("zero-instead-of-minus-inf", "tiny-fill")
NOT_LOW = ("fill-not-low-enough",)
AFTER = ("mask-after-softmax",)

FILL_GRID = (
    Option("", (), filled(-INF)),
    Option("filled with 0", ZERO, filled(0.0)),
    Option("filled with -10", NOT_LOW, filled(-10.0)),
    Option("filled with -1", NOT_LOW, filled(-1.0)),
    Option("filled with -100", NOT_LOW, filled(-100.0)),
    Option("-10 added", NOT_LOW, added(-10.0)),
    Option("-100 added", NOT_LOW, added(-100.0)),
    Option("-1 added", ("mask-added-as-ones",), added(-1.0)),
    Option("filled with inf", ("plus-inf-fill",), filled(INF)),
    Option("0 times inf", ("zero-times-inf",),
           _masked(lambda s, m: s + (~m).to(s.dtype) * -INF)),
    Option("ones added", ("mask-added-as-ones",), _masked(lambda s, m: s + m)),
    Option("ones added above", ("mask-added-as-ones",), _masked(lambda s, m: s + ~m)),
    Option("zeros as mask", ("zeros-used-as-mask",), _masked(_zeros_as_mask)),
    Option("all zeros as mask", ("zeros-used-as-mask",),
           _masked(lambda s, m: s.masked_fill(~m | (s == 0), -INF))),
)  # fmt: skip
FILL_SCORES = Step("fill", FILL_GRID)
FILL_WEIGHTS = Step(
    "fill",
    (
        *FILL_GRID,
        Option("0 after the softmax", AFTER, _after(0.0)),
        Option("0 before and after the softmax", ZERO[:1] + AFTER, _zeros_twice),
        Option("-inf after the softmax", AFTER, _after(-INF)),
        Option("-1e9 after the softmax", AFTER, _after(-1e9)),
    ),
)
FILL_OUT = Step(
    "fill",
    (
        *FILL_WEIGHTS.options,
        Option("v masked", ("values-masked",), _values_masked(0.0)),
        Option("v masked with -inf", ("values-masked",), _values_masked(-INF)),
    ),
)
NO_FILL = Step("fill", (Option("", (), filled(-INF)),))
