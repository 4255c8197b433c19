"""What the calls of an attempt tell beside its numbers: fills, scales, and twins.

Twins give the same numbers; the trace often separates them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .contracts import Sizes
from .recipes import Option, added, filled, scaled
from .trace import DIVISIONS, MASKING, PRODUCTS_BY_ENTRY, Step

TURNING = {
    "T",
    "mT",
    "H",
    "t",
    "transpose",
    "transpose_",
    "swapaxes",
    "permute",
    "movedim",
    "einsum",
}
NEEDS_A_MASK = {
    "fill-not-low-enough",
    "mask-added-as-ones",
    "zero-instead-of-minus-inf",
    "tiny-fill",
    "plus-inf-fill",
    "mask-after-softmax",
    "zeros-used-as-mask",
    "values-masked",
}
ADDING = {"add", "add_", "__add__", "__radd__", "__iadd__", "sub", "sub_", "__sub__", "__rsub__"}


@dataclass
class Evidence:
    """The torch calls of one call of an attempt, on the ordinary case."""

    exercise: str
    sizes: Sizes
    steps: list[Step]
    live: list[Step]  # those that the result depends on
    warned: tuple[str, ...] = ()

    def extra_options(self):
        """Fills and scales that the attempt was seen to use, as further switches."""
        fills, scales = [], []
        for step in self.live:
            for number in _scalars(step):
                if step.name in MASKING or step.name.startswith(
                    ("full", "new_full", "add", "sub", "mul", "__mul", "__rmul")
                ):
                    if -20_000 < number < -1e-3:
                        fills.append(number)
                    elif 1e-3 < number < 20_000:  # it may be subtracted
                        fills.append(-number)
                if step.name in DIVISIONS and abs(number) > 1e-6:
                    scales.append(1 / number)
                if step.name in PRODUCTS_BY_ENTRY and number > 0:
                    scales.append(number)
        fills = [f for f in dict.fromkeys(fills) if f not in (-1.0, -10.0, -100.0)][:3]
        return {
            "fill": tuple(
                Option(f"{f} {how}", ("fill-not-low-enough",), make(f))
                for f in fills
                for how, make in (("filled", filled), ("added", added))
            ),
            "scale": tuple(
                Option(f"times {s}", self._constant(s), scaled(lambda d, z, s=s: s))
                for s in list(dict.fromkeys(scales))[:4]
                if s != 1.0
            ),
        }

    def _constant(self, scale):
        """A scale that does not follow the sizes: a size of the lessons, or another number."""
        if self.exercise in ("sdpa", "sdpa_decode", "raw_scores") or scale >= 1:
            return ()
        hard, other = "size-hard-coded", "divided-by-another-number"

        def among(sizes):
            return any(abs(1 / scale - size) < 1e-3 for size in sizes)

        if among((8.0,)):
            return hard, other  # T, or the root of C
        if among((8**0.5, 32.0, 32**0.5)):
            return other, hard  # T where a root of d_k belongs, or a size of lesson 09
        return (hard,) if among((4.0, 16.0, 64.0, 384.0, 384**0.5)) else (other,)

    def order_twins(self, slugs):
        """Order twins by what the calls show; a twin that they exclude is left out."""
        slugs = tuple(slugs)
        if "sees-the-future" in slugs and "mask-result-thrown-away" in slugs:
            if self._mask_dropped():
                return _first(slugs, "mask-result-thrown-away")
            return _without(slugs, "mask-result-thrown-away")
        if "zero-instead-of-minus-inf" in slugs and "tiny-fill" in slugs:
            tiny = any(
                0 < abs(n) < 1e-3 for s in self.live if s.name not in DIVISIONS for n in _scalars(s)
            )
            return _without(slugs, "zero-instead-of-minus-inf" if tiny else "tiny-fill")
        if "divided-by-d-k" in slugs:
            return _without(slugs, "divided-by-d-k" if self._scalings() > 1 else "scaled-twice")
        if "scores-transposed" in slugs:
            if self.exercise in ("attention_scores", "raw_scores"):
                return _without(slugs, "q-k-swapped")
            if self.exercise == "sdpa":
                return _without(slugs, "scores-transposed")
        if "softmax-without-dim" in slugs:
            missing = any("Implicit dimension" in text for text in self.warned)
            return _without(slugs, "softmax-over-batch" if missing else "softmax-without-dim")
        if slugs == ("not-scaled",) and self._divided_by_one():
            return ("root-miswritten", "not-scaled")
        if slugs == ("sees-the-future",) and self._filled_with_zero():
            return ("zero-instead-of-minus-inf", "sees-the-future")
        if set(slugs) == {"softmax-over-queries", "columns-normalised"}:
            softmax = any(s.name in ("softmax", "exp") for s in self.live)
            return _without(slugs, "columns-normalised" if softmax else "softmax-over-queries")
        return slugs

    def borne_out(self, found):
        """Without the ways that need a call which was not made: a transposition, or a mask."""
        if self.exercise == "averaging_matrix":
            if any(s.name in TURNING for s in self.live):
                return found
            return [f for f in found if "weights-transposed" not in f.slugs] or found
        if self._may_mask():
            return found
        return [f for f in found if not NEEDS_A_MASK & set(f.slugs)] or found

    def _may_mask(self):
        """Is there a live call that could write or add a fill, other than a scale?"""
        return any(
            step.name in MASKING
            or step.name == "scaled_dot_product_attention"
            or step.name in ADDING | PRODUCTS_BY_ENTRY
            and sum(bool(shape) for shape in step.shapes) > 1
            or step.name in ADDING
            and any(_scalars(step))
            for step in self.live
        )

    def _mask_dropped(self):
        T = self.sizes.T
        for step in self.steps:
            if step.live or not step.shapes or step.raised:
                continue
            if step.name in MASKING and step.shapes[0][-2:] == (T, T) and len(step.shapes[0]) > 2:
                return True
            if step.name in ("add", "add_", "__add__", "sub", "__radd__") and holds(step, "inf"):
                return True
        return False

    def _scalings(self):
        """How many live calls multiply or divide by a number; the fused call is one more."""
        count = 0
        for step in self.live:
            if step.name == "scaled_dot_product_attention" and step.kwargs.get("scale") is None:
                count += 1
            if step.name in DIVISIONS | PRODUCTS_BY_ENTRY and step.shapes and step.shapes[0]:
                count += any(n not in (0.0, 1.0) for n in _scalars(step))
        return count

    def _divided_by_one(self):
        return any(
            1.0 in _scalars(step)
            for step in self.live
            if step.name in DIVISIONS | PRODUCTS_BY_ENTRY
            and step.shapes
            and len(step.shapes[0]) > 2
        )

    def _filled_with_zero(self):
        """Zeros above the diagonal, by a fill or by a triangle cut from what is all zeros."""
        return self.exercise == "averaging_matrix" and any(
            step.name.startswith("masked_fill")
            and 0.0 in _scalars(step)
            or step.name.startswith("tril")
            and not step.tensors[0].any()
            for step in self.live
        )

    def multiplied_entries(self):
        """Did q meet k entry by entry before the product that raised?"""
        features = (self.sizes.B, self.sizes.T, self.sizes.H)
        return any(
            step.name in PRODUCTS_BY_ENTRY and step.shapes[:2] == (features, features)
            for step in self.steps
        )

    def averaged_another_axis(self):
        """Did the call that raised store a mean or a sum over another axis than time?"""
        last = self.steps[-1] if self.steps else None
        if self.exercise != "bow" or last is None or not last.raised:
            return False
        for step in self.steps:
            if step.name in ("mean", "sum") and any(t is step.out for t in last.tensors):
                given = step.shapes[0]
                return tuple(step.out.shape) != (*given[:-2], given[-1])
        return False


def _first(slugs, slug):
    return (slug, *(s for s in slugs if s != slug))


def _without(slugs, slug):
    return tuple(s for s in slugs if s != slug)


def _scalars(step: Step):
    """Plain numbers of a call, and tensors without axes, which are numbers too."""
    found = list(step.numbers)
    for tensor in step.tensors:
        if tensor.dim() == 0 and not tensor.is_meta:
            found.append(float(tensor.detach()))
    return found


def holds(step, what):
    test = torch.isnan if what == "nan" else torch.isinf
    things = [step.out] if what == "nan" else step.tensors
    return any(
        isinstance(t, torch.Tensor) and t.is_floating_point() and bool(test(t.detach()).any())
        for t in things
    )


def drops(step: Step):
    if step.name in ("scaled_dot_product_attention",):
        return bool(step.kwargs.get("dropout_p")) or any(0 < n < 1 for n in step.numbers[:1])
    if step.name in ("bernoulli", "bernoulli_"):
        return True
    if "dropout" in step.name:
        return step.kwargs.get("training", True)
    return step.name in ("rand", "rand_like")


class NoDropout(torch.overrides.TorchFunctionMode):
    """Every dropout hands its input through, so that what else is off can be read."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(function, "__name__", "")
        if "dropout" in name and args:
            return args[0]
        if name == "scaled_dot_product_attention":
            kwargs["dropout_p"] = 0.0
            args = (*args[:4], *args[5:]) if len(args) > 4 else args
        return function(*args, **kwargs)
