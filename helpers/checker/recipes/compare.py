"""Projecting, who is compared with whom, and along which axes."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from .switch import Option, Step, keep, with_


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


def norm(t):
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
                ("layer norm", norm),
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
            for name, f in (("relu", _relu), ("layer norm", norm))
            for which in ("v", "qk", "q", "k")
        ),
        Option("layer norm of x", EXTRA, _all_three(lambda x, W: norm(x) @ W)),
        Option("relu of x", EXTRA, _all_three(lambda x, W: x.relu() @ W)),
    ),
)


# ---------------------------------------- who meets whom
def _roles(left, right, avg=None, width=None):
    def change(s):
        s = dict(s)
        s["left"], s["right"] = s[left], s[right]
        if avg:
            s["avg"] = s[avg]
        if width:
            s["width"] = s[width].shape[-1]
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
        Option("x with x over the root of d_k, v averaged", SKIPPED, _roles("x", "x", "v", "q")),
        Option("x with x over the root of d_k, x averaged", SKIPPED, _roles("x", "x", "x", "q")),
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
# A grid that is handed over as it is may have other axes than the softmax needs.
GRID_ALONE = Step(
    "grid",
    (
        *GRID.options,
        Option("q * k summed", ("elementwise-product",), _grid(lambda q, k: (q * k).sum(-1))),
        Option("q * k summed, axis kept", ("elementwise-product",),
               _grid(lambda q, k: (q * k).sum(-1, keepdim=True))),
        Option("q * k of each pair", ("elementwise-product",),
               _grid(lambda q, k: q[:, :, None] * k[:, None])),
        Option("every sequence with every other", MIXED,
               _grid(lambda q, k: torch.tensordot(q, k, ([-1], [-1])))),
    ),
)  # fmt: skip
