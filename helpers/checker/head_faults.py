"""What a Head consists of that does not belong, and what is missing."""

from __future__ import annotations

from .contracts import LESSON, ORDINARY
from .heads import Facts


def head_faults(f: Facts):
    """One fault at a time: its slug, or the slugs between which nothing chooses."""
    if f.biases:
        yield ("bias-left-on",)
    if f.hidden and not f.loaded:
        yield ("layers-not-registered",)
    elif f.shared:
        yield ("one-projection-for-all",)
    elif not f.loaded and any(s == (ORDINARY.C, ORDINARY.H) for s in f.shapes.values()):
        yield ("projection-transposed",)
    if f.loaded:
        yield from _extra_parameters(f)
    if f.tril == "parameter":
        yield ("constant-as-parameter",)
    elif f.tril != "buffer":
        yield ("tril-not-a-buffer",)
    else:
        yield from _tril_size(f.tril_shape)


def _extra_parameters(f):
    for name, shape in f.extra.items():
        if name == "tril":
            continue
        square = shape[-2:] in ((ORDINARY.n, ORDINARY.n), (ORDINARY.T, ORDINARY.T))
        constant = sum(shape) <= 1 or square
        yield ("constant-as-parameter",) if constant else ("extra-step-added",)


def _tril_size(shape):
    n = ORDINARY.n
    if shape in ((n, n), (1, n, n)) or len(shape) < 2:
        return
    lesson = shape[-1] in (LESSON.T, LESSON.H, LESSON.C, LESSON.B)
    yield ("size-hard-coded",) if lesson else ("mask-sized-by-wrong-number",)
