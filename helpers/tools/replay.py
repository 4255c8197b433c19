"""A pytest plugin: every notebook is replayed strictly, wherever pytest is started.

pyproject.toml loads it, so that plain `pytest` does what `make test` does. It sets the options
that make nbval bite (every output compared, a stuck cell stopped, embedded pictures sanitised)
and keeps the reader's own settings out of the kernels.
"""

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from helpers.tools.normal_form import SANITIZE

ROOT = Path(__file__).resolve().parents[2]
CELL_SECONDS = 180.0

# These take longest. Files are handed out in this order with --no-loadscope-reorder.
FIRST = ("test_replay_cost.py", "test_replay_bites.py")


@contextmanager
def surroundings(environ=os.environ):
    """Environment variables in which a lesson computes and shows the same everywhere.

    One thread, since threads wait for each other at these sizes; no IPython profile and no
    matplotlib backend of the reader's own. Yields a new dict, good while the context lasts.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        new = dict(environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", IPYTHONDIR=folder)
        new["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # else a note of the debugger's is printed
        new.pop("MPLBACKEND", None)
        yield new


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    option = config.option
    if not hasattr(option, "nbval"):
        raise pytest.UsageError("nbval is missing: the set-up (make test) installs it")
    option.nbval = not option.nbval_lax
    option.nbval_current_env = option.nbval_kernel_name is None
    option.nbval_sanitize_with = option.nbval_sanitize_with or str(SANITIZE)
    option.nbval_cell_timeout = min(option.nbval_cell_timeout, CELL_SECONDS)
    if not hasattr(config, "workerinput"):  # pytest-xdist's workers inherit what is set here
        context = surroundings()
        before = dict(os.environ)
        os.environ.update(context.__enter__())
        os.environ.pop("MPLBACKEND", None)
        config.add_cleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        config.add_cleanup(lambda: context.__exit__(None, None, None))


def pytest_ignore_collect(collection_path):
    """A reader's copies hold their own answers: never replayed, even when asked for by name."""
    return True if (ROOT / "work") in (collection_path, *collection_path.parents) else None


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in FIRST)
