"""Attempts in further styles: loops, einsum, in-place steps, fused calls, other dtypes.

Written down before the checker was run on them, and added to the bank of `checker_bank` when this
module is imported. Same decorators, same meaning.
"""

# ruff: noqa: E501, E731, F841
from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from helpers.tests.checker_bank import both, causal, grey, only, right, wrong

INF = float("inf")


def ahead(T, start=1):
    """Boolean, True where a key comes `start` or more positions after the query."""
    i = torch.arange(T)
    return i[None, :] >= i[:, None] + start


# ---------------------------------------- bow
@wrong("bow", "mean-over-wrong-axis")
def _(x):
    B, T, C = x.shape
    out = torch.zeros(B, T, C)
    for b in range(B):
        for t in range(T):
            out[b, t] = x[b, : t + 1].mean()
    return out


@wrong("bow", "diagonal-masked")
def _(x):
    return torch.stack([x[:, :t].mean(1) for t in range(x.size(1))], dim=1)


@wrong("bow", "count-off-by-one")
def _(x):
    steps = torch.arange(x.size(1), device=x.device).unsqueeze(-1)
    return torch.cumsum(x, dim=1).div(steps)


@wrong("bow", "divided-by-length")
def _(x):
    total = torch.zeros_like(x[:, 0])
    rows = []
    for t in range(x.shape[1]):
        total = total + x[:, t]
        rows.append(total / x.shape[1])
    return torch.stack(rows, 1)


@wrong("bow", "input-changed-in-place")
def _(x):
    for t in range(1, x.shape[1]):
        x[:, t] += x[:, t - 1]
    return x / torch.arange(1, x.shape[1] + 1).view(1, -1, 1)


@wrong("bow", "future-instead-of-past")
def _(x):
    T = x.shape[1]
    w = torch.ones(T, T).triu()
    return torch.einsum("ts,bsc->btc", w / w.sum(-1, keepdim=True), x)


@wrong("bow", "never-normalised")
def _(x):
    B, T, C = x.shape
    return torch.baddbmm(torch.zeros(B, T, C), causal(T).float().expand(B, T, T), x)


@wrong("bow", "hard-maximum")
def _(x):
    return torch.cummax(x, dim=1).values


@wrong("bow", "future-instead-of-past")
def _(x):
    T = x.shape[1]
    return x.flip(1).cumsum(1).flip(1) / torch.arange(T, 0, -1)[:, None]


@wrong("bow", "mean-over-wrong-axis")
def _(x):
    return x.cumsum(0) / torch.arange(1, len(x) + 1).reshape(-1, 1, 1)


@wrong("bow")
def _(x):
    """A moving average of two."""
    before = F.pad(x, (0, 0, 1, 0))[:, :-1]
    return (x + before) / 2


@wrong("bow")
def _(x):
    """An exponential moving average."""
    rows = [x[:, 0]]
    for t in range(1, x.shape[1]):
        rows.append(0.5 * rows[-1] + 0.5 * x[:, t])
    return torch.stack(rows, 1)


@wrong("bow", "sees-the-future")
def _(x):
    return torch.ones_like(x) * x.mean(dim=1)[:, None, :]


@wrong("bow", "size-hard-coded")
def _(x):
    out = torch.zeros_like(x)
    for t in range(8):
        out[:, t] = x[:, : t + 1].mean(dim=1)
    return out


@wrong("bow", "one-future-token")
def _(x):
    out = []
    for t in range(x.shape[1]):
        out.append(x[:, 0 : t + 2, :].sum(1) / min(t + 2, x.shape[1]))
    return torch.stack(out, dim=-2)


@wrong("bow", "totals-not-a-column")
def _(x):
    w = torch.tril(torch.ones(x.shape[1], x.shape[1]))
    return w / w.sum(1) @ x


@wrong("bow", "first-batch-row-only")
def _(x):
    T = x.shape[1]
    w = torch.tril(torch.ones(T, T))
    w /= w.sum(1, keepdim=True)
    return (w @ x[0])[None].repeat(x.shape[0], 1, 1)


@wrong("bow", "axis-added-or-lost")
def _(x):
    T = x.shape[1]
    w = torch.tril(torch.ones(T, T)) / torch.arange(1, T + 1)[:, None]
    return (w @ x)[:, -1]


@both("bow", "never-normalised", "future-instead-of-past")
def _(x):
    return torch.ones(x.shape[1], x.shape[1]).triu() @ x


@both("bow", "sees-the-future", "mean-over-wrong-axis")
def _(x):
    return x.mean(dim=0, keepdim=True).expand(x.shape)


@right("bow")
def _(x):
    steps = torch.arange(1, x.size(1) + 1, dtype=x.dtype)
    return torch.einsum("btc,t->btc", x.cumsum(1), steps.reciprocal())


@right("bow")
def _(x):
    mean = x[:, :1]
    rows = [mean]
    for t in range(1, x.shape[1]):
        mean = torch.lerp(mean, x[:, t : t + 1], 1 / (t + 1))
        rows.append(mean)
    return torch.cat(rows, 1)


@right("bow")
def _(x):
    T = x.shape[1]
    return torch.zeros(T, T).masked_fill(ahead(T), -INF).softmax(-1).to(x) @ x


@right("bow")
def _(x):
    B, T, C = x.shape
    grid = x.unsqueeze(1).expand(B, T, T, C) * causal(T)[None, :, :, None]
    return grid.sum(2) / causal(T).sum(1)[None, :, None]


@right("bow")
def _(x):
    return (x.double().cumsum(-2) / torch.arange(1, x.shape[-2] + 1).unsqueeze(1)).float()


# ---------------------------------------- averaging_matrix
@wrong("averaging_matrix", "divided-by-length")
def _(T):
    return torch.full((T, T), 1.0 / T).tril()


@wrong("averaging_matrix", "diagonal-masked")
def _(T):
    w = torch.zeros(T, T)
    for i in range(1, T):
        w[i, :i] = 1 / i
    return w


@wrong("averaging_matrix", "count-off-by-one")
def _(T):
    w = torch.zeros(T, T)
    for i in range(T):
        for j in range(i + 1):
            w[i, j] = 1 / max(i, 1)
    return w


@wrong("averaging_matrix", "columns-normalised")
def _(T):
    w = np.tril(np.ones((T, T), dtype=np.float32))
    return torch.from_numpy(w / w.sum(axis=0))


@wrong("averaging_matrix", "totals-not-a-column")
def _(T):
    return torch.ones(T, T).tril() * torch.arange(1, T + 1).reciprocal()


@wrong("averaging_matrix", "future-instead-of-past")
def _(T):
    w = torch.eye(T).cumsum(1)
    return F.normalize(w, p=1, dim=-1)


@wrong("averaging_matrix", "one-future-token")
def _(T):
    w = (~ahead(T, 2)).float()
    return w / w.sum(-1).unsqueeze(-1)


@wrong("averaging_matrix", "axis-added-or-lost")
def _(T):
    w = causal(T).float()
    return (w / w.sum(1, keepdim=True)).unsqueeze(0)


@wrong("averaging_matrix", "floor-division")
def _(T):
    w = torch.ones(T, T).tril()
    return torch.div(w, w.sum(1, keepdim=True), rounding_mode="floor")


@wrong("averaging_matrix", "weights-transposed")
def _(T):
    w = causal(T).float()
    return torch.einsum("ij->ji", w / w.sum(1, keepdim=True))


@wrong("averaging_matrix")
def _(T):
    """The counts run backwards."""
    return torch.ones(T, T).tril() / torch.arange(T, 0, -1)[:, None]


@wrong("averaging_matrix", "softmax-over-queries", "columns-normalised")
def _(T):
    return torch.softmax(torch.zeros(T, T).masked_fill(ahead(T), -INF), 0)


@wrong("averaging_matrix", "zero-instead-of-minus-inf")
def _(T):
    return F.softmax(torch.where(causal(T), 1.0, 0.0), dim=1)


@wrong("averaging_matrix", "random-on-every-call")
def _(T):
    return torch.rand(T, T).masked_fill(ahead(T), -INF).softmax(-1)


@wrong("averaging_matrix", "only-itself")
def _(T):
    return torch.diag(torch.ones(T))


@wrong("averaging_matrix", "never-normalised")
def _(T):
    return torch.tensor([[1.0 if j <= i else 0.0 for j in range(T)] for i in range(T)])


@wrong("averaging_matrix", "nothing-returned")
def _(T):
    w = torch.ones(T, T).tril_()
    w.div_(w.sum(1, keepdim=True))


@wrong("averaging_matrix", "sees-the-future")
def _(T):
    return torch.ones(T, T).div(T)


@both("averaging_matrix", "one-future-token", "divided-by-length")
def _(T):
    return torch.ones(T, T).tril(1) / T


@right("averaging_matrix")
def _(T):
    return torch.tensor([[1 / (i + 1) if j <= i else 0.0 for j in range(T)] for i in range(T)])


@right("averaging_matrix")
def _(T):
    return torch.stack([F.pad(torch.full((n,), 1 / n), (0, T - n)) for n in range(1, T + 1)])


@right("averaging_matrix")
def _(T):
    i = torch.arange(T, dtype=torch.float64)
    return (i[:, None] >= i) / (i[:, None] + 1)


@right("averaging_matrix")
def _(T):
    w = torch.eye(T).cumsum(0)
    return torch.nn.functional.normalize(w, p=1.0, dim=1)


# ---------------------------------------- project
@wrong("project", "projection-transposed")
def _(x, Wq, Wk, Wv):
    return tuple(F.linear(x, W) for W in (Wq, Wk, Wv))


@wrong("project", "projection-transposed")
def _(x, Wq, Wk, Wv):
    return [torch.einsum("btc,hc->bth", x, W) for W in (Wq, Wk, Wv)]


@wrong("project", "k-v-swapped")
def _(x, Wq, Wk, Wv):
    q, v, k = (x @ torch.cat([Wq, Wk, Wv], dim=1)).chunk(3, dim=-1)
    return q, k, v


@wrong("project", "axis-added-or-lost")
def _(x, Wq, Wk, Wv):
    return torch.stack([torch.matmul(x, W) for W in (Wq, Wk, Wv)], dim=0)


@wrong("project", "axis-added-or-lost")
def _(x, Wq, Wk, Wv):
    flat = x.reshape(-1, x.shape[-1])
    return flat @ Wq, flat @ Wk, flat @ Wv


@wrong("project", "gradient-cut")
def _(x, Wq, Wk, Wv):
    with torch.inference_mode():
        return x @ Wq, x @ Wk, x @ Wv


@wrong("project", "gradient-cut")
def _(x, Wq, Wk, Wv):
    layers = []
    for W in (Wq, Wk, Wv):
        layer = torch.nn.Linear(*W.shape, bias=False)
        layer.weight = torch.nn.Parameter(W.T)
        layers.append(layer)
    return tuple(layer(x) for layer in layers)


@wrong("project", "bias-left-on")
def _(x, Wq, Wk, Wv):
    C, head_size = Wq.shape
    key, query, value = (torch.nn.Linear(C, head_size) for _ in range(3))
    return query(x), key(x), value(x)


@wrong("project")
def _(x, Wq, Wk, Wv):
    """Fresh layers, without a bias: the weights that were given are not used."""
    C, head_size = Wq.shape
    key, query, value = (torch.nn.Linear(C, head_size, bias=False) for _ in range(3))
    return query(x), key(x), value(x)


@wrong("project", "first-batch-row-only")
def _(x, Wq, Wk, Wv):
    return torch.mm(x[0], Wq), torch.mm(x[0], Wk), torch.mm(x[0], Wv)


@wrong("project", "extra-step-added")
def _(x, Wq, Wk, Wv):
    q, k, v = (x @ W for W in (Wq, Wk, Wv))
    return q * q.shape[-1] ** -0.5, k, v


@wrong("project", "extra-step-added")
def _(x, Wq, Wk, Wv):
    return tuple(F.leaky_relu(x @ W, 0.0) for W in (Wq, Wk, Wv))


@wrong("project", "one-projection-for-all")
def _(x, Wq, Wk, Wv):
    q = k = v = x @ Wq
    return q, k, v


@wrong("project", "projections-chained")
def _(x, Wq, Wk, Wv):
    h = x
    out = []
    for W in (Wq, Wk, Wv):
        h = h @ W
        out.append(h)
    return tuple(out)


@wrong("project")
def _(x, Wq, Wk, Wv):
    return {"q": x @ Wq, "k": x @ Wk, "v": x @ Wv}


@wrong("project", "factors-in-wrong-order")
def _(x, Wq, Wk, Wv):
    return tuple(torch.matmul(W, x) for W in (Wq, Wk, Wv))


@wrong("project", "elementwise-product")
def _(x, Wq, Wk, Wv):
    return torch.mul(x, Wq), torch.mul(x, Wk), torch.mul(x, Wv)


@wrong("project", "q-k-swapped")
def _(x, Wq, Wk, Wv):
    return tuple(torch.einsum("btc,nch->nbth", x, torch.stack([Wk, Wq, Wv])))


@right("project")
def _(x, Wq, Wk, Wv):
    return (x @ torch.cat((Wq, Wk, Wv), dim=-1)).split(Wq.shape[1], dim=-1)


@right("project")
def _(x, Wq, Wk, Wv):
    return torch.einsum("btc,nch->nbth", x, torch.stack([Wq, Wk, Wv])).unbind(0)


@right("project")
def _(x, Wq, Wk, Wv):
    return [F.linear(x, W.t(), None) for W in (Wq, Wk, Wv)]


@right("project")
def _(x, Wq, Wk, Wv):
    return tuple((x[..., None] * W).sum(-2) for W in (Wq, Wk, Wv))


@right("project")
def _(x, Wq, Wk, Wv):
    B, T, C = x.shape
    return tuple(torch.mm(x.view(B * T, C), W).view(B, T, -1) for W in (Wq, Wk, Wv))


@right("project")
def _(x, Wq, Wk, Wv):
    return tuple(
        torch.stack([torch.stack([row @ W for row in seq]) for seq in x]) for W in (Wq, Wk, Wv)
    )


# ---------------------------------------- attention_scores
@wrong("attention_scores", "not-scaled")
def _(q, k):
    return torch.einsum("bth,bsh->bts", q, k)


@wrong("attention_scores", "divided-by-d-k")
def _(q, k):
    B, T, H = q.shape
    return torch.baddbmm(torch.zeros(B, T, T), q, k.mT, beta=0, alpha=1 / H)


@wrong("attention_scores")
def _(q, k):
    """The cosine of the angle between them."""
    return F.cosine_similarity(q[:, :, None], k[:, None], dim=-1)


@wrong("attention_scores")
def _(q, k):
    """Minus the distance."""
    return -torch.cdist(q, k)


@wrong("attention_scores", "divided-by-another-number")
def _(q, k):
    return q @ k.transpose(-1, -2) / math.sqrt(len(q))


@wrong("attention_scores", "scores-transposed", "q-k-swapped")
def _(q, k):
    return torch.einsum("bih,bjh->bji", q, k) * q.size(-1) ** -0.5


@wrong("attention_scores", "reshaped-not-transposed")
def _(q, k):
    B, T, H = k.shape
    return torch.bmm(q, k.contiguous().view(B, H, T)) / H**0.5


@wrong("attention_scores", "wrong-axes-transposed")
def _(q, k):
    return torch.matmul(q, k.permute(2, 1, 0)) / q.shape[-1] ** 0.5


@wrong("attention_scores", "wrong-axes-transposed")
def _(q, k):
    return q @ torch.transpose(k, 0, 1) / q.shape[-1] ** 0.5


@wrong("attention_scores", "key-not-transposed")
def _(q, k):
    return torch.bmm(q, k).div(q.shape[-1] ** 0.5)


@wrong("attention_scores", "batch-mixed", "axis-added-or-lost")
def _(q, k):
    return torch.tensordot(q, k, dims=([2], [2])) / q.shape[-1] ** 0.5


@wrong("attention_scores", "input-changed-in-place")
def _(q, k):
    q *= q.shape[-1] ** -0.5
    return q @ k.mT


@wrong("attention_scores", "elementwise-product")
def _(q, k):
    return (q * k).sum(-1) / q.shape[-1] ** 0.5


@wrong("attention_scores", "divided-by-another-number")
def _(q, k):
    return (q.unsqueeze(2) * k.unsqueeze(1)).sum(-1) / np.sqrt(q.shape[1])


@wrong("attention_scores", "root-miswritten")
def _(q, k):
    d_k = q.shape[-1]
    return q @ k.mT / d_k**1 / 2


@wrong("attention_scores", "root-miswritten")
def _(q, k):
    return q @ k.mT / int(math.sqrt(q.shape[-1]))


@wrong("attention_scores", "root-miswritten")
def _(q, k):
    return q @ k.mT / math.isqrt(q.shape[-1])


@wrong("attention_scores", "floor-division")
def _(q, k):
    return torch.floor_divide(q @ k.mT, q.shape[-1] ** 0.5)


@wrong("attention_scores", "batch-mixed")
def _(q, k):
    B, T, H = q.shape
    return q.reshape(B * T, H) @ k.reshape(B * T, H).T / H**0.5


@wrong("attention_scores", "first-batch-row-only")
def _(q, k):
    T, H = q[0].shape
    s = torch.empty(T, T)
    for i in range(T):
        for j in range(T):
            s[i, j] = q[0, i].dot(k[0, j]) / H**0.5
    return s


@wrong("attention_scores", "returned-wrong-stage")
def _(q, k):
    s = q @ k.mT * q.shape[-1] ** -0.5
    return s.exp() / s.exp().sum(-1, keepdim=True)


@wrong("attention_scores", "compared-with-itself")
def _(q, k):
    return torch.einsum("bik,bjk->bij", k, k) / k.shape[-1] ** 0.5


@wrong("attention_scores", "multiplied-by-sqrt-d-k")
def _(q, k):
    return (q * math.sqrt(q.shape[-1])) @ k.mT


@wrong("attention_scores", "gradient-cut")
def _(q, k):
    return torch.tensor(
        (q.detach().numpy() @ k.detach().numpy().swapaxes(1, 2)) / q.shape[-1] ** 0.5
    )


@wrong("attention_scores", "grid-over-features")
def _(q, k):
    return torch.einsum("bth,btg->bhg", q, k) / q.shape[-1] ** 0.5


@only("attention_scores", "size-hard-coded")
def _(q, k):
    return torch.matmul(q, k.transpose(1, 2)) * 0.25


@wrong("attention_scores", "scaled-twice")
def _(q, k):
    root = q.shape[-1] ** 0.5
    return (q / root) @ (k / root).mT


@wrong("attention_scores", "root-miswritten")
def _(q, k):
    return q @ k.mT / torch.sqrt(q.shape[-1])


@both("attention_scores", "not-scaled", "scores-transposed")
def _(q, k):
    return torch.bmm(k, q.transpose(1, 2))


@both("attention_scores", "divided-by-d-k", "reshaped-not-transposed")
def _(q, k):
    return q @ k.reshape(k.shape[0], k.shape[2], k.shape[1]) / k.shape[2]


@right("attention_scores")
def _(q, k):
    B, T, H = q.shape
    return torch.baddbmm(torch.empty(B, T, T), q, k.mT, beta=0, alpha=H**-0.5)


@right("attention_scores")
def _(q, k):
    s = q.new_zeros(q.shape[0], q.shape[1], k.shape[1])
    for b in range(len(q)):
        for i in range(q.shape[1]):
            for j in range(k.shape[1]):
                s[b, i, j] = torch.dot(q[b, i], k[b, j])
    return s / math.sqrt(q.shape[-1])


@right("attention_scores")
def _(q, k):
    d = q.shape[-1] ** 0.25
    return torch.einsum("bih,bjh->bij", q / d, k / d)


@right("attention_scores")
def _(q, k):
    return (
        F.linear(q[0], k[0])[None] / q.shape[-1] ** 0.5
        if len(q) == 1
        else torch.stack([F.linear(a, b) for a, b in zip(q, k, strict=True)]) / q.shape[-1] ** 0.5
    )


@right("attention_scores")
def _(q, k):
    return (
        torch.cdist(q.double(), k.double()).square() * -0.5
        + (q.double() ** 2).sum(-1, keepdim=True) / 2
        + (k.double() ** 2).sum(-1)[:, None] / 2
    ).float() / q.shape[-1] ** 0.5


@right("attention_scores")
def _(q, k):
    return torch.vmap(lambda a, b: a @ b.T)(q, k) * torch.rsqrt(torch.tensor(float(q.shape[-1])))


# ---------------------------------------- causal_mask
@wrong("causal_mask", "zero-instead-of-minus-inf")
def _(scores):
    return torch.where(causal(scores.shape[-1]), scores, torch.zeros_like(scores))


@wrong("causal_mask", "mask-polarity-flipped")
def _(scores):
    return torch.where(causal(scores.shape[-1]), -INF, scores)


@wrong("causal_mask", "fill-not-low-enough")
def _(scores):
    T = scores.shape[-1]
    return scores - 10 * torch.ones(T, T).triu(1)


@wrong("causal_mask", "diagonal-masked")
def _(scores):
    T = scores.shape[-1]
    return scores + torch.full((T, T), -INF).triu()


@wrong("causal_mask", "input-changed-in-place")
def _(scores):
    scores[..., ahead(scores.shape[-1])] = -INF
    return scores


@wrong("causal_mask", "one-future-token")
def _(scores):
    out = scores.clone()
    for i in range(scores.shape[-1]):
        out[:, i, i + 2 :] = -INF
    return out


@wrong("causal_mask", "future-instead-of-past")
def _(scores):
    out = scores.clone()
    for i in range(scores.shape[-1]):
        out[:, i, :i] = -INF
    return out


@wrong("causal_mask", "zero-times-inf")
def _(scores):
    keep = torch.ones_like(scores[0]).tril()
    return scores * keep + (1 - keep) * -INF


@wrong("causal_mask", "tiny-fill")
def _(scores):
    return scores.where(causal(scores.shape[-1]), torch.tensor(-1e-9))


@wrong("causal_mask", "mask-added-as-ones")
def _(scores):
    return torch.add(scores, torch.ones(scores.shape[-2:]).tril())


@wrong("causal_mask", "plus-inf-fill")
def _(scores):
    return scores.masked_fill(ahead(scores.shape[-1]), math.inf)


@wrong("causal_mask", "mask-not-boolean")
def _(scores):
    return scores.masked_fill(torch.ones_like(scores).triu(1), -INF)


@wrong("causal_mask", "mask-not-boolean")
def _(scores):
    return torch.where(torch.ones_like(scores).tril(), scores, -INF)


@wrong("causal_mask", "mask-sized-by-wrong-number")
def _(scores):
    B, T, _ = scores.shape
    return scores.masked_fill(ahead(B), -INF)


@wrong("causal_mask", "zeros-used-as-mask")
def _(scores):
    low = scores.tril()
    return torch.where(low.abs() > 0, low, -INF)


@wrong("causal_mask", "nothing-returned")
def _(scores):
    scores = scores.clone()
    scores.masked_fill_(ahead(scores.shape[-1]), -INF)


@wrong("causal_mask", "returned-wrong-stage")
def _(scores):
    return F.softmax(scores.masked_fill(ahead(scores.size(-1)), -INF), -1)


@wrong("causal_mask", "returned-wrong-stage")
def _(scores):
    return ~ahead(scores.shape[-1])


@wrong("causal_mask", "first-batch-row-only")
def _(scores):
    out = scores.clone()
    out[0][ahead(scores.shape[-1])] = -INF
    return out


@wrong("causal_mask", "mask-result-thrown-away")
def _(scores):
    torch.where(causal(scores.shape[-1]), scores, -INF)
    return scores


@wrong("causal_mask", "mask-result-thrown-away")
def _(scores):
    keep = causal(scores.shape[-1])
    for s in scores:
        s = s.masked_fill(~keep, -INF)
    return scores


@wrong("causal_mask", "gradient-cut")
def _(scores):
    s = scores.data.clone()
    s[:, ahead(s.shape[-1])] = -INF
    return s


@wrong("causal_mask", "size-hard-coded")
def _(scores):
    return scores.masked_fill(torch.ones(8, 8).tril() == 0, -INF)


@right("causal_mask")
def _(scores):
    return scores + torch.ones(scores.shape[-2:]).tril().log()


@right("causal_mask")
def _(scores):
    rows = []
    for i, row in enumerate(scores.unbind(1)):
        rows.append(torch.cat([row[:, : i + 1], torch.full_like(row[:, i + 1 :], -INF)], 1))
    return torch.stack(rows, 1)


@right("causal_mask")
def _(scores):
    return torch.full_like(scores, -INF).masked_scatter(
        causal(scores.shape[-1]).expand_as(scores), scores[:, causal(scores.shape[-1])]
    )


@right("causal_mask")
def _(scores):
    T = scores.shape[-1]
    bias = torch.zeros(T, T)
    bias[ahead(T)] = -INF
    return bias.add(scores)


@right("causal_mask")
def _(scores):
    out = scores.double().clone()
    i, j = torch.triu_indices(*scores.shape[-2:], offset=1)
    out[:, i, j] = -INF
    return out.to(scores.dtype)


@grey("causal_mask", "remark-finfo-min-fill")
def _(scores):
    return torch.where(causal(scores.shape[-1]), scores, torch.finfo(scores.dtype).min)


@grey("causal_mask", "remark-1e9-fill")
def _(scores):
    return scores.masked_fill(ahead(scores.shape[-1]), -1e10)


# ---------------------------------------- causal_weights
def _masked(s, start=1, value=-INF):
    return s.masked_fill(ahead(s.shape[-1], start), value)


@wrong("causal_weights", "diagonal-masked")
def _(s):
    w = torch.zeros_like(s)
    for i in range(1, s.shape[-1]):
        w[:, i, :i] = s[:, i, :i].softmax(-1)
    return w


@wrong("causal_weights", "mask-after-softmax")
def _(s):
    return torch.einsum("bij,ij->bij", s.softmax(-1), causal(s.shape[-1]).float())


@wrong("causal_weights", "zero-instead-of-minus-inf")
def _(s):
    return torch.softmax(s * torch.ones_like(s).tril(), 2)


@wrong("causal_weights")
def _(s):
    """A temperature of a half."""
    return (_masked(s) * 2).softmax(-1)


@wrong("causal_weights", "softmax-twice")
def _(s):
    w = _masked(s).softmax(-1)
    return torch.exp(w) / torch.exp(w).sum(-1, keepdim=True)


@wrong("causal_weights", "hard-maximum")
def _(s):
    m = _masked(s)
    return torch.zeros_like(m).scatter(-1, m.argmax(-1, keepdim=True), 1.0)


@wrong("causal_weights", "hard-maximum")
def _(s):
    m = _masked(s)
    return (m == m.amax(-1, keepdim=True)).float()


@wrong("causal_weights", "scores-ignored")
def _(s):
    T = s.shape[-1]
    return (causal(T) / torch.arange(1, T + 1)[:, None]).expand_as(s)


@wrong("causal_weights", "not-a-softmax")
def _(s):
    return F.normalize(s.tril(), p=1, dim=-1)


@wrong("causal_weights", "weights-transposed")
def _(s):
    return torch.permute(_masked(s).softmax(2), (0, 2, 1))


@wrong("causal_weights", "not-a-softmax")
def _(s):
    return F.log_softmax(_masked(s), dim=-1)


@wrong("causal_weights", "softmax-over-queries")
def _(s):
    e = _masked(s).exp()
    return e / e.sum(1, keepdim=True)


@wrong("causal_weights", "softmax-over-batch")
def _(s):
    return torch.nn.Softmax(dim=0)(_masked(s))


@wrong("causal_weights", "softmax-without-dim")
def _(s):
    return torch.nn.Softmax()(_masked(s))


@wrong("causal_weights", "never-normalised")
def _(s):
    return s.exp().tril()


@wrong("causal_weights", "dropout-always-on")
def _(s):
    return F.dropout(_masked(s).softmax(-1), 0.3)


@wrong("causal_weights", "first-batch-row-only")
def _(s):
    return _masked(s)[:1].softmax(-1).repeat(s.shape[0], 1, 1)


@wrong("causal_weights", "mask-after-softmax")
def _(s):
    w = s.softmax(-1)
    w[:, ahead(s.shape[-1])] = -INF
    return w


@wrong("causal_weights", "softmax-over-grid")
def _(s):
    e = _masked(s).exp()
    return e / e.sum((1, 2), keepdim=True)


@wrong("causal_weights", "columns-normalised")
def _(s):
    low = s.tril()
    return low / low.sum(1, keepdim=True)


@wrong("causal_weights", "totals-not-a-column")
def _(s):
    e = torch.exp(s) * causal(s.shape[-1])
    return torch.stack([m / m.sum(1) for m in e])


@wrong("causal_weights", "sees-the-future")
def _(s):
    e = torch.exp(s - s.max(-1, keepdim=True).values)
    return e / e.sum(-1, keepdim=True)


@wrong("causal_weights", "mask-result-thrown-away")
def _(s):
    s.masked_fill(ahead(s.shape[-1]), -INF)
    return F.softmax(s, dim=2)


@wrong("causal_weights", "fill-not-low-enough")
def _(s):
    return torch.where(causal(s.shape[-1]), s, torch.tensor(-5.0)).softmax(-1)


@wrong("causal_weights", "diagonal-masked")
def _(s):
    return torch.nan_to_num(_masked(s, 0).softmax(-1))


@wrong("causal_weights", "axis-added-or-lost")
def _(s):
    return _masked(s).softmax(-1).squeeze()


@wrong("causal_weights", "input-changed-in-place")
def _(s):
    s.masked_fill_(ahead(s.shape[-1]), -INF)
    return s.softmax(-1)


@wrong("causal_weights", "gradient-cut")
def _(s):
    return torch.tensor(_masked(s).softmax(-1).tolist())


@both("causal_weights", "softmax-over-queries", "zero-instead-of-minus-inf")
def _(s):
    return torch.softmax(torch.tril(s), dim=1)


@both("causal_weights", "one-future-token", "softmax-over-grid")
def _(s):
    return _masked(s, 2).flatten(1).softmax(-1).reshape(s.shape)


@both("causal_weights", "mask-after-softmax", "softmax-over-queries")
def _(s):
    return F.softmax(s, dim=-2).tril()


@right("causal_weights")
def _(s):
    w = torch.zeros_like(s)
    for i in range(s.shape[-1]):
        w[:, i, : i + 1] = s[:, i, : i + 1].softmax(-1)
    return w


@right("causal_weights")
def _(s):
    m = _masked(s)
    m = m - m.detach().amax(-1, keepdim=True)
    e = torch.exp(m)
    return e / e.sum(-1, keepdim=True)


@right("causal_weights")
def _(s):
    m = _masked(s)
    return torch.exp(m - torch.logsumexp(m, dim=-1, keepdim=True))


@right("causal_weights")
def _(s):
    return _masked(s.double()).log_softmax(-1).exp().to(s.dtype)


@right("causal_weights")
def _(s):
    eye = torch.eye(s.shape[-1], dtype=s.dtype).expand_as(s)
    return F.scaled_dot_product_attention(
        s.float(), eye.float(), eye.float(), is_causal=True, scale=1.0
    ).to(s.dtype)


@right("causal_weights")
def _(s):
    m = torch.where(causal(s.shape[-1]), s, -INF)
    top = m.cummax(-1).values[..., -1:]
    return (m - top).exp() / (m - top).exp().sum(-1, keepdim=True)


@grey("causal_weights", "remark-unstable-softmax")
def _(s):
    m = _masked(s)
    e = (m - m.amax()).exp()
    return e / e.sum(-1, keepdim=True)


@grey("causal_weights", "remark-renormalised-after-softmax")
def _(s):
    return F.normalize(s.softmax(-1).tril(), p=1, dim=-1, eps=0.0)


# ---------------------------------------- self_attention and causal_attention
def _qkv(x, Wq, Wk, Wv):
    return x @ Wq, x @ Wk, x @ Wv


fused = F.scaled_dot_product_attention


@wrong("self_attention", "masked-though-not-asked")
def _(x, Wq, Wk, Wv):
    return fused(*_qkv(x, Wq, Wk, Wv), is_causal=True)


@wrong("self_attention", "not-scaled")
def _(x, Wq, Wk, Wv):
    return fused(*_qkv(x, Wq, Wk, Wv), scale=1)


@wrong("self_attention", "weights-transposed")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    w = (torch.einsum("bih,bjh->bij", q, k) / q.shape[-1] ** 0.5).softmax(-1)
    return torch.einsum("bij,bih->bjh", w, v)


@wrong("self_attention", "multiplied-by-sqrt-d-k")
def _(x, Wq, Wk, Wv):
    return fused(*_qkv(x, Wq, Wk, Wv), scale=Wq.shape[1] ** 0.5)


@wrong("self_attention", "scaled-twice")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return fused(q / math.sqrt(q.shape[-1]), k, v)


@wrong("self_attention", "q-k-swapped")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return fused(query=k, key=q, value=v)


@wrong("self_attention", "k-v-swapped")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return fused(q, v, k)


@wrong("self_attention", "dropout-always-on")
def _(x, Wq, Wk, Wv):
    return fused(*_qkv(x, Wq, Wk, Wv), dropout_p=0.2)


@wrong("self_attention", "softmax-over-queries")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return torch.nn.Softmax(1)(q @ k.mT / q.shape[-1] ** 0.5) @ v


@wrong("self_attention", "softmax-missing")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return torch.einsum("bih,bjh,bjd->bid", q, k, v) / q.shape[-1] ** 0.5


@wrong("self_attention", "projection-skipped")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ x


@wrong("self_attention", "projection-skipped")
def _(x, Wq, Wk, Wv):
    return (x @ x.mT / Wq.shape[1] ** 0.5).softmax(-1) @ (x @ Wv)


@wrong("self_attention", "divided-by-sqrt-c")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return fused(q, k, v, scale=1 / math.sqrt(x.shape[-1]))


@wrong("self_attention", "scaled-after-softmax")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return (q @ k.mT).softmax(-1) / q.shape[-1] ** 0.5 @ v


@wrong("self_attention", "extra-step-added")
def _(x, Wq, Wk, Wv):
    out = fused(*_qkv(x, Wq, Wk, Wv))
    return F.layer_norm(out, out.shape[-1:])


@wrong("self_attention", "extra-step-added")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return v + fused(q, k, v)


@wrong("self_attention", "axis-added-or-lost")
def _(x, Wq, Wk, Wv):
    return fused(*_qkv(x, Wq, Wk, Wv)).mean(1)


@wrong("self_attention", "axis-added-or-lost")
def _(x, Wq, Wk, Wv):
    return fused(*(t[:, None] for t in _qkv(x, Wq, Wk, Wv)))


@wrong("self_attention", "returned-a-pair")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    w = (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1)
    return [w @ v, w]


@wrong("self_attention", "grid-over-features")
def _(x, Wq, Wk, Wv):
    return fused(*(t.mT for t in _qkv(x, Wq, Wk, Wv)))


@wrong("self_attention", "batch-mixed")
def _(x, Wq, Wk, Wv):
    B, T, C = x.shape
    return fused(*_qkv(x.reshape(1, B * T, C), Wq, Wk, Wv)).reshape(B, T, -1)


@wrong("self_attention", "first-batch-row-only")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x[0], Wq, Wk, Wv)
    return torch.softmax(q @ k.T / q.shape[-1] ** 0.5, -1) @ v


@wrong("self_attention", "one-projection-for-all")
def _(x, Wq, Wk, Wv):
    h = x @ Wv
    return fused(h, h, h)


@both("self_attention", "not-scaled", "softmax-over-queries")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return torch.einsum("bij,bjh->bih", torch.einsum("bih,bjh->bij", q, k).softmax(1), v)


@both("self_attention", "wrong-tensor-averaged", "divided-by-d-k")
def _(x, Wq, Wk, Wv):
    q, k, _v = _qkv(x, Wq, Wk, Wv)
    return fused(q, k, k, scale=1 / q.shape[-1])


@right("self_attention")
def _(x, Wq, Wk, Wv):
    q, k, v = (x @ torch.cat([Wq, Wk, Wv], 1)).tensor_split(3, -1)
    return fused(q[:, None], k[:, None], v[:, None]).squeeze(1)


@right("self_attention")
def _(x, Wq, Wk, Wv):
    out = []
    for seq in x:
        q, k, v = seq @ Wq, seq @ Wk, seq @ Wv
        out.append(torch.stack([((k @ a) / len(a) ** 0.5).softmax(0) @ v for a in q]))
    return torch.stack(out)


@right("self_attention")
def _(x, Wq, Wk, Wv):
    grid = torch.einsum("bic,ch,gh,bjg->bij", x, Wq, Wk, x) / Wq.shape[1] ** 0.5
    return torch.einsum("bij,bjc,ch->bih", grid.softmax(-1), x, Wv)


@right("self_attention")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x.double(), Wq.double(), Wk.double(), Wv.double())
    e = torch.exp((q @ k.mT) / q.shape[-1] ** 0.5)
    return ((e @ v) / e.sum(-1, keepdim=True)).to(x.dtype)


@right("self_attention")
def _(x, Wq, Wk, Wv):
    """A key at a time, with a running maximum and a running total."""
    q, k, v = _qkv(x, Wq, Wk, Wv)
    q = q / q.shape[-1] ** 0.5
    top = torch.full_like(q[..., :1], -INF)
    total, out = torch.zeros_like(top), torch.zeros_like(q)
    for j in range(x.shape[1]):
        s = (q * k[:, j : j + 1]).sum(-1, keepdim=True)
        new = torch.maximum(top, s)
        out = out * (top - new).exp() + (s - new).exp() * v[:, j : j + 1]
        total = total * (top - new).exp() + (s - new).exp()
        top = new
    return out / total


@wrong("causal_attention", "sees-the-future")
def _(x, Wq, Wk, Wv):
    return fused(*_qkv(x, Wq, Wk, Wv))


@wrong("causal_attention", "mask-polarity-flipped")
def _(x, Wq, Wk, Wv):
    return fused(*_qkv(x, Wq, Wk, Wv), attn_mask=ahead(x.shape[1]))


@wrong("causal_attention", "mask-added-as-ones")
def _(x, Wq, Wk, Wv):
    return fused(*_qkv(x, Wq, Wk, Wv), attn_mask=causal(x.shape[1]).float())


@wrong("causal_attention", "diagonal-masked")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    out = torch.zeros_like(v)
    for t in range(1, x.shape[1]):
        out[:, t] = fused(q[:, t : t + 1], k[:, :t], v[:, :t])[:, 0]
    return out


@wrong("causal_attention", "one-future-token")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    rows = [fused(q[:, t : t + 1], k[:, : t + 2], v[:, : t + 2]) for t in range(x.shape[1])]
    return torch.cat(rows, 1)


@wrong("causal_attention", "mask-after-softmax")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    w = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
    return torch.bmm(w.tril(), v)


@wrong("causal_attention", "only-itself")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return fused(q, k, v, attn_mask=torch.eye(x.shape[1]).bool())


@wrong("causal_attention", "scores-ignored")
def _(x, Wq, Wk, Wv):
    return (x @ Wv).cumsum(1) / torch.arange(1, x.shape[1] + 1)[:, None]


@wrong("causal_attention", "values-masked")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v.tril()


@wrong("causal_attention", "divided-by-sqrt-c")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    s = q @ k.mT / np.sqrt(x.shape[2])
    return _masked(s).softmax(2) @ v


@wrong("causal_attention", "wrong-axes-transposed")
def _(x, Wq, Wk, Wv):
    return fused(*(t.transpose(0, 1) for t in _qkv(x, Wq, Wk, Wv)), is_causal=True).transpose(0, 1)


@wrong("causal_attention", "mask-result-thrown-away")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    s = q @ k.mT / q.shape[-1] ** 0.5
    masked = s.masked_fill(ahead(x.shape[1]), -INF)
    return s.softmax(-1) @ v


@wrong("causal_attention", "zero-instead-of-minus-inf")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    s = torch.tril(q @ k.mT) / q.shape[-1] ** 0.5
    e = s.exp()
    return e / e.sum(-1, keepdim=True) @ v


@wrong("causal_attention", "key-not-transposed")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return _masked(torch.einsum("bij,bjk->bik", q, k)).softmax(-1) @ v


@wrong("causal_attention", "factors-in-wrong-order")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return v @ _masked(q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)


@wrong("causal_attention", "wrong-tensor-averaged")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return fused(q, k, q, is_causal=True)


@wrong("causal_attention", "softmax-twice")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    w = _masked(q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    return F.softmax(w, -1) @ v


@wrong("causal_attention", "softmax-on-values")
def _(x, Wq, Wk, Wv):
    return fused(*_qkv(x, Wq, Wk, Wv), is_causal=True).softmax(-1)


@wrong("causal_attention", "gradient-cut")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    with torch.no_grad():
        w = _masked(q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    return w @ v


@wrong("causal_attention", "size-hard-coded")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return fused(q, k, v, attn_mask=causal(8))


@wrong("causal_attention", "returned-wrong-stage")
def _(x, Wq, Wk, Wv):
    q, k = x @ Wq, x @ Wk
    return _masked(q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)


@both("causal_attention", "not-scaled", "one-future-token")
def _(x, Wq, Wk, Wv):
    return fused(*_qkv(x, Wq, Wk, Wv), attn_mask=~ahead(x.shape[1], 2), scale=1.0)


@both("causal_attention", "q-k-swapped", "divided-by-d-k")
def _(x, Wq, Wk, Wv):
    k, q, v = _qkv(x, Wq, Wk, Wv)
    return _masked(torch.einsum("bth,bsh->bts", q, k) / q.shape[-1]).softmax(-1) @ v


@both("causal_attention", "mask-after-softmax", "not-scaled")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return torch.tril(torch.softmax(q @ k.mT, -1)) @ v


@both("causal_attention", "zero-instead-of-minus-inf", "wrong-tensor-averaged")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return torch.tril(q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ k


@right("causal_attention")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    rows = [fused(q[:, t : t + 1], k[:, : t + 1], v[:, : t + 1]) for t in range(x.shape[1])]
    return torch.cat(rows, dim=1)


@right("causal_attention")
def _(x, Wq, Wk, Wv):
    mask = torch.zeros(x.shape[1], x.shape[1]).masked_fill(ahead(x.shape[1]), -INF)
    return fused(*_qkv(x, Wq, Wk, Wv), attn_mask=mask)


@right("causal_attention")
def _(x, Wq, Wk, Wv):
    """Two queries at a time."""
    q, k, v = _qkv(x, Wq, Wk, Wv)
    out = []
    for start in range(0, x.shape[1], 2):
        s = torch.einsum("bih,bjh->bij", q[:, start : start + 2], k) / q.shape[-1] ** 0.5
        blocked = torch.arange(x.shape[1]) > torch.arange(start, start + s.shape[1])[:, None]
        out.append(torch.where(blocked, -INF, s).softmax(-1) @ v)
    return torch.cat(out, 1)


@right("causal_attention")
def _(x, Wq, Wk, Wv):
    q, k, v = (F.linear(x, W.T) for W in (Wq, Wk, Wv))
    s = torch.baddbmm(
        torch.full((x.shape[1],) * 2, -INF).triu(1).expand(len(x), -1, -1),
        q,
        k.mT,
        alpha=q.shape[-1] ** -0.5,
    )
    return torch.bmm(F.softmax(s, dim=-1), v)


@right("causal_attention")
def _(x, Wq, Wk, Wv):
    weights = torch.cat([Wq, Wk, Wv], dim=1).double()
    q, k, v = (x.double() @ weights).unflatten(-1, (3, -1)).unbind(-2)
    return fused(q, k, v, is_causal=True).type_as(x)


# ---------------------------------------- Head
class Plain(nn.Module):
    """A right head whose steps can be replaced one by one."""

    def __init__(self, C, head_size, block_size):
        super().__init__()
        for name in ("value", "query", "key"):
            setattr(self, name, nn.Linear(C, head_size, bias=False))
        self.register_buffer("tril", torch.ones(block_size, block_size).tril().bool())

    def mask(self, T):
        return ~self.tril[:T, :T]

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        s = torch.einsum("bih,bjh->bij", q, k) * q.shape[-1] ** -0.5
        return s.masked_fill(self.mask(x.shape[1]), -INF).softmax(-1) @ v


@wrong("Head", "super-init-forgotten")
class _(nn.Module):
    def __init__(self, C, head_size, block_size):
        self.register_buffer("tril", torch.ones(block_size, block_size).tril())
        self.key = nn.Linear(C, head_size, bias=False)


@wrong("Head", "layers-not-registered")
class _(nn.Module):
    def __init__(self, C, head_size, block_size):
        super().__init__()
        self.layers = {n: nn.Linear(C, head_size, bias=False) for n in ("key", "query", "value")}
        self.register_buffer("tril", torch.ones(block_size, block_size).tril())

    def forward(self, x):
        q, k, v = (self.layers[n](x) for n in ("query", "key", "value"))
        s = q @ k.mT / q.shape[-1] ** 0.5
        T = x.shape[1]
        return s.masked_fill(self.tril[:T, :T] == 0, -INF).softmax(-1) @ v


@wrong("Head", "tril-not-a-buffer")
class _(Plain):
    def __init__(self, C, head_size, block_size):
        super().__init__(C, head_size, block_size)
        del self.tril
        self.tril = torch.ones(block_size, block_size).tril().bool()


@wrong("Head", "tril-not-a-buffer")
class _(Plain):
    def __init__(self, C, head_size, block_size):
        nn.Module.__init__(self)
        self.key = nn.Linear(C, head_size, bias=False)
        self.query = nn.Linear(C, head_size, bias=False)
        self.value = nn.Linear(C, head_size, bias=False)

    def forward(self, x):
        return F.scaled_dot_product_attention(
            self.query(x), self.key(x), self.value(x), is_causal=True
        )


@wrong("Head", "bias-left-on")
class _(Plain):
    def __init__(self, C, head_size, block_size):
        super().__init__(C, head_size, block_size)
        self.query = nn.Linear(C, head_size)
        self.key = nn.Linear(C, head_size)
        self.value = nn.Linear(C, head_size)


@wrong("Head", "constant-as-parameter")
class _(Plain):
    def __init__(self, C, head_size, block_size):
        super().__init__(C, head_size, block_size)
        self.scale = nn.Parameter(torch.tensor(head_size**-0.5))

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        s = q @ k.mT * self.scale
        return s.masked_fill(self.mask(x.shape[1]), -INF).softmax(-1) @ v


@wrong("Head", "mask-not-sliced")
class _(Plain):
    def mask(self, T):
        return ~self.tril


@wrong("Head", "mask-not-sliced")
class _(Plain):
    def mask(self, T):
        return ~self.tril[:T]


@wrong("Head", "mask-not-sliced")
class _(Plain):
    def mask(self, T):
        return ~self.tril[:T, -T:]


@wrong("Head", "mask-sized-by-wrong-number", "mask-not-sliced")
class _(Plain):
    def __init__(self, C, head_size, block_size):
        super().__init__(C, head_size, block_size)
        self.register_buffer("tril", torch.ones(head_size, head_size).tril().bool())


@wrong("Head", "size-hard-coded")
class _(Plain):
    def __init__(self, C, head_size, block_size):
        super().__init__(C, head_size, block_size)
        self.register_buffer("tril", torch.ones(8, 8).tril().bool())


@wrong("Head", "state-kept-between-calls")
class _(Plain):
    seen = None

    def mask(self, T):
        if self.seen is None:
            self.seen = ~self.tril[:T, :T]
        return self.seen


@wrong("Head", "state-kept-between-calls")
class _(Plain):
    def mask(self, T):
        self.tril = self.tril[:T, :T]
        return ~self.tril


@wrong("Head", "divided-by-sqrt-c")
class _(Plain):
    def forward(self, x):
        B, T, C = x.shape
        s = self.query(x) @ self.key(x).transpose(-2, -1) * C**-0.5
        return F.softmax(s.masked_fill(self.mask(T), -INF), dim=-1) @ self.value(x)


@wrong("Head", "dropout-always-on")
class _(Plain):
    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=0.1)


@wrong("Head", "gradient-cut")
class _(Plain):
    @torch.no_grad()
    def forward(self, x):
        return super().forward(x)


@wrong("Head", "projection-transposed")
class _(Plain):
    def __init__(self, C, head_size, block_size):
        super().__init__(C, head_size, block_size)
        self.query = nn.Linear(head_size, C, bias=False)
        self.key = nn.Linear(head_size, C, bias=False)
        self.value = nn.Linear(head_size, C, bias=False)


@wrong("Head", "extra-step-added")
class _(Plain):
    def __init__(self, C, head_size, block_size):
        super().__init__(C, head_size, block_size)
        self.proj = nn.Linear(head_size, head_size, bias=False)

    def forward(self, x):
        return self.proj(super().forward(x))


@wrong("Head", "extra-step-added")
class _(Plain):
    def __init__(self, C, head_size, block_size):
        super().__init__(C, head_size, block_size)
        self.norm = nn.LayerNorm(C)

    def forward(self, x):
        return super().forward(self.norm(x))


@wrong("Head", "one-projection-for-all")
class _(Plain):
    def __init__(self, C, head_size, block_size):
        super().__init__(C, head_size, block_size)
        self.query = self.value = self.key


@wrong("Head", "returned-a-pair")
class _(Plain):
    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        w = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(self.mask(x.shape[1]), -INF).softmax(-1)
        return w @ v, w


@wrong("Head", "random-on-every-call")
class _(Plain):
    def forward(self, x):
        C, H = self.key.in_features, self.key.out_features
        self.key, self.query, self.value = (nn.Linear(C, H, bias=False) for _ in range(3))
        return super().forward(x)


@wrong("Head", "nothing-returned")
class _(Plain):
    def forward(self, x):
        out = super().forward(x)
        self.out = out


@wrong("Head", "mask-not-boolean")
class _(Plain):
    def __init__(self, C, head_size, block_size):
        super().__init__(C, head_size, block_size)
        self.register_buffer("tril", torch.ones(block_size, block_size).tril())


@wrong("Head", "key-not-transposed")
class _(Plain):
    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        s = torch.matmul(q, k) / q.shape[-1] ** 0.5
        return s.masked_fill(self.mask(x.shape[1]), -INF).softmax(-1) @ v


@both("Head", "bias-left-on", "not-scaled")
class _(nn.Module):
    def __init__(self, C, head_size, block_size):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(C, head_size) for _ in range(3))
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        T = x.shape[1]
        s = self.query(x) @ self.key(x).mT
        return s.masked_fill(self.tril[:T, :T] == 0, -INF).softmax(-1) @ self.value(x)


@both("Head", "tril-not-a-buffer", "softmax-over-queries")
class _(Plain):
    def __init__(self, C, head_size, block_size):
        super().__init__(C, head_size, block_size)
        del self._buffers["tril"]

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        s = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(ahead(x.shape[1]), -INF)
        return torch.softmax(s, dim=-2) @ v


@right("Head")
class _(Plain):
    pass


@right("Head")
class _(Plain):
    def mask(self, T):
        n = len(self.tril)
        return ~self.tril[n - T :, n - T :]


@right("Head")
class _(Plain):
    def __init__(self, C, head_size, block_size):
        super().__init__(C, head_size, block_size)
        for layer in (self.key, self.query, self.value):
            nn.init.xavier_normal_(layer.weight)
        self.scale, self.n = head_size**-0.5, block_size
        self.tril = self.tril.to(torch.uint8)

    def mask(self, T):
        return self.tril[:T, :T] == 0


@right("Head")
class _(nn.Module):
    def __init__(self, n_embd, d, context, *, bias=False):
        super().__init__()
        self.key = nn.Linear(n_embd, d, bias)
        self.query = nn.Linear(n_embd, d, bias)
        self.value = nn.Linear(n_embd, d, bias)
        self.register_buffer("tril", torch.full((context, context), -INF).triu(1))

    def forward(self, x):
        T = x.shape[-2]
        q, k, v = (f(x)[:, None] for f in (self.query, self.key, self.value))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=self.tril[:T, :T])[:, 0]


@right("Head")
class _(nn.Module):
    def __init__(self, C, head_size, block_size):
        super().__init__()
        self.add_module("value", nn.Linear(C, head_size, bias=False))
        self.add_module("key", nn.Linear(C, head_size, bias=False))
        self.add_module("query", nn.Linear(C, head_size, bias=False))
        self.register_buffer(
            "tril", (torch.arange(block_size)[:, None] >= torch.arange(block_size))
        )

    def forward(self, x):
        if x.shape[1] > self.tril.shape[0]:
            raise ValueError("longer than block_size")
        q, k, v = self.query(x), self.key(x), self.value(x)
        e = ((q @ k.mT) / q.shape[-1] ** 0.5).exp() * self.tril[: x.shape[1], : x.shape[1]]
        return e / e.sum(-1, keepdim=True) @ v


@right("Head")
class _(nn.Module):
    def __init__(self, C, head_size, block_size):
        super().__init__()
        self.key = nn.LazyLinear(head_size, bias=False)
        self.query = nn.LazyLinear(head_size, bias=False)
        self.value = nn.LazyLinear(head_size, bias=False)
        self.register_buffer("tril", torch.ones(block_size, block_size).tril())

    def forward(self, x):
        T = x.shape[1]
        s = self.query(x) @ self.key(x).mT / self.key.out_features**0.5
        return s.masked_fill(self.tril[:T, :T] == 0, -INF).softmax(-1) @ self.value(x)


@grey("Head", "remark-fused-projection")
class _(nn.Module):
    def __init__(self, C, head_size, block_size):
        super().__init__()
        self.c_attn = nn.Linear(C, 3 * head_size, bias=False)
        self.register_buffer("tril", torch.ones(block_size, block_size).tril())

    def forward(self, x):
        k, q, v = self.c_attn(x).chunk(3, -1)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@grey("Head", "remark-tril-not-persistent")
class _(Plain):
    def __init__(self, C, head_size, block_size):
        super().__init__(C, head_size, block_size)
        del self.tril
        self.register_buffer("tril", torch.ones(block_size, block_size).tril().bool(), False)


@grey("Head", "remark-dropout-member")
class _(Plain):
    def __init__(self, C, head_size, block_size):
        super().__init__(C, head_size, block_size)
        self.p = 0.1

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        p = self.p if self.training else 0.0
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=p)


# ---------------------------------------- sdpa
@wrong("sdpa", "sees-the-future")
def _(q, k, v):
    return fused(q, k, v, None, 0.0, False)


@wrong("sdpa", "mask-polarity-flipped")
def _(q, k, v):
    return fused(q, k, v, ahead(q.shape[1]))


@wrong("sdpa", "mask-added-as-ones")
def _(q, k, v):
    return fused(q, k, v, attn_mask=torch.tril(torch.ones(q.shape[1], q.shape[1])))


@wrong("sdpa", "one-future-token")
def _(q, k, v):
    return fused(q, k, v, attn_mask=torch.ones(q.shape[1], q.shape[1]).tril(1) > 0)


@wrong("sdpa", "diagonal-masked")
def _(q, k, v):
    return fused(q, k, v, attn_mask=torch.ones(q.shape[1], q.shape[1]).tril(-1) > 0)


@wrong("sdpa", "divided-by-d-k")
def _(q, k, v):
    return fused(q, k, v, is_causal=True, scale=1 / q.size(-1))


@wrong("sdpa", "wrong-tensor-averaged")
def _(q, k, v):
    return fused(q, k, k, is_causal=True)


@wrong("sdpa", "wrong-axes-transposed")
def _(q, k, v):
    return fused(*(t.permute(1, 0, 2) for t in (q, k, v)), is_causal=True).permute(1, 0, 2)


@wrong("sdpa", "mask-and-is-causal")
def _(q, k, v):
    return fused(q, k, v, causal(q.shape[1]), 0.0, True)


@wrong("sdpa", "mask-not-boolean")
def _(q, k, v):
    return fused(q, k, v, attn_mask=torch.ones(q.shape[1], q.shape[1]).tril().long())


@wrong("sdpa", "dropout-always-on")
def _(q, k, v):
    return fused(q, k, v, None, 0.25, True)


@wrong("sdpa", "softmax-on-values")
def _(q, k, v):
    return fused(q, k, torch.softmax(v, dim=-1), is_causal=True)


@wrong("sdpa", "future-instead-of-past")
def _(q, k, v):
    return fused(q.flip(1), k.flip(1), v.flip(1), is_causal=True).flip(1)


@wrong("sdpa")
def _(q, k, v):
    """Left with the axis of heads."""
    return fused(q[:, None], k[:, None], v[:, None], is_causal=True)


@both("sdpa", "not-scaled", "sees-the-future")
def _(q, k, v):
    return fused(q, k, v, scale=1.0)


@right("sdpa")
def _(q, k, v):
    return fused(q[:, None], k[:, None], v[:, None], is_causal=True)[:, 0]


@right("sdpa")
def _(q, k, v):
    blocked = torch.full((q.shape[1], k.shape[1]), -INF).triu(1)
    return fused(q, k, v, attn_mask=blocked, scale=1 / math.sqrt(q.shape[-1]))


@right("sdpa")
def _(q, k, v):
    return torch.stack([fused(a, b, c, is_causal=True) for a, b, c in zip(q, k, v, strict=True)])


@right("sdpa")
def _(q, k, v):
    return fused(q * q.shape[-1] ** -0.5, k, v, is_causal=True, scale=1.0)


# ---------------------------------------- sdpa_decode
def last(q, k, shift=0):
    Tq, Tk = q.shape[1], k.shape[1]
    return torch.arange(Tk) <= torch.arange(Tk - Tq, Tk)[:, None] + shift


@wrong("sdpa_decode", "aligned-top-left")
def _(q, k, v):
    return fused(q[:, None], k[:, None], v[:, None], is_causal=True)[:, 0]


@wrong("sdpa_decode", "aligned-top-left")
def _(q, k, v):
    return fused(q, k, v, attn_mask=causal(k.shape[1])[: q.shape[1]])


@wrong("sdpa_decode", "one-future-token")
def _(q, k, v):
    return fused(q, k, v, attn_mask=last(q, k, 1))


@wrong("sdpa_decode", "diagonal-masked")
def _(q, k, v):
    return fused(q, k, v, attn_mask=last(q, k, -1))


@wrong("sdpa_decode", "mask-polarity-flipped")
def _(q, k, v):
    return fused(q, k, v, attn_mask=~last(q, k))


@wrong("sdpa_decode", "sees-the-future")
def _(q, k, v):
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v


@wrong("sdpa_decode", "mask-added-as-ones")
def _(q, k, v):
    return fused(q, k, v, attn_mask=last(q, k).float())


@wrong("sdpa_decode", "k-v-swapped")
def _(q, k, v):
    return fused(q, v, k, attn_mask=last(q, k))


@wrong("sdpa_decode", "mask-and-is-causal")
def _(q, k, v):
    return fused(q, k, v, attn_mask=last(q, k), is_causal=True)


@right("sdpa_decode")
def _(q, k, v):
    pad = k.shape[1] - q.shape[1]
    return fused(F.pad(q, (0, 0, pad, 0)), k, v, is_causal=True)[:, pad:]


@right("sdpa_decode")
def _(q, k, v):
    n = k.shape[1] - q.shape[1]
    rows = [fused(q[:, [i]], k[:, : n + i + 1], v[:, : n + i + 1]) for i in range(q.shape[1])]
    return torch.cat(rows, 1)


@right("sdpa_decode")
def _(q, k, v):
    s = torch.einsum("bih,bjh->bij", q, k).masked_fill(~last(q, k), -INF) / q.shape[-1] ** 0.5
    return torch.einsum("bij,bjh->bih", torch.softmax(s, -1), v)


# ---------------------------------------- a second round, of what the first has little of
@wrong("causal_mask", "sees-the-future")
def _(scores):
    return scores * 1.0


@wrong("causal_mask", "axis-added-or-lost")
def _(scores):
    return torch.stack([_masked(s) for s in scores]).unsqueeze(0)


@wrong("causal_mask", "axis-added-or-lost")
def _(scores):
    return torch.cat([_masked(s) for s in scores])


@wrong("causal_mask", "diagonal-masked")
def _(scores):
    return _masked(scores, 0, torch.finfo(scores.dtype).min)


@wrong("causal_mask", "fill-not-low-enough")
def _(scores):
    return torch.where(causal(scores.shape[-1]), scores, -50.0)


@wrong("causal_mask", "mask-sized-by-wrong-number")
def _(scores):
    n = scores.size(0)
    mask = torch.ones(n, n).tril()
    return scores + mask.masked_fill(mask == 0, -INF).masked_fill(mask == 1, 0.0)


@wrong("causal_mask", "mask-result-thrown-away")
def _(scores):
    torch.add(scores, torch.full(scores.shape[1:], -INF).triu(1))
    return scores


@wrong("causal_mask")
def _(scores):
    """Only the last column is masked, but for the last row."""
    out = scores.clone()
    out[:, :-1, -1] = -INF
    return out


@both("causal_mask", "zero-instead-of-minus-inf", "one-future-token")
def _(scores):
    return torch.tril(scores, diagonal=1)


@both("causal_mask", "future-instead-of-past", "fill-not-low-enough")
def _(scores):
    return scores.masked_fill(torch.ones_like(scores).tril(-1) == 1, -30)


@wrong("causal_weights", "only-itself")
def _(s):
    return torch.softmax(torch.where(torch.eye(s.shape[-1]) == 1, s, -INF), -1)


@wrong("causal_weights", "plus-inf-fill")
def _(s):
    return F.softmax(_masked(s, value=INF), -1)


@wrong("causal_weights", "zero-times-inf")
def _(s):
    keep = torch.tril(torch.ones_like(s[0]))
    return torch.softmax(s + (keep - 1) * INF, dim=-1)


@wrong("causal_weights", "mask-added-as-ones")
def _(s):
    return F.softmax(torch.ones_like(s).tril() + s, -1)


@wrong("causal_weights", "zeros-used-as-mask")
def _(s):
    low = torch.tril(s)
    low[low == 0] = -INF
    return low.softmax(-1)


@wrong("causal_weights", "mask-not-boolean")
def _(s):
    mask = torch.ones(s.shape[1:]).tril()
    return s.masked_fill(~mask, -INF).softmax(-1)


@wrong("causal_weights", "mask-sized-by-wrong-number")
def _(s):
    return torch.softmax(s.masked_fill(ahead(len(s)), -INF), -1)


@wrong("causal_weights", "size-hard-coded")
def _(s):
    return torch.softmax(s[:, :8, :8] + torch.full((8, 8), -INF).triu(1), -1)


@wrong("causal_weights", "returned-wrong-stage")
def _(s):
    return s + torch.full(s.shape[1:], -INF).triu(1)


@wrong("causal_weights", "nothing-returned")
def _(s):
    w = _masked(s)
    w = w.exp() / w.exp().sum(-1, keepdim=True)


@wrong("causal_weights", "returned-wrong-stage")
def _(s):
    return _masked(s)


@wrong("causal_weights", "input-changed-in-place")
def _(s):
    s -= s.max(dim=-1, keepdim=True).values
    e = s.exp().tril()
    return e / e.sum(-1, keepdim=True)


@wrong("causal_weights", "not-a-softmax")
def _(s):
    e = _masked(s).sigmoid()
    return e / e.sum(-1, keepdim=True)


@wrong("causal_weights", "not-a-softmax")
def _(s):
    e = _masked(s).exp()
    return e / (e.sum(-1, keepdim=True) + 1)


@wrong("causal_weights", "not-a-softmax")
def _(s):
    return F.softmin(_masked(s, value=INF), -1)


@wrong("causal_weights", "tiny-fill")
def _(s):
    return torch.softmax(_masked(s, value=-1e-6), -1)


@wrong("causal_weights", "softmax-twice")
def _(s):
    return _masked(s.softmax(-1)).softmax(-1)


@wrong("causal_weights", "mask-after-softmax")
def _(s):
    return s.softmax(-1) + torch.full(s.shape[1:], -INF).triu(1)


@wrong("causal_weights", "future-instead-of-past")
def _(s):
    keep = torch.arange(s.shape[-1])[None] >= torch.arange(s.shape[-1])[:, None]
    e = s.exp() * keep
    return e / e.sum(-1, keepdim=True)


@wrong("causal_weights")
def _(s):
    """Rows are divided by their largest weight."""
    w = _masked(s).softmax(-1)
    return w / w.amax(-1, keepdim=True) * w


@both("causal_weights", "diagonal-masked", "softmax-over-queries")
def _(s):
    return _masked(s, 0).softmax(1)


@both("causal_weights", "fill-not-low-enough", "softmax-twice")
def _(s):
    return _masked(s, value=-20.0).softmax(-1).softmax(-1)


@wrong("self_attention", "softmax-without-dim")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return F.softmax(q @ k.mT / q.shape[-1] ** 0.5) @ v


@wrong("self_attention", "softmax-twice")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    s = torch.bmm(q, k.mT).mul(q.shape[-1] ** -0.5)
    for _ in range(2):
        s = torch.softmax(s, 2)
    return torch.bmm(s, v)


@wrong("self_attention", "wrong-axes-transposed")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return (q @ k.transpose(0, 2) / q.shape[-1] ** 0.5).softmax(-1) @ v


@wrong("self_attention", "elementwise-product")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return torch.softmax(q * k / q.shape[-1] ** 0.5, dim=-1) * v


@wrong("self_attention", "elementwise-product")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    w = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    return w * v


@wrong("self_attention", "projection-transposed")
def _(x, Wq, Wk, Wv):
    return fused(F.linear(x, Wq), F.linear(x, Wk), F.linear(x, Wv))


@wrong("self_attention", "projections-chained")
def _(x, Wq, Wk, Wv):
    q = x @ Wq
    k = q @ Wk
    return fused(q, k, k @ Wv)


@wrong("self_attention", "gradient-cut")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x.detach(), Wq.detach(), Wk.detach(), Wv)
    return fused(q, k, v)


@wrong("self_attention", "q-k-swapped", "scores-transposed")
def _(x, Wq, Wk, Wv):
    w = torch.einsum("bih,bjh->bji", x @ Wq, x @ Wk) / Wq.shape[1] ** 0.5
    return torch.einsum("bij,bjh->bih", w.softmax(-1), x @ Wv)


@wrong("self_attention", "returned-wrong-stage")
def _(x, Wq, Wk, Wv):
    return torch.einsum("bic,ch,bjd,dh->bij", x, Wq, x, Wk) / Wq.shape[1] ** 0.5


@wrong("self_attention", "divided-by-another-number")
def _(x, Wq, Wk, Wv):
    return fused(*_qkv(x, Wq, Wk, Wv), scale=x.shape[1] ** -0.5)


@wrong("self_attention", "root-miswritten")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return (q @ k.mT / math.sqrt(math.sqrt(q.shape[-1]))).softmax(-1) @ v


@wrong("self_attention")
def _(x, Wq, Wk, Wv):
    """The largest key alone is read."""
    q, k, v = _qkv(x, Wq, Wk, Wv)
    best = (q @ k.mT).argmax(-1)
    return torch.stack([a[i] for a, i in zip(v, best, strict=True)])


@wrong("self_attention", "not-a-softmax")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    w = torch.relu(q @ k.mT / q.shape[-1] ** 0.5)
    return w / (w.sum(-1, keepdim=True)) @ v


@both("self_attention", "masked-though-not-asked", "not-scaled")
def _(x, Wq, Wk, Wv):
    return fused(*_qkv(x, Wq, Wk, Wv), is_causal=True, scale=1.0)


@both("self_attention", "k-v-swapped", "softmax-missing")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return q @ v.mT / q.shape[-1] ** 0.5 @ k


@wrong("causal_attention", "plus-inf-fill")
def _(x, Wq, Wk, Wv):
    return fused(*_qkv(x, Wq, Wk, Wv), attn_mask=torch.full((x.shape[1],) * 2, INF).triu(1))


@wrong("causal_attention", "zero-times-inf")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    up = torch.ones(x.shape[1], x.shape[1]).triu(1)
    return (q @ k.mT / q.shape[-1] ** 0.5 + up * -INF).softmax(-1) @ v


@wrong("causal_attention", "tiny-fill")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return torch.where(causal(x.shape[1]), q @ k.mT / q.shape[-1] ** 0.5, 1e-9).softmax(-1) @ v


@wrong("causal_attention", "mask-sized-by-wrong-number")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    mask = torch.ones(q.shape[-1], q.shape[-1]).tril()
    return (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(mask == 0, -INF).softmax(-1) @ v


@wrong("causal_attention", "mask-not-boolean")
def _(x, Wq, Wk, Wv):
    return fused(*_qkv(x, Wq, Wk, Wv), attn_mask=causal(x.shape[1]).int())


@wrong("causal_attention", "softmax-over-batch")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    e = _masked(q @ k.mT / q.shape[-1] ** 0.5).exp()
    return e / e.sum(0) @ v


@wrong("causal_attention", "softmax-over-grid")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    s = _masked(q @ k.mT / q.shape[-1] ** 0.5)
    return torch.stack([(g.exp() / g.exp().sum()) for g in s]) @ v


@wrong("causal_attention", "softmax-missing")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return torch.tril(q @ k.mT / q.shape[-1] ** 0.5) @ v


@wrong("causal_attention", "scaled-twice")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return fused(q * q.shape[-1] ** -0.5, k, v, is_causal=True)


@wrong("causal_attention", "multiplied-by-sqrt-d-k")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return _masked(q @ k.mT * math.sqrt(q.shape[-1])).softmax(-1) @ v


@wrong("causal_attention", "scaled-after-softmax")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return fused(q, k, v, is_causal=True, scale=1.0) / q.shape[-1] ** 0.5


@wrong("causal_attention", "reshaped-not-transposed")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    s = q @ k.view(len(k), -1, k.shape[1]) / q.shape[-1] ** 0.5
    return _masked(s).softmax(-1) @ v


@wrong("causal_attention", "grid-over-features")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    s = torch.einsum("bth,btg->bhg", q, k) / q.shape[-1] ** 0.5
    return torch.einsum("bgh,bth->btg", _masked(s).softmax(-1), v)


@wrong("causal_attention", "one-projection-for-all")
def _(x, Wq, Wk, Wv):
    h = F.linear(x, Wk.T)
    return fused(h, h, h, is_causal=True)


@wrong("causal_attention", "k-v-swapped")
def _(x, Wq, Wk, Wv):
    q, v, k = (x @ torch.cat([Wq, Wk, Wv], 1)).chunk(3, 2)
    return fused(q, k, v, is_causal=True)


@wrong("causal_attention", "projection-skipped")
def _(x, Wq, Wk, Wv):
    q, k = x @ Wq, x @ Wk
    return fused(q, k, x, is_causal=True)


@wrong("causal_attention", "not-a-softmax")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    w = torch.sigmoid(q @ k.mT / q.shape[-1] ** 0.5).tril()
    return w @ v


@wrong("causal_attention", "extra-step-added")
def _(x, Wq, Wk, Wv):
    q, k, v = (torch.relu(x @ W) for W in (Wq, Wk, Wv))
    return fused(q, k, v, is_causal=True)


@wrong("causal_attention", "divided-by-another-number")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    s = q @ k.mT
    return _masked(s / s.std(-1, keepdim=True)).softmax(-1) @ v


@wrong("causal_attention", "weights-transposed")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    w = _masked(q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    return torch.einsum("bij,bih->bjh", w, v)


@wrong("causal_attention", "future-instead-of-past")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x.flip(1), Wq, Wk, Wv)
    return fused(q, k, v, is_causal=True).flip(1)


@wrong("causal_attention")
def _(x, Wq, Wk, Wv):
    """A window of two positions."""
    i = torch.arange(x.shape[1])
    near = (i[:, None] >= i) & (i[:, None] - i < 2)
    return fused(*_qkv(x, Wq, Wk, Wv), attn_mask=near)


@both("causal_attention", "divided-by-sqrt-c", "softmax-over-queries")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return _masked(q @ k.mT / x.shape[-1] ** 0.5).softmax(-2) @ v


@both("causal_attention", "key-not-transposed", "not-scaled")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    return _masked(torch.bmm(q, k)).softmax(-1) @ v


@both("causal_attention", "sees-the-future", "returned-a-pair")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    w = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    return w @ v, w


class Steps(Plain):
    """A head whose scores, weights and sum are methods."""

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return self.sum(self.weigh(self.block(self.score(q, k)), x), q, k, v, x)

    def score(self, q, k):
        return q @ k.mT / q.shape[-1] ** 0.5

    def block(self, s):
        return s.masked_fill(self.mask(s.shape[-1]), -INF)

    def weigh(self, s, x):
        return s.softmax(-1)

    def sum(self, w, q, k, v, x):
        return w @ v


def _steps(*slugs, kind=wrong, **methods):
    kind("Head", *slugs)(type("Head", (Steps,), methods))


_steps("future-instead-of-past", mask=lambda self, T: ~self.tril.T[:T, :T])
_steps("mask-polarity-flipped", mask=lambda self, T: self.tril[:T, :T])
_steps("only-itself", mask=lambda self, T: ~torch.eye(T).bool())
_steps("scores-ignored", score=lambda self, q, k: torch.zeros(len(q), q.shape[1], q.shape[1]))
_steps("plus-inf-fill", block=lambda self, s: s.masked_fill(self.mask(s.shape[-1]), float("inf")))
_steps("tiny-fill", block=lambda self, s: s.masked_fill(self.mask(s.shape[-1]), 1e-10))
_steps("zero-times-inf", block=lambda self, s: s + self.mask(s.shape[-1]).float() * -INF)
_steps("mask-added-as-ones", block=lambda self, s: s + self.tril[: s.shape[-1], : s.shape[-1]])
_steps("zeros-used-as-mask", block=lambda self, s: torch.where(s.tril() == 0, -INF, s.tril()))
_steps("values-masked", block=lambda self, s: s, sum=lambda self, w, q, k, v, x: w @ v.tril())
_steps("softmax-over-batch", weigh=lambda self, s, x: s.exp() / s.exp().sum(0, keepdim=True))
_steps("softmax-without-dim", weigh=lambda self, s, x: nn.Softmax()(s))
_steps("softmax-over-grid", weigh=lambda self, s, x: s.flatten(1).softmax(1).view_as(s))
_steps("softmax-twice", sum=lambda self, w, q, k, v, x: torch.softmax(w, -1) @ v)
_steps("softmax-missing", weigh=lambda self, s, x: s.nan_to_num(neginf=0.0))
_steps("softmax-on-values", sum=lambda self, w, q, k, v, x: w @ v.softmax(-1))
_steps(
    "not-a-softmax", weigh=lambda self, s, x: F.softplus(s) / F.softplus(s).sum(-1, keepdim=True)
)
_steps(
    "scaled-twice", score=lambda self, q, k: (q @ k.mT) * q.shape[-1] ** -0.5 / q.shape[-1] ** 0.5
)
_steps("multiplied-by-sqrt-d-k", score=lambda self, q, k: q @ k.mT * q.shape[-1] ** 0.5)
_steps(
    "scaled-after-softmax",
    score=lambda self, q, k: q @ k.mT,
    sum=lambda self, w, q, k, v, x: (
        w @ v / 6**0.5 if v.shape[-1] == 6 else w @ v / v.shape[-1] ** 0.5
    ),
)
_steps("scores-transposed", "q-k-swapped", score=lambda self, q, k: k @ q.mT / q.shape[-1] ** 0.5)
_steps(
    "reshaped-not-transposed",
    score=lambda self, q, k: q @ k.reshape(k.shape[0], k.shape[2], -1) / q.shape[-1] ** 0.5,
)
_steps(
    "wrong-axes-transposed", score=lambda self, q, k: q @ k.transpose(0, -1) / q.shape[-1] ** 0.5
)
_steps("grid-over-features", score=lambda self, q, k: q.mT @ k / q.shape[-1] ** 0.5)
_steps("elementwise-product", score=lambda self, q, k: q * k / q.shape[-1] ** 0.5)
_steps(
    "k-v-swapped",
    sum=lambda self, w, q, k, v, x: self.block(q @ v.mT / q.shape[-1] ** 0.5).softmax(-1) @ k,
)
_steps("wrong-tensor-averaged", sum=lambda self, w, q, k, v, x: w @ k)
_steps("projection-skipped", sum=lambda self, w, q, k, v, x: w @ x)
_steps(
    "mask-result-thrown-away",
    block=lambda self, s: (s.masked_fill(self.mask(s.shape[-1]), -INF), s)[1],
)
_steps(weigh=lambda self, s, x: F.one_hot(s.argmax(-1), s.shape[-1]).float())
_steps("batch-mixed", sum=lambda self, w, q, k, v, x: w @ v.sum(0))
_steps("first-batch-row-only", sum=lambda self, w, q, k, v, x: w[0] @ v[0])
_steps("divided-by-another-number", score=lambda self, q, k: q @ k.mT / len(self.tril) ** 0.5)
_steps("extra-step-added", sum=lambda self, w, q, k, v, x: w @ v + q)
_steps("axis-added-or-lost", sum=lambda self, w, q, k, v, x: (w @ v).flatten(0, 1))
_steps("size-hard-coded", score=lambda self, q, k: q @ k.mT / 4)
_steps("dropout-always-on", weigh=lambda self, s, x: nn.functional.dropout(s.softmax(-1), 0.2))
_steps(
    "not-scaled",
    "mask-after-softmax",
    kind=both,
    score=lambda self, q, k: q @ k.mT,
    block=lambda self, s: s,
    weigh=lambda self, s, x: s.softmax(-1) * self.tril[: s.shape[1], : s.shape[1]],
)
_steps(
    "diagonal-masked",
    "divided-by-d-k",
    kind=both,
    score=lambda self, q, k: q @ k.mT / q.shape[-1],
    mask=lambda self, T: self.tril.T[:T, :T],
)


@wrong("sdpa", "only-itself")
def _(q, k, v):
    return fused(q, k, v, attn_mask=torch.eye(q.shape[1], dtype=torch.bool))


@wrong("sdpa", "scaled-twice")
def _(q, k, v):
    return fused(q / q.shape[-1] ** 0.5, k, v, is_causal=True)


@wrong("sdpa", "multiplied-by-sqrt-d-k")
def _(q, k, v):
    return fused(q, k, v, is_causal=True, scale=math.sqrt(q.shape[2]))


@wrong("sdpa", "grid-over-features")
def _(q, k, v):
    return fused(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True).transpose(
        1, 2
    )


@wrong("sdpa", "q-k-swapped", "scores-transposed")
def _(q, k, v):
    return fused(k, q, v, is_causal=True)


@wrong("sdpa", "k-v-swapped")
def _(q, k, v):
    return fused(key=v, value=k, query=q, is_causal=True)


@wrong("sdpa", "nothing-returned")
def _(q, k, v):
    out = fused(q, k, v, is_causal=True)
    print(out.shape)


@both("sdpa", "k-v-swapped", "mask-polarity-flipped")
def _(q, k, v):
    return fused(q, v, k, attn_mask=ahead(q.shape[1]))


@wrong("sdpa_decode", "future-instead-of-past")
def _(q, k, v):
    return fused(q, k, v, attn_mask=~last(q, k, -1))


@wrong("sdpa_decode", "mask-not-boolean")
def _(q, k, v):
    return fused(q, k, v, attn_mask=last(q, k).byte())


@wrong("sdpa_decode", "aligned-top-left")
def _(q, k, v):
    n = q.shape[1]
    return torch.cat([fused(q[:, i : i + 1], k[:, : i + 1], v[:, : i + 1]) for i in range(n)], 1)


@wrong("sdpa_decode", "nothing-returned")
def _(q, k, v):
    fused(q, k, v, attn_mask=last(q, k))


@wrong("sdpa_decode")
def _(q, k, v):
    """Only the new keys are read."""
    n = q.shape[1]
    return fused(q, k[:, -n:], v[:, -n:], is_causal=True)


@both("sdpa_decode", "aligned-top-left", "k-v-swapped")
def _(q, k, v):
    return fused(q, v, k, is_causal=True)


@wrong("bow")
def _(x):
    """By way of numpy: the numbers are right and no gradient comes back."""
    return torch.tensor(np.cumsum(x.detach().numpy(), 1) / np.arange(1, x.shape[1] + 1)[:, None])


@wrong("bow")
def _(x):
    """Row 0 is never filled."""
    out = torch.zeros_like(x)
    for t in range(1, x.shape[1]):
        out[:, t] = x[:, : t + 1].mean(1)
    return out


@wrong("bow", "count-off-by-one")
def _(x):
    return torch.cumsum(x, 1) / torch.arange(2, x.shape[1] + 2)[:, None]


@wrong("bow", "axis-added-or-lost")
def _(x):
    return torch.cat([x[:, : t + 1].mean(1) for t in range(x.shape[1])])


@wrong("bow", "hard-maximum")
def _(x):
    return torch.stack([x[:, : t + 1].amax(1) for t in range(x.shape[1])], 1)


@wrong("averaging_matrix", "one-future-token")
def _(T):
    w = torch.zeros(T, T)
    for i in range(T):
        w[i, : i + 2] = 1 / min(i + 2, T)
    return w


@wrong("averaging_matrix", "future-instead-of-past")
def _(T):
    w = torch.zeros(T, T)
    for i in range(T):
        w[i, i:] = 1 / (T - i)
    return w


@wrong("averaging_matrix", "count-off-by-one")
def _(T):
    return torch.ones(T, T).tril() / torch.arange(T).view(-1, 1)


@wrong("averaging_matrix")
def _(T):
    """Weights that fall with the distance."""
    i = torch.arange(T)
    w = (0.5 ** (i[:, None] - i)).tril()
    return w / w.sum(1, keepdim=True)


@right("Head")
class _(Plain):
    def forward(self, x):
        outs = []
        for t in range(x.shape[1]):
            q, k, v = (
                self.query(x[:, t : t + 1]),
                self.key(x[:, : t + 1]),
                self.value(x[:, : t + 1]),
            )
            outs.append(F.scaled_dot_product_attention(q, k, v))
        return torch.cat(outs, 1)


@right("Head")
class _(Plain):
    def forward(self, x):
        W = torch.cat([self.query.weight, self.key.weight, self.value.weight])
        q, k, v = F.linear(x, W).chunk(3, -1)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@right("causal_attention")
def _(x, Wq, Wk, Wv):
    """Without a mask: one growing prefix after the other."""
    out = [
        fused(x[:, :n] @ Wq, x[:, :n] @ Wk, x[:, :n] @ Wv)[:, -1:] for n in range(1, x.shape[1] + 1)
    ]
    return torch.cat(out, 1)


@right("causal_attention")
def _(x, Wq, Wk, Wv):
    q, k, v = _qkv(x, Wq, Wk, Wv)
    s = (q @ k.mT).div_(q.shape[-1] ** 0.5).masked_fill_(ahead(x.shape[1]), -INF)
    s = s - s.amax(-1, keepdim=True)
    return (s.exp() @ v) / s.exp().sum(-1, keepdim=True)


@right("self_attention")
def _(x, Wq, Wk, Wv):
    return torch.vmap(
        lambda a: torch.softmax((a @ Wq) @ (a @ Wk).T / Wq.shape[1] ** 0.5, 1) @ (a @ Wv)
    )(x)
