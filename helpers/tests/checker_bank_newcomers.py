"""Attempts as newcomers write them: a line forgotten, a name misspelt, an argument out of place.

Added to the bank of `checker_bank` when this module is imported. Same decorators, same meaning.
"""

# ruff: noqa: E501, E731, F841
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from helpers.tests.checker_bank import Base, causal, only, right, wrong

INF = float("inf")
fused = F.scaled_dot_product_attention


class Fused(Base):
    """Reads no mask of its own, so nothing that it computes depends on the buffer."""

    def forward(self, x):
        return fused(self.query(x), self.key(x), self.value(x), is_causal=True)


# ---------------------------------------- a buffer that does not hold the triangle
@wrong("Head")
class _(Fused):
    def setup(self, C, H, n):
        self.register_buffer("tril", torch.zeros(n, n))


@wrong("Head")
class _(Fused):
    def setup(self, C, H, n):
        self.register_buffer("tril", torch.ones(n, n))


@wrong("Head")
class _(Fused):
    def setup(self, C, H, n):
        self.register_buffer("tril", torch.ones(n, n).triu())


@right("Head")
class _(Fused):
    def setup(self, C, H, n):
        self.register_buffer("tril", torch.ones(n, n).tril().bool())


@right("Head")
class _(Base):
    """An additive mask in the buffer: what it lets through is the lower triangle."""

    def setup(self, C, H, n):
        self.register_buffer("tril", torch.zeros(n, n).masked_fill(~causal(n), -INF))

    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.query(x), self.key(x), self.value(x)
        return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5 + self.tril[:T, :T], -1) @ v


@right("Head")
class _(Base):
    """True where a later position stands: used as it is, and right."""

    def setup(self, C, H, n):
        self.register_buffer("tril", ~causal(n))

    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.query(x), self.key(x), self.value(x)
        s = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(self.tril[:T, :T], -INF)
        return torch.softmax(s, -1) @ v


# ---------------------------------------- nothing comes back, or NaN: the gradient is no news
@only("bow", "nothing-returned")
def _(x):
    out = x.cumsum(1) / torch.arange(1, x.shape[1] + 1)[:, None]


@only("causal_weights", "nothing-returned")
def _(scores):
    masked = scores.masked_fill(~causal(scores.shape[-1]), -INF)
    weights = masked.softmax(-1)


@only("causal_mask", "zero-times-inf")
def _(scores):
    T = scores.shape[-1]
    return scores + torch.ones(T, T).triu(1) * -INF


@only("causal_weights", "zero-times-inf")
def _(scores):
    T = scores.shape[-1]
    return torch.softmax(scores + torch.triu(torch.ones(T, T), 1) * -INF, dim=-1)


# ---------------------------------------- one layer too many
@only("Head", "extra-step-added")
class _(Base):
    def setup(self, C, H, n):
        super().setup(C, H, n)
        self.proj = nn.Linear(H, H)

    def forward(self, x):
        return self.proj(super().forward(x))


@only("Head", "extra-step-added")
class _(Base):
    def setup(self, C, H, n):
        super().setup(C, H, n)
        self.mlp = nn.Sequential(nn.Linear(H, 4 * H), nn.ReLU(), nn.Linear(4 * H, H))

    def forward(self, x):
        return self.mlp(super().forward(x))


@only("Head", "extra-step-added")
class _(Base):
    def setup(self, C, H, n):
        super().setup(C, H, n)
        self.places = nn.Embedding(n, C)

    def forward(self, x):
        return super().forward(x + self.places(torch.arange(x.shape[1])))


# ---------------------------------------- no forward
@wrong("Head")
class _(nn.Module):
    def __init__(self, C, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(C, head_size, bias=False)
        self.query = nn.Linear(C, head_size, bias=False)
        self.value = nn.Linear(C, head_size, bias=False)
        self.register_buffer("tril", torch.ones(block_size, block_size).tril())

    def foward(self, x):
        return fused(self.query(x), self.key(x), self.value(x), is_causal=True)


@wrong("Head")
class _(nn.Module):
    def __init__(self, C, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(C, head_size, bias=False)
        self.query = nn.Linear(C, head_size, bias=False)
        self.value = nn.Linear(C, head_size, bias=False)
        self.register_buffer("tril", torch.ones(block_size, block_size).tril())

        def forward(self, x):
            return fused(self.query(x), self.key(x), self.value(x), is_causal=True)


# ---------------------------------------- axes in another order
@only("bow", "axis-added-or-lost")
def _(x):
    return torch.stack([x[:, : t + 1].mean(1) for t in range(x.shape[1])])


@only("causal_attention", "axis-added-or-lost")
def _(x, Wq, Wk, Wv):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    rows = []
    for t in range(x.shape[1]):
        s = q[:, t : t + 1] @ k[:, : t + 1].mT / q.shape[-1] ** 0.5
        rows.append((s.softmax(-1) @ v[:, : t + 1])[:, 0])
    return torch.stack(rows)


# ---------------------------------------- a constant that is a parameter, and says so
@only("Head", "constant-as-parameter")
class _(Base):
    def setup(self, C, H, n):
        self.tril = nn.Parameter(torch.ones(n, n).tril(), requires_grad=False)


# ---------------------------------------- arguments of a call out of place
@wrong("sdpa")
def _(q, k, v):
    return fused(q, k, v, True)


@wrong("sdpa_decode")
def _(q, k, v):
    return fused(q, k, v, True)


@wrong("Head")
class _(Base):
    def __init__(self, C, block_size, head_size):
        super().__init__(C, head_size, block_size)


@wrong("Head")
class _(Base):
    def __init__(self, head_size, C, block_size):
        super().__init__(C, head_size, block_size)


# ---------------------------------------- one count too few or too many
@only("averaging_matrix", "diagonal-masked")
def _(T):
    m = torch.zeros(T, T)
    for i in range(T):
        m[i, :i] = 1 / (i + 1)
    return m


@wrong("averaging_matrix", "count-off-by-one")
def _(T):
    return torch.tensor([[1 / i if j <= i and i > 0 else 0.0 for j in range(T)] for i in range(T)])


@only("averaging_matrix", "future-instead-of-past")
def _(T):
    w = torch.triu(torch.ones(T, T))
    return w / w.sum(1, keepdim=True)


@only("averaging_matrix", "never-normalised")
def _(T):
    return torch.tril(torch.ones(T, T))


@wrong("averaging_matrix", "zero-instead-of-minus-inf")
def _(T):
    return torch.softmax(torch.zeros(T, T).tril(), dim=-1)


# ---------------------------------------- sizes
class Sized(Base):
    def scores(self, x):
        q, k = self.query(x), self.key(x)
        return q @ k.mT / k.shape[-1] ** 0.5


@only("Head", "mask-sized-by-wrong-number")
class _(Sized):
    def setup(self, C, H, n):
        self.register_buffer("tril", torch.ones(H, H).tril())

    def forward(self, x):
        T = x.shape[1]
        s = self.scores(x).masked_fill(self.tril[:T, :T] == 0, -INF)
        return s.softmax(-1) @ self.value(x)


@only("Head", "mask-not-sliced")
class _(Sized):
    def forward(self, x):
        s = self.scores(x).masked_fill(self.tril == 0, -INF)
        return s.softmax(-1) @ self.value(x)


T = 8  # of the lesson, as it stands in a notebook's global names


@wrong("bow", "size-hard-coded")
def _(x):
    out = torch.zeros_like(x)
    for t in range(T):
        out[:, t] = x[:, : t + 1].mean(1)
    return out


@wrong("bow", "size-hard-coded")
def _(x):
    return torch.tril(torch.ones(T, T)) / torch.arange(1, T + 1)[:, None] @ x


# ---------------------------------------- further ones
@wrong("sdpa_decode", "aligned-top-left")
def _(q, k, v):
    return fused(q, k, v, is_causal=q.shape[1] > 1)


@wrong("causal_weights", "zero-instead-of-minus-inf", "mask-after-softmax")
def _(scores):
    return torch.softmax(scores.tril(), dim=-1).tril()


@wrong("causal_mask", "mask-result-thrown-away")
def _(scores):
    torch.where(causal(scores.shape[-1]), scores, -INF)
    return scores


@wrong("causal_weights", "mask-result-thrown-away")
def _(scores):
    torch.where(causal(scores.shape[-1]), scores, -INF)
    return scores.softmax(-1)


@wrong("sdpa", "dropout-always-on")
def _(q, k, v):
    return fused(q, k, v, dropout_p=True, is_causal=True)


@only("averaging_matrix", "future-instead-of-past", "never-normalised")
def _(T):
    return torch.ones(T, T).triu()


@only("Head", "sees-the-future")
class _(Sized):
    """One entry of the triangle, where a part of it is meant."""

    def forward(self, x):
        T = x.shape[1]
        s = self.scores(x).masked_fill(self.tril[T, T] == 0, -INF)
        return s.softmax(-1) @ self.value(x)


# ---------------------------------------- one name, and no second that follows from it
@only("causal_weights", "sees-the-future", "softmax-over-batch")
def _(scores):
    return scores.softmax(0)


@only("causal_weights", "sees-the-future", "softmax-over-queries")
def _(scores):
    return F.softmax(scores, 1)


@only("causal_weights", "sees-the-future", "softmax-twice")
def _(scores):
    return scores.softmax(-1).softmax(-1)


@only("causal_weights", "mask-after-softmax", "softmax-over-batch")
def _(scores):
    return scores.softmax(0).tril()


@only("causal_weights", "mask-after-softmax", "softmax-over-queries")
def _(scores):
    return scores.softmax(1) * causal(scores.shape[-1])


@only("causal_attention", "scaled-after-softmax")
def _(x, Wq, Wk, Wv):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    s = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~causal(x.shape[1]), -INF)
    return s.softmax(-1) @ v / q.shape[-1] ** 0.5


@only("self_attention", "grid-over-features")
def _(x, Wq, Wk, Wv):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    return v @ (q.mT @ k / q.shape[-1] ** 0.5).softmax(-1)


@only("self_attention", "factors-in-wrong-order")
def _(x, Wq, Wk, Wv):
    q, k, v = Wq @ x, Wk @ x, Wv @ x
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v


@only("causal_attention", "softmax-missing")
def _(x, Wq, Wk, Wv):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    s = q @ k.mT / q.shape[-1] ** 0.5
    return s.masked_fill(~causal(x.shape[1]), 0) @ v


@only("attention_scores", "divided-by-another-number")
def _(q, k):
    return q @ k.mT / 10


@only("causal_attention", "divided-by-another-number")
def _(x, Wq, Wk, Wv):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    s = (q @ k.mT * 0.1).masked_fill(~causal(x.shape[1]), -INF)
    return s.softmax(-1) @ v


@only("causal_attention", "size-hard-coded")
def _(x, Wq, Wk, Wv):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    s = (q @ k.mT / 64).masked_fill(~causal(x.shape[1]), -INF)
    return s.softmax(-1) @ v


@only("attention_scores", "size-hard-coded", "divided-by-another-number")
def _(q, k):
    return q @ k.mT / 8


# ---------------------------------------- entries multiplied, and never summed
@only("attention_scores", "elementwise-product")
def _(q, k):
    return q[:, :, None] * k[:, None] / q.shape[-1] ** 0.5


@only("project", "elementwise-product")
def _(x, Wq, Wk, Wv):
    return tuple(torch.einsum("btc,ch->btch", x, W) for W in (Wq, Wk, Wv))


@only("averaging_matrix", "count-off-by-one")
def _(T):
    m = torch.zeros(T, T)
    for i in range(T):
        m[i, : i + 1] = 1 / i if i else INF
    return m


# ---------------------------------------- loops that raise, and say why
@only("bow", "mean-over-wrong-axis")
def _(x):
    B, T, C = x.shape
    out = torch.zeros(B, T, C)
    for b in range(B):
        for t in range(T):
            out[b, t] = torch.mean(x[b, : t + 1], dim=1)
    return out


@only("bow", "mean-over-wrong-axis")
def _(x):
    out = torch.zeros_like(x)
    for t in range(x.shape[1]):
        out[:, t] = x[:, : t + 1].mean(0)
    return out


@only("bow", "size-hard-coded")
def _(x):
    B, T, C = 4, 8, 2
    xbow = torch.zeros((B, T, C))
    for b in range(B):
        for t in range(T):
            xbow[b, t] = torch.mean(x[b, : t + 1], 0)
    return xbow


@only("bow", "one-future-token")
def _(x):
    T = x.shape[1]
    return torch.stack([x[:, : t + 2].sum(1) / (t + 2) for t in range(T)], 1)


@only("averaging_matrix", "one-future-token")
def _(T):
    m = torch.zeros(T, T)
    for i in range(T):
        m[i, : i + 2] = 1 / (i + 2)
    return m


@only("averaging_matrix", "count-off-by-one")
def _(T):
    m = torch.zeros(T, T)
    for i in range(T):
        for j in range(i + 1):
            m[i, j] = 1 / i
    return m
