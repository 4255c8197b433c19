"""Heads: build one, give it the weights by name, and look at what it is made of.

Weights are copied by name, since two right heads that make their layers in another order differ
under one seed. `in_` the recipe's convention a weight is (C, head_size); a layer holds its
transpose.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations

import torch
from torch import nn

from .contracts import ORDINARY, Case, Sizes, lower, normal

NAMES = ("query", "key", "value")


@dataclass
class Facts:
    """What a head built with (C, head_size, block_size) consists of."""

    module: bool = False
    shapes: dict[str, tuple] = field(default_factory=dict)  # of key, query, value, where found
    biases: tuple[str, ...] = ()
    fused: bool = False
    loaded: bool = False
    shared: bool = False  # one layer under more than one name, or the only one
    hidden: bool = False  # layers in a plain list or dict
    parameters: dict[str, tuple] = field(default_factory=dict)
    extra: dict[str, tuple] = field(default_factory=dict)  # parameters beyond the weights
    tril: str = ""  # "buffer", "parameter", "attribute" or ""
    tril_shape: tuple = ()
    tril_triangle: bool = True  # do its entries tell the past from the future?
    other_buffers: tuple[str, ...] = ()
    persistent: bool = False
    moves: bool = False
    dropout: bool = False
    forward: bool = True


def sizes_of(case: Case) -> tuple[int, int, int]:
    return case.sizes.C, case.sizes.H, case.sizes.n


def build(cls, C, head_size, block_size):
    """A head with its weights in place: lazy layers take their shape from a first call."""
    head = cls(C, head_size, block_size)
    if isinstance(head, nn.Module) and any(
        isinstance(p, nn.UninitializedParameter) for p in head.parameters()
    ):
        with torch.no_grad():
            head(torch.zeros(1, 1, C))
    return head


def runner(cls, mode="eval", order=(0, 1, 2)):
    """The head as a function of (x, Wq, Wk, Wv), built afresh at each call."""

    def attempt(sizes: Sizes, x, Wq, Wk, Wv):
        head = build(cls, sizes.C, sizes.H, sizes.n)
        load(head, (Wq, Wk, Wv), order)
        getattr(head, mode, lambda: None)()
        return head(x)

    return attempt


def load(head, weights, order=(0, 1, 2)) -> bool:
    """Copy (C, head_size) weights into query, key and value; True where all three took theirs.

    A bias, where there is one, is set to 0, so that what else is off can still be seen: that
    there is one is a finding of its own. One wide projection takes the three in `order`.
    """
    if not isinstance(head, nn.Module):
        return False
    took = 0
    with torch.no_grad():
        for name, W in zip(NAMES, weights, strict=True):
            layer = getattr(head, name, None)
            weight = getattr(layer, "weight", None)
            if not isinstance(weight, torch.Tensor) or weight.shape != W.T.shape:
                continue
            weight.copy_(W.T)
            if isinstance(getattr(layer, "bias", None), torch.Tensor):
                layer.bias.zero_()
            took += 1
        if not took:
            wide = _wide(head, weights[0].shape)
            if wide is not None:
                whole = torch.cat([weights[i] for i in order], dim=1)
                wide.copy_(whole.T if wide.shape == whole.T.shape else whole)
                for name, p in head.named_parameters():
                    if name.endswith("bias") and p.shape == wide.shape[:1]:
                        p.zero_()
                return True
    return took == 3


def _wide(head, shape):
    C, H = shape
    for p in head.parameters():
        if tuple(p.shape) in ((3 * H, C), (C, 3 * H)):
            return p
    return None


def orders():
    return tuple(permutations(range(3)))


def look(cls) -> Facts:
    """Build a head and describe it."""
    s = ORDINARY
    head = build(cls, s.C, s.H, s.n)
    facts = Facts()
    facts.module = isinstance(head, nn.Module)
    if not facts.module:
        facts.hidden = any(isinstance(v, nn.Module) for v in vars(head).values())
        return facts
    facts.forward = type(head).forward is not nn.Module.forward
    layers = {name: getattr(head, name, None) for name in NAMES}
    for name, layer in layers.items():
        weight = getattr(layer, "weight", None)
        if isinstance(weight, torch.Tensor):
            facts.shapes[name] = tuple(weight.shape)
    facts.parameters = {name: tuple(p.shape) for name, p in head.named_parameters()}
    facts.biases = tuple(
        name for name in NAMES if isinstance(getattr(layers[name], "bias", None), torch.Tensor)
    )
    wide = None if facts.shapes else _wide(head, (s.C, s.H))
    facts.fused = wide is not None
    square = [n for n, shape in facts.parameters.items() if shape in ((s.H, s.C), (s.C, s.H))]
    known = {f"{name}.{part}" for name in facts.shapes for part in ("weight", "bias")}
    for name, p in head.named_parameters():
        if name not in known and p is not wide:
            facts.extra[name] = tuple(p.shape)
            if facts.fused and name.endswith("bias") and tuple(p.shape) == (3 * s.H,):
                facts.biases, _ = ("query", "key", "value"), facts.extra.pop(name)
    registered = {id(m) for m in head.modules()}
    facts.hidden = any(
        id(m) not in registered for value in vars(head).values() for m in _inside(value)
    )
    named = [layer for layer in layers.values() if layer is not None]
    facts.shared = len({id(layer) for layer in named}) == 1 and (
        len(named) == 3 or (len(square) == 1 and not facts.hidden)
    )
    facts.shared = facts.shared or (not named and not facts.hidden and len(square) == 1)
    weights = [normal(s.C, s.H, seed=i) for i in range(3)]
    facts.loaded = load(head, weights)
    _look_at_tril(head, facts)
    facts.dropout = any(isinstance(m, nn.Dropout) and m.p > 0 for m in head.modules())
    return facts


def _inside(value):
    """The modules in a plain container, which nn.Module does not look into."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [m for m in value if isinstance(m, nn.Module)]
    return [value] if isinstance(value, nn.Module) else []


def _look_at_tril(head, facts):
    buffers = dict(head.named_buffers())
    facts.other_buffers = tuple(name for name in buffers if name != "tril")
    tril = getattr(head, "tril", None)
    if "tril" in buffers:
        facts.tril = "buffer"
    elif "tril" in dict(head.named_parameters()):
        facts.tril = "parameter"
    elif isinstance(tril, torch.Tensor):
        facts.tril = "attribute"
    if isinstance(tril, torch.Tensor):
        facts.tril_shape = tuple(tril.shape)
        facts.tril_triangle = _tells_past(tril)
    facts.persistent = "tril" in head.state_dict()
    moved = getattr(head.to("meta"), "tril", None)
    facts.moves = isinstance(moved, torch.Tensor) and moved.device.type == "meta"


def _tells_past(tril) -> bool:
    """Zero exactly above the diagonal, or exactly on and below it, as in a mask that is added."""
    marked = tril.detach() != 0
    if marked.dim() < 2 or marked.shape[-1] != marked.shape[-2]:
        return True  # its size is what is off
    past = lower(marked.shape[-1])
    return bool((marked == past).all() or (marked == ~past).all())


@dataclass
class Later:
    """What a head answers after other calls, and whether a call changes it."""

    first: object = None
    again: object = None
    short: object = None
    long: object = None
    changed: bool = False


def several_calls(cls):
    """One head called on T = 3, then on T = block_size, then on the first input again."""

    def attempt(case: Case, short: Case, long: Case):
        head = build(cls, *sizes_of(case))
        load(head, case.args[1:])
        head.eval()
        before = {name: t.clone() for name, t in head.state_dict().items()}
        later = Later()
        later.first = head(case.args[0])
        later.short = head(short.args[0])
        later.long = head(long.args[0])
        later.again = head(case.args[0])
        after = head.state_dict()
        later.changed = any(
            name not in after or not torch.equal(t, after[name]) for name, t in before.items()
        )
        return later

    return attempt


def learning(cls):
    """Which layers a gradient reaches, in train mode."""

    def attempt(case: Case):
        head = build(cls, *sizes_of(case))
        load(head, case.args[1:])
        head.train()
        out = head(case.args[0])
        if out.requires_grad:
            (out * normal(*out.shape, seed=3)).sum().backward()
        return {
            name: bool(p.grad is not None and p.grad.isfinite().all() and p.grad.any())
            for name, p in head.named_parameters()
        }

    return attempt


def as_built(cls):
    """Two calls of a head that nobody gave weights, and whether a call drew random numbers."""

    def attempt(case: Case):
        head = build(cls, *sizes_of(case))
        head.eval()
        first = head(case.args[0])
        before = torch.get_rng_state()
        second = head(case.args[0])
        return first, second, not torch.equal(before, torch.get_rng_state())

    return attempt
