"""What a call does inside PyTorch: which operations run, and what they allocate."""

import os
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

MEMORY = "[memory]"


@dataclass(frozen=True)
class Profile:
    """The record of one call.

    operations   names of PyTorch's operations, outer before inner, in order of their start
    allocations  bytes of tensor memory in order of time: positive taken, negative given back
    """

    operations: tuple
    allocations: tuple


def profiled(f):
    """Call f once, without arguments, under PyTorch's profiler.

    f   any function of no arguments; what it returns is held until the record ends, so its
        memory is never given back within it

    Returns a Profile. Its allocations are those of PyTorch's own CPU allocator: not what f's
    inputs took before, nor scratch buffers of the maths libraries, nor what Python holds. The
    largest running sum is the most that the call held at once.

    What f raises is passed on. RuntimeError when a profiler is running already.
    """
    # Not torch.profiler: its first use imports sympy, a second and more of CPU.
    from torch.autograd.profiler import profile

    with _stderr_of_c_muted():
        with profile(profile_memory=True) as record:
            kept = f()
        del kept
    events = sorted(record.kineto_results.events(), key=lambda event: event.start_ns())
    return Profile(
        operations=tuple(event.name() for event in events if event.name() != MEMORY),
        allocations=tuple(event.nbytes() for event in events if event.name() == MEMORY),
    )


@contextmanager
def _stderr_of_c_muted():
    """Hold back the lines, with time and process id, that the profiler's C++ writes."""
    try:
        before = os.dup(2)
    except OSError:  # no stderr at all
        with nullcontext():
            yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(nowhere)
        os.close(before)
