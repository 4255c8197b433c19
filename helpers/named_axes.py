"""`shapes`: the shape comment that cannot lie."""

import re
from itertools import permutations
from numbers import Integral

COURSE_SIZES = {"B": 4, "T": 8, "C": 384, "head_size": 16}


class ShapeError(ValueError):
    """A tensor does not have the axes that were stated for it."""


class _Stated:
    """What `shapes` found: one line a tensor."""

    def __init__(self, lines):
        self._lines = lines

    def __repr__(self):
        width = max(len(name) for name, _, _ in self._lines)
        return "\n".join(
            f"{name:{width}}  {_tuple(axes)} = {_tuple(shape)}" for name, axes, shape in self._lines
        )


def shapes(spec, /, **named):
    """State the axes of tensors, check them, and show them.

    spec     one group of axes for all tensors, `"(B, T, head_size)"`, or one group a tensor in
             the order given, written like the product it describes:
             `"(T, T) @ (B, T, C) -> (B, T, C)"`. An axis is a name or a plain number.
    named    tensors by name, `q=q, k=k`, and sizes by name, `T=3`. A size that is not given is
             the course's: B, T, C, head_size = 4, 8, 384, 16. Any other axis name takes the size
             it first meets and keeps it for the rest of the call.

    As the last line of a cell it shows `q  (B, T, head_size) = (4, 8, 16)`, a line a tensor.

    Raises ShapeError (a ValueError) with the tensor's name, the axis, both sizes and the likely
    reason; ValueError for a spec that does not fit the tensors; TypeError for what is no tensor.
    """
    sizes, tensors = {}, {}
    for name, value in named.items():
        if isinstance(value, Integral) and not isinstance(value, bool):
            sizes[name] = int(value)
        elif hasattr(value, "shape"):
            tensors[name] = value
        else:
            kind = type(value).__name__
            raise TypeError(f"{name} is of type {kind}; shapes takes tensors, and sizes as int")
    groups = _parse(spec, len(tensors))
    # Sizes that were given come first: an error names a size by what the caller calls it.
    sizes |= {name: size for name, size in COURSE_SIZES.items() if name not in sizes}
    lines = []
    for (name, tensor), axes in zip(tensors.items(), groups, strict=True):
        shape = tuple(tensor.shape)
        _check(name, shape, axes, sizes)
        lines.append((name, axes, shape))
    return _Stated(lines)


def _parse(spec, count):
    if not isinstance(spec, str):
        raise TypeError('shapes takes the axes first, as text: shapes("(B, T, C)", x=x)')
    if count == 0:
        raise ValueError('shapes needs a tensor by name: shapes("(B, T, C)", x=x)')
    groups = [
        tuple(axis.strip() for axis in inside.split(",") if axis.strip())
        for inside in re.findall(r"\(([^()]*)\)", spec)
    ]
    between = re.sub(r"\([^()]*\)", "", spec)
    unreadable = re.sub(r"[\s@*+=,]|->", "", between)
    bad_names = [a for group in groups for a in group if not re.fullmatch(r"\w+", a)]
    if not groups or unreadable or bad_names:
        raise ValueError(f"cannot read the axes {spec!r}; write them as in '(B, T, C)'")
    if len(groups) == 1:
        return groups * count
    if len(groups) != count:
        raise ValueError(f"{spec!r} states {len(groups)} shapes, but {count} tensors were given")
    return groups


def _check(name, shape, axes, sizes):
    for axis, size in zip(axes, shape, strict=False):
        if not axis.isdigit() and len(axes) == len(shape):
            sizes.setdefault(axis, size)
    want = tuple(int(a) if a.isdigit() else sizes.get(a) for a in axes)
    if len(shape) != len(want):
        known = _tuple("?" if size is None else size for size in want)
        raise ShapeError(
            f"{name} has {_axes(len(shape))} {_tuple(shape)}, expected {_axes(len(want))} "
            f"{_tuple(axes)} = {known}{_why_count(shape, axes, want)}"
        )
    for i, (axis, size, expected) in enumerate(zip(axes, shape, want, strict=True)):
        if size != expected:
            also = [n for n, s in sizes.items() if s == size and n != axis and n in COURSE_SIZES]
            found = f"{size} = {also[0]}" if also else f"{size}"
            stated = f"{expected}" if axis.isdigit() else f"{axis} = {expected}"
            raise ShapeError(
                f"{name}: axis {i} is {found}, expected {stated}"
                f"{_why_size(shape, axes, want, i, also)}"
            )


def _why_count(shape, axes, want):
    """The likely reason for too many or too few axes, as the end of a sentence."""
    more = len(shape) - len(want)
    if more == 1 and shape[1:] == want:
        return ": an axis too many at the front; was the batch left on?"
    if more > 0 and tuple(s for s in shape if s != 1) == want:
        return ": an axis of size 1 too many; was keepdim or an unsqueeze left on?"
    if more == -1 and axes[0] == "B" and shape == want[1:]:
        return ": the batch axis is missing; was one sequence picked out?"
    if more == -1:
        for i in range(len(want)):
            if shape == want[:i] + want[i + 1 :]:
                return f": axis {axes[i]} is gone; was it averaged or picked away?"
    return ""


def _why_size(shape, axes, want, i, also):
    """The likely reason for one wrong size, as the end of a sentence."""
    if len(shape) >= 2 and shape == want[:-2] + (want[-1], want[-2]):
        return ": were the last two axes swapped?"
    # Beyond four axes there would be too many orders to try, and the course never has them.
    if len(shape) <= 4 and shape != want and any(p == want for p in permutations(shape)):
        return ": are the axes in another order?"
    if shape[i] == 0:
        return ": it is empty"
    if shape[i] == 1:
        return ": was keepdim left on, or a single entry sliced out?"
    if axes[i] == "head_size" and "C" in also:
        return ": was the projection left out?"
    if axes[i] == "C" and "head_size" in also:
        return ": was it projected already?"
    if axes[i] == "T" and "head_size" in also:
        return ": does one of the factors need its last two axes swapped?"
    return ""


def _tuple(items):
    items = [str(item) for item in items]
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _axes(n):
    return f"{n} axis" if n == 1 else f"{n} axes"
