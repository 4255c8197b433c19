"""Replay every lesson as other machines and other hands would run it, and say a line for each.

    python helpers/tools/portable.py [NAME …]     the conditions of that name, else all

Each condition is a fresh clone of what is committed, in which every notebook runs from a clean
kernel; a compared output that differs from the stored one fails it. What this system cannot do
(bind mounts and network namespaces need root on Linux) is skipped, and said.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from helpers.tools.normal_form import NotebookError, normal_form, read, text
from helpers.tools.refresh import differences, run
from helpers.tools.replay import surroundings

ROOT = Path(__file__).resolve().parents[2]
SHAKESPEARE = Path("data") / "tinyshakespeare.txt"

TWO_THREADS = "\ntorch.set_num_threads(2)\nassert torch.get_num_threads() == 2"
WARNINGS = '\nimport warnings\nwarnings.simplefilter("error")'
READ_ONLY = ["unshare", "-m", "sh", "-c", 'mount --bind -o ro "$0" "$0" && exec "$@"']
NO_NETWORK = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', ""]


@dataclass(frozen=True)
class Condition:
    """One way in which another machine differs, or another hand.

    environ   environment variables, set for the run and its kernels
    more      code appended to each lesson's first cell
    wrap      a command line in front of the run; the checkout's path is put after it
    folder    name of the checkout's folder
    start     where kernels start, below the checkout
    text      "with" or "without" tiny-Shakespeare, else as it is here
    crlf      text files with Windows line ends, save those of data/
    again     what is run more than once: a key of AGAIN
    """

    environ: dict = field(default_factory=dict)
    more: str = ""
    wrap: tuple = ()
    folder: str = "course"
    start: str = "notebooks"
    text: str = ""
    crlf: bool = False
    again: str = "nothing"


CONDITIONS = {
    "avx2": Condition({"ATEN_CPU_CAPABILITY": "avx2"}),
    "oldest-cpu": Condition({"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}),
    "one-thread": Condition(more="\nassert torch.get_num_threads() == 1"),
    "two-threads": Condition(more=TWO_THREADS),
    "ascii-locale": Condition({"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}),
    "read-only": Condition({"PYTHONDONTWRITEBYTECODE": "1"}, wrap=tuple(READ_ONLY)),
    "odd-path": Condition(folder="ein Kurs für später, naïve ☂"),
    "from-the-root": Condition(start="."),
    "warnings-are-errors": Condition(more=WARNINGS),
    "no-network": Condition(wrap=tuple(NO_NETWORK)),
    "time-zone-and-hashes": Condition({"TZ": "Pacific/Chatham", "PYTHONHASHSEED": "4321"}),
    "with-shakespeare": Condition(text="with"),
    "without-shakespeare": Condition(text="without"),
    "crlf": Condition(crlf=True),
    "each-cell-twice": Condition(again="each"),
    "all-cells-twice": Condition(again="all"),
    "restarted-half-way": Condition(again="half"),
}

# What is run in a kernel before the run that is compared goes on in it, or in a fresh one.
AGAIN = {
    "nothing": lambda cells: [cells],
    "each": lambda cells: [[cell for cell in cells for _ in range(2)]],
    "all": lambda cells: [cells + cells],
    "half": lambda cells: [cells[: len(cells) // 2], cells],
}


def checkout(condition, parent, root=ROOT):
    """A clone of what is committed, made what the condition asks for. Returns its path."""
    place = Path(parent) / condition.folder
    subprocess.run(["git", "clone", "--quiet", str(root), str(place)], check=True)
    source = root / SHAKESPEARE
    if source.is_file() and condition.text != "without":
        shutil.copyfile(source, place / SHAKESPEARE)
    if condition.crlf:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=place, capture_output=True)
        for name in filter(None, listed.stdout.decode().split("\0")):
            path = place / name
            if path.parent.name == "data":
                continue  # its bytes are checked: other line ends are a damage that is named
            path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    return place


def obstacle(condition, root=ROOT):
    """Why this condition cannot be tried here, or None."""
    if condition.text == "with" and not (root / SHAKESPEARE).is_file():
        return "tiny-Shakespeare is not here: make data"
    if condition.wrap:
        kind = condition.wrap[1]
        try:
            tried = subprocess.run(["unshare", kind, "true"], capture_output=True)
        except OSError:
            return "there is no unshare: needs Linux"
        if tried.returncode:
            return f"unshare {kind} is not allowed: needs root"
    return None


def run_again(notebook, again, folder, environ):
    """`run`, with cells more than once; of each cell, what its last run showed."""
    own = [cell["id"] for cell in notebook["cells"]]
    for cells in AGAIN[again](notebook["cells"]):
        last = {cell["id"]: place for place, cell in enumerate(cells)}
        cells = [
            cell if last[cell["id"]] == place else {**cell, "id": f"again-{place}"}
            for place, cell in enumerate(cells)
        ]
        done = run({**notebook, "cells": cells}, folder, environ)
    return {**done, "cells": [cell for cell in done["cells"] if cell["id"] in own]}


def replay(place, start, more, again="nothing"):
    """Lines on every compared output of the checkout's lessons that differs from the stored one."""
    paths = sorted((place / "notebooks").glob("[0-9][0-9]_*.ipynb"))

    def one(path):
        try:
            stored = normal_form(read(path))
            changed = normal_form(stored)
            first = next(cell for cell in changed["cells"] if cell["cell_type"] == "code")
            first["source"] = text(first["source"]) + more
            done = run_again(changed, again, place / start, environ)
            found = differences(stored, done)
        except NotebookError as error:
            return [f"{path.name}: {error}"]
        return [f"{path.name} {cell}: {'; '.join(lines[:3])}" for cell, lines in found]

    with surroundings() as environ, ThreadPoolExecutor(2) as pool:
        environ["PYTHONPATH"] = str(place)  # the checkout's helpers, not the installed ones
        return [line for lines in pool.map(one, paths) for line in lines]


def attempt(condition, root=ROOT):
    """Run a condition in a process of its own. Returns (passed, what it printed)."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as parent:
        place = checkout(condition, parent, root)
        environ = {**os.environ, **condition.environ, "PYTHONPATH": str(place)}
        wrap = list(condition.wrap)
        if wrap and wrap[-1]:
            wrap.append(str(place))
        own = [sys.executable, str(place / "helpers" / "tools" / "portable.py"), "--replay"]
        command = [*wrap, *own, str(place), condition.start]
        command += [condition.more, condition.again]
        tried = subprocess.run(
            command, cwd=place / condition.start, env=environ, capture_output=True
        )
    said = (tried.stdout + tried.stderr).decode(errors="replace").strip()
    return tried.returncode == 0, said


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=", ".join(CONDITIONS))
    parser.add_argument("--replay", nargs=4, metavar=("CHECKOUT", "START", "MORE", "AGAIN"))
    options = parser.parse_args(arguments)
    if options.replay:
        place, start, more, again = options.replay
        found = replay(Path(place), start, more, again)
        print("\n".join(found).encode("ascii", "backslashreplace").decode())
        return 1 if found else 0
    if unknown := set(options.names) - set(CONDITIONS):
        print(f"no condition {sorted(unknown)}; there are {', '.join(CONDITIONS)}")
        return 2
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name in options.names or CONDITIONS:
        condition = CONDITIONS[name]
        if why := obstacle(condition):
            counts["skipped"] += 1
            print(f"{name:22} skipped: {why}", flush=True)
            continue
        passed, said = attempt(condition)
        counts["passed" if passed else "failed"] += 1
        print(f"{name:22} {'no output differs' if passed else 'FAILED'}", flush=True)
        if not passed:
            print("\n".join(f"    {line}" for line in said.splitlines()[:20]), flush=True)
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
