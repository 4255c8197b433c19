"""What is done to the result, and which stage is handed over."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from ..contracts import INF, lower
from .compare import EXTRA, FIRST, norm
from .mask import ZERO
from .switch import Option, Step, with_


# ---------------------------------------- after the recipe
def finish(function, name="out"):
    """`function(s[name], s)` is the result, turned back where the layout was changed."""

    def result(s):
        made = function(s[name], s)
        return s["undo"](made, s) if "undo" in s else made

    return with_(result=result)


def _stage(name):
    return finish(lambda t, s: t, name)


def _mask_itself(as_float, batched=False):
    def mask(s):
        made = s["allowed"].double() if as_float else (~s["allowed"]).double()
        return made.expand(s["scores"].shape) if batched else made

    return with_(result=mask)


def _additive_mask(s):
    return {**s, "result": torch.zeros(s["allowed"].shape).masked_fill(~s["allowed"], -INF)}


STAGE = ("returned-wrong-stage",)
MASK_STAGES = (
    Option("the mask", STAGE, _mask_itself(True)),
    Option("the mask, turned over", STAGE, _mask_itself(False)),
    Option("the mask for each sequence", STAGE, _mask_itself(True, True)),
    Option("the mask to add", STAGE, _additive_mask),
)
AFTER_SOFTMAX = ("scaled-after-softmax",)


def _stages(*names):
    return tuple(Option(f"the {name}", STAGE, _stage(name)) for name in names)


_FINISH_OUT = (
    Option("", (), finish(lambda t, s: t)),
    Option("/ sqrt(d_k) at the end", AFTER_SOFTMAX,
           finish(lambda t, s: t / s["left"].shape[-1] ** 0.5)),
    Option("/ d_k at the end", AFTER_SOFTMAX, finish(lambda t, s: t / s["left"].shape[-1])),
    Option("* sqrt(d_k) at the end", AFTER_SOFTMAX,
           finish(lambda t, s: t * s["left"].shape[-1] ** 0.5)),
    Option("relu at the end", EXTRA, finish(lambda t, s: t.relu())),
    Option("tanh at the end", EXTRA, finish(lambda t, s: t.tanh())),
    Option("gelu at the end", EXTRA, finish(lambda t, s: F.gelu(t))),
    Option("sigmoid at the end", EXTRA, finish(lambda t, s: t.sigmoid())),
    Option("layer norm at the end", EXTRA, finish(lambda t, s: norm(t))),
    Option("values added back", EXTRA, finish(lambda t, s: t + s["avg"])),
    Option("queries added back", EXTRA, finish(lambda t, s: t + s["left"])),
)  # fmt: skip
_FINISH_X = (
    Option("x added back", EXTRA, finish(lambda t, s: t + s["x"]), True),
    Option("projected back with Wv", EXTRA, finish(lambda t, s: t @ s["Wv"].T)),
    Option("projected back with Wq", EXTRA, finish(lambda t, s: t @ s["Wq"].T)),
    Option("projected back with Wk", EXTRA, finish(lambda t, s: t @ s["Wk"].T)),
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
    return finish(function, "scores")


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
    return tuple(o._replace(change=finish(lambda t, s, f=o.change: f(t), name)) for o in _BATCH)


def _rest_as_given(s):
    """Only sequence 0 is masked; the others come back as they were."""
    return {**s, "result": torch.cat([s["masked"][:1], s["scores"][1:]])}


FINISH_MASKED = Step(
    "result",
    (
        Option("", (), finish(lambda t, s: t, "masked")),
        *_batched("masked"),
        Option("the others unmasked", FIRST, _rest_as_given),
        Option("the weights", STAGE, finish(lambda t, s: t.softmax(-1), "masked")),
        Option("0 for -inf at the end", ZERO,
               finish(lambda t, s: t.masked_fill(~s["allowed"], 0.0), "masked")),
        *MASK_STAGES,
    ),
)  # fmt: skip
FINISH_WEIGHTS = Step(
    "result",
    (
        Option("", (), finish(lambda t, s: t, "weights")),
        Option("transposed", ("weights-transposed",), finish(lambda t, s: t.mT, "weights")),
        *_batched("weights"),
        *_stages("masked"),
        *MASK_STAGES,
    ),
)
