"""What was handed in: is it an attempt at all, and where is its code?"""

from __future__ import annotations

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


def unfit(exercise, attempt) -> str:
    """Why this cannot be run at all, or nothing."""
    if exercise.name == "Head":
        if isinstance(attempt, nn.Module):
            return "Hand over the class itself, `Head`, and not a head that is already built."
        if not inspect.isclass(attempt):
            return "A class is expected here: it is built with (C, head_size, block_size)."
        return ""
    if not callable(attempt) or inspect.isclass(attempt):
        return "Hand over the function itself, without brackets after its name."
    return ""
