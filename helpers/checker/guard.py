"""Run somebody's code without letting it crash, hang or change the notebook.

Everything an attempt does is an observation: a value, an exception, text it printed, a warning,
or not coming back. `Guard` turns a call into an `Outcome` and puts the notebook's state back.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import linecache
import random
import re
import signal
import sys
import threading
import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import torch

LIMIT = 4.5  # seconds of an attempt's own running time; the check around it takes the rest of 5
AGAIN = 0.02  # seconds between two alarms
IMPORT_RINGS = 150  # alarms that wait for an import to end: 3 s
PRINT_LIMIT = 2_000  # characters kept of what an attempt prints


class OutOfTime(BaseException):
    """Not an Exception, so that an attempt's `except Exception` does not swallow it."""


@dataclass
class Raised:
    """An exception as text: its type, its message, the line of the attempt that raised it."""

    type: str
    text: str
    line: str = ""
    number: int = 0  # counted from the first line of the attempt
    by_torch: bool = False  # the message is from the library and not from the attempt's own raise


@dataclass
class Outcome:
    """What one call did: `value` holds unless `error` or `late` is set."""

    value: Any = None
    error: Raised | None = None
    late: bool = False
    printed: str = ""
    warned: tuple[str, ...] = ()
    drew: bool = False  # the global generator has moved

    @property
    def ok(self) -> bool:
        return self.error is None and not self.late


class _Capped(io.StringIO):
    """A text stream that keeps the first characters only, for attempts that print for ever."""

    def write(self, text):
        room = PRINT_LIMIT - self.tell()
        if room > 0:
            super().write(str(text)[:room])
        return len(text)


def plain(text: str) -> str:
    """An exception's first line, with nothing in it that changes from run to run."""
    text = re.sub(r"0x[0-9a-fA-F]+", "0x…", text).split("\n")[0].strip()
    return re.sub(r",? but expected one of:$", "", text)[:300].rstrip(" .")


@dataclass
class Guard:
    """Calls attempts; all calls of one guard share `limit` seconds."""

    limit: float = LIMIT
    spent: float = 0.0
    late: bool = False
    files: set[str] = field(default_factory=set)  # where the attempt's own code is

    def call(self, function, *args, seed: int = 0) -> Outcome:
        """`function(*args)` as an Outcome. KeyboardInterrupt passes, so that Stop still stops.

        The global generators start from `seed`, so that a check replays identically.
        """
        if self.late:
            return Outcome(late=True)
        out = Outcome()
        printed = _Capped()
        with _state_kept(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _seed(seed)
            before = _states()
            start = time.perf_counter()
            try:
                with (
                    contextlib.redirect_stdout(printed),
                    contextlib.redirect_stderr(printed),
                    _alarm(max(self.limit - self.spent, 0.01)),
                ):
                    out.value = function(*args)
            except OutOfTime:
                self.late = out.late = True
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # whatever an attempt raises is an observation
                out.error = self._told(error)
            self.spent += time.perf_counter() - start
            if self.spent >= self.limit:
                self.late = True
            out.drew = _moved(before, _states())
        out.printed = printed.getvalue()
        out.warned = tuple(plain(str(w.message)) for w in caught)
        return out

    def _told(self, error: BaseException) -> Raised:
        try:
            text = plain(str(error))
        except Exception:  # an exception whose own __str__ fails
            text = ""
        frames = []
        trace = error.__traceback__
        while trace is not None and len(frames) < 5_000:
            code = trace.tb_frame.f_code
            frames.append((code.co_filename, trace.tb_lineno, code.co_firstlineno))
            trace = trace.tb_next
        own = [frame for frame in frames if frame[0] in self.files]
        told = Raised(type(error).__name__, text)
        if own:
            file, number, first = own[-1]
            told.line = linecache.getline(file, number).strip()
            told.number = number - first + 1
        told.by_torch = not told.line.startswith("raise")
        return told


def _seed(seed):
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)


def _states():
    numpy = sys.modules.get("numpy")
    state = numpy.random.get_state() if numpy else (0, ())
    return torch.get_rng_state(), random.getstate(), (bytes(state[1]), *state[2:])


def _moved(before, after):
    return not torch.equal(before[0], after[0]) or before[1:] != after[1:]


@contextlib.contextmanager
def _alarm(seconds: float):
    """Raise OutOfTime in this thread after `seconds`, again and again until it is heard.

    Timer signals interrupt a sleep as well as a loop. Where there are none, or off the main
    thread, another thread asks the interpreter to raise: that ends loops of Python code, and a
    single long call into C only once it returns.
    """
    main = threading.current_thread() is threading.main_thread()
    if main and hasattr(signal, "setitimer"):
        yield from _by_signal(seconds)
    else:
        yield from _by_thread(seconds)


def _by_signal(seconds):
    armed, rings, waited = True, 0, 0
    tracer = sys.gettrace()

    def ring(number, frame):
        nonlocal rings, waited
        if armed and waited < IMPORT_RINGS and _importing(frame):
            waited += 1
            return
        rings += 1
        if armed and rings > 1:
            # the first one was swallowed by a bare `except`: stop at every line from here on
            sys.settrace(stop)
            while frame is not None and frame.f_code.co_filename != __file__:
                frame.f_trace = stop
                frame = frame.f_back
        if armed:
            raise OutOfTime

    def stop(frame, event, argument):
        # not at the exception itself, but at the first line of whoever swallows it
        if armed and event == "line" and frame.f_code.co_filename != __file__:
            raise OutOfTime
        return stop

    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, ring)
    left, again = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        armed = False  # an alarm that rings from here on has nobody to interrupt
        sys.settrace(tracer)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler if handler is not None else signal.SIG_DFL)
        if left:
            passed = time.monotonic() - began
            signal.setitimer(signal.ITIMER_REAL, max(left - passed, 0.001), again)


def _importing(frame):
    """Is a module being imported? One cut off half-way would stay broken for the whole session."""
    while frame is not None and frame.f_code.co_filename != __file__:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _by_thread(seconds):
    me = threading.get_ident()
    target = ctypes.c_ulong(me)
    done = threading.Event()
    lock = threading.Lock()

    def watch():
        wait, waited = seconds, 0
        while not done.wait(wait):
            wait = AGAIN
            if waited < IMPORT_RINGS and _importing(sys._current_frames().get(me)):
                waited += 1
                continue
            with lock:
                if not done.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(target, ctypes.py_object(OutOfTime))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        with lock:
            done.set()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(target, None)  # one that is still on its way
        watcher.join()


@contextlib.contextmanager
def _state_kept():
    """Give an attempt the defaults of a fresh notebook, and this one its own state back."""
    torch_rng, python_rng = torch.get_rng_state(), random.getstate()
    numpy = sys.modules.get("numpy")
    numpy_rng = numpy.random.get_state() if numpy else None
    dtype, threads, depth = (
        torch.get_default_dtype(),
        torch.get_num_threads(),
        sys.getrecursionlimit(),
    )
    grad = torch.is_grad_enabled()
    strict = torch.are_deterministic_algorithms_enabled()
    try:
        torch.set_default_dtype(torch.float32)
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(grad)
        torch.set_rng_state(torch_rng)
        random.setstate(python_rng)
        if numpy_rng is not None:
            numpy.random.set_state(numpy_rng)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        if sys.getrecursionlimit() != depth:
            sys.setrecursionlimit(depth)
        if torch.are_deterministic_algorithms_enabled() != strict:
            torch.use_deterministic_algorithms(strict)
