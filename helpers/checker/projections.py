"""What three tensors are, when they are not the three projections."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from .contracts import Case
from .search import agree


def project_slugs(case: Case, value, equal: bool) -> tuple[str, ...]:
    """What three tensors are, when they are not x @ Wq, x @ Wk and x @ Wv."""
    x, Wq, Wk, Wv = case.args
    want = (x @ Wq, x @ Wk, x @ Wv)
    if isinstance(value, torch.Tensor):
        if value.shape == (3, *want[0].shape) and agree(value, torch.stack(want)):
            return ("axis-added-or-lost",)
        return ()
    if not isinstance(value, tuple) or len(value) != 3:
        return ()
    if not all(isinstance(part, torch.Tensor) for part in value):
        return ()
    slugs: list[str] = []
    which = []
    for part, right in zip(value, want, strict=True):
        which.append(next((i for i, w in enumerate(want) if agree(part, w)), None))
        if which[-1] is None:
            slugs += _projection_slugs(case, part, right, which, equal)
    if None not in which:
        return {
            (1, 0, 2): ("q-k-swapped",),
            (0, 2, 1): ("k-v-swapped",),
        }.get(tuple(which), ("one-projection-for-all",) if len(set(which)) < 3 else ())
    if slugs and which.count(None) == 3 and len({tuple(p.flatten().tolist()) for p in value}) == 1:
        slugs.append("one-projection-for-all")
    return tuple(dict.fromkeys(slugs))


def _projection_slugs(case, part, right, which, equal):
    """One of the three: which other way of projecting gives it."""
    x, *weights = case.args
    for change, slug in _OTHER_PROJECTIONS:
        for W in weights:
            try:
                if agree(part, change(x, W)):
                    return [slug]
            except RuntimeError:
                continue
    if equal:
        for A in weights:
            for B in weights:
                for change, slug in _CHAINS:
                    try:
                        if agree(part, change(x, A, B)):
                            return [slug]
                    except RuntimeError:
                        continue
    p = x @ weights[0]
    if part.numel() == p.numel() and part.shape != p.shape:
        if any(agree(part.reshape(p.shape), x @ W) for W in weights):
            return ["axis-added-or-lost"]
    if part.shape == right.shape:
        for W in weights:
            shift = part - x @ W
            if agree(shift, shift[:1, :1].expand_as(shift)):
                return ["bias-left-on"]
    for W in weights:
        for left in one_position(x @ W):
            if left.shape == part.shape and agree(part, left):
                return ["axis-added-or-lost"]
    return []


def _layer_norm(t):
    return F.layer_norm(t, t.shape[-1:])


_OTHER_PROJECTIONS = (
    (lambda x, W: (x @ W).relu(), "extra-step-added"),
    (lambda x, W: (x @ W).tanh(), "extra-step-added"),
    (lambda x, W: (x @ W).sigmoid(), "extra-step-added"),
    (lambda x, W: F.gelu(x @ W), "extra-step-added"),
    (lambda x, W: (x @ W).softmax(-1), "extra-step-added"),
    (lambda x, W: _layer_norm(x @ W), "extra-step-added"),
    (lambda x, W: _layer_norm(x) @ W, "extra-step-added"),
    (lambda x, W: x @ W / W.shape[1] ** 0.5, "extra-step-added"),
    (lambda x, W: x @ W / W.shape[1] ** 0.25, "extra-step-added"),
    (lambda x, W: F.normalize(x @ W, dim=-1), "extra-step-added"),
    (lambda x, W: x + x @ W, "extra-step-added"),
    (lambda x, W: x[0] @ W, "first-batch-row-only"),
    (lambda x, W: x[:1] @ W, "first-batch-row-only"),
    (lambda x, W: (x[:1] @ W).expand(x.shape[0], -1, -1), "first-batch-row-only"),
    (lambda x, W: torch.cat([x[:1] @ W, 0 * (x[1:] @ W)]), "first-batch-row-only"),
    (lambda x, W: x @ W.T, "projection-transposed"),
    (lambda x, W: W @ x, "factors-in-wrong-order"),
    (lambda x, W: W.T @ x, "factors-in-wrong-order"),
    (lambda x, W: x * W, "elementwise-product"),
    (lambda x, W: x * W.T, "elementwise-product"),
    (lambda x, W: x[..., None] * W, "elementwise-product"),
)
_CHAINS = (
    (lambda x, A, B: x @ A @ B, "projections-chained"),
    (lambda x, A, B: x @ A.T @ B, "projections-chained"),
)


def one_position(want):
    """What is left of a right answer when an axis is averaged away or one position is taken."""
    for axis in range(1, want.dim()):
        for keep in (False, True):
            yield want.mean(axis, keepdim=keep)
            yield want.sum(axis, keepdim=keep)
    if want.dim() > 2:
        for place in (-1, 0):
            yield want[:, place]
            yield want[:, place, None]


def time_first(value, want):
    """Batch and time merged with time as the outer one, read back."""
    if want.dim() != 3:
        return value
    B, T, width = want.shape
    return value.reshape(T, B, width).transpose(0, 1)
