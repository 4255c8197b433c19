"""Does an attempt mix sequences, or add a bias? Found out by running it on other inputs.

`again` is a function of a Case: what the attempt gives there, detached, or None.
"""

from __future__ import annotations

import torch

from .contracts import Case, normal
from .search import agree


def mixes_batch(case: Case, again) -> bool:
    """Does a change in one sequence move what another gets?"""
    if not isinstance(case.args[0], torch.Tensor) or case.sizes.B < 2:
        return False
    args = tuple(
        a if a.dim() < 3 else torch.cat([a[:1], a[1:] + normal(*a[1:].shape, seed=5)])
        for a in case.args
    )
    a, b = again(case), again(Case("changed", case.sizes, args))
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return False
    if a.isnan().any() or a.dim() < 2:
        return False
    return a.shape == b.shape and not agree(a[0], b[0])


def affine(case: Case, again) -> bool:
    """Three straight lines in x that miss 0: a bias, whatever the weights are."""
    x, *weights = case.args
    cases = (Case("multiple", case.sizes, (x * n, *weights)) for n in (0.0, 1.0, 2.0))
    at = [again(multiple) for multiple in cases]
    if not all(isinstance(value, tuple) and len(value) == 3 for value in at):
        return False
    return all(_line(*parts) for parts in zip(*at, strict=True))


def _line(zero, one, two):
    """Is it a + n * b for n = 0, 1 and 2, with an a that every position shares?"""
    if not all(isinstance(t, torch.Tensor) for t in (zero, one, two)):
        return False
    if not zero.shape == one.shape == two.shape or zero.dim() != 3 or not zero.any():
        return False
    return agree(zero, zero[:1, :1].expand_as(zero)) and agree(two - one, one - zero, 1e-4)
