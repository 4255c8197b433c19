"""What was handed in: is it an attempt at all, and where is its code?"""

from __future__ import annotations

import difflib
import dis
import inspect

from torch import nn

_NOTHING = {
    "RESUME", "NOP", "CACHE", "EXTENDED_ARG", "COPY_FREE_VARS", "POP_TOP", "LOAD_CONST",
    "RETURN_VALUE", "RETURN_CONST",
}  # fmt: skip


def empty(function) -> bool:
    """Is the body empty, or only a docstring, `pass` or `...`?"""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return False
    work = [i for i in dis.get_instructions(code) if i.opname not in _NOTHING]
    loads = [i for i in dis.get_instructions(code) if i.opname in ("LOAD_CONST", "RETURN_CONST")]
    return not work and all(i.argval is None or i.argval is ... for i in loads)


def own_functions(attempt) -> list:
    """The functions that the author wrote: the one, or the methods of the class."""
    if inspect.isclass(attempt):
        classes = [c for c in attempt.__mro__ if not c.__module__.startswith(("torch", "builtins"))]
        return [f for c in classes for f in vars(c).values() if inspect.isfunction(f)]
    function = getattr(attempt, "func", attempt)  # functools.partial
    function = getattr(function, "__func__", function)
    if not inspect.isfunction(function):
        function = vars(type(function)).get("__call__", function)
    return [inspect.unwrap(function)]


def files(attempt) -> set[str]:
    """Where the author's code is, to find the line that raised."""
    codes = [getattr(f, "__code__", None) for f in own_functions(attempt)]
    return {code.co_filename for code in codes if code is not None}


def nothing_yet(attempt) -> bool:
    """Nothing to check: None, `...`, or a body that does nothing."""
    if attempt is None or attempt is ...:
        return True
    if not inspect.isclass(attempt):
        return callable(attempt) and not isinstance(attempt, nn.Module) and empty(attempt)
    functions = own_functions(attempt)
    if not functions:
        return True
    forward = getattr(attempt, "forward", None)
    unwritten = forward is nn.Module.forward and all(empty(f) for f in functions)
    return unwritten or (inspect.isfunction(forward) and empty(forward))


def _without_forward(head) -> str:
    """Where the method that runs a head may have gone, for a class that has other code."""
    if not issubclass(head, nn.Module) or head.forward is not nn.Module.forward:
        return ""
    names = [f.__name__ for f in own_functions(head)]
    if "__call__" in names:
        return ""
    near = difflib.get_close_matches("forward", names, 1, 0.6)
    if near:
        return f"The class has no method `forward`. It has `{near[0]}`: is that the one you mean?"
    inside = [f.__name__ for f in own_functions(head) if "forward" in _defined_in(f)]
    if inside:
        return (
            f"The class has no method `forward`: yours is defined inside `{inside[0]}`. How far is "
            "a method of the class indented?"
        )
    if set(names) - {"__init__"}:
        return "The class has no method `forward`, which is what runs when a head is given x."
    return ""


# What the three sizes are called elsewhere.
_SIZES = {
    "C": ("c", "n_embd", "embed_dim", "emb_dim", "d_model", "d_in", "in_features", "channels"),
    "head_size": ("head_size", "hs", "h", "d_k", "dk", "head_dim", "d_head", "d_out"),
    "block_size": ("block_size", "n", "t", "context_length", "ctx", "max_len", "context"),
}


def reordered(head) -> str:
    """Its three sizes where the class takes them in another order, by their names, or nothing."""
    try:
        names = list(inspect.signature(head).parameters)[:3]
    except (TypeError, ValueError):
        return ""
    read = [size for name in names for size, known in _SIZES.items() if name.lower() in known]
    if len(read) != 3 or set(read) != set(_SIZES) or read == list(_SIZES):
        return ""
    return f"A head is built as Head(C, head_size, block_size), and yours takes {', '.join(names)}."


def _defined_in(function) -> set[str]:
    """Names of the functions that are made inside this one."""
    return {c.co_name for c in function.__code__.co_consts if inspect.iscode(c)}


def unfit(exercise, attempt) -> str:
    """Why this cannot be run at all, or nothing."""
    if exercise.name == "Head":
        if isinstance(attempt, nn.Module):
            return "Hand over the class itself, `Head`, and not a head that is already built."
        if not inspect.isclass(attempt):
            return "A class is expected here: it is built with (C, head_size, block_size)."
        return _without_forward(attempt)
    if not callable(attempt) or inspect.isclass(attempt):
        return "Hand over the function itself, without brackets after its name."
    return ""
