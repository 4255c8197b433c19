"""Open JupyterLab on a reader's own copy of the lessons, to work or to present; bring one back.

    python helpers/tools/lab.py open [02]     PORT=8889 in the environment: another port
    python helpers/tools/lab.py present [02]  or a notebook below this folder, by its path
    python helpers/tools/lab.py reset 02

The copies live in work/, which git ignores: answers neither break the tests nor collide with an
update. A copy is made where there is none, and never overwritten.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = Path(__file__).parent / "lab_settings"
PRESENTING = Path(__file__).parent / "present_settings"


class LabError(Exception):
    """What stands in the way, in one line."""


def make_copies(root=ROOT):
    """Copy into work/ the lessons that are not there yet; returns the paths made."""
    (root / "work").mkdir(exist_ok=True)
    made = []
    for source in _lessons(root):
        target = root / "work" / source.name
        try:
            _copy(source, target)
        except FileExistsError:
            continue
        made.append(target)
    return made


def reset(lesson, root=ROOT):
    """A fresh copy of one lesson. Returns (the copy, where the reader's is kept or None)."""
    source = find(lesson, root)
    make_copies(root)
    target = root / "work" / source.name
    if target.read_bytes() == source.read_bytes():
        return target, None
    number = 1
    while (kept := target.with_suffix(f".old-{number}.ipynb")).exists():
        number += 1
    target.rename(kept)
    _copy(source, target)
    return target, kept


def find(lesson, root=ROOT):
    """The notebook of a lesson, named by its number ("2" or "02")."""
    hits = [p for p in _lessons(root) if lesson.isdigit() and int(p.name[:2]) == int(lesson)]
    if not hits:
        there = ", ".join(p.name[:2] for p in _lessons(root))
        raise LabError(f"There is no lesson {lesson!r}: NB is one of {there}.")
    return hits[0]


def free_port(port):
    """The port as a number, when it can be listened on."""
    if not port.isdigit() or not 1 <= int(port) <= 65535:
        raise LabError(f"PORT must be a whole number up to 65535, not {port!r}.")
    with socket.socket() as probe:
        if os.name != "nt":  # there the option would let two servers share the port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", int(port)))
        except OSError as error:
            raise LabError(
                f"Port {port} is busy, perhaps with an earlier JupyterLab: close that, or take "
                f"another port: make lab PORT={(int(port) + 1) % 65536 or 8888}."
            ) from error
    return int(port)


def command(notebook, port, root=ROOT, **lab_options):
    """What starts JupyterLab: on this machine only, with its token, and quiet on the network."""
    inside = notebook.relative_to(root).as_posix()
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": root,
        "LabApp.default_url": f"/lab/tree/{inside}",
        "LabApp.app_settings_dir": SETTINGS,
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        "LabApp.extension_manager": "readonly",
        **{f"LabApp.{name}": value for name, value in lab_options.items()},
    }
    start = [sys.executable, "-m", "jupyterlab"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        start.append("--allow-root")
    return start + [f"--{name}={value}" for name, value in options.items()]


def present_command(notebook, port, root=ROOT):
    """What starts JupyterLab for a lecture: one document, large type, no bars beside it.

    The settings live in build/present/ and are written anew: the reader's own neither show nor
    change, and what was opened or set in the last lecture is gone.
    """
    inside = notebook.relative_to(root).as_posix()
    folder = root / "build" / "present"
    write_presentation(folder)
    return command(
        notebook,
        port,
        root,
        default_url=f"/doc/tree/{inside}",
        user_settings_dir=folder / "settings",
        workspaces_dir=folder / "workspaces",
    )


def write_presentation(folder):
    """The settings and the empty workspace of a presentation, as JupyterLab keeps them."""
    from jupyterlab_server.workspaces_handler import WorkspacesManager

    shutil.rmtree(folder, ignore_errors=True)
    settings = json.loads((PRESENTING / "settings.json").read_text(encoding="utf-8"))
    for plugin, values in settings.items():
        package, _, name = plugin.partition(":")
        place = folder / "settings" / package / f"{name}.jupyterlab-settings"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(values), encoding="utf-8")
    workspace = (PRESENTING / "workspace.json").read_text(encoding="utf-8")
    (folder / "workspaces").mkdir()
    WorkspacesManager(str(folder / "workspaces")).save("default", workspace)


def to_present(lesson, root=ROOT):
    """The notebook to present: a lesson's number means the copy in work/, else it is a path."""
    if not lesson.endswith(".ipynb"):
        return root / "work" / find(lesson, root).name
    path = (root / lesson).resolve()
    if not path.is_file() or not path.is_relative_to(root.resolve()):
        raise LabError(f"There is no notebook {lesson} in this folder.")
    return root / path.relative_to(root.resolve())


def open_lab(lesson="01", port="8888", root=ROOT, presenting=False):
    """Make the copies, fetch the data set if that is possible, and become JupyterLab."""
    port = free_port(port)
    notebook = to_present(lesson, root) if presenting else root / "work" / find(lesson, root).name
    made = make_copies(root)
    if made:
        print("work/: your copy of", ", ".join(path.name for path in made))
    fetch = [sys.executable, str(ROOT / "helpers" / "tools" / "data.py"), "--if-possible"]
    subprocess.run(fetch, check=False)
    inside = notebook.relative_to(root).as_posix()
    print(f"JupyterLab opens {inside}; Ctrl-C here stops it", flush=True)
    start = (present_command if presenting else command)(notebook, port, root)
    os.chdir(root)
    if os.name == "nt":  # exec would give the prompt back while the server still runs
        return subprocess.call(start)
    os.execv(start[0], start)


def _lessons(root):
    return sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb"))


def _copy(source, target):
    with open(target, "xb") as file:  # x: an existing file is never opened for writing
        file.write(source.read_bytes())


def main(arguments):
    try:
        match arguments:
            case ["open", *lesson] if len(lesson) < 2:
                return open_lab(*lesson, port=os.environ.get("PORT", "8888"))
            case ["present", *lesson] if len(lesson) < 2:
                port = os.environ.get("PORT", "8888")
                return open_lab(*lesson, port=port, presenting=True)
            case ["reset", lesson]:
                copy, kept = reset(lesson)
                kept = f"yours is kept as {kept.name}" if kept else "yours was unchanged"
                print(f"work/{copy.name} is fresh; {kept}")
                return 0
            case ["reset"]:
                raise LabError("Which lesson? As in: make reset NB=02.")
        print(__doc__)
        return 2
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
