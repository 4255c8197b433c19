"""The recipe of attention with a switch at every step, and the same for the plain average.

Each step offers the right way first and then the ways students take instead, with the slugs that
name them. `search.py` looks for the fewest switches that reproduce an attempt's numbers.

A step changes a dict of tensors, the state of the recipe so far:

    x, Wq, Wk, Wv     as given, where the exercise has them; q, k, v projected from them or given
    left, right, avg  what is compared with what, and what is averaged
    raw, scores       before and after the scale; allowed (T, T) boolean; masked; weights; out
    sizes             of the case; undo turns the result of a changed layout back
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F

from .contracts import INF, lower


class Option(NamedTuple):
    label: str
    slugs: tuple[str, ...]
    change: Callable[[dict], dict]
    equal: bool = False  # needs sizes that agree, so it is skipped where they all differ


@dataclass(frozen=True)
class Step:
    name: str
    options: tuple[Option, ...]  # the right way first


def keep(state):
    return state


def with_(**changes):
    """A step's change that sets some entries: each value is a function of the state."""

    def change(state):
        new = dict(state)
        for name, make in changes.items():
            new[name] = make(new)
        return new

    return change


# ---------------------------------------- projecting
def _projected(q=None, k=None, v=None):
    def change(s):
        s = dict(s)
        s["q"] = (q or (lambda s: s["x"] @ s["Wq"]))(s)
        s["k"] = (k or (lambda s: s["x"] @ s["Wk"]))(s)
        s["v"] = (v or (lambda s: s["x"] @ s["Wv"]))(s)
        return s

    return change


def _all_three(function):
    return _projected(*(lambda s, W=W: function(s["x"], s[W]) for W in ("Wq", "Wk", "Wv")))


def _norm(t):
    return F.layer_norm(t, t.shape[-1:])


def _relu(t):
    return t.relu()


def _times(function, W):
    return lambda s: function(s["x"] @ s[W])


TRANSPOSED = ("projection-transposed",)
CHAINED = ("projections-chained",)
EXTRA = ("extra-step-added",)

PROJECT = Step(
    "project",
    (
        Option("", (), _projected()),
        Option("x @ W.T", TRANSPOSED, _all_three(lambda x, W: x @ W.T), True),
        *(
            Option(
                f"x @ W{name}.T",
                TRANSPOSED,
                _projected(**{name: lambda s, n=name: s["x"] @ s["W" + n].T}),
                True,
            )
            for name in "qkv"
        ),
        Option("W @ x", ("factors-in-wrong-order",), _all_three(lambda x, W: W @ x), True),
        Option("W.T @ x", ("factors-in-wrong-order",), _all_three(lambda x, W: W.T @ x), True),
        Option("x * W", ("elementwise-product",), _all_three(lambda x, W: x * W), True),
        Option("k from q", CHAINED, _projected(k=lambda s: s["q"] @ s["Wk"]), True),
        Option("v from k", CHAINED, _projected(v=lambda s: s["k"] @ s["Wv"]), True),
        Option("v from q", CHAINED, _projected(v=lambda s: s["q"] @ s["Wv"]), True),
        Option(
            "k from q, v from k",
            CHAINED,
            _projected(k=lambda s: s["q"] @ s["Wk"], v=lambda s: s["k"] @ s["Wv"]),
            True,
        ),
        Option(
            "k and v from q",
            CHAINED,
            _projected(k=lambda s: s["q"] @ s["Wk"], v=lambda s: s["q"] @ s["Wv"]),
            True,
        ),
        Option(
            "q from k",
            CHAINED,
            _projected(q=lambda s: s["x"] @ s["Wk"] @ s["Wq"]),
            True,
        ),
        *(
            Option(f"{name} of q, k and v", EXTRA, _all_three(lambda x, W, f=f: f(x @ W)))
            for name, f in (
                ("relu", _relu),
                ("layer norm", _norm),
                ("tanh", torch.tanh),
                ("gelu", F.gelu),
            )
        ),
        *(
            Option(
                f"{name} of {which}",
                EXTRA,
                _projected(**{n: _times(f, "W" + n) for n in which}),
            )
            for name, f in (("relu", _relu), ("layer norm", _norm))
            for which in ("v", "qk", "q", "k")
        ),
        Option("layer norm of x", EXTRA, _all_three(lambda x, W: _norm(x) @ W)),
        Option("relu of x", EXTRA, _all_three(lambda x, W: x.relu() @ W)),
    ),
)


# ---------------------------------------- who meets whom
def _roles(left, right, avg=None):
    def change(s):
        s = dict(s)
        s["left"], s["right"] = s[left], s[right]
        if avg:
            s["avg"] = s[avg]
        return s

    return change


SAME = ("compared-with-itself",)
ONE = ("one-projection-for-all",)
SKIPPED = ("projection-skipped",)
SWAPPED = ("scores-transposed", "q-k-swapped")

COMPARE = Step(
    "roles",
    (
        Option("", (), _roles("q", "k")),
        Option("k @ q.T", ("scores-transposed", "q-k-swapped"), _roles("k", "q")),
        Option("q with q", SAME, _roles("q", "q")),
        Option("k with k", SAME, _roles("k", "k")),
    ),
)

_GIVEN_ROLES = (
    Option("", (), _roles("q", "k", "v")),
    Option("q and k exchanged", SWAPPED, _roles("k", "q", "v")),
    Option("k and v exchanged", ("k-v-swapped",), _roles("q", "v", "k")),
    Option("q with q", SAME, _roles("q", "q", "v")),
    Option("k with k", SAME, _roles("k", "k", "v")),
    Option("k averaged", ("wrong-tensor-averaged",), _roles("q", "k", "k")),
    Option("q averaged", ("wrong-tensor-averaged",), _roles("q", "k", "q")),
    Option("only q", ONE, _roles("q", "q", "q")),
    Option("only k", ONE, _roles("k", "k", "k")),
    Option("only v", ONE, _roles("v", "v", "v")),
)
GIVEN_ROLES = Step("roles", _GIVEN_ROLES)
ROLES = Step(
    "roles",
    (
        *_GIVEN_ROLES,
        Option("x averaged", SKIPPED, _roles("q", "k", "x")),
        Option("x with x, v averaged", SKIPPED, _roles("x", "x", "v")),
        Option("x with x, x averaged", SKIPPED, _roles("x", "x", "x")),
        Option("q with x", SKIPPED, _roles("q", "x", "v"), True),
        Option("x with k", SKIPPED, _roles("x", "k", "v"), True),
    ),
)


# ---------------------------------------- another layout of the axes
def _laid_out(there, back):
    def change(s):
        s = dict(s)
        for name in ("left", "right", "avg"):
            if name in s:
                s[name] = there(s[name])
        s["undo"] = back
        return s

    return change


def _flat(t):
    return t.reshape(1, -1, t.shape[-1])


def _unflat(t, s):
    B, T = s["sizes"].B, s["sizes"].T
    return t.reshape(B, T, -1) if t.shape[-1] != B * T else t[0]


def _first(t):
    return t[:1]


def _for_all(t, s):
    return t.expand(s["sizes"].B, *t.shape[1:])


AXES = ("wrong-axes-transposed",)
FIRST = ("first-batch-row-only",)
FEATURES = ("grid-over-features",)
MIXED = ("batch-mixed",)

LAYOUT = Step(
    "layout",
    (
        Option("", (), keep),
        Option(
            "batch and time exchanged",
            AXES,
            _laid_out(lambda t: t.transpose(0, 1), lambda t, s: t.transpose(0, 1)),
        ),
        Option(
            "batch and time exchanged, and left so",
            AXES,
            _laid_out(lambda t: t.transpose(0, 1), lambda t, s: t),
        ),
        Option(
            "time and features exchanged",
            FEATURES,
            _laid_out(lambda t: t.mT, lambda t, s: t.mT),
        ),
        Option(
            "time and features exchanged, and left so",
            FEATURES,
            _laid_out(lambda t: t.mT, lambda t, s: t),
        ),
        Option("batch flattened into time", MIXED, _laid_out(_flat, _unflat)),
        Option("sequence 0 for all", FIRST, _laid_out(_first, _for_all)),
        Option("sequence 0 without its axis", FIRST, _laid_out(_first, lambda t, s: t[0])),
        Option("sequence 0 only", FIRST, _laid_out(_first, lambda t, s: t)),
        Option(
            "zeros after sequence 0",
            FIRST,
            _laid_out(
                _first, lambda t, s: torch.cat([t, *[torch.zeros_like(t)] * (s["sizes"].B - 1)])
            ),
        ),
    ),
)


# ---------------------------------------- one product per pair
def _grid(product):
    return with_(raw=lambda s: product(s["left"], s["right"]))


def _reshaped(t):
    return t.reshape(t.shape[0], t.shape[2], t.shape[1])


RESHAPED = ("reshaped-not-transposed",)

GRID = Step(
    "grid",
    (
        Option("", (), _grid(lambda q, k: q @ k.mT)),
        Option("k reshaped", RESHAPED, _grid(lambda q, k: q @ _reshaped(k))),
        Option("q reshaped", RESHAPED, _grid(lambda q, k: (k @ _reshaped(q)).mT)),
        Option("k as it is", ("key-not-transposed",), _grid(lambda q, k: q @ k), True),
        *(
            Option(
                f"k with its axes as {axes}", AXES, _grid(lambda q, k, a=axes: q @ k.permute(a)),
                True,
            )
            for axes in ((2, 1, 0), (1, 0, 2), (1, 2, 0), (2, 0, 1))
        ),
        Option("q.T @ k", FEATURES, _grid(lambda q, k: q.mT @ k)),
        Option("k.T @ q", FEATURES, _grid(lambda q, k: k.mT @ q)),
        Option("q * k", ("elementwise-product",), _grid(lambda q, k: q * k)),
        Option("q * k.T", ("elementwise-product",), _grid(lambda q, k: q * k.mT), True),
        Option(
            "summed over the batch",
            MIXED,
            _grid(lambda q, k: (q @ k.mT).sum(0, keepdim=True).expand(q.shape[0], -1, -1)),
        ),
        Option("summed over the batch, one grid", MIXED, _grid(lambda q, k: (q @ k.mT).sum(0))),
        Option("mean over the batch, one grid", MIXED, _grid(lambda q, k: (q @ k.mT).mean(0))),
        Option(
            "keys summed over the batch", MIXED, _grid(lambda q, k: q @ k.sum(0).mT)
        ),
        Option("keys averaged over the batch", MIXED, _grid(lambda q, k: q @ k.mean(0).mT)),
        Option("queries and keys summed over the batch", MIXED,
               _grid(lambda q, k: (q.sum(0) @ k.sum(0).mT)[None].expand(q.shape[0], -1, -1))),
        Option("queries and keys summed over the batch, one grid", MIXED,
               _grid(lambda q, k: q.sum(0) @ k.sum(0).mT)),
        Option(
            "the keys of sequence 0 for all", FIRST, _grid(lambda q, k: q @ k[0].T)
        ),
        Option(
            "the grid of sequence 0 for all", FIRST,
            _grid(lambda q, k: (q @ k.mT)[:1].expand(q.shape[0], -1, -1)),
        ),
    ),
)  # fmt: skip


# ---------------------------------------- the scale
def _scaled(factor):
    """Multiply the grid by a number that depends on the sizes."""

    def change(s):
        s = dict(s)
        s["scores"] = s["raw"] * factor(s["left"].shape[-1], s["sizes"])
        return s

    return change


def _spread(spread):
    return with_(scores=lambda s: s["raw"] / spread(s["raw"]))


OTHER_NUMBER = ("divided-by-another-number",)
ROOT = ("root-miswritten",)

RIGHT_SCALE = Option("", (), _scaled(lambda d, z: d**-0.5))
SCALES = (
    Option("not scaled", ("not-scaled",), _scaled(lambda d, z: 1.0)),
    Option("/ d_k", ("divided-by-d-k", "scaled-twice"), _scaled(lambda d, z: 1 / d)),
    Option("* sqrt(d_k)", ("multiplied-by-sqrt-d-k",), _scaled(lambda d, z: d**0.5)),
    Option("/ sqrt(C)", ("divided-by-sqrt-c",), _scaled(lambda d, z: z.C**-0.5)),
    Option("/ sqrt(T)", OTHER_NUMBER, _scaled(lambda d, z: z.T**-0.5)),
    Option("/ sqrt(B)", OTHER_NUMBER, _scaled(lambda d, z: z.B**-0.5)),
    Option("/ sqrt(block_size)", OTHER_NUMBER, _scaled(lambda d, z: z.n**-0.5)),
    Option("/ T", OTHER_NUMBER, _scaled(lambda d, z: 1 / z.T)),
    Option("/ B", OTHER_NUMBER, _scaled(lambda d, z: 1 / z.B)),
    Option("/ C", OTHER_NUMBER, _scaled(lambda d, z: 1 / z.C)),
    Option("/ block_size", OTHER_NUMBER, _scaled(lambda d, z: 1 / z.n)),
    Option("/ sqrt(2 d_k)", OTHER_NUMBER, _scaled(lambda d, z: (2 * d) ** -0.5)),
    Option("/ sqrt(3 d_k)", OTHER_NUMBER, _scaled(lambda d, z: (3 * d) ** -0.5)),
    Option("/ d_k ** 1/4", ROOT, _scaled(lambda d, z: d**-0.25)),
    Option("/ d_k ** 1 / 2", ROOT, _scaled(lambda d, z: 1 / d / 2)),
    Option("/ (d_k ** 1 / 2)", ROOT, _scaled(lambda d, z: 2 / d)),
    Option("/ d_k ** 2", ROOT, _scaled(lambda d, z: d**-2)),
    Option("/ d_k ** 1/3", ROOT, _scaled(lambda d, z: d ** (-1 / 3))),
    Option("/ d_k ** 1.5", ROOT, _scaled(lambda d, z: d**-1.5)),
    Option("* d_k ** 1/4", ROOT, _scaled(lambda d, z: d**0.25)),
    Option("/ int(sqrt(d_k))", ROOT, _scaled(lambda d, z: 1 / int(d**0.5)), True),
    Option("/ spread of the grid", OTHER_NUMBER, _spread(lambda r: r.std())),
    Option("/ spread of a row", OTHER_NUMBER, _spread(lambda r: r.std(-1, keepdim=True))),
    Option("/ spread of a sequence", OTHER_NUMBER,
           _spread(lambda r: r.std((-2, -1), keepdim=True))),
    Option("/ variance of the grid", OTHER_NUMBER, _spread(lambda r: r.var())),
    Option("/ root of the variance, biased", OTHER_NUMBER,
           _spread(lambda r: r.std(correction=0))),
    Option("/ spread of a row, biased", OTHER_NUMBER,
           _spread(lambda r: r.std(-1, keepdim=True, correction=0))),
    Option("/ largest of the grid", OTHER_NUMBER, _spread(lambda r: r.abs().max())),
)  # fmt: skip
FLOOR = Option(
    "//",
    ("floor-division",),
    with_(scores=lambda s: torch.floor(s["raw"] / s["left"].shape[-1] ** 0.5)),
)
FLOORED = tuple(
    Option(f"// of {name}", ("floor-division", slug), with_(scores=change))
    for name, slug, change in (
        ("d_k", "divided-by-d-k", lambda s: torch.floor(s["raw"] / s["left"].shape[-1])),
        (
            "the other root",
            "divided-by-another-number",
            lambda s: torch.floor(s["raw"] / s["sizes"].T ** 0.5),
        ),
    )
)
SCALE = Step("scale", (RIGHT_SCALE, *SCALES))
SCALE_OF_SCORES = Step("scale", (RIGHT_SCALE, *SCALES, FLOOR, *FLOORED))
UNSCALED = Step(
    "scale",
    (
        Option("", (), _scaled(lambda d, z: 1.0)),
        Option("scaled", ("returned-wrong-stage",), _scaled(lambda d, z: d**-0.5)),
    ),
)
AFTERWARDS = Option(
    "scaled after the softmax instead",
    ("scaled-after-softmax",),
    with_(scores=lambda s: s["raw"], after=lambda s: s["left"].shape[-1] ** -0.5),
)
SCALE_BEFORE_SOFTMAX = Step("scale", (RIGHT_SCALE, *SCALES, AFTERWARDS))


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


# ---------------------------------------- softmax and what stands in its place
def _weights(function):
    """`function(masked, allowed)` gives the weights; a late mask is put on them afterwards."""

    def change(s):
        s = dict(s)
        w = function(s["masked"], s["allowed"])
        if "late_fill" in s:
            w = w.masked_fill(~s["allowed"], s["late_fill"])
        if "after" in s:
            w = w * s["after"]
        s["weights"] = w
        return s

    return change


def _over_total(function):
    """Rows of `function(scores)`, zero where masked, divided by their sums."""

    def weights(m, allowed):
        e = function(m).masked_fill(m == -INF, 0.0)
        return e / e.sum(-1, keepdim=True)

    return weights


def _blind(function):
    """The same, blind to -inf: zero it where the mask says so."""

    def weights(m, allowed):
        e = function(m.masked_fill(~allowed, 0.0)) * allowed
        return e / e.sum(-1, keepdim=True)

    return weights


def _exp(m):
    return (m - m.amax(-1, keepdim=True)).exp()


def _one_hot(m, allowed):
    return F.one_hot(m.argmax(-1), m.shape[-1]).to(m.dtype)


def _even(m, allowed):
    w = allowed.to(m.dtype).expand(m.shape)
    return w / w.sum(-1, keepdim=True)


def _column_maximum(m, allowed):
    e = (m - m.amax(-2, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


def _grid_softmax(m, allowed):
    return m.flatten(-2).softmax(-1).view_as(m)


def _softmax_first(s):
    """softmax, mask, softmax again."""
    s = dict(s)
    w = s["scores"].softmax(-1)
    s["weights"] = w.masked_fill(s["masked"] == -INF, -INF).softmax(-1)
    return s


def _columns_over_sum(m, allowed):
    e = m.masked_fill(~allowed, 0.0)
    return e / e.sum(-2, keepdim=True)


def _not_a_column(m, allowed):
    e = m.exp()
    return e / e.sum(-1)


NOT_SOFTMAX = ("not-a-softmax",)
ACROSS = ("softmax-over-batch", "softmax-without-dim")
GRID_WIDE = ("softmax-over-grid",)

_SOFTMAX = (
    Option("", (), _weights(lambda m, a: m.softmax(-1))),
    Option("over queries", ("softmax-over-queries",), _weights(lambda m, a: m.softmax(-2))),
    Option("over the batch", ACROSS, _weights(lambda m, a: m.softmax(0))),
    Option("over the grid", GRID_WIDE, _weights(_grid_softmax)),
    Option("over everything", GRID_WIDE,
           _weights(lambda m, a: m.flatten().softmax(0).view_as(m))),
    Option("twice", ("softmax-twice",), _weights(lambda m, a: m.softmax(-1).softmax(-1))),
    Option("softmax, mask, softmax", ("softmax-twice",), _softmax_first),
    Option("no exp", NOT_SOFTMAX, _weights(_blind(lambda m: m))),
    Option("no exp, magnitudes", NOT_SOFTMAX, _weights(_blind(lambda m: m.abs()))),
    Option("relu for exp", NOT_SOFTMAX, _weights(_blind(lambda m: m.relu()))),
    Option("square for exp", NOT_SOFTMAX, _weights(_blind(lambda m: m * m))),
    Option("sigmoid for exp", NOT_SOFTMAX, _weights(_over_total(torch.sigmoid))),
    Option("sigmoid", NOT_SOFTMAX, _weights(lambda m, a: m.sigmoid())),
    Option("tanh", NOT_SOFTMAX, _weights(lambda m, a: m.tanh())),
    Option("softplus for exp", NOT_SOFTMAX, _weights(_over_total(F.softplus))),
    Option("2 ** score", NOT_SOFTMAX, _weights(_over_total(torch.exp2))),
    Option("exp(-score)", NOT_SOFTMAX, _weights(_over_total(lambda m: (-m).exp()))),
    Option("log-softmax", NOT_SOFTMAX, _weights(lambda m, a: m.log_softmax(-1))),
    Option("one below", NOT_SOFTMAX,
           _weights(lambda m, a: m.exp() / (1 + m.exp().sum(-1, keepdim=True)))),
    Option("one below, stable", NOT_SOFTMAX,
           _weights(lambda m, a: _exp(m) / (1 + _exp(m).sum(-1, keepdim=True)))),
    Option("maximum per column", NOT_SOFTMAX, _weights(_column_maximum)),
    Option("exp over the largest", NOT_SOFTMAX, _weights(lambda m, a: _exp(m))),
    Option("exp over the count", NOT_SOFTMAX,
           _weights(lambda m, a: m.exp() / a.sum(-1, keepdim=True))),
    Option("exp over T", NOT_SOFTMAX, _weights(lambda m, a: m.exp() / m.shape[-1])),
    Option("rectified", NOT_SOFTMAX, _weights(lambda m, a: m.masked_fill(~a, 0).relu())),
    Option("length 1", NOT_SOFTMAX,
           _weights(lambda m, a: F.normalize(m.masked_fill(~a, 0.0), dim=-1))),
    Option("exp, length 1", NOT_SOFTMAX, _weights(lambda m, a: F.normalize(m.exp(), dim=-1))),
    Option("all evenly", ("scores-ignored",), _weights(_even)),
)  # fmt: skip
SOFTMAX_WEIGHTS = Step(
    "softmax",
    (
        *_SOFTMAX,
        Option("exp only", ("never-normalised",), _weights(lambda m, a: m.exp())),
        Option("one-hot", ("hard-maximum",), _weights(_one_hot)),
        Option("columns over their sum", ("columns-normalised",), _weights(_columns_over_sum)),
        Option("totals not a column", ("totals-not-a-column",), _weights(_not_a_column), True),
    ),
)
SOFTMAX_OUT = Step(
    "softmax",
    (
        *_SOFTMAX,
        Option("missing", ("softmax-missing",),
               _weights(lambda m, a: m.masked_fill(~a & (m == -INF), 0.0))),
        Option("missing, -inf left", ("softmax-missing",), _weights(lambda m, a: m)),
        Option("exp only", NOT_SOFTMAX, _weights(lambda m, a: m.exp())),
    ),
)  # fmt: skip


# ---------------------------------------- the weighted sum
def _average(function):
    def change(s):
        s = dict(s)
        s["out"] = function(s["weights"], s["avg"])
        return s

    return change


ON_VALUES = ("softmax-on-values",)


def _softmax_after_sum(dim):
    """No softmax on the grid: it is put on the result instead."""

    def change(s):
        s = dict(s)
        scores = s["masked"].masked_fill(s["masked"] == -INF, 0.0)
        s["out"] = (scores @ s["avg"]).softmax(dim)
        return s

    return change


def _softmax_on_v_only(s):
    s = dict(s)
    scores = s["masked"].masked_fill(s["masked"] == -INF, 0.0)
    s["out"] = scores @ s["avg"].softmax(-1)
    return s


AVERAGE = Step(
    "average",
    (
        Option("", (), _average(lambda w, v: w @ v)),
        Option("by columns", ("weights-transposed",), _average(lambda w, v: w.mT @ v)),
        Option("v @ weights", ("factors-in-wrong-order",), _average(lambda w, v: v @ w)),
        Option("v @ weights.T", FEATURES, _average(lambda w, v: v @ w.mT)),
        Option("weights * v", ("elementwise-product",), _average(lambda w, v: w * v), True),
        Option("softmax of v", ON_VALUES, _average(lambda w, v: w @ v.softmax(-1))),
        Option("softmax of v over time", ON_VALUES, _average(lambda w, v: w @ v.softmax(1))),
        Option("softmax of the output", ON_VALUES, _average(lambda w, v: (w @ v).softmax(-1))),
        Option(
            "softmax of the output over time", ON_VALUES,
            _average(lambda w, v: (w @ v).softmax(1)),
        ),
        Option("softmax of the output only", ON_VALUES, _softmax_after_sum(-1)),
        Option("softmax of the output only, over time", ON_VALUES, _softmax_after_sum(1)),
        Option("softmax of v only", ON_VALUES, _softmax_on_v_only),
        Option("summed over the batch", MIXED,
               _average(lambda w, v: (w @ v).sum(0, keepdim=True).expand_as(v))),
        Option("v of sequence 0 for all", FIRST, _average(lambda w, v: w @ v[:1])),
        Option("v averaged over the batch", MIXED, _average(lambda w, v: w @ v.mean(0))),
    ),
)  # fmt: skip


# ---------------------------------------- after the recipe
def _finish(function, name="out"):
    def change(s):
        s = dict(s)
        result = function(s[name], s)
        s["result"] = s["undo"](result, s) if "undo" in s else result
        return s

    return change


def _stage(name):
    def change(s):
        s = dict(s)
        result = s[name]
        s["result"] = s["undo"](result, s) if "undo" in s else result
        return s

    return change


def _mask_itself(as_float, batched=False):
    def change(s):
        s = dict(s)
        mask = s["allowed"].double() if as_float else (~s["allowed"]).double()
        s["result"] = mask.expand(s["scores"].shape) if batched else mask
        return s

    return change


def _additive_mask(s):
    s = dict(s)
    s["result"] = torch.zeros(s["allowed"].shape).masked_fill(~s["allowed"], -INF)
    return s


STAGE = ("returned-wrong-stage",)
MASK_STAGES = (
    Option("the mask", STAGE, _mask_itself(True)),
    Option("the mask, turned over", STAGE, _mask_itself(False)),
    Option("the mask for each sequence", STAGE, _mask_itself(True, True)),
    Option("the mask to add", STAGE, _additive_mask),
)
AFTER_SOFTMAX = ("scaled-after-softmax", "scaled-twice")


def _stages(*names):
    return tuple(Option(f"the {name}", STAGE, _stage(name)) for name in names)


_FINISH_OUT = (
    Option("", (), _finish(lambda t, s: t)),
    Option("/ sqrt(d_k) at the end", AFTER_SOFTMAX,
           _finish(lambda t, s: t / s["left"].shape[-1] ** 0.5)),
    Option("/ d_k at the end", AFTER_SOFTMAX, _finish(lambda t, s: t / s["left"].shape[-1])),
    Option("* sqrt(d_k) at the end", ("scaled-after-softmax",),
           _finish(lambda t, s: t * s["left"].shape[-1] ** 0.5)),
    Option("relu at the end", EXTRA, _finish(lambda t, s: t.relu())),
    Option("tanh at the end", EXTRA, _finish(lambda t, s: t.tanh())),
    Option("gelu at the end", EXTRA, _finish(lambda t, s: F.gelu(t))),
    Option("sigmoid at the end", EXTRA, _finish(lambda t, s: t.sigmoid())),
    Option("layer norm at the end", EXTRA, _finish(lambda t, s: _norm(t))),
    Option("values added back", EXTRA, _finish(lambda t, s: t + s["avg"])),
    Option("queries added back", EXTRA, _finish(lambda t, s: t + s["left"])),
)  # fmt: skip
_FINISH_X = (
    Option("x added back", EXTRA, _finish(lambda t, s: t + s["x"]), True),
    Option("projected back with Wv", EXTRA, _finish(lambda t, s: t @ s["Wv"].T)),
    Option("projected back with Wq", EXTRA, _finish(lambda t, s: t @ s["Wq"].T)),
    Option("projected back with Wk", EXTRA, _finish(lambda t, s: t @ s["Wk"].T)),
)
FINISH_GIVEN = Step("result", (*_FINISH_OUT, *_stages("weights", "scores", "masked", "raw")))
FINISH_ATTENTION = Step(
    "result",
    (
        *_FINISH_OUT,
        *_FINISH_X,
        *_stages("weights", "masked", "scores", "raw"),
        *MASK_STAGES,
    ),
)


def _whole(function):
    return _finish(function, "scores")


FINISH_SCORES = Step(
    "result",
    (
        Option("", (), _whole(lambda t, s: t)),
        Option("the weights", STAGE, _whole(lambda t, s: t.softmax(-1))),
        Option(
            "the masked scores",
            STAGE,
            _whole(lambda t, s: t.masked_fill(~lower(t.shape[-1]), -INF)),
        ),
        Option(
            "the causal weights",
            STAGE,
            _whole(lambda t, s: t.masked_fill(~lower(t.shape[-1]), -INF).softmax(-1)),
        ),
    ),
)  # fmt: skip

_BATCH = (
    Option("sequence 0 without its axis", FIRST, lambda t: t[0]),
    Option("sequence 0 only", FIRST, lambda t: t[:1]),
    Option("sequence 0 for all", FIRST, lambda t: t[:1].expand_as(t)),
    Option("zeros after sequence 0", FIRST,
           lambda t: torch.cat([t[:1], torch.zeros_like(t[1:])])),
)  # fmt: skip


def _batched(name):
    return tuple(o._replace(change=_finish(lambda t, s, f=o.change: f(t), name)) for o in _BATCH)


def _rest_as_given(s):
    """Only sequence 0 is masked; the others come back as they were."""
    s = dict(s)
    s["result"] = torch.cat([s["masked"][:1], s["scores"][1:]])
    return s


FINISH_MASKED = Step(
    "result",
    (
        Option("", (), _finish(lambda t, s: t, "masked")),
        *_batched("masked"),
        Option("the others unmasked", FIRST, _rest_as_given),
        Option("the weights", STAGE, _finish(lambda t, s: t.softmax(-1), "masked")),
        Option("0 for -inf at the end", ZERO,
               _finish(lambda t, s: t.masked_fill(~s["allowed"], 0.0), "masked")),
        *MASK_STAGES,
    ),
)  # fmt: skip
FINISH_WEIGHTS = Step(
    "result",
    (
        Option("", (), _finish(lambda t, s: t, "weights")),
        Option("transposed", ("weights-transposed",), _finish(lambda t, s: t.mT, "weights")),
        *_batched("weights"),
        *_stages("masked"),
        *MASK_STAGES,
    ),
)


def _given_scores(s):
    """causal_mask and causal_weights begin at the scores; averaging_matrix has none."""
    return {**s, "raw": s["scores"]}


GIVEN_SCORES = Step("scores", (Option("", (), _given_scores),))


# ---------------------------------------- the plain average
def _axis(there, back):
    def change(s):
        s = dict(s)
        s["along"] = there(s["x"])
        s["undo"] = back
        return s

    return change


MEAN_AXIS = ("mean-over-wrong-axis",)


def _window(keep_):
    """`keep_(T)` says which positions are in the window of each one."""

    def change(s):
        s = dict(s)
        s["window"] = keep_(s["along"].shape[1]).to(s["along"].dtype)
        return s

    return change


def _windows(*options):
    made = []
    for label, slugs, keep_ in options:
        made.append(Option(label, slugs, _window(keep_)))
    return tuple(made)


WINDOW = Step(
    "window",
    _windows(
        ("", (), lambda T: lower(T)),
        ("everything", ("sees-the-future",), lambda T: torch.ones(T, T)),
        ("one ahead", ("one-future-token",), lambda T: lower(T, offset=1)),
        ("not itself", ("diagonal-masked",), lambda T: lower(T, offset=-1)),
        ("suffix", ("future-instead-of-past",), lambda T: ~lower(T, offset=-1)),
        ("strict suffix", ("future-instead-of-past", "diagonal-masked"), lambda T: ~lower(T)),
    ),
)
AXIS = Step(
    "axis",
    (
        Option("", (), _axis(lambda x: x, lambda t, s: t)),
        Option("over channels", MEAN_AXIS, _axis(lambda x: x.mT, lambda t, s: t.mT)),
        Option(
            "over the batch",
            MEAN_AXIS,
            _axis(lambda x: x.transpose(0, 1), lambda t, s: t.transpose(0, 1)),
        ),
        Option("over channels too", MEAN_AXIS,
               _axis(lambda x: x.mean(-1, keepdim=True).expand_as(x), lambda t, s: t)),
        Option("over channels too, axis gone", MEAN_AXIS,
               _axis(lambda x: x.mean(-1, keepdim=True), lambda t, s: t[..., 0])),
        Option("over channels too, size 1", MEAN_AXIS,
               _axis(lambda x: x.mean(-1, keepdim=True), lambda t, s: t)),
        Option("over the batch too", MEAN_AXIS,
               _axis(lambda x: x.mean(0, keepdim=True).expand_as(x), lambda t, s: t)),
        Option("over the batch too, axis gone", MEAN_AXIS,
               _axis(lambda x: x.mean(0, keepdim=True), lambda t, s: t[0])),
        Option("over the batch too, size 1", MEAN_AXIS,
               _axis(lambda x: x.mean(0, keepdim=True), lambda t, s: t)),
        Option("over everything", MEAN_AXIS,
               _axis(lambda x: x.mean((0, 2), keepdim=True).expand_as(x), lambda t, s: t)),
        Option("over everything, axes gone", MEAN_AXIS,
               _axis(lambda x: x.mean((0, 2), keepdim=True), lambda t, s: t[0, :, 0])),
        Option("sequence 0 for all", FIRST,
               _axis(lambda x: x[:1], lambda t, s: t.expand(s["sizes"].B, -1, -1))),
        Option("sequence 0 without its axis", FIRST, _axis(lambda x: x[:1], lambda t, s: t[0])),
        Option("sequence 0 only", FIRST, _axis(lambda x: x[:1], lambda t, s: t)),
        Option("zeros after sequence 0", FIRST,
               _axis(lambda x: torch.cat([x[:1], torch.zeros_like(x[1:])]), lambda t, s: t)),
        Option("the others as they were", FIRST,
               _axis(lambda x: x[:1], lambda t, s: torch.cat([t, s["x"][1:]]))),
    ),
)  # fmt: skip


def _mean(divide):
    """`divide(total, count, T)`: what the sum of the window is divided by."""

    def change(s):
        s = dict(s)
        w = s["window"]
        total = w @ s["along"]
        s["out"] = divide(total, w.sum(1, keepdim=True), w.shape[0])
        return s

    return change


def _largest(s):
    s = dict(s)
    x, w = s["along"], s["window"]
    seen = x[:, None].expand(-1, w.shape[0], -1, -1).masked_fill(w[:, :, None] == 0, -INF)
    s["out"] = seen.amax(2)
    return s


def _counts_on_channels(s):
    s = dict(s)
    s["out"] = s["window"] @ s["along"] / s["window"].sum(1)
    return s


def _steps(T):
    return torch.arange(T)[:, None]


COUNT = ("count-off-by-one",)
DIVIDE = Step(
    "divide",
    (
        Option("", (), _mean(lambda t, c, T: t / c)),
        Option("sum", ("never-normalised",), _mean(lambda t, c, T: t)),
        Option("/ T", ("divided-by-length",), _mean(lambda t, c, T: t / T)),
        Option("/ (count - 1)", COUNT, _mean(lambda t, c, T: t / (c - 1))),
        Option("/ (count - 1), at least 1", COUNT,
               _mean(lambda t, c, T: t / (c - 1).clamp(min=1))),
        Option("/ (count + 1)", COUNT, _mean(lambda t, c, T: t / (c + 1))),
        Option("/ (t + 1)", (), _mean(lambda t, c, T: t / (_steps(T) + 1))),
        Option("/ t", COUNT, _mean(lambda t, c, T: t / _steps(T))),
        Option("counts along channels", ("totals-not-a-column",), _counts_on_channels, True),
        Option("largest", ("hard-maximum",), _largest),
        Option("//", ("floor-division",), _mean(lambda t, c, T: torch.floor(t / c))),
    ),
)  # fmt: skip
FINISH_BOW = Step("result", (Option("", (), _finish(lambda t, s: t)),))


# ---------------------------------------- the average as a matrix
def _matrix(function):
    def change(s):
        s = dict(s)
        s["out"] = function(s["window"])
        return s

    return change


def _matrix_window(s):
    T = s["sizes"].T
    return {**s, "along": torch.empty(1, T, 1)}


def _divided(count):
    return _matrix(lambda w: w / count(w))


MATRIX_START = Step("start", (Option("", (), _matrix_window),))
MATRIX_WINDOW = Step(
    "window",
    (
        *WINDOW.options[:5],
        *_windows(
            (
                "strictly upper",
                ("future-instead-of-past", "diagonal-masked"),
                lambda T: ~lower(T),
            ),
            ("itself", ("only-itself",), lambda T: torch.eye(T)),
        ),
    ),
)
DIVIDE_MATRIX = Step(
    "divide",
    (
        Option("", (), _divided(lambda w: w.sum(1, keepdim=True))),
        Option("not divided", ("never-normalised",), _matrix(lambda w: w)),
        Option("/ T", ("divided-by-length",), _divided(lambda w: w.shape[0])),
        Option("/ column totals", ("columns-normalised",),
               _divided(lambda w: w.sum(0, keepdim=True))),
        Option("/ totals not a column", ("totals-not-a-column",), _divided(lambda w: w.sum(1))),
        Option("/ (count - 1)", COUNT, _divided(lambda w: w.sum(1, keepdim=True) - 1)),
        Option("/ (count - 1), at least 1", COUNT,
               _divided(lambda w: (w.sum(1, keepdim=True) - 1).clamp(min=1))),
        Option("/ (count + 1)", COUNT, _divided(lambda w: w.sum(1, keepdim=True) + 1)),
        Option("/ t", COUNT, _divided(lambda w: torch.arange(len(w))[:, None])),
        Option("//", ("floor-division",),
               _matrix(lambda w: torch.floor(w / w.sum(1, keepdim=True)))),
        Option("// column totals", ("floor-division", "columns-normalised"),
               _matrix(lambda w: torch.floor(w / w.sum(0, keepdim=True)))),
        Option("softmax of 0 and 1", ("zero-instead-of-minus-inf",),
               _matrix(lambda w: w.softmax(-1))),
        Option("softmax of 0 and 1 over queries",
               ("zero-instead-of-minus-inf", "softmax-over-queries"),
               _matrix(lambda w: w.softmax(0))),
        Option("softmax over queries", ("softmax-over-queries", "columns-normalised"),
               _matrix(lambda w: torch.zeros_like(w).masked_fill(w == 0, -INF).softmax(0))),
        Option("softmax of 1 and -inf, then of that", ("zero-instead-of-minus-inf",),
               _matrix(lambda w: (w / w.sum(1, keepdim=True)).softmax(-1))),
        Option("/ the total of all", (), _divided(lambda w: w.sum())),
    ),
)  # fmt: skip
FINISH_MATRIX = Step(
    "result",
    (
        Option("", (), keep),
        Option("transposed", ("weights-transposed",), with_(out=lambda s: s["out"].mT)),
    ),
)
RESULT_MATRIX = Step("end", (Option("", (), with_(result=lambda s: s["out"])),))

RECIPES = {
    "bow": (AXIS, WINDOW, DIVIDE, FINISH_BOW),
    "averaging_matrix": (MATRIX_START, MATRIX_WINDOW, DIVIDE_MATRIX, FINISH_MATRIX, RESULT_MATRIX),
    "raw_scores": (COMPARE, LAYOUT, GRID, UNSCALED, FINISH_SCORES),
    "attention_scores": (COMPARE, LAYOUT, GRID, SCALE_OF_SCORES, FINISH_SCORES),
    "causal_mask": (GIVEN_SCORES, ALLOWED, FILL_SCORES, FINISH_MASKED),
    "causal_weights": (GIVEN_SCORES, ALLOWED, FILL_WEIGHTS, SOFTMAX_WEIGHTS, FINISH_WEIGHTS),
    "self_attention": (
        PROJECT,
        ROLES,
        LAYOUT,
        GRID,
        SCALE_BEFORE_SOFTMAX,
        ALLOWED_NO_MASK,
        NO_FILL,
        SOFTMAX_OUT,
        AVERAGE,
        FINISH_ATTENTION,
    ),
    "causal_attention": (
        PROJECT,
        ROLES,
        LAYOUT,
        GRID,
        SCALE_BEFORE_SOFTMAX,
        ALLOWED,
        FILL_OUT,
        SOFTMAX_OUT,
        AVERAGE,
        FINISH_ATTENTION,
    ),
    "sdpa": (
        GIVEN_ROLES,
        LAYOUT,
        GRID,
        SCALE_BEFORE_SOFTMAX,
        ALLOWED,
        FILL_OUT,
        SOFTMAX_OUT,
        AVERAGE,
        FINISH_GIVEN,
    ),
    "sdpa_decode": (
        GIVEN_ROLES,
        GRID,
        SCALE_BEFORE_SOFTMAX,
        ALLOWED_DECODE,
        FILL_OUT,
        SOFTMAX_OUT,
        AVERAGE,
        FINISH_GIVEN,
    ),
}
RECIPES["Head"] = RECIPES["causal_attention"]


def start(exercise, case):
    """The state a recipe begins with."""
    if exercise.name == "averaging_matrix":
        return {"sizes": case.sizes}
    names = [name.strip() for name in exercise.arguments.split(",")]
    if exercise.name == "Head":
        names = ["x", "Wq", "Wk", "Wv"]
    return {"sizes": case.sizes, **dict(zip(names, case.args, strict=True))}
