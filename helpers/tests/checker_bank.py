"""Attempts at the exercises beyond `given.py`, written in other styles, for the checker's tests.

`wrong(exercise, slug, …)` holds an attempt that is to be named so, by one of the slugs given; no
slug stands for a mistake outside the catalogue, which must stay without a name. `right` ones are
unusual, `grey` ones are accepted with a remark, and `both` holds two faults.
"""

# ruff: noqa: E501, E731, F841
from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

INF = float("inf")


class Attempt(NamedTuple):
    exercise: str
    kind: str  # "wrong", "only", "right", "grey" or "both"
    slugs: tuple[str, ...]
    attempt: Any
    name: str


BANK: list[Attempt] = []


def _add(kind, exercise, slugs):
    def register(attempt):
        number = sum(a.exercise == exercise for a in BANK)
        name = f"{exercise}-{kind}-{'+'.join(slugs) or 'unnamed'}-{number}"
        BANK.append(Attempt(exercise, kind, slugs, attempt, name))
        return attempt

    return register


def wrong(exercise, *slugs):
    return _add("wrong", exercise, slugs)


def right(exercise):
    return _add("right", exercise, ())


def grey(exercise, remark):
    return _add("grey", exercise, (remark,))


def only(exercise, *slugs):
    """Named so and by nothing else: what a fault entails is not a fault of its own."""
    return _add("only", exercise, slugs)


def both(exercise, *slugs):
    return _add("both", exercise, slugs)


def causal(T):
    return torch.tril(torch.ones(T, T)) == 1


# ======================================== bow
def bow_loop(window, reduce=lambda w: w.mean(0)):
    def attempt(x):
        B, T, C = x.shape
        out = torch.zeros(B, T, C)
        for b in range(B):
            for t in range(T):
                out[b, t] = reduce(window(x[b], t))
        return out

    return attempt


right("bow")(bow_loop(lambda x, t: x[: t + 1]))
wrong("bow", "one-future-token")(bow_loop(lambda x, t: x[: t + 2]))
wrong("bow", "diagonal-masked")(bow_loop(lambda x, t: x[:t]))
wrong("bow", "future-instead-of-past")(bow_loop(lambda x, t: x[t:]))
wrong("bow", "sees-the-future")(bow_loop(lambda x, t: x))
wrong("bow", "never-normalised")(bow_loop(lambda x, t: x[: t + 1], lambda w: w.sum(0)))
wrong("bow", "hard-maximum")(bow_loop(lambda x, t: x[: t + 1], lambda w: w.max(0).values))
wrong("bow", "mean-over-wrong-axis")(bow_loop(lambda x, t: x[: t + 1], lambda w: w.mean()))
wrong("bow", "mean-over-wrong-axis")(bow_loop(lambda x, t: x[t], lambda w: w.mean()))
wrong("bow")(bow_loop(lambda x, t: x[: t + 1], lambda w: w.median(0).values))
wrong("bow")(bow_loop(lambda x, t: x[max(0, t - 1) : t + 1]))
wrong("bow")(bow_loop(lambda x, t: x[: t + 3]))
wrong("bow")(bow_loop(lambda x, t: x[: t + 1], lambda w: w.mean(0) * 2))
wrong("bow")(bow_loop(lambda x, t: x[:1]))
wrong("bow")(bow_loop(lambda x, t: x[: t + 1], lambda w: w.pow(2).mean(0).sqrt()))


@right("bow")
def _(x):
    n = 0
    rows = []
    total = torch.zeros_like(x[:, 0])
    for row in x.unbind(1):
        n += 1
        total = total + row
        rows.append(total / n)
    return torch.stack(rows, dim=1)


@right("bow")
def _(x):
    T = x.size(1)
    return torch.einsum("ij,bjc->bic", causal(T).double() / torch.arange(1, T + 1)[:, None],
                        x.double()).to(x.dtype)  # fmt: skip


@right("bow")
def _(x):
    return (
        torch.tril(torch.ones(x.shape[1], x.shape[1])).div(
            torch.arange(1, x.shape[1] + 1).unsqueeze(1)
        )
        @ x
    )


@wrong("bow", "sees-the-future")
def _(x):
    T = x.shape[1]
    return torch.full((T, T), 1 / T) @ x


@wrong("bow", "one-future-token")
def _(x):
    w = torch.ones(x.shape[1], x.shape[1]).tril(1)
    return (w / w.sum(-1, keepdim=True)) @ x


@wrong("bow", "diagonal-masked")
def _(x):
    w = torch.ones(x.shape[1], x.shape[1]).tril(-1)
    return torch.nan_to_num(w / w.sum(-1, keepdim=True)) @ x


@wrong("bow", "diagonal-masked")
def _(x):
    out = torch.zeros_like(x)
    out[:, 0] = x[:, 0]
    for t in range(1, x.shape[1]):
        out[:, t] = x[:, :t].mean(1)
    return out


@wrong("bow", "future-instead-of-past")
def _(x):
    w = torch.triu(torch.ones(x.shape[1], x.shape[1]))
    return w / w.sum(1, keepdim=True) @ x


@wrong("bow", "divided-by-length")
def _(x):
    return torch.cumsum(x, 1) / x.shape[1]


@wrong("bow", "divided-by-length")
def _(x):
    return torch.tril(torch.ones(x.shape[1], x.shape[1]) / x.shape[1]) @ x


@wrong("bow", "count-off-by-one")
def _(x):
    out = []
    for t in range(x.shape[1]):
        out.append(x[:, : t + 1].sum(1) / t if t else x[:, 0])
    return torch.stack(out, 1)


@wrong("bow", "count-off-by-one")
def _(x):
    out = torch.zeros_like(x)
    for t in range(x.shape[1]):
        out[:, t] = x[:, : t + 1].sum(1) / torch.tensor(t)
    return out


@wrong("bow", "totals-not-a-column")
def _(x):
    w = torch.tril(torch.ones(x.shape[1], x.shape[1]))
    return (w @ x) / w.sum(1)


@wrong("bow", "totals-not-a-column")
def _(x):
    return x.cumsum(1) / torch.arange(1, x.size(1) + 1)


@wrong("bow", "mean-over-wrong-axis")
def _(x):
    return torch.stack([x[..., : c + 1].mean(-1) for c in range(x.shape[-1])], -1)


@wrong("bow", "mean-over-wrong-axis")
def _(x):
    return x.mean(dim=0, keepdim=True).expand(x.shape[0], -1, -1)


@wrong("bow", "mean-over-wrong-axis")
def _(x):
    return torch.stack([x[: b + 1].mean(0) for b in range(x.shape[0])])


@wrong("bow", "hard-maximum")
def _(x):
    return torch.cummax(x, dim=1).values


@wrong("bow", "first-batch-row-only")
def _(x):
    return torch.stack([x[0, : t + 1].mean(0) for t in range(x.shape[1])])


@wrong("bow", "first-batch-row-only")
def _(x):
    out = torch.zeros_like(x)
    for t in range(x.shape[1]):
        out[0, t] = x[0, : t + 1].mean(0)
    return out


@wrong("bow", "axis-added-or-lost")
def _(x):
    return torch.cat([x[:, : t + 1].mean(1) for t in range(x.shape[1])])


@wrong("bow", "axis-added-or-lost")
def _(x):
    T = x.shape[1]
    return (x.cumsum(1) / torch.arange(1, T + 1)[:, None]).squeeze()


@wrong("bow", "axis-added-or-lost")
def _(x):
    T = x.shape[1]
    return (x.cumsum(1) / torch.arange(1, T + 1)[:, None])[None]


@wrong("bow", "size-hard-coded")
def _(x):
    out = torch.zeros_like(x)
    for t in range(8):
        out[:, t] = x[:, : t + 1].mean(1)
    return out


@wrong("bow", "size-hard-coded")
def _(x):
    w = torch.tril(torch.ones(8, 8))
    return (w / w.sum(1, keepdim=True)) @ x


@wrong("bow", "nothing-returned")
def _(x):
    x.cumsum(1) / torch.arange(1, x.shape[1] + 1).view(-1, 1)


@wrong("bow", "input-changed-in-place")
def _(x):
    with torch.no_grad():
        for t in range(1, x.shape[1]):
            x[:, t] += x[:, t - 1]
    return x / torch.arange(1, x.shape[1] + 1).view(-1, 1)


@both("bow", "future-instead-of-past", "never-normalised")
def _(x):
    return torch.stack([x[:, t:].sum(1) for t in range(x.shape[1])], 1)


@both("bow", "diagonal-masked", "never-normalised")
def _(x):
    return torch.stack([x[:, :t].sum(1) for t in range(x.shape[1])], 1)


@both("bow", "sees-the-future", "never-normalised")
def _(x):
    return x.sum(1, keepdim=True).expand_as(x)


@both("bow", "one-future-token", "divided-by-length")
def _(x):
    return torch.ones(x.shape[1], x.shape[1]).tril(1) @ x / x.shape[1]


@wrong("bow")
def _(x):
    out = [x[:, 0]]
    for t in range(1, x.shape[1]):
        out.append((out[-1] + x[:, t]) / 2)
    return torch.stack(out, 1)


@wrong("bow")
def _(x):
    T = x.shape[1]
    return (x.cumsum(1) / torch.arange(1, T + 1)[:, None]).flip(1)


@wrong("bow")
def _(x):
    return x


# ======================================== averaging_matrix
@right("averaging_matrix")
def _(T):
    w = torch.zeros(T, T)
    for i in range(T):
        w[i, : i + 1] = 1 / (i + 1)
    return w


@right("averaging_matrix")
def _(T):
    i = torch.arange(T)
    return (i[None] <= i[:, None]).float() / (i[:, None] + 1)


@right("averaging_matrix")
def _(T):
    return torch.tril(1 / torch.arange(1, T + 1, dtype=torch.float64)[:, None].repeat(1, T))


@right("averaging_matrix")
def _(T):
    return torch.log(torch.tril(torch.ones(T, T))).softmax(-1)


def avg(make, divide=lambda w: w / w.sum(1, keepdim=True)):
    return lambda T: divide(make(T))


ones = lambda T: torch.ones(T, T)
wrong("averaging_matrix", "sees-the-future")(avg(ones))
wrong("averaging_matrix", "sees-the-future")(lambda T: torch.zeros(T, T).softmax(-1))
wrong("averaging_matrix", "sees-the-future")(lambda T: torch.ones(T, T) / T)
wrong("averaging_matrix", "one-future-token")(
    lambda T: torch.zeros(T, T).masked_fill(ones(T).triu(2) == 1, -INF).softmax(1)
)
wrong("averaging_matrix", "diagonal-masked")(avg(lambda T: ones(T).tril(-1)))
wrong("averaging_matrix", "diagonal-masked")(
    lambda T: torch.nan_to_num(torch.zeros(T, T).masked_fill(ones(T).triu() == 1, -INF).softmax(1))
)
wrong("averaging_matrix", "future-instead-of-past")(avg(lambda T: ones(T).triu()))
wrong("averaging_matrix", "future-instead-of-past")(
    lambda T: torch.zeros(T, T).masked_fill(ones(T).tril(-1) == 1, -INF).softmax(-1)
)
wrong("averaging_matrix", "only-itself")(lambda T: torch.diag(torch.ones(T)))
wrong("averaging_matrix", "only-itself")(
    avg(lambda T: torch.tril(torch.ones(T, T)) * torch.triu(torch.ones(T, T)))
)
wrong("averaging_matrix", "weights-transposed")(lambda T: avg(lambda n: ones(n).tril())(T).T)
wrong("averaging_matrix", "weights-transposed")(
    lambda T: torch.zeros(T, T).masked_fill(~causal(T), -INF).softmax(-1).t()
)
wrong("averaging_matrix", "never-normalised")(lambda T: ones(T).tril())
wrong("averaging_matrix", "never-normalised")(lambda T: causal(T).float())
wrong("averaging_matrix", "divided-by-length")(lambda T: torch.tril(torch.full((T, T), 1.0 / T)))
wrong("averaging_matrix", "divided-by-length")(lambda T: ones(T).softmax(-1).tril())
wrong("averaging_matrix", "count-off-by-one")(
    lambda T: ones(T).tril() / torch.arange(T).view(-1, 1)
)
wrong("averaging_matrix", "count-off-by-one")(
    lambda T: ones(T).tril() / torch.arange(T).clamp(min=1).view(-1, 1)
)
wrong("averaging_matrix", "totals-not-a-column")(lambda T: ones(T).tril() / ones(T).tril().sum(1))
wrong("averaging_matrix", "totals-not-a-column")(lambda T: ones(T).tril() / torch.arange(1, T + 1))
wrong("averaging_matrix", "columns-normalised")(avg(causal, lambda w: w / w.sum(0)))
wrong("averaging_matrix", "columns-normalised")(lambda T: F.normalize(ones(T).tril(), p=1, dim=0))
wrong("averaging_matrix", "softmax-over-queries")(lambda T: torch.log(ones(T).tril()).softmax(0))
wrong("averaging_matrix", "zero-instead-of-minus-inf")(lambda T: F.softmax(causal(T).float(), 1))
wrong("averaging_matrix", "zero-instead-of-minus-inf")(
    lambda T: torch.zeros(T, T).masked_fill(~causal(T), 0).softmax(-1)
)
wrong("averaging_matrix", "floor-division")(
    lambda T: causal(T).long() // causal(T).long().sum(1, keepdim=True)
)
wrong("averaging_matrix", "floor-division")(
    lambda T: ones(T).tril() // torch.arange(1, T + 1)[:, None]
)
wrong("averaging_matrix", "axis-added-or-lost")(lambda T: avg(lambda n: ones(n).tril())(T)[None])
wrong("averaging_matrix", "axis-added-or-lost")(
    lambda T: avg(lambda n: ones(n).tril())(T).flatten()
)
wrong("averaging_matrix", "axis-added-or-lost")(
    lambda T: avg(lambda n: ones(n).tril())(T).squeeze()
)
wrong("averaging_matrix")(lambda T: avg(lambda n: ones(n).tril())(T).tolist())
wrong("averaging_matrix")(avg(lambda T: ones(T).tril() * ones(T).triu(-1)))
wrong("averaging_matrix")(avg(lambda T: ones(T).tril() * torch.arange(1.0, T + 1)))
wrong("averaging_matrix")(lambda T: np.tril(np.ones((T, T))))


@wrong("averaging_matrix", "random-on-every-call")
def _(T):
    return torch.randn(T, T).masked_fill(~causal(T), -INF).softmax(-1)


@wrong("averaging_matrix", "random-on-every-call")
def _(T):
    return avg(lambda n: torch.from_numpy(np.tril(np.random.rand(n, n))))(T)


@wrong("averaging_matrix", "nothing-returned")
def _(T):
    w = torch.tril(torch.ones(T, T))
    w /= w.sum(1, keepdim=True)


both("averaging_matrix", "one-future-token", "never-normalised")(lambda T: ones(T).tril(1))
both("averaging_matrix", "future-instead-of-past", "divided-by-length")(
    lambda T: ones(T).triu() / T
)
both("averaging_matrix", "future-instead-of-past", "never-normalised")(lambda T: ones(T).triu())
both("averaging_matrix", "diagonal-masked", "columns-normalised")(
    avg(lambda T: ones(T).tril(-1), lambda w: w / w.sum(0, keepdim=True))
)


# ======================================== project
def projecting(function):
    return lambda x, Wq, Wk, Wv: tuple(function(x, W) for W in (Wq, Wk, Wv))


right("project")(projecting(lambda x, W: F.linear(x, W.T)))
right("project")(projecting(lambda x, W: (W.T @ x.mT).mT))
right("project")(projecting(lambda x, W: torch.tensordot(x, W, dims=1)))
right("project")(projecting(lambda x, W: torch.stack([xb @ W for xb in x])))
right("project")(projecting(lambda x, W: (x[..., None] * W).sum(-2)))
right("project")(projecting(lambda x, W: torch.cat([xb[None] @ W[None] for xb in x])))
wrong("project", "projection-transposed")(projecting(lambda x, W: F.linear(x, W)))
wrong("project", "projection-transposed")(
    projecting(lambda x, W: torch.einsum("btc,hc->bth", x, W))
)
wrong("project", "factors-in-wrong-order")(projecting(lambda x, W: torch.matmul(W, x)))
wrong("project", "factors-in-wrong-order")(projecting(lambda x, W: W.mT @ x))
wrong("project", "elementwise-product")(projecting(lambda x, W: torch.mul(x, W)))
wrong("project", "elementwise-product")(projecting(lambda x, W: W * x))
wrong("project", "extra-step-added")(projecting(lambda x, W: F.layer_norm(x @ W, W.shape[1:])))
wrong("project", "extra-step-added")(projecting(lambda x, W: torch.tanh(x @ W)))
wrong("project", "extra-step-added")(projecting(lambda x, W: F.gelu(x @ W)))
wrong("project", "first-batch-row-only")(projecting(lambda x, W: x[:1] @ W))
wrong("project", "first-batch-row-only")(projecting(lambda x, W: (x[0] @ W).expand(len(x), -1, -1)))
wrong("project", "axis-added-or-lost")(projecting(lambda x, W: x.flatten(0, 1) @ W))
wrong("project", "axis-added-or-lost")(projecting(lambda x, W: (x @ W).unsqueeze(1)))
wrong("project", "axis-added-or-lost")(projecting(lambda x, W: (x @ W).squeeze(0)))
wrong("project", "axis-added-or-lost")(projecting(lambda x, W: (x @ W).mean(1)))
wrong("project", "gradient-cut")(projecting(lambda x, W: x @ W.detach()))
wrong("project", "gradient-cut")(projecting(lambda x, W: torch.tensor((x @ W).tolist())))
wrong("project", "bias-left-on")(projecting(lambda x, W: x @ W + torch.ones(W.shape[1])))
wrong("project", "bias-left-on")(
    projecting(lambda x, W: F.linear(x, W.T, torch.linspace(0, 1, W.shape[1])))
)
wrong("project", "one-projection-for-all")(lambda x, Wq, Wk, Wv: (x @ Wk,) * 3)
wrong("project", "one-projection-for-all")(lambda x, Wq, Wk, Wv: [x @ Wv for _ in range(3)])
wrong("project", "q-k-swapped")(lambda x, Wq, Wk, Wv: [x @ W for W in (Wk, Wq, Wv)])
wrong("project", "k-v-swapped")(lambda x, Wq, Wk, Wv: (x @ Wq, x @ Wv, x @ Wk))
wrong("project", "k-v-swapped")(lambda x, Wq, Wk, Wv: [F.linear(x, W.T) for W in (Wq, Wv, Wk)])
wrong("project")(lambda x, Wq, Wk, Wv: (x @ Wq, x @ Wk))
wrong("project")(lambda x, Wq, Wk, Wv: {"q": x @ Wq, "k": x @ Wk, "v": x @ Wv})
wrong("project")(lambda x, Wq, Wk, Wv: (x @ Wv, x @ Wq, x @ Wk))
wrong("project")(projecting(lambda x, W: (x @ W).flip(1)))
wrong("project")(projecting(lambda x, W: x @ W * 3))
wrong("project")(projecting(lambda x, W: (x @ W).mT))


@wrong("project", "projections-chained")
def _(x, Wq, Wk, Wv):
    q = x @ Wq
    k = q @ Wk
    v = k @ Wv
    return q, k, v


@wrong("project", "projections-chained")
def _(x, Wq, Wk, Wv):
    k = F.linear(x, Wk.T)
    return x @ Wq, k, F.linear(k, Wv.T)


@wrong("project", "nothing-returned")
def _(x, Wq, Wk, Wv):
    q, k, v = x @ Wq, x @ Wk, x @ Wv


# ======================================== attention_scores
def scored(function, scale=lambda q: q.shape[-1] ** -0.5):
    return lambda q, k: function(q, k) * scale(q)


qk = lambda q, k: torch.einsum("bid,bjd->bij", q, k)
scoring = "attention_scores"
right(scoring)(scored(qk))
right(scoring)(lambda q, k: torch.baddbmm(torch.zeros(1), q, k.mT, alpha=q.shape[-1] ** -0.5))
right(scoring)(lambda q, k: (k @ q.mT / math.sqrt(k.shape[-1])).mT)
right(scoring)(lambda q, k: torch.cdist(q, k).square().sub(q.square().sum(-1, True)).sub(
    k.square().sum(-1)[:, None]).mul(-0.5) / q.shape[-1] ** 0.5)  # fmt: skip
right(scoring)(lambda q, k: q @ k.transpose(1, 2) / torch.tensor(q.shape[-1]).sqrt())
right(scoring)(lambda q, k: torch.stack([a @ b.T for a, b in zip(q, k, strict=True)])
               / np.sqrt(q.shape[2]))  # fmt: skip
wrong(scoring, "not-scaled")(scored(qk, lambda q: 1))
wrong(scoring, "not-scaled")(lambda q, k: torch.bmm(q, k.permute(0, 2, 1)))
wrong(scoring, "divided-by-d-k")(scored(qk, lambda q: 1 / q.size(2)))
wrong(scoring, "divided-by-d-k")(lambda q, k: torch.bmm(q, k.mT).div(k.shape[2]))
wrong(scoring, "scaled-twice")(lambda q, k: scored(qk)(q, k) / math.sqrt(q.shape[-1]))
wrong(scoring, "multiplied-by-sqrt-d-k")(scored(qk, lambda q: q.shape[-1] ** 0.5))
wrong(scoring, "multiplied-by-sqrt-d-k")(lambda q, k: q @ k.mT / q.shape[-1] ** -0.5)
wrong(scoring, "divided-by-another-number")(scored(qk, lambda q: q.shape[0] ** -0.5))
wrong(scoring, "divided-by-another-number")(lambda q, k: qk(q, k) / qk(q, k).std())
wrong(scoring, "divided-by-another-number")(lambda q, k: qk(q, k) / qk(q, k).std(-1, keepdim=True))
wrong(scoring, "divided-by-another-number")(lambda q, k: qk(q, k) / q.shape[1])
only(scoring, "size-hard-coded")(lambda q, k: qk(q, k) / 4)
only(scoring, "size-hard-coded")(scored(qk, lambda q: 16**-0.5))
wrong(scoring, "size-hard-coded")(lambda q, k: q.view(4, 8, 16) @ k.view(4, 8, 16).mT / 4)
wrong(scoring, "root-miswritten")(lambda q, k: qk(q, k) / (q.shape[-1] ** 1 / 2))
wrong(scoring, "root-miswritten")(lambda q, k: (q / q.shape[-1] ** 0.25) @ k.mT)
wrong(scoring, "root-miswritten")(lambda q, k: qk(q, k) / math.sqrt(q))
wrong(scoring, "root-miswritten")(lambda q, k: qk(q, k) / q.shape**0.5)
wrong(scoring, "root-miswritten", "not-scaled")(lambda q, k: qk(q, k) / q.shape[-1] ** (1 // 2))
wrong(scoring, "floor-division")(lambda q, k: torch.floor_divide(qk(q, k), q.shape[-1] ** 0.5))
wrong(scoring, "floor-division")(lambda q, k: qk(q, k) // math.sqrt(q.shape[-1]))
wrong(scoring, "scores-transposed")(lambda q, k: scored(qk)(k, q))
wrong(scoring, "scores-transposed")(lambda q, k: scored(qk)(q, k).transpose(-1, -2))
wrong(scoring, "key-not-transposed")(lambda q, k: torch.bmm(q, k) / q.shape[-1] ** 0.5)
wrong(scoring, "key-not-transposed")(lambda q, k: torch.matmul(q * q.shape[-1] ** -0.5, k))
wrong(scoring, "reshaped-not-transposed")(
    lambda q, k: q @ k.view(k.size(0), k.size(2), k.size(1)) / q.size(-1) ** 0.5
)
wrong(scoring, "reshaped-not-transposed")(
    scored(lambda q, k: torch.bmm(q, k.reshape(len(k), q.shape[2], -1)))
)
wrong(scoring, "wrong-axes-transposed")(scored(lambda q, k: q @ k.transpose(0, 1)))
wrong(scoring, "wrong-axes-transposed")(scored(lambda q, k: torch.matmul(q, k.permute(2, 1, 0))))
wrong(scoring, "grid-over-features")(scored(lambda q, k: q.mT @ k))
wrong(scoring, "grid-over-features")(scored(lambda q, k: torch.einsum("bti,btj->bij", q, k)))
wrong(scoring, "elementwise-product")(scored(lambda q, k: q.mul(k)))
wrong(scoring, "elementwise-product")(scored(lambda q, k: q * k.transpose(1, 2)))
wrong(scoring, "compared-with-itself")(scored(lambda q, k: q @ q.mT))
wrong(scoring, "compared-with-itself")(scored(lambda q, k: torch.einsum("bid,bjd->bij", k, k)))
wrong(scoring, "first-batch-row-only")(scored(lambda q, k: q[:1] @ k[:1].mT))
wrong(scoring, "first-batch-row-only")(scored(lambda q, k: (q[0] @ k[0].T).expand(len(q), -1, -1)))
wrong(scoring, "batch-mixed")(scored(lambda q, k: torch.einsum("bid,cjd->ij", q, k)))
wrong(scoring, "batch-mixed")(scored(lambda q, k: torch.einsum("bid,cjd->bij", q, k)))
wrong(scoring, "batch-mixed")(scored(lambda q, k: q.flatten(0, 1) @ k.flatten(0, 1).T))
wrong(scoring, "axis-added-or-lost")(scored(lambda q, k: qk(q, k).squeeze()))
wrong(scoring, "axis-added-or-lost")(scored(lambda q, k: qk(q, k)[:, None]))
wrong(scoring, "axis-added-or-lost")(scored(lambda q, k: qk(q, k).flatten(1)))
wrong(scoring, "axis-added-or-lost")(scored(lambda q, k: qk(q, k)[:, -1]))
wrong(scoring, "returned-wrong-stage")(lambda q, k: scored(qk)(q, k).softmax(dim=-1))
wrong(scoring, "returned-wrong-stage")(
    lambda q, k: scored(qk)(q, k).masked_fill(~causal(q.shape[1]), -INF)
)
wrong(scoring, "gradient-cut")(lambda q, k: scored(qk)(q, k).detach())
wrong(scoring, "gradient-cut")(lambda q, k: scored(qk)(q.detach(), k))
wrong(scoring, "gradient-cut")(torch.no_grad()(lambda q, k: scored(qk)(q, k)))
wrong(scoring)(lambda q, k: scored(qk)(F.normalize(q, dim=-1), F.normalize(k, dim=-1)))
wrong(scoring)(lambda q, k: -torch.cdist(q, k))
wrong(scoring)(lambda q, k: scored(qk)(q, k).abs())
wrong(scoring)(lambda q, k: scored(qk)(q, k) + 1)
wrong(scoring)(lambda q, k: scored(qk)(q, k).relu())
wrong(scoring)(lambda q, k: scored(qk)(q.flip(1), k))
wrong(scoring)(lambda q, k: 1 / 0)
wrong(scoring)(lambda q, k: "scores")
wrong(scoring)(lambda q: q)


@wrong(scoring, "input-changed-in-place")
def _(q, k):
    q.data *= q.shape[-1] ** -0.5
    return q @ k.mT


@wrong(scoring, "input-changed-in-place")
def _(q, k):
    with torch.no_grad():
        k /= math.sqrt(k.shape[-1])
    return qk(q, k)


@wrong(scoring, "nothing-returned")
def _(q, k):
    scores = q @ k.mT
    scores = scores / q.shape[-1] ** 0.5  # noqa: F841


both(scoring, "divided-by-d-k", "compared-with-itself")(lambda q, k: q @ q.mT / q.shape[-1])
both(scoring, "not-scaled", "key-not-transposed")(lambda q, k: q @ k)
both(scoring, "not-scaled", "first-batch-row-only")(lambda q, k: q[0] @ k[0].T)
both(scoring, "not-scaled", "returned-wrong-stage")(lambda q, k: qk(q, k).softmax(-1))
both(scoring, "divided-by-d-k", "reshaped-not-transposed")(
    lambda q, k: q @ k.reshape(k.shape[0], k.shape[2], k.shape[1]) / k.shape[2]
)
both(scoring, "scores-transposed", "gradient-cut")(lambda q, k: scored(qk)(k, q).detach())

# ======================================== raw_scores
right("raw_scores")(qk)
right("raw_scores")(lambda q, k: torch.stack([torch.stack([kb @ qi for qi in qb])
                                              for qb, kb in zip(q, k, strict=True)]))  # fmt: skip
wrong("raw_scores", "returned-wrong-stage")(scored(qk))
wrong("raw_scores", "scores-transposed")(lambda q, k: k @ q.mT)
wrong("raw_scores", "key-not-transposed")(lambda q, k: q @ k)
wrong("raw_scores", "wrong-axes-transposed")(lambda q, k: q @ k.T)
wrong("raw_scores", "compared-with-itself")(lambda q, k: q @ q.mT)
wrong("raw_scores")(lambda q, k: qk(q, k) + 1)
wrong("raw_scores")(lambda q, k: qk(q, k) / q.shape[-1])


# ======================================== causal_mask
masking = "causal_mask"
up = lambda s, d=1: torch.triu(torch.ones(s.shape[-1], s.shape[-1]), d).bool()
right(masking)(lambda s: torch.where(up(s), torch.tensor(-INF), s))
right(masking)(lambda s: s + torch.log(causal(s.shape[-1]).float()))
right(masking)(lambda s: s + torch.zeros(s.shape[-1], s.shape[-1]).masked_fill(up(s), -INF))
right(masking)(lambda s: torch.stack([b.masked_fill(up(s), -INF) for b in s]))
right(masking)(lambda s: s.tril().masked_fill(up(s), -INF))


@right(masking)
def _(s):
    out = s.clone()
    B, T, _ = s.shape
    for b in range(B):
        for i in range(T):
            out[b, i, i + 1 :] = -INF
    return out


grey(masking, "remark-finfo-min-fill")(lambda s: s.masked_fill(up(s), torch.finfo(s.dtype).min))
grey(masking, "remark-finfo-min-fill")(
    lambda s: torch.where(up(s), torch.full_like(s, torch.finfo(s.dtype).min), s)
)
grey(masking, "remark-1e9-fill")(lambda s: s + up(s) * -1e9)
grey(masking, "remark-1e9-fill")(lambda s: torch.where(up(s), -1e9, s))
grey(masking, "remark-1e9-fill")(lambda s: s.masked_fill(up(s), -1e10))
grey(masking, "remark-scores-shifted")(lambda s: (s + 5).masked_fill(up(s), -INF))
grey(masking, "remark-scores-shifted")(lambda s: (s + causal(s.shape[-1])).masked_fill(up(s), -INF))
grey(masking, "remark-scores-shifted")(
    lambda s: (s - s.amax(-1, keepdim=True)).masked_fill(up(s), -INF)
)
wrong(masking, "sees-the-future")(lambda s: s)
wrong(masking, "sees-the-future")(lambda s: s * 1.0)
wrong(masking, "one-future-token")(lambda s: s.masked_fill(up(s, 2), -INF))
wrong(masking, "one-future-token")(lambda s: torch.where(torch.ones_like(s).tril(1) == 1, s, -INF))
wrong(masking, "diagonal-masked")(lambda s: s.masked_fill(up(s, 0), -INF))
wrong(masking, "diagonal-masked")(lambda s: torch.where(torch.ones_like(s).tril(-1) > 0, s, -INF))
wrong(masking, "future-instead-of-past")(lambda s: s.masked_fill(up(s, 1).T, -INF))
wrong(masking, "future-instead-of-past")(
    lambda s: torch.where(torch.ones_like(s).triu() > 0, s, -INF)
)
wrong(masking, "mask-polarity-flipped")(lambda s: s.masked_fill(causal(s.shape[-1]), -INF))
wrong(masking, "mask-polarity-flipped")(lambda s: torch.where(up(s), s, -INF))
wrong(masking, "mask-result-thrown-away")(lambda s: (s.masked_fill(up(s), -INF), s + 0)[1])
wrong(masking, "zero-instead-of-minus-inf")(torch.tril)
wrong(masking, "zero-instead-of-minus-inf")(lambda s: s * causal(s.shape[-1]))
wrong(masking, "zero-instead-of-minus-inf")(lambda s: torch.where(up(s), 0.0, s))
wrong(masking, "tiny-fill")(lambda s: torch.where(up(s), -1e-9, s))
wrong(masking, "tiny-fill")(lambda s: s.masked_fill(up(s), 1e-10))
wrong(masking, "fill-not-low-enough")(lambda s: s.masked_fill(up(s), -5))
wrong(masking, "fill-not-low-enough")(lambda s: torch.where(up(s), -50.0, s))
wrong(masking, "fill-not-low-enough")(lambda s: s - 20 * up(s))
wrong(masking, "plus-inf-fill")(lambda s: s.masked_fill(up(s), INF))
wrong(masking, "plus-inf-fill")(lambda s: s.masked_fill(up(s), -float("-inf")))
wrong(masking, "zero-times-inf")(lambda s: s + up(s) * -INF)
wrong(masking, "zero-times-inf")(lambda s: s + (causal(s.shape[-1]).float() - 1) * INF)
wrong(masking, "mask-added-as-ones")(lambda s: s + torch.ones_like(s).tril())
wrong(masking, "mask-added-as-ones")(lambda s: causal(s.shape[-1]).float() + s)
wrong(masking, "zeros-used-as-mask")(lambda s: s.tril().masked_fill(s.tril() == 0, -INF))
wrong(masking, "zeros-used-as-mask")(lambda s: torch.where(torch.tril(s) == 0, -INF, torch.tril(s)))
wrong(masking, "mask-not-boolean")(lambda s: s.masked_fill(torch.ones_like(s).triu(1), -INF))
wrong(masking, "mask-not-boolean")(lambda s: s.masked_fill(~torch.ones_like(s).tril(), -INF))
wrong(masking, "mask-not-boolean")(lambda s: torch.where(torch.ones_like(s).tril(), s, -INF))
wrong(masking, "mask-sized-by-wrong-number")(lambda s: s.masked_fill(~causal(s.shape[0]), -INF))
wrong(masking, "mask-sized-by-wrong-number")(
    lambda s: s + torch.full((len(s), len(s)), -INF).triu(1)
)
wrong(masking, "size-hard-coded")(lambda s: s.masked_fill(~causal(8), -INF))
wrong(masking, "size-hard-coded")(lambda s: s.view(4, 8, 8).masked_fill(~causal(8), -INF))
wrong(masking, "size-hard-coded")(
    lambda s: s.masked_fill(~causal(8)[: s.shape[-1], : s.shape[-1]], -INF)
)
wrong(masking, "first-batch-row-only")(lambda s: s[:1].masked_fill(up(s), -INF))
wrong(masking, "first-batch-row-only")(lambda s: torch.cat([s[:1].masked_fill(up(s), -INF), s[1:]]))
wrong(masking, "axis-added-or-lost")(lambda s: s.masked_fill(up(s), -INF).squeeze())
wrong(masking, "axis-added-or-lost")(lambda s: s.masked_fill(up(s), -INF).unsqueeze(0))
wrong(masking, "returned-wrong-stage")(lambda s: s.masked_fill(up(s), -INF).softmax(-1))
wrong(masking, "returned-wrong-stage")(lambda s: torch.ones_like(s[0]).tril())
wrong(masking, "returned-wrong-stage")(lambda s: up(s))
wrong(masking, "gradient-cut")(lambda s: s.detach().masked_fill(up(s), -INF))
wrong(masking, "gradient-cut")(lambda s: torch.tensor(s.masked_fill(up(s), -INF).tolist()))
wrong(masking)(lambda s: s.masked_fill(up(s), torch.nan))
wrong(masking)(lambda s: s.masked_fill(up(s, 3), -INF))
wrong(masking)(lambda s: s.masked_fill(up(s) | up(s, 2).T, -INF))
wrong(masking)(lambda s: -s.masked_fill(up(s), INF))
wrong(masking)(lambda s: s.mT.masked_fill(up(s), -INF))
wrong(masking)(lambda s: s.masked_fill(up(s), 7.0))


@wrong(masking, "nothing-returned")
def _(s):
    s.masked_fill(up(s), -INF)


@wrong(masking, "nothing-returned")
def _(s):
    s.masked_fill_(up(s), -INF)


@wrong(masking, "input-changed-in-place")
def _(s):
    s.data[:, up(s)] = -INF
    return s


@wrong(masking, "input-changed-in-place")
def _(s):
    return s.data.masked_fill_(up(s), -INF)


both(masking, "one-future-token", "zero-instead-of-minus-inf")(lambda s: s.tril(1))
both(masking, "future-instead-of-past", "zero-instead-of-minus-inf")(torch.triu)
both(masking, "one-future-token", "fill-not-low-enough")(lambda s: s.masked_fill(up(s, 2), -10))
both(masking, "mask-polarity-flipped", "zero-instead-of-minus-inf")(lambda s: s * up(s))


# ======================================== causal_weights
weighting = "causal_weights"
ok = lambda s: s.masked_fill(up(s), -INF)


@right(weighting)
def _(s):
    e = torch.exp(s - s.masked_fill(up(s), -INF).amax(-1, keepdim=True)).tril()
    return torch.nan_to_num(e, posinf=0.0) / e.nan_to_num(posinf=0.0).sum(-1, keepdim=True)


right(weighting)(lambda s: ok(s).log_softmax(-1).exp())
right(weighting)(lambda s: F.softmax(torch.where(up(s), torch.finfo(s.dtype).min, s), dim=2))
right(weighting)(lambda s: torch.softmax(s.masked_fill(up(s), -1e4), -1))
right(weighting)(lambda s: torch.softmax(ok(s).double(), -1).to(s.dtype))
right(weighting)(lambda s: torch.stack([nn.Softmax(-1)(b) for b in ok(s)]))
right(weighting)(lambda s: ok(s.mT.mT).mT.softmax(1).mT)
right(weighting)(lambda s: F.dropout(ok(s).softmax(-1), 0.0))
grey(weighting, "remark-1e9-fill")(lambda s: s.masked_fill(up(s), -1e9).softmax(-1))
grey(weighting, "remark-1e9-fill")(
    lambda s: torch.where(up(s), torch.full_like(s, -1e9), s).softmax(-1)
)
grey(weighting, "remark-unstable-softmax")(
    lambda s: s.exp().tril() / s.exp().tril().sum(-1, keepdim=True)
)
grey(weighting, "remark-unstable-softmax")(
    lambda s: (ok(s) - s.max()).exp() / (ok(s) - s.max()).exp().sum(-1, keepdim=True)
)
grey(weighting, "remark-renormalised-after-softmax")(
    lambda s: F.normalize(s.softmax(-1) * causal(s.shape[-1]), p=1, dim=-1)
)
grey(weighting, "remark-renormalised-after-softmax")(
    lambda s: s.softmax(-1).tril() / s.softmax(-1).tril().sum(-1)[..., None]
)
grey(weighting, "remark-float16-softmax")(lambda s: ok(s).to(torch.float16).softmax(-1).float())
grey(weighting, "remark-float16-softmax")(lambda s: ok(s).half().softmax(-1))
wrong(weighting, "sees-the-future")(lambda s: torch.softmax(s, 2))
wrong(weighting, "sees-the-future")(lambda s: s.exp() / s.exp().sum(-1, keepdim=True))
wrong(weighting, "one-future-token")(lambda s: s.masked_fill(up(s, 2), -INF).softmax(-1))
wrong(weighting, "one-future-token")(
    lambda s: torch.where(torch.ones_like(s).tril(1) == 1, s, -1e9).softmax(-1)
)
wrong(weighting, "diagonal-masked")(lambda s: s.masked_fill(up(s, 0), -INF).softmax(-1))
wrong(weighting, "diagonal-masked")(
    lambda s: s.masked_fill(up(s, 0), -INF).softmax(-1).nan_to_num(0)
)
wrong(weighting, "diagonal-masked")(lambda s: s.masked_fill(up(s, 0), -1e9).softmax(-1))
wrong(weighting, "future-instead-of-past")(lambda s: s.masked_fill(up(s).T, -INF).softmax(-1))
wrong(weighting, "future-instead-of-past")(
    lambda s: (s + torch.full_like(s, -INF).tril(-1)).softmax(-1)
)
wrong(weighting, "mask-polarity-flipped")(
    lambda s: s.masked_fill(causal(s.shape[-1]), -1e9).softmax(-1)
)
wrong(weighting, "mask-polarity-flipped")(
    lambda s: torch.where(up(s), s, -INF).softmax(-1).nan_to_num()
)
wrong(weighting, "only-itself")(lambda s: torch.eye(s.shape[-1]).expand_as(s))
wrong(weighting, "only-itself")(
    lambda s: s.masked_fill(torch.eye(s.shape[-1]) == 0, -INF).softmax(-1)
)
wrong(weighting, "weights-transposed")(lambda s: ok(s).softmax(-1).transpose(1, 2))
wrong(weighting, "weights-transposed")(lambda s: torch.einsum("bij->bji", ok(s).softmax(-1)))
wrong(weighting, "scores-ignored")(lambda s: ok(torch.zeros_like(s)).softmax(-1))
wrong(weighting, "scores-ignored")(
    lambda s: (causal(s.shape[-1]) / causal(s.shape[-1]).sum(1, True)).repeat(len(s), 1, 1)
)
wrong(weighting, "mask-after-softmax")(lambda s: s.softmax(-1).tril())
wrong(weighting, "mask-after-softmax")(lambda s: torch.where(up(s), 0, F.softmax(s, -1)))
wrong(weighting, "mask-after-softmax")(lambda s: s.softmax(-1).masked_fill(up(s), -INF))
wrong(weighting, "zero-instead-of-minus-inf")(lambda s: s.tril().softmax(-1))
wrong(weighting, "zero-instead-of-minus-inf")(lambda s: (s * causal(s.shape[-1])).softmax(-1))
wrong(weighting, "tiny-fill")(lambda s: torch.where(up(s), -1e-9, s).softmax(-1))
wrong(weighting, "tiny-fill")(lambda s: (s.tril() + up(s) * -1e-8).softmax(-1))
wrong(weighting, "fill-not-low-enough")(lambda s: s.masked_fill(up(s), -3).softmax(-1))
wrong(weighting, "fill-not-low-enough")(lambda s: (s - 8 * up(s)).softmax(-1))
wrong(weighting, "fill-not-low-enough")(lambda s: s.masked_fill(up(s), -100).softmax(-1))
wrong(weighting, "plus-inf-fill")(lambda s: s.masked_fill(up(s), INF).softmax(-1))
wrong(weighting, "plus-inf-fill")(lambda s: (s + torch.full_like(s, INF).triu(1)).softmax(-1))
wrong(weighting, "zero-times-inf")(
    lambda s: (s + (1 - torch.ones_like(s).tril()) * -INF).softmax(-1)
)
wrong(weighting, "zero-times-inf")(lambda s: (s + up(s).float() * float("-inf")).softmax(dim=-1))
wrong(weighting, "mask-added-as-ones")(lambda s: (s + torch.ones_like(s).tril()).softmax(-1))
wrong(weighting, "mask-added-as-ones")(lambda s: (causal(s.shape[-1]) + s).softmax(-1))
wrong(weighting, "zeros-used-as-mask")(
    lambda s: s.tril().masked_fill(s.tril() == 0, -INF).softmax(-1)
)
wrong(weighting, "zeros-used-as-mask")(
    lambda s: torch.where(s.tril() != 0, s, torch.tensor(-INF)).softmax(-1)
)
wrong(weighting, "mask-not-boolean")(
    lambda s: s.masked_fill(torch.ones_like(s).triu(1), -INF).softmax(-1)
)
wrong(weighting, "mask-sized-by-wrong-number")(
    lambda s: s.masked_fill(~causal(s.size(0)), -INF).softmax(-1)
)
wrong(weighting, "never-normalised")(lambda s: torch.exp(s).tril())
wrong(weighting, "never-normalised")(lambda s: torch.exp(ok(s)))
wrong(weighting, "totals-not-a-column")(lambda s: ok(s).exp() / ok(s).exp().sum(-1))
wrong(weighting, "totals-not-a-column")(lambda s: s.exp().tril() / s.exp().tril().sum(2))
wrong(weighting, "columns-normalised")(lambda s: s.tril() / s.tril().sum(-2, keepdim=True))
wrong(weighting, "columns-normalised")(lambda s: s.tril() / s.tril().sum(1)[:, None])
wrong(weighting, "hard-maximum")(lambda s: (ok(s) == ok(s).amax(-1, keepdim=True)).to(s.dtype))
wrong(weighting, "hard-maximum")(
    lambda s: torch.zeros_like(s).scatter(-1, ok(s).argmax(-1, keepdim=True), 1.0)
)
wrong(weighting, "softmax-over-queries")(lambda s: ok(s).softmax(1))
wrong(weighting, "softmax-over-queries")(lambda s: ok(s).mT.softmax(-1).mT)
wrong(weighting, "softmax-over-batch")(lambda s: torch.softmax(ok(s), 0))
wrong(weighting, "softmax-without-dim")(lambda s: nn.Softmax()(ok(s)))
wrong(weighting, "softmax-without-dim")(lambda s: torch.softmax(ok(s)))
wrong(weighting, "softmax-over-grid")(
    lambda s: ok(s).exp() / ok(s).exp().sum((-2, -1), keepdim=True)
)
wrong(weighting, "softmax-over-grid")(lambda s: ok(s).view(len(s), -1).softmax(-1).view(s.shape))
wrong(weighting, "softmax-twice")(lambda s: ok(s).softmax(-1).softmax(-1))
wrong(weighting, "softmax-twice")(lambda s: ok(s.softmax(-1)).softmax(-1))
wrong(weighting, "not-a-softmax")(lambda s: ok(s).sigmoid())
wrong(weighting, "not-a-softmax")(lambda s: s.relu().tril() / s.relu().tril().sum(-1, keepdim=True))
wrong(weighting, "not-a-softmax")(lambda s: F.log_softmax(ok(s), -1))
wrong(weighting, "not-a-softmax")(
    lambda s: F.normalize((ok(s) - ok(s).amax(-2, keepdim=True)).exp(), p=1, dim=-1)
)
wrong(weighting, "not-a-softmax")(
    lambda s: s.square().tril() / s.square().tril().sum(-1, keepdim=True)
)
wrong(weighting, "not-a-softmax")(lambda s: ok(s).sigmoid() / ok(s).sigmoid().sum(-1, keepdim=True))
wrong(weighting, "dropout-always-on")(lambda s: nn.Dropout(0.5)(ok(s).softmax(-1)))
wrong(weighting, "dropout-always-on")(lambda s: ok(F.dropout(s, 0.2)).softmax(-1))
wrong(weighting, "dropout-always-on")(
    lambda s: ok(s).softmax(-1) * (torch.rand_like(s) > 0.2) / 0.8
)
wrong(weighting, "first-batch-row-only")(lambda s: ok(s)[0].softmax(-1))
wrong(weighting, "first-batch-row-only")(lambda s: ok(s)[:1].softmax(-1).expand_as(s))
wrong(weighting, "axis-added-or-lost")(lambda s: ok(s).softmax(-1).squeeze())
wrong(weighting, "axis-added-or-lost")(lambda s: ok(s).softmax(-1)[:, None])
wrong(weighting, "axis-added-or-lost")(lambda s: ok(s).softmax(-1).mean(1))
wrong(weighting, "size-hard-coded")(lambda s: s.masked_fill(~causal(8), -INF).softmax(-1))
wrong(weighting, "size-hard-coded")(lambda s: ok(s.reshape(4, 8, 8)).softmax(-1))
wrong(weighting, "returned-wrong-stage")(ok)
wrong(weighting, "returned-wrong-stage")(lambda s: causal(s.shape[-1]).float())
wrong(weighting, "gradient-cut")(lambda s: ok(s).softmax(-1).detach())
wrong(weighting, "gradient-cut")(torch.no_grad()(lambda s: ok(s).softmax(-1)))
wrong(weighting, "mask-result-thrown-away")(
    lambda s: (torch.masked_fill(s, up(s), -INF), s.softmax(-1))[1]
)
wrong(weighting)(lambda s: (ok(s) * 2).softmax(-1))
wrong(weighting)(lambda s: s.masked_fill(up(s) | up(s, 2).T, -INF).softmax(-1))
wrong(weighting)(lambda s: (ok(s) - torch.arange(s.shape[-1])).softmax(-1))
wrong(weighting)(lambda s: 0.9 * ok(s).softmax(-1))
wrong(weighting)(lambda s: s.masked_fill(up(s, 3), -INF).softmax(-1))
wrong(weighting)(lambda s: ok(s).softmax(-1).flip(-1))
wrong(weighting)(lambda s: ok(s.mT).softmax(-1))
wrong(weighting)(lambda s: ok(s).softmax(-1) + torch.randn_like(s) * 0.1)
wrong(weighting)(lambda s: ok(s).softmax(-1).round())


@wrong(weighting, "mask-result-thrown-away")
def _(s):
    s + torch.full_like(s, -INF).triu(1)
    return F.softmax(s, dim=-1)


@wrong(weighting, "input-changed-in-place")
def _(s):
    s.data.masked_fill_(up(s), -INF)
    return s.softmax(-1)


@wrong(weighting, "nothing-returned")
def _(s):
    w = ok(s).softmax(-1)
    assert w.sum() > 0


both(weighting, "one-future-token", "zero-instead-of-minus-inf")(lambda s: s.tril(1).softmax(-1))
both(weighting, "sees-the-future", "softmax-over-queries")(lambda s: s.softmax(1))
both(weighting, "zero-instead-of-minus-inf", "softmax-over-queries")(lambda s: s.tril().softmax(1))
both(weighting, "diagonal-masked", "softmax-over-queries")(
    lambda s: s.masked_fill(up(s, 0), -INF).softmax(-2)
)
both(weighting, "future-instead-of-past", "mask-after-softmax")(lambda s: s.softmax(-1).triu())
both(weighting, "one-future-token", "never-normalised")(lambda s: s.exp().tril(1))
both(weighting, "one-future-token", "dropout-always-on")(
    lambda s: F.dropout(s.masked_fill(up(s, 2), -INF).softmax(-1), 0.4)
)


# ======================================== the whole recipe
def attention(
    scale=lambda r, q, x: r / q.shape[-1] ** 0.5,
    mask=ok,
    soft=lambda s: s.softmax(-1),
    mix=lambda w, v, x: w @ v,
    qkv=lambda x, Wq, Wk, Wv: (x @ Wq, x @ Wk, x @ Wv),
    grid=lambda q, k: q @ k.transpose(-2, -1),
    end=lambda out, x: out,
):
    def attempt(x, Wq, Wk, Wv):
        q, k, v = qkv(x, Wq, Wk, Wv)
        return end(mix(soft(mask(scale(grid(q, k), q, x))), v, x), x)

    return attempt


def head(**changes):
    """The same as a class, written out in another style than given.py's."""
    f = attention(**changes)

    class Head(nn.Module):
        def __init__(self, n_embd, head_size, block_size):
            super().__init__()
            self.value = nn.Linear(n_embd, head_size, bias=False)
            self.key = nn.Linear(n_embd, head_size, bias=False)
            self.query = nn.Linear(n_embd, head_size, bias=False)
            self.register_buffer("tril", torch.ones(block_size, block_size).tril())

        def forward(self, x):
            return f(x, self.query.weight.T, self.key.weight.T, self.value.weight.T)

    return Head


def in_all(slugs, kinds="self_attention causal_attention Head", kind=wrong, **changes):
    """Register one change in each exercise that has the recipe."""
    for exercise in kinds.split():
        make = head if exercise == "Head" else attention
        own = dict(changes)
        if exercise == "self_attention" and "mask" not in own:
            own["mask"] = lambda s: s
        kind(exercise, *slugs)(make(**own))


CAUSAL = "causal_attention Head"
in_all((), kind=lambda e: right(e))
in_all((), kind=lambda e: right(e), soft=lambda s: s.exp() / s.exp().sum(-1, keepdim=True))
in_all((), kind=lambda e: right(e), mix=lambda w, v, x: torch.einsum("bij,bjd->bid", w, v))
in_all((), kind=lambda e: right(e), grid=lambda q, k: torch.einsum("bid,bjd->bij", q, k))
in_all((), kind=lambda e: right(e), scale=lambda r, q, x: r * q.shape[-1] ** -0.5)
in_all((), CAUSAL, lambda e: right(e), mask=lambda s: s.masked_fill(up(s), -1e9))
in_all((), CAUSAL, lambda e: right(e), mask=lambda s: s + torch.full_like(s, -INF).triu(1))
in_all((), CAUSAL, lambda e: right(e), mask=lambda s: s, soft=lambda s: F.normalize(
    s.softmax(-1).tril(), p=1, dim=-1))  # fmt: skip
in_all(
    (), CAUSAL, lambda e: right(e), mask=lambda s: s.masked_fill(up(s), torch.finfo(s.dtype).min)
)
in_all(("not-scaled",), scale=lambda r, q, x: r)
in_all(("divided-by-d-k",), scale=lambda r, q, x: r.div(q.size(2)))
in_all(("scaled-twice",), scale=lambda r, q, x: r / q.shape[-1] ** 0.5 / q.shape[-1] ** 0.5)
in_all(("multiplied-by-sqrt-d-k",), scale=lambda r, q, x: r * math.sqrt(q.shape[-1]))
in_all(("divided-by-sqrt-c",), scale=lambda r, q, x: r / math.sqrt(x.size(-1)))
in_all(("divided-by-sqrt-c",), scale=lambda r, q, x: r * x.shape[2] ** -0.5)
in_all(("divided-by-another-number",), scale=lambda r, q, x: r / math.sqrt(x.shape[1]))
in_all(("divided-by-another-number",), scale=lambda r, q, x: r / r.std())
in_all(("divided-by-another-number", "size-hard-coded"), scale=lambda r, q, x: r / 8)
in_all(("divided-by-another-number",), scale=lambda r, q, x: r / 10)
in_all(("size-hard-coded",), scale=lambda r, q, x: r * 16**-0.5)
in_all(("root-miswritten",), scale=lambda r, q, x: r / q.shape[-1] ** 1 / 2)
in_all(("root-miswritten",), scale=lambda r, q, x: r / q.shape[-1] ** 0.25)
in_all(("root-miswritten",), scale=lambda r, q, x: r / torch.sqrt(q.shape[-1]))
in_all(
    ("scaled-after-softmax",),
    scale=lambda r, q, x: r,
    mix=lambda w, v, x: w @ v / v.shape[-1] ** 0.5,
)
in_all(("scaled-after-softmax",), soft=lambda s: s.softmax(-1) / 6**0.5,
       mix=lambda w, v, x: w * 6**0.5 * v.shape[-1] ** -0.5 @ v)  # fmt: skip
in_all(("softmax-over-queries",), soft=lambda s: s.softmax(-2))
in_all(("softmax-over-queries",), soft=lambda s: s.exp() / s.exp().sum(1, keepdim=True))
in_all(("softmax-over-batch",), soft=lambda s: torch.softmax(s, dim=0))
in_all(("softmax-without-dim",), soft=F.softmax)
in_all(("softmax-over-grid",), soft=lambda s: s.flatten(1).softmax(1).reshape(s.shape))
in_all(("softmax-twice",), soft=lambda s: s.softmax(-1).softmax(-1))
in_all(("softmax-missing",), "self_attention", soft=lambda s: s)
in_all(("softmax-missing",), CAUSAL, mask=torch.tril, soft=lambda s: s)
in_all(("softmax-missing",), CAUSAL, soft=lambda s: s)
in_all(("softmax-on-values",), mix=lambda w, v, x: w @ v.softmax(-1))
in_all(("softmax-on-values",), mix=lambda w, v, x: (w @ v).softmax(-1))
in_all(
    ("softmax-on-values",),
    "self_attention",
    soft=lambda s: s,
    mix=lambda w, v, x: (w @ v).softmax(-1),
)
in_all(("not-a-softmax",), soft=lambda s: s.sigmoid())
in_all(("not-a-softmax",), soft=lambda s: s.exp() / (1 + s.exp().sum(-1, keepdim=True)))
in_all(("not-a-softmax",), "self_attention", soft=lambda s: s / s.sum(-1, keepdim=True))
in_all(("not-a-softmax",), "self_attention", soft=lambda s: s.log_softmax(-1))
in_all(("dropout-always-on",), soft=lambda s: F.dropout(s.softmax(-1), 0.5))
in_all(("dropout-always-on",), soft=lambda s: nn.Dropout(0.1)(s.softmax(-1)))
in_all(("scores-transposed",), grid=lambda q, k: torch.einsum("bid,bjd->bji", q, k))
in_all(("q-k-swapped",), qkv=lambda x, Wq, Wk, Wv: (x @ Wk, x @ Wq, x @ Wv))
in_all(("k-v-swapped",), qkv=lambda x, Wq, Wk, Wv: (x @ Wq, x @ Wv, x @ Wk))
in_all(("key-not-transposed",), grid=lambda q, k: q @ k)
in_all(("key-not-transposed",), grid=torch.bmm)
in_all(("reshaped-not-transposed",), grid=lambda q, k: q @ k.reshape(len(k), k.shape[2], -1))
in_all(("wrong-axes-transposed",), grid=lambda q, k: q @ k.T)
in_all(("wrong-axes-transposed",), grid=lambda q, k: q @ k.transpose(0, 1))
in_all(("grid-over-features",), grid=lambda q, k: q.mT @ k)
in_all(("grid-over-features",), grid=lambda q, k: q.mT @ k, mix=lambda w, v, x: v @ w)
in_all(("elementwise-product",), grid=lambda q, k: q * k)
in_all(("elementwise-product",), mix=lambda w, v, x: w * v)
in_all(("compared-with-itself",), grid=lambda q, k: q @ q.mT)
in_all(("compared-with-itself",), grid=lambda q, k: k @ k.mT)
in_all(("projection-transposed",), qkv=lambda x, Wq, Wk, Wv: (x @ Wq.T, x @ Wk.T, x @ Wv.T))
in_all(("projection-transposed",), "self_attention causal_attention",
       qkv=lambda x, Wq, Wk, Wv: [F.linear(x, W) for W in (Wq, Wk, Wv)])  # fmt: skip
in_all(("factors-in-wrong-order",), "self_attention causal_attention", mix=lambda w, v, x: v @ w)
in_all(("factors-in-wrong-order",), "self_attention causal_attention",
       qkv=lambda x, Wq, Wk, Wv: (Wq @ x, Wk @ x, Wv @ x))  # fmt: skip
in_all(("one-projection-for-all",), qkv=lambda x, Wq, Wk, Wv: (x @ Wk,) * 3)
in_all(("one-projection-for-all",), qkv=lambda x, Wq, Wk, Wv: (x @ Wv,) * 3)
in_all(("projections-chained",), qkv=lambda x, Wq, Wk, Wv: (x @ Wq, x @ Wq @ Wk, x @ Wq @ Wk @ Wv))
in_all(("projections-chained",), qkv=lambda x, Wq, Wk, Wv: (x @ Wq, x @ Wk, (x @ Wk) @ Wv))
in_all(("projection-skipped",), mix=lambda w, v, x: w @ x)
in_all(("projection-skipped",), qkv=lambda x, Wq, Wk, Wv: (x, x, x @ Wv))
in_all(("projection-skipped",), qkv=lambda x, Wq, Wk, Wv: (x @ Wq, x, x @ Wv))
in_all(("wrong-tensor-averaged",), qkv=lambda x, Wq, Wk, Wv: (x @ Wq, x @ Wk, x @ Wq))
in_all(("wrong-tensor-averaged",), qkv=lambda x, Wq, Wk, Wv: (x @ Wq, x @ Wk, x @ Wk))
in_all(("extra-step-added",), end=lambda out, x: out.relu())
in_all(("extra-step-added",), end=lambda out, x: F.layer_norm(out, out.shape[-1:]))
in_all(
    ("extra-step-added",),
    qkv=lambda x, Wq, Wk, Wv: ((x @ Wq).relu(), (x @ Wk).relu(), (x @ Wv).relu()),
)
in_all(("extra-step-added",), mix=lambda w, v, x: w @ v + v)
in_all(("extra-step-added",), "self_attention causal_attention Head", end=lambda out, x: out + x)
in_all(("weights-transposed",), mix=lambda w, v, x: w.mT @ v)
in_all(("weights-transposed",), mix=lambda w, v, x: torch.einsum("bji,bjd->bid", w, v))
in_all(("first-batch-row-only",), end=lambda out, x: out[0])
in_all(("first-batch-row-only",), end=lambda out, x: out[:1])
in_all(("first-batch-row-only",), end=lambda out, x: out[0].expand_as(out))
in_all(("batch-mixed",), grid=lambda q, k: torch.einsum("bid,cjd->bij", q, k))
in_all(
    ("batch-mixed",),
    grid=lambda q, k: torch.einsum("bid,bjd->ij", q, k)[None].expand(len(q), -1, -1),
)
in_all(("batch-mixed",), grid=lambda q, k: torch.einsum("bid,bjd->ij", q, k))
in_all(("axis-added-or-lost",), end=lambda out, x: out.squeeze())
in_all(("axis-added-or-lost",), end=lambda out, x: out[:, -1])
in_all(("axis-added-or-lost",), end=lambda out, x: out.mean(1))
in_all(("axis-added-or-lost",), end=lambda out, x: out.flatten(0, 1))
in_all(("axis-added-or-lost",), end=lambda out, x: out[:, None])
in_all(("size-hard-coded",), end=lambda out, x: out.view(4, 8, 16))
in_all(("size-hard-coded",), end=lambda out, x: out[:, torch.arange(8)])
in_all(("size-hard-coded",), CAUSAL, mask=lambda s: s.masked_fill(~causal(8), -INF))
in_all(("returned-wrong-stage",), mix=lambda w, v, x: w)
in_all(("returned-wrong-stage",), soft=lambda s: s, mix=lambda w, v, x: w)
in_all(("returned-a-pair",), mix=lambda w, v, x: (w @ v, w))
in_all(("returned-a-pair",), mix=lambda w, v, x: [w @ v, w])
in_all(("nothing-returned",), end=lambda out, x: None)
in_all(("gradient-cut",), end=lambda out, x: out.detach())
in_all(("gradient-cut",), soft=lambda s: s.detach().softmax(-1))
in_all(("sees-the-future",), CAUSAL, mask=lambda s: s)
in_all(("sees-the-future",), CAUSAL, mask=lambda s: s.masked_fill(up(s, s.shape[-1]), -INF))
in_all(("one-future-token",), CAUSAL, mask=lambda s: s.masked_fill(up(s, 2), -1e9))
in_all(("one-future-token",), CAUSAL, mask=lambda s: s + torch.full_like(s, -INF).triu(2))
in_all(("diagonal-masked",), CAUSAL, mask=lambda s: s.masked_fill(up(s, 0), -INF))
in_all(("diagonal-masked",), CAUSAL, mask=lambda s: s.masked_fill(up(s, 0), -INF),
       soft=lambda s: s.softmax(-1).nan_to_num(0.0))  # fmt: skip
in_all(("future-instead-of-past",), CAUSAL, mask=lambda s: s.masked_fill(up(s).T, -INF))
in_all(("mask-polarity-flipped",), CAUSAL, mask=lambda s: s.masked_fill(causal(s.shape[-1]), -INF))
in_all(("mask-polarity-flipped",), CAUSAL, mask=lambda s: s.masked_fill(~up(s), -1e9))
in_all(("only-itself",), CAUSAL, soft=lambda s: torch.eye(s.shape[-1]).expand_as(s))
in_all(("only-itself",), CAUSAL, mask=lambda s: s.masked_fill(torch.eye(s.shape[-1]) == 0, -INF))
in_all(("scores-ignored",), CAUSAL, scale=lambda r, q, x: torch.zeros_like(r))
in_all(
    ("scores-ignored",),
    CAUSAL,
    soft=lambda s: causal(s.shape[-1]) / causal(s.shape[-1]).sum(1, True),
)
in_all(("mask-after-softmax",), CAUSAL, mask=lambda s: s, soft=lambda s: s.softmax(-1).tril())
in_all(("mask-after-softmax",), CAUSAL, mask=lambda s: s,
       soft=lambda s: s.softmax(-1).masked_fill(up(s), -INF))  # fmt: skip
in_all(("zero-instead-of-minus-inf",), CAUSAL, mask=torch.tril)
in_all(("zero-instead-of-minus-inf",), CAUSAL, mask=lambda s: s.masked_fill(up(s), 0))
in_all(("tiny-fill",), CAUSAL, mask=lambda s: s.masked_fill(up(s), -1e-9))
in_all(("fill-not-low-enough",), CAUSAL, mask=lambda s: s.masked_fill(up(s), -10))
in_all(("fill-not-low-enough",), CAUSAL, mask=lambda s: s.masked_fill(up(s), -4))
in_all(("fill-not-low-enough",), CAUSAL, mask=lambda s: s - 5 * up(s))
in_all(("plus-inf-fill",), CAUSAL, mask=lambda s: s.masked_fill(up(s), INF))
in_all(("zero-times-inf",), CAUSAL, mask=lambda s: s + up(s) * -INF)
in_all(("mask-added-as-ones",), CAUSAL, mask=lambda s: s + causal(s.shape[-1]))
in_all(("zeros-used-as-mask",), CAUSAL, mask=lambda s: s.tril().masked_fill(s.tril() == 0, -INF))
in_all(
    ("mask-not-boolean",), CAUSAL, mask=lambda s: s.masked_fill(torch.ones_like(s).triu(1), -INF)
)
in_all(
    ("mask-not-boolean",), CAUSAL, mask=lambda s: s.masked_fill(~torch.ones_like(s).tril(), -INF)
)
in_all(
    ("mask-sized-by-wrong-number",), CAUSAL, mask=lambda s: s.masked_fill(~causal(s.shape[0]), -INF)
)
in_all(("mask-sized-by-wrong-number",), CAUSAL, scale=lambda r, q, x: (r / q.shape[-1] ** 0.5).masked_fill(
    ~causal(q.shape[-1]), -INF), mask=lambda s: s)  # fmt: skip
in_all(("values-masked",), CAUSAL, mask=lambda s: s, mix=lambda w, v, x: w @ v.tril())
in_all(("values-masked",), CAUSAL, mask=lambda s: s,
       mix=lambda w, v, x: w @ v.masked_fill(~causal(x.shape[1]), 0.0))  # fmt: skip
in_all(("mask-result-thrown-away",), CAUSAL, mask=lambda s: (ok(s), s)[1])
in_all(("masked-though-not-asked",), "self_attention", mask=ok)
in_all(("masked-though-not-asked",), "self_attention", mask=lambda s: s.masked_fill(up(s), -1e9))
in_all((), mix=lambda w, v, x: 2 * (w @ v))
in_all((), scale=lambda r, q, x: 2 * r / q.shape[-1] ** 0.5)
in_all((), mix=lambda w, v, x: (w @ v).flip(1))
in_all((), soft=lambda s: (s + torch.arange(s.shape[-1])).softmax(-1))
in_all((), CAUSAL, mask=lambda s: s.masked_fill(up(s) | up(s, 3).T, -INF))
in_all((), CAUSAL, mask=lambda s: s.masked_fill(up(s, 3), -INF))
in_all((), qkv=lambda x, Wq, Wk, Wv: [F.normalize(x @ W, dim=-1) for W in (Wq, Wk)] + [x @ Wv])
in_all((), mix=lambda w, v, x: w @ v.flip(-1))
in_all((), end=lambda out, x: out.mT)
in_all((), mix=lambda w, v, x: w @ v.cumsum(1))
in_all((), end=lambda out, x: undefined_name)  # noqa: F821
in_all(("not-scaled", "softmax-over-queries"), kind=both, scale=lambda r, q, x: r,
       soft=lambda s: s.softmax(1))  # fmt: skip
in_all(("not-scaled", "one-future-token"), CAUSAL, both, scale=lambda r, q, x: r,
       mask=lambda s: s.masked_fill(up(s, 2), -INF))  # fmt: skip
in_all(("divided-by-d-k", "mask-after-softmax"), CAUSAL, both, mask=lambda s: s,
       scale=lambda r, q, x: r / q.shape[-1], soft=lambda s: s.softmax(-1).tril())  # fmt: skip
in_all(("not-scaled", "returned-a-pair"), kind=both, scale=lambda r, q, x: r,
       mix=lambda w, v, x: (w @ v, w))  # fmt: skip
in_all(("divided-by-sqrt-c", "sees-the-future"), CAUSAL, both, mask=lambda s: s,
       scale=lambda r, q, x: r / x.shape[-1] ** 0.5)  # fmt: skip
in_all(("k-v-swapped", "not-scaled"), kind=both, scale=lambda r, q, x: r,
       qkv=lambda x, Wq, Wk, Wv: (x @ Wq, x @ Wv, x @ Wk))  # fmt: skip
in_all(("not-scaled", "key-not-transposed"), kind=both, scale=lambda r, q, x: r,
       grid=lambda q, k: q @ k)  # fmt: skip
in_all(("not-scaled", "axis-added-or-lost"), kind=both, scale=lambda r, q, x: r,
       end=lambda out, x: out[:, None])  # fmt: skip
in_all(("zero-instead-of-minus-inf", "weights-transposed"), CAUSAL, both, mask=torch.tril,
       mix=lambda w, v, x: w.mT @ v)  # fmt: skip
in_all(("dropout-always-on", "not-scaled"), kind=both, scale=lambda r, q, x: r,
       soft=lambda s: F.dropout(s.softmax(-1), 0.3))  # fmt: skip
in_all(("compared-with-itself", "divided-by-d-k"), kind=both, grid=lambda q, k: q @ q.mT,
       scale=lambda r, q, x: r / q.shape[-1])  # fmt: skip


# ======================================== Head, the class itself
class Base(nn.Module):
    def __init__(self, C, head_size, block_size):
        super().__init__()
        self.query = nn.Linear(C, head_size, bias=False)
        self.key = nn.Linear(C, head_size, bias=False)
        self.value = nn.Linear(C, head_size, bias=False)
        self.setup(C, head_size, block_size)

    def setup(self, C, H, n):
        self.register_buffer("tril", torch.tril(torch.ones(n, n)))

    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        scores = scores.masked_fill(self.lower(T) == 0, -INF)
        return F.softmax(scores, dim=-1) @ v

    def lower(self, T):
        return self.tril[:T, :T]


right("Head")(Base)


@right("Head")
class _(Base):
    def setup(self, C, H, n):
        super().setup(C, H, n)
        self.scale = H**-0.5
        self.softmax = nn.Softmax(dim=-1)


@grey("Head", "remark-tril-not-persistent")
class _(Base):
    def setup(self, C, H, n):
        self.register_buffer("tril", torch.ones(n, n).tril(), persistent=False)


@grey("Head", "remark-tril-extra-axis")
class _(Base):
    def setup(self, C, H, n):
        self.register_buffer("tril", torch.ones(1, n, n).tril())

    def lower(self, T):
        return self.tril[:, :T, :T]


@grey("Head", "remark-dropout-member")
class _(Base):
    def setup(self, C, H, n):
        super().setup(C, H, n)
        self.dropout = nn.Dropout(0.2)

    def forward(self, x):
        return self.dropout(super().forward(x))


@grey("Head", "remark-dropout-member")
class _(Base):
    def forward(self, x):
        return F.dropout(super().forward(x), 0.2, self.training)


@grey("Head", "remark-fused-projection")
class _(nn.Module):
    def __init__(self, C, head_size, block_size):
        super().__init__()
        self.c_attn = nn.Linear(C, 3 * head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        q, k, v = self.c_attn(x).split(self.c_attn.out_features // 3, dim=2)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@grey("Head", "remark-fused-projection")
class _(nn.Module):
    def __init__(self, C, head_size, block_size):
        super().__init__()
        self.kqv = nn.Linear(C, 3 * head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        k, q, v = self.kqv(x).chunk(3, -1)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@wrong("Head", "bias-left-on")
class _(Base):
    def setup(self, C, H, n):
        super().setup(C, H, n)
        self.value = nn.Linear(C, H)


@wrong("Head", "bias-left-on")
class _(Base):
    def setup(self, C, H, n):
        super().setup(C, H, n)
        self.key, self.query, self.value = (nn.Linear(C, H) for _ in range(3))


@wrong("Head", "constant-as-parameter")
class _(Base):
    def setup(self, C, H, n):
        super().setup(C, H, n)
        self.scale = nn.Parameter(torch.tensor(H**-0.5))


@wrong("Head", "constant-as-parameter")
class _(Base):
    def setup(self, C, H, n):
        super().setup(C, H, n)
        self.mask = nn.Parameter(torch.ones(n, n).tril(), requires_grad=False)


@wrong("Head", "tril-not-a-buffer")
class _(Base):
    def setup(self, C, H, n):
        self.tril = torch.ones(n, n).tril()


@wrong("Head", "tril-not-a-buffer")
class _(Base):
    def setup(self, C, H, n):
        pass

    def lower(self, T):
        return torch.tril(torch.ones(T, T))


@wrong("Head", "mask-not-sliced")
class _(Base):
    def lower(self, T):
        return self.tril


@wrong("Head", "mask-not-sliced")
class _(Base):
    def lower(self, T):
        return self.tril[:T]


@wrong("Head", "mask-not-sliced")
class _(Base):
    def lower(self, T):
        return self.tril[:, :T]


@wrong("Head", "mask-not-sliced")
class _(Base):
    def lower(self, T):
        return self.tril[-T:, :T]


@wrong("Head", "mask-not-sliced")
class _(Base):
    def lower(self, T):
        return self.tril[:T, -T:]


@wrong("Head", "mask-sized-by-wrong-number")
class _(Base):
    def setup(self, C, H, n):
        self.register_buffer("tril", torch.ones(C, C).tril())


@wrong("Head", "mask-sized-by-wrong-number")
class _(Base):
    def setup(self, C, H, n):
        self.register_buffer("tril", torch.ones(H, H).tril())


@wrong("Head", "size-hard-coded")
class _(Base):
    def setup(self, C, H, n):
        self.register_buffer("tril", torch.ones(8, 8).tril())


@wrong("Head", "size-hard-coded")
class _(Base):
    def forward(self, x):
        B, T, C = 4, 8, 384
        return super().forward(x.reshape(B, T, C))


@wrong("Head", "state-kept-between-calls")
class _(Base):
    def lower(self, T):
        if not hasattr(self, "kept"):
            self.kept = self.tril[:T, :T]
        return self.kept


@wrong("Head", "state-kept-between-calls")
class _(Base):
    def forward(self, x):
        out = super().forward(x)
        self.tril.mul_(0.5).floor_()
        self.tril[0, 0] = 1
        return out


@wrong("Head", "state-kept-between-calls")
class _(Base):
    def lower(self, T):
        self.tril = self.tril[:T, :T]
        return self.tril


@wrong("Head", "layers-not-registered")
class _(Base):
    def setup(self, C, H, n):
        super().setup(C, H, n)
        del self.query, self.key, self.value
        self.parts = {k: nn.Linear(C, H, bias=False) for k in "qkv"}

    def forward(self, x):
        q, k, v = (self.parts[name](x) for name in "qkv")
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@wrong("Head", "layers-not-registered")
class _(Base):
    def setup(self, C, H, n):
        super().setup(C, H, n)
        del self.query, self.key, self.value
        self.__dict__["layers"] = (nn.Linear(C, H, bias=False),) * 3

    def forward(self, x):
        return F.scaled_dot_product_attention(*[f(x) for f in self.layers], is_causal=True)


@wrong("Head", "super-init-forgotten")
class _(nn.Module):
    def __init__(self, C, head_size, block_size):
        self.register_buffer("tril", torch.ones(block_size, block_size).tril())
        self.key = nn.Linear(C, head_size, bias=False)

    def forward(self, x):
        return self.key(x)


@wrong("Head", "super-init-forgotten")
class _(nn.Module):
    def __init__(self, C, head_size, block_size):
        self.head_size = head_size
        self.key = nn.Linear(C, head_size, bias=False)

    def forward(self, x):
        return self.key(x)


@wrong("Head", "one-projection-for-all")
class _(nn.Module):
    def __init__(self, C, head_size, block_size):
        super().__init__()
        self.proj = nn.Linear(C, head_size, bias=False)
        self.register_buffer("tril", torch.ones(block_size, block_size).tril())

    def forward(self, x):
        q = self.proj(x)
        return F.scaled_dot_product_attention(q, q, q, is_causal=True)


@wrong("Head", "one-projection-for-all")
class _(Base):
    def setup(self, C, H, n):
        super().setup(C, H, n)
        self.key = self.query = self.value


@wrong("Head", "projection-transposed")
class _(Base):
    def setup(self, C, H, n):
        super().setup(C, H, n)
        self.key, self.query, self.value = (nn.Linear(H, C, bias=False) for _ in range(3))


@wrong("Head", "random-on-every-call")
class _(Base):
    def forward(self, x):
        C, H = x.shape[-1], self.key.out_features
        q, k, v = (nn.Linear(C, H, bias=False)(x) for _ in range(3))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@wrong("Head", "random-on-every-call")
class _(Base):
    def forward(self, x):
        nn.init.normal_(self.value.weight)
        return super().forward(x)


@wrong("Head", "gradient-cut")
class _(Base):
    @torch.no_grad()
    def forward(self, x):
        return super().forward(x)


@wrong("Head", "gradient-cut")
class _(Base):
    def forward(self, x):
        v = x @ self.value.weight.data.T
        return F.scaled_dot_product_attention(self.query(x), self.key(x), v, is_causal=True)


@wrong("Head", "extra-step-added")
class _(Base):
    def setup(self, C, H, n):
        super().setup(C, H, n)
        self.proj = nn.Linear(H, H)

    def forward(self, x):
        return self.proj(super().forward(x))


@wrong("Head", "extra-step-added")
class _(Base):
    def setup(self, C, H, n):
        super().setup(C, H, n)
        self.norm = nn.LayerNorm(H)

    def forward(self, x):
        return self.norm(super().forward(x))


@wrong("Head", "nothing-returned")
class _(Base):
    def forward(self, x):
        super().forward(x)


@wrong("Head")
class _:
    def __init__(self, C, head_size, block_size):
        self.size = head_size

    def forward(self, x):
        return x


@wrong("Head")
class _(nn.Module):
    def __init__(self, head_size):
        super().__init__()


@wrong("Head")
class _(nn.Module):
    def __init__(self, C, head_size, block_size):
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(C, head_size, bias=False) for _ in range(3))
        self.register_buffer("tril", torch.ones(block_size, block_size).tril())

    def forward(self, x):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@both("Head", "tril-not-a-buffer", "not-scaled")
class _(Base):
    def setup(self, C, H, n):
        self.tril = torch.ones(n, n).tril()

    def forward(self, x):
        q, k, v = self.query(x) * self.key.out_features**0.5, self.key(x), self.value(x)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@both("Head", "bias-left-on", "mask-not-sliced")
class _(Base):
    def setup(self, C, H, n):
        super().setup(C, H, n)
        self.key = nn.Linear(C, H)

    def lower(self, T):
        return self.tril


@both("Head", "constant-as-parameter", "softmax-over-queries")
class _(Base):
    def setup(self, C, H, n):
        self.tril = nn.Parameter(torch.ones(n, n).tril(), requires_grad=False)

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return ok(q @ k.mT / k.shape[-1] ** 0.5).softmax(1) @ v


# ======================================== sdpa
fused = F.scaled_dot_product_attention


def sdp(*slugs, kind=wrong):
    return kind("sdpa", *slugs)


sdp(kind=right)(lambda q, k, v: fused(q, k, v, attn_mask=causal(q.shape[1])))
sdp(kind=right)(lambda q, k, v: fused(q, k, v, torch.full((q.shape[1],) * 2, -INF).triu(1)))
sdp(kind=right)(
    lambda q, k, v: torch.stack([fused(*p, is_causal=True) for p in zip(q, k, v, strict=True)])
)
sdp(kind=right)(lambda q, k, v: fused(q, k, v, is_causal=True, scale=q.shape[-1] ** -0.5))
sdp(kind=right)(lambda q, k, v: fused(q * q.shape[-1] ** -0.5, k, v, is_causal=True, scale=1.0))
sdp("sees-the-future")(lambda q, k, v: fused(q, k, v, is_causal=False))
sdp("sees-the-future")(
    lambda q, k, v: fused(q, k, v, attn_mask=torch.ones(q.shape[1], q.shape[1]).bool())
)
sdp("one-future-token")(
    lambda q, k, v: fused(q, k, v, attn_mask=torch.ones(q.shape[1], q.shape[1]).tril(1) == 1)
)
sdp("one-future-token")(lambda q, k, v: fused(q, k, v, torch.full((q.shape[1],) * 2, -INF).triu(2)))
sdp("diagonal-masked")(lambda q, k, v: fused(q, k, v, ~up(q @ k.mT, 0)))
sdp("diagonal-masked")(lambda q, k, v: fused(q, k, v, torch.full((q.shape[1],) * 2, -INF).triu(0)))
sdp("future-instead-of-past")(lambda q, k, v: fused(q, k, v, up(q @ k.mT, 0)))
sdp("future-instead-of-past")(
    lambda q, k, v: fused(q.flip(1), k.flip(1), v.flip(1), is_causal=True).flip(1)
)
sdp("mask-polarity-flipped")(lambda q, k, v: fused(q, k, v, up(q @ k.mT)))
sdp("mask-polarity-flipped")(
    lambda q, k, v: fused(q, k, v, torch.full((q.shape[1],) * 2, -INF).tril())
)
sdp("only-itself")(lambda q, k, v: v)
sdp("only-itself")(lambda q, k, v: fused(q, k, v, torch.eye(q.shape[1]).bool()))
sdp("mask-added-as-ones")(lambda q, k, v: fused(q, k, v, torch.ones(q.shape[1], q.shape[1]).tril()))
sdp("mask-not-boolean")(lambda q, k, v: fused(q, k, v, causal(q.shape[1]).long()))
sdp("mask-not-boolean")(lambda q, k, v: fused(q, k, v, ~torch.ones(q.shape[1], q.shape[1]).triu(1)))
sdp("mask-and-is-causal")(
    lambda q, k, v: fused(q, k, v, torch.zeros(q.shape[1], q.shape[1]), 0.0, True)
)
sdp("softmax-on-values")(lambda q, k, v: fused(q, k, v, is_causal=True).softmax(-1))
sdp("softmax-on-values")(lambda q, k, v: fused(q, k, v.softmax(-1), is_causal=True))
sdp("dropout-always-on")(lambda q, k, v: fused(q, k, v, None, 0.2, True))
sdp("dropout-always-on")(lambda q, k, v: F.dropout(fused(q, k, v, is_causal=True), 0.5))
sdp("not-scaled")(lambda q, k, v: fused(q, k, v, is_causal=True, scale=1.0))
sdp("not-scaled")(lambda q, k, v: fused(q * q.shape[-1] ** 0.5, k, v, is_causal=True))
sdp("divided-by-d-k")(lambda q, k, v: fused(q, k, v, is_causal=True, scale=q.size(-1) ** -1))
sdp("scaled-twice")(lambda q, k, v: fused(q / q.shape[-1] ** 0.5, k, v, is_causal=True))
sdp("scaled-twice")(lambda q, k, v: fused(q, k * k.shape[-1] ** -0.5, v, is_causal=True))
sdp("multiplied-by-sqrt-d-k")(
    lambda q, k, v: fused(q, k, v, is_causal=True, scale=q.shape[-1] ** 0.5)
)
sdp("wrong-axes-transposed")(
    lambda q, k, v: fused(*(t.permute(1, 0, 2) for t in (q, k, v)), is_causal=True).permute(1, 0, 2)
)
sdp("grid-over-features")(lambda q, k, v: fused(q.mT, k.mT, v.mT, is_causal=True).mT)
sdp("grid-over-features")(lambda q, k, v: fused(q.mT, k.mT, v.mT, is_causal=True))
sdp("q-k-swapped")(lambda q, k, v: fused(query=k, key=q, value=v, is_causal=True))
sdp("k-v-swapped")(lambda q, k, v: fused(q, v, k, attn_mask=causal(q.shape[1])))
sdp("wrong-tensor-averaged")(lambda q, k, v: fused(q, k, k, is_causal=True))
sdp("wrong-tensor-averaged")(lambda q, k, v: fused(q, k, q, is_causal=True))
sdp("nothing-returned")(lambda q, k, v: print(end="", file=None) or None)
sdp()(lambda q, k, v: fused(q, k, v, is_causal=True, scale=0.3))
sdp()(lambda q, k, v: fused(q, k, v, is_causal=True) * 2)
sdp()(lambda q, k, v: fused(q, k, v.flip(1), is_causal=True))
sdp()(lambda q, k, v: fused(v, q, k, is_causal=True))
sdp()(lambda q, k, v: fused(q, k, v, is_casual=True))
sdp("not-scaled", "sees-the-future", kind=both)(lambda q, k, v: fused(q, k, v, scale=1))
sdp("divided-by-d-k", "one-future-token", kind=both)(
    lambda q, k, v: fused(q, k, v, ~up(q @ k.mT, 2), scale=1 / q.shape[-1])
)
sdp("q-k-swapped", "not-scaled", kind=both)(lambda q, k, v: fused(k, q, v, is_causal=True, scale=1))


# ======================================== sdpa_decode
def decode(*slugs, kind=wrong):
    return kind("sdpa_decode", *slugs)


def keep(q, k, d=0):
    i = torch.arange(q.shape[1])[:, None] + k.shape[1] - q.shape[1]
    return torch.arange(k.shape[1])[None] <= i + d


decode(kind=right)(lambda q, k, v: fused(q, k, v, attn_mask=keep(q, k)))
decode(kind=right)(
    lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~keep(q, k), -INF).softmax(-1) @ v
)
decode(kind=right)(
    lambda q, k, v: fused(F.pad(q, (0, 0, k.shape[1] - q.shape[1], 0)), k, v, is_causal=True)[
        :, -q.shape[1] :
    ]
)
decode("aligned-top-left")(lambda q, k, v: fused(q, k, v, is_causal=True))
decode("aligned-top-left")(
    lambda q, k, v: fused(q[:, None], k[:, None], v[:, None], is_causal=True)[:, 0]
)
decode("sees-the-future")(lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v)
decode("sees-the-future")(lambda q, k, v: fused(q, k, v, torch.zeros(q.shape[1], k.shape[1])))
decode("one-future-token")(lambda q, k, v: fused(q, k, v, keep(q, k, 1)))
decode("one-future-token")(
    lambda q, k, v: fused(
        q, k, v, torch.ones(q.shape[1], k.shape[1]).tril(k.shape[1] - q.shape[1] + 1) == 1
    )
)
decode("diagonal-masked")(lambda q, k, v: fused(q, k, v, keep(q, k, -1)))
decode("diagonal-masked")(
    lambda q, k, v: fused(q, k, v, causal(k.shape[1] + 1)[-q.shape[1] - 2 : -2, : k.shape[1]])
)
decode("future-instead-of-past")(lambda q, k, v: fused(q, k, v, ~keep(q, k, -1)))
decode("future-instead-of-past")(
    lambda q, k, v: fused(q, k, v, causal(k.shape[1]).T[-q.shape[1] :])
)
decode("mask-polarity-flipped")(lambda q, k, v: fused(q, k, v, ~keep(q, k)))
decode("mask-polarity-flipped")(
    lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(keep(q, k), -INF).softmax(-1) @ v
)
decode("mask-added-as-ones")(lambda q, k, v: fused(q, k, v, keep(q, k).float()))
decode("mask-not-boolean")(lambda q, k, v: fused(q, k, v, keep(q, k).int()))
decode("mask-and-is-causal")(lambda q, k, v: fused(q, k, v, keep(q, k), is_causal=True))
decode("k-v-swapped")(lambda q, k, v: fused(q, v, k, keep(q, k)))
decode("nothing-returned")(lambda q, k, v: [].append(fused(q, k, v, keep(q, k))))
decode()(lambda q, k, v: fused(q, k, v, keep(q, k), scale=1.0))
decode()(lambda q, k, v: fused(q, k, v, keep(q, k)) * 2)
decode()(lambda q, k, v: fused(q, k, v, keep(q, k, 2)))
decode()(lambda q, k, v: v[:, -q.shape[1] :].flip(1))
decode("k-v-swapped", "sees-the-future", kind=both)(lambda q, k, v: fused(q, v, k))
decode("k-v-swapped", "aligned-top-left", kind=both)(lambda q, k, v: fused(q, v, k, is_causal=True))
decode("aligned-top-left", "one-future-token", kind=both)(
    lambda q, k, v: fused(q, k, v, torch.ones(q.shape[1], k.shape[1]).tril(1) == 1)
)
