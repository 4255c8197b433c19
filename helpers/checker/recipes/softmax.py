"""Softmax and what stands in its place, and the weighted sum."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from ..contracts import INF
from .compare import FEATURES, FIRST, MIXED
from .switch import Option, Step, with_


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
    w = s["scores"].softmax(-1).masked_fill(s["masked"] == -INF, -INF)
    return {**s, "weights": w.softmax(-1)}


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
    Option("no exp, over the magnitudes", NOT_SOFTMAX,
           _weights(lambda m, a: F.normalize(m.masked_fill(~a, 0.0), p=1, dim=-1))),
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
        Option(
            "totals not a column, by sequence",
            ("totals-not-a-column",),
            _weights(lambda m, a: m.exp() / m.exp().sum(-1)[:, None]),
        ),
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
    return with_(out=lambda s: function(s["weights"], s["avg"]))


ON_VALUES = ("softmax-on-values",)


def _open_scores(s):
    return s["masked"].masked_fill(s["masked"] == -INF, 0.0)


def _softmax_after_sum(dim):
    """No softmax on the grid: it is put on the result instead."""

    return with_(out=lambda s: (_open_scores(s) @ s["avg"]).softmax(dim))


_softmax_on_v_only = with_(out=lambda s: _open_scores(s) @ s["avg"].softmax(-1))


AVERAGE = Step(
    "average",
    (
        Option("", (), _average(lambda w, v: w @ v)),
        Option("by columns", ("weights-transposed",), _average(lambda w, v: w.mT @ v)),
        Option("v @ weights", ("factors-in-wrong-order",), _average(lambda w, v: v @ w)),
        Option("v @ weights.T", FEATURES, _average(lambda w, v: v @ w.mT)),
        Option("weights * v", ("elementwise-product",), _average(lambda w, v: w * v)),
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
