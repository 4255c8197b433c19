"""Run notebooks from a clean kernel, store the outputs, put the files in normal form.

    python helpers/tools/refresh.py [--check] [01 02 … | path.ipynb …]

Without a lesson or a path: every notebook of the course. Each is run three times: as this
machine computes, and in the two ways that stand for other machines. A notebook is refused, and
its file left as it is, when a cell raises, when a compared output differs between the runs, or
when a picture has no alt text. With --check nothing is written: a stored output that differs is
refused as well.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from helpers.tools import cover
from helpers.tools.normal_form import (
    EXEMPT,
    RAISES,
    NotebookError,
    compared,
    dumps,
    name,
    normal_form,
    read,
    tags,
)
from helpers.tools.replay import CELL_SECONDS, surroundings

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
OTHER_MACHINES = {
    "ATEN_CPU_CAPABILITY=avx2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "ATEN_CPU_CAPABILITY=default MKL_CBWR=COMPATIBLE": {
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
    },
}
SHOWN_LINES = 12
_CORES = threading.Semaphore(2)


def run(notebook, folder, environ):
    """The notebook executed by a clean kernel in `folder`, in normal form.

    Raises NotebookError, naming the cell, when one raises without the tag raises-exception,
    doesn't raise with it, takes too long, writes to stderr, or shows a picture without alt text.
    """
    live = nbformat.reads(dumps(normal_form(notebook)), as_version=4)
    at = {}
    client = NotebookClient(
        live,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        store_widget_state=False,
        on_cell_start=lambda cell, cell_index: at.update(name=name(cell, cell_index + 1)),
    )
    try:
        with _CORES:
            client.execute(env=environ, stderr=subprocess.DEVNULL)
    except CellExecutionError as error:
        raise NotebookError(f"{at['name']} raised {error.ename}: {error.evalue}") from error
    except CellTimeoutError as error:
        raise NotebookError(f"{at['name']} took over {CELL_SECONDS:.0f} s") from error
    except DeadKernelError as error:
        raise NotebookError(f"{at['name']}: its kernel died") from error
    done = normal_form(live)
    for number, cell in enumerate(done["cells"], start=1):
        for complaint in _unfit(cell):
            raise NotebookError(f"{name(cell, number)} {complaint}")
    return done


def _unfit(cell):
    outputs = cell.get("outputs", [])
    if RAISES in tags(cell) and not any(o["output_type"] == "error" for o in outputs):
        yield f"is tagged {RAISES} and raised nothing"
    for output in outputs:
        if output.get("name") == "stderr":
            yield "wrote to stderr: " + "".join(output["text"]).strip()
        if any(mime.startswith("image/") for mime in output.get("data", {})):
            yield "shows a picture without alt text: wrap it, `figure(fig, alt=…)`"


def differences(one, other):
    """Compared cells whose outputs differ between two runs: [(name, lines that differ)]."""
    found = []
    for number, (a, b) in enumerate(zip(one["cells"], other["cells"], strict=True), start=1):
        if a["cell_type"] != "code" or EXEMPT in tags(a):
            continue
        mine, theirs = compared(a["outputs"]), compared(b["outputs"])
        if mine != theirs:
            lines = [
                f"{kind}: {line}"
                for kind in sorted({*mine, *theirs}, key=lambda k: (k == "text/html", k))
                for line in _changed_lines(mine.get(kind, []), theirs.get(kind, []))
            ]
            found.append((name(a, number), lines))
    return found


def _changed_lines(one, other):
    diff = difflib.unified_diff(
        "\n".join(one).splitlines(), "\n".join(other).splitlines(), lineterm="", n=0
    )
    return [line for line in diff if not line.startswith(("---", "+++", "@@"))]


def keep_measurements(new, old):
    """Leave an exempt cell's stored output where only its numbers and pictures are new.

    A timing differs at every run; a diff should show it only when somebody changed the cell.
    """
    before = {cell.get("id"): cell for cell in old["cells"]}
    for cell in new["cells"]:
        stored = before.get(cell["id"])
        if EXEMPT not in tags(cell) or stored is None or stored["source"] != cell["source"]:
            continue
        if _without_numbers(stored["outputs"]) == _without_numbers(cell["outputs"]):
            cell["outputs"] = stored["outputs"]
    return new


def _without_numbers(outputs):
    words = str(compared(outputs))
    return re.sub(r"\s+", " ", re.sub(r"-?\d+(\.\d+)?(e[-+]?\d+)?", "#", words))


def refresh(path, check=False, environ=None):
    """Refresh one file. Returns (accepted, lines of report). The file is replaced as a whole."""
    path = Path(path).resolve()
    try:
        old = read(path)
        with surroundings(os.environ if environ is None else environ) as here:
            environs = [here, *({**here, **variables} for variables in OTHER_MACHINES.values())]
            with ThreadPoolExecutor(len(environs)) as pool:
                new, *others = pool.map(lambda e: run(old, path.parent, e), environs)
        for machine, other in zip(OTHER_MACHINES, others, strict=True):
            if found := differences(new, other):
                return False, _report(path, f"differs under {machine}", found)
        if check:
            if found := differences(normal_form(old), new):
                return False, _report(path, "differs from what is stored", found)
            return True, [f"{path.name}: the same on all paths"]
        keep_measurements(new, normal_form(old))
    except NotebookError as error:
        return False, [f"{path.name}: refused, {error}"]
    before, after = path.read_text(encoding="utf-8"), dumps(new)
    if before == after:
        return True, [f"{path.name}: unchanged"]
    part = path.with_suffix(".part")
    part.write_text(after, encoding="utf-8", newline="\n")
    part.replace(path)
    if path.name == cover.LESSON:
        cover.store(path.parent)
    return True, [f"{path.name}: stored, {len(after.encode()) / 1024:.0f} KB"]


def _report(path, what, found):
    lines = [f"{path.name}: refused"]
    for cell, changed in found:
        lines.append(f"  {cell} {what}:")
        lines += [f"    {line}" for line in changed[:SHOWN_LINES]]
        if len(changed) > SHOWN_LINES:
            lines.append(f"    and {len(changed) - SHOWN_LINES} lines more")
    return lines


def find(wanted, folder=NOTEBOOKS):
    """Paths of the notebooks meant by numbers ("1", "01") or paths; all of `folder` if none."""
    if not wanted:
        return sorted(folder.glob("[0-9][0-9]_*.ipynb"))
    paths = []
    for word in wanted:
        if not word.isdigit():
            if not Path(word).is_file():
                raise NotebookError(f"there is no file {word}")
            paths.append(Path(word))
            continue
        hits = sorted(folder.glob(f"{int(word):02d}_*.ipynb"))
        if not hits:
            raise NotebookError(f"there is no lesson {word} in {folder.name}/")
        paths += hits
    return paths


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", help="a lesson's number, or a path")
    parser.add_argument("--check", action="store_true", help="write nothing, compare only")
    options = parser.parse_args(arguments)
    try:
        paths = find(options.notebooks)
    except NotebookError as error:
        print(error, file=sys.stderr)
        return 1
    accepted = []
    with ThreadPoolExecutor(max(1, len(paths))) as pool:
        for good, lines in pool.map(lambda path: refresh(path, options.check), paths):
            accepted.append(good)
            print("\n".join(lines), flush=True)
    return 0 if all(accepted) else 1


if __name__ == "__main__":
    sys.exit(main())
