"""Who can be heard: which outputs move when one input is changed."""

import torch


def influence_grid(f, x):
    """Change one position of x at a time and see which rows of f(x) move.

    f   any function of x that returns a row for each position
    x   (T, C), or (B, T, C), of which sequence 0 is changed and looked at

    Returns a boolean tensor, (T, T) for an f that returns T rows: entry (i, j) is True when
    output i moves after input j is changed. The changes are finite, about the size of x's own
    entries, never NaN or inf. The grid says who can be heard, not how loudly.

    A row moves when an entry changes by more than one part in a million of the largest output,
    or becomes NaN or inf, or ceases to be. x and the global random state are left as they were,
    whatever f does to them.

    Raises ValueError when x has other axes, is empty or not of floats, when f does not return a
    row for each position, or when f gives two answers for the same x (dropout left on, say).
    """
    if not callable(f):
        raise TypeError(f"influence_grid takes a function of x first, not {type(f).__name__}")
    if not isinstance(x, torch.Tensor) or x.ndim not in (2, 3) or not x.is_floating_point():
        found = f"{x.dtype} {tuple(x.shape)}" if isinstance(x, torch.Tensor) else type(x).__name__
        raise ValueError(f"x must be floats of shape (T, C) or (B, T, C), this is {found}")
    if x.is_meta:
        raise ValueError('x is on the device "meta": it has a shape but no numbers to change')
    if 0 in x.shape:
        raise ValueError(f"x is empty: its shape is {tuple(x.shape)}")
    batched = x.ndim == 3
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        x = x.detach()
        before = _rows(f, x, batched)
        if not _same(before, _rows(f, x, batched), 0.0).all():
            raise ValueError("f gives two answers for the same x: is there dropout? use .eval()")
        finite = before[before.isfinite()]
        tolerance = 1e-6 * max(1.0, float(finite.abs().max()) if finite.numel() else 1.0)
        columns = []
        for j in range(x.shape[-2]):
            moved = torch.zeros(before.shape[0], dtype=torch.bool)
            for change in _changes(x):
                other = x.clone()
                row = (other[0] if batched else other)[j]
                row.copy_(torch.nan_to_num(torch.nan_to_num(row, 0.0, 0.0, 0.0) + change))
                moved |= ~_same(before, _rows(f, other, batched), tolerance)
            columns.append(moved)
    return torch.stack(columns, dim=1)


def _changes(x):
    """Two finite changes of a (C,) row; no channel stays where it is in both."""
    C = x.shape[-1]
    size = x[x.isfinite()].abs().mean() if x.isfinite().any() else x.new_ones(())
    wave = torch.cos(torch.arange(C, device=x.device, dtype=torch.float32) * 1.7)
    for pattern in (1.0 + wave, 0.5 - wave):
        yield (pattern * torch.clamp(size, min=0.1)).to(x.dtype)


def _rows(f, x, batched):
    """f(x) of the looked-at sequence as (rows, everything else), on the CPU."""
    out = f(x.clone())
    if not isinstance(out, torch.Tensor):
        raise ValueError(f"f must return a tensor, it returned {type(out).__name__}")
    if out.ndim < (3 if batched else 1):
        raise ValueError(f"f must return a row for each position, it returned {tuple(out.shape)}")
    if batched:
        out = out[0]
    return out.detach().reshape(out.shape[0], -1).cpu().to(torch.float64, copy=True)


def _same(a, b, tolerance):
    """(rows,): does every entry of the row agree, NaN with NaN and inf with inf?"""
    if a.shape != b.shape:
        raise ValueError(f"f returns different shapes: {tuple(a.shape)} and {tuple(b.shape)}")
    return torch.isclose(a, b, rtol=0.0, atol=tolerance, equal_nan=True).all(dim=1)
