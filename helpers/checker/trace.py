"""A record of the torch calls an attempt makes, for twins that no number separates.

The record serves the diagnosis and never the verdict: how a right number was reached does not
matter. `Trace` is entered around one call of an attempt; `live` then walks it backwards from the
result, so that a `masked_fill` whose result was dropped can be told from one that was kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

LIMIT = 20_000  # calls kept; an attempt with explicit loops makes a few thousand
MASKING = {
    "masked_fill",
    "masked_fill_",
    "where",
    "tril",
    "triu",
    "tril_",
    "triu_",
    "index_put",
    "index_put_",
    "__setitem__",
    "masked_scatter",
}
PRODUCTS = {"matmul", "__matmul__", "__rmatmul__", "bmm", "mm", "einsum", "baddbmm", "mv", "dot"}
DIVISIONS = {"div", "div_", "__truediv__", "true_divide", "divide", "__itruediv__", "__rtruediv__"}
PRODUCTS_BY_ENTRY = {"mul", "mul_", "__mul__", "__rmul__", "__imul__", "multiply"}


@dataclass
class Step:
    """One call: what went in, what came out (None where it raised)."""

    name: str
    args: tuple
    kwargs: dict
    out: Any = None
    raised: bool = False
    live: bool = False
    shapes: tuple = ()  # of the tensors that went in, as they were

    @property
    def tensors(self) -> list[torch.Tensor]:
        return list(_tensors((self.args, self.kwargs)))

    @property
    def numbers(self) -> list[float]:
        """Plain numbers among the arguments, in order; booleans and sizes included."""
        found = [*self.args, *self.kwargs.values()]
        return [float(a) for a in found if isinstance(a, int | float) and not isinstance(a, bool)]


def _tensors(thing, depth=0):
    if isinstance(thing, torch.Tensor):
        yield thing
    elif isinstance(thing, tuple | list) and depth < 4:
        for part in thing:
            yield from _tensors(part, depth + 1)
    elif isinstance(thing, dict) and depth < 4:
        for part in thing.values():
            yield from _tensors(part, depth + 1)


@dataclass
class Trace(TorchFunctionMode):
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self):
        super().__init__()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "")
        if name == "__get__" and hasattr(function, "__self__"):
            name = getattr(function.__self__, "__name__", name)
        step = Step(name, args, kwargs)
        step.shapes = tuple(tuple(t.shape) for t in step.tensors)
        if len(self.steps) < LIMIT:
            self.steps.append(step)
        step.raised = True
        step.out = function(*args, **kwargs)
        step.raised = False
        return step.out

    def live(self, result) -> list[Step]:
        """The calls whose result the returned value depends on, in order."""
        needed = {id(t) for t in _tensors(result)}
        stores = {_store(t) for t in _tensors(result)}
        for step in reversed(self.steps):
            changes = step.name.endswith("_") and not step.name.startswith("__")
            changes = changes or step.name in ("__setitem__", "__imul__", "__itruediv__")
            outs = list(_tensors(step.out))
            if changes:
                step.live = any(_store(t) in stores for t in step.tensors[:1])
            else:
                step.live = any(id(t) in needed for t in outs)
            if step.live:
                for tensor in step.tensors:
                    needed.add(id(tensor))
                    stores.add(_store(tensor))
        return [step for step in self.steps if step.live]

    @property
    def failed(self) -> Step | None:
        """The call that raised, where the attempt ended in it."""
        return self.steps[-1] if self.steps and self.steps[-1].raised else None


def _store(tensor):
    try:
        return tensor.untyped_storage().data_ptr()
    except Exception:  # sparse, meta and wrapped tensors have no plain storage
        return id(tensor)
