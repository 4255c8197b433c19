"""The plain average: of x itself, and as a matrix."""

from __future__ import annotations

import torch

from ..contracts import INF, lower
from .compare import FIRST
from .finish import finish
from .switch import Option, Step, keep, with_


# ---------------------------------------- the plain average
def _axis(there, back):
    return with_(along=lambda s: there(s["x"]), undo=lambda s: back)


MEAN_AXIS = ("mean-over-wrong-axis",)


def _window(keep_):
    """`keep_(T)` says which positions are in the window of each one."""

    return with_(window=lambda s: keep_(s["along"].shape[1]).to(s["along"].dtype))


def _windows(*options):
    return tuple(Option(label, slugs, _window(keep_)) for label, slugs, keep_ in options)


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

    def out(s):
        w = s["window"]
        return divide(w @ s["along"], w.sum(1, keepdim=True), w.shape[0])

    return with_(out=out)


def _largest(s):
    x, w = s["along"], s["window"]
    seen = x[:, None].expand(-1, w.shape[0], -1, -1).masked_fill(w[:, :, None] == 0, -INF)
    return {**s, "out": seen.amax(2)}


def _counts_on_channels(s):
    return {**s, "out": s["window"] @ s["along"] / s["window"].sum(1)}


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
        Option("/ (t + 2)", (), _mean(lambda t, c, T: t / (_steps(T) + 2))),
        Option("totals not a column", ("totals-not-a-column",),
               with_(out=lambda s: s["window"] / s["window"].sum(1) @ s["along"])),
        Option("counts along channels", ("totals-not-a-column",), _counts_on_channels, True),
        Option("largest", ("hard-maximum",), _largest),
        Option("//", ("floor-division",), _mean(lambda t, c, T: torch.floor(t / c))),
    ),
)  # fmt: skip
FINISH_BOW = Step("result", (Option("", (), finish(lambda t, s: t)),))


# ---------------------------------------- the average as a matrix
def _matrix(function):
    return with_(out=lambda s: function(s["window"]))


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
        Option("/ (t + 1)", (), _divided(lambda w: _steps(len(w)) + 1)),
        Option("/ t", COUNT, _divided(lambda w: _steps(len(w)))),
        Option("/ (t + 2)", (), _divided(lambda w: _steps(len(w)) + 2)),
        Option("/ t from row 1 on", COUNT,
               _matrix(lambda w: (w / _steps(len(w))).nan_to_num(posinf=0))),
        Option("/ t, zeros kept", COUNT,
               _matrix(lambda w: (w / _steps(len(w))).nan_to_num(0, INF, -INF))),
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
