"""Run a lesson as a class: many students at once on one JupyterHub, and say a line for each.

    python helpers/tools/classroom.py [--students 10] [--lesson 07]

Starts a JupyterHub that listens on this machine only, and a server for each student with a copy of
the lesson in a home of its own. All run it at once and save it; a saved output that differs from
the stored one fails the student, and a file written in the checkout, in this Python or in the
real home fails the run. Measures seconds, and memory while all kernels still hold the lesson.

The students are local processes of one user: a measurement, no protection of one from another.
"""

import argparse
import importlib.util
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep

import nbformat
import psutil
import requests
import websocket
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionComplete

from helpers.tools.normal_form import RAISES, NotebookError, dumps, name, normal_form, read, tags
from helpers.tools.refresh import differences, find
from helpers.tools.replay import CELL_SECONDS, surroundings

ROOT = Path(__file__).resolve().parents[2]
PROXY = "configurable-http-proxy"
START_SECONDS = 300
MIB = 2**20

# Left out of the snapshot: what Python and git write for themselves.
OWN_AFFAIRS = {"__pycache__", ".git"}
# Where Jupyter and its libraries write when nobody gives them another home.
HOME_PLACES = (".ipython", ".jupyter", ".local/share/jupyter", ".config/matplotlib", ".cache")

# What of the replay's surroundings a student's server is given.
PASSED_ON = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "PYDEVD_DISABLE_FILE_VALIDATION")


@dataclass
class Student:
    """One of the class: where the copy is, what went wrong, and what it cost."""

    name: str
    home: Path
    token: str = ""
    faults: list = field(default_factory=list)
    seconds: float = 0.0
    cpu: float = 0.0
    memory: int = 0


def obstacle():
    """Why no class can be held with this Python, in a line, or None."""
    if importlib.util.find_spec("jupyterhub") is None:
        return "JupyterHub is missing: python -m pip install -e '.[classroom]'"
    if shutil.which(PROXY) is None:
        return f"JupyterHub's proxy is missing: npm install -g {PROXY} (needs Node.js)"
    return None


# ---------------------------------------- what is written
def snapshot(folders):
    """{path: (size, time of change)} of the files below the folders, except OWN_AFFAIRS."""
    found = {}
    for top in folders:
        for folder, below, names in os.walk(top):
            below[:] = [one for one in below if one not in OWN_AFFAIRS]
            for one in names:
                path = os.path.join(folder, one)
                try:
                    known = os.lstat(path)
                except FileNotFoundError:
                    continue
                found[path] = (known.st_size, known.st_mtime_ns)
    return found


def changes(before, after):
    """Lines on the files that are new, changed or gone between two snapshots."""
    for path in sorted({*before, *after}):
        if before.get(path) != after.get(path):
            kind = "new" if path not in before else "gone" if path not in after else "changed"
            yield f"{kind}: {path}"


def places():
    """The folders in which a lesson must write nothing."""
    return {ROOT, Path(sys.prefix), *(Path.home() / place for place in HOME_PLACES)}


# ---------------------------------------- the hub
def free_ports(count):
    """Ports of 127.0.0.1 on which nothing listens."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def settings(folder, token, ports, environ):
    """The text of a jupyterhub_config.py: this machine only, nobody can log in by a form."""
    public, hub, proxy = (f"http://127.0.0.1:{port}" for port in ports)
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    passed_on = {name: environ[name] for name in PASSED_ON}
    values = {
        "JupyterHub.bind_url": public,
        "JupyterHub.hub_bind_url": hub,
        "ConfigurableHTTPProxy.api_url": proxy,
        "ConfigurableHTTPProxy.command": [shutil.which(PROXY)],
        "JupyterHub.db_url": f"sqlite:///{folder / 'hub.sqlite'}",
        "JupyterHub.cookie_secret_file": str(folder / "cookie_secret"),
        "JupyterHub.authenticator_class": "null",
        "JupyterHub.services": [{"name": "classroom", "api_token": token}],
        "JupyterHub.load_roles": [
            {
                "name": "classroom",
                "services": ["classroom"],
                "scopes": ["admin:users", "admin:servers", "tokens"],
            }
        ],
        "JupyterHub.spawner_class": "simple",
        "SimpleLocalProcessSpawner.home_dir_template": str(folder / "students" / "{username}"),
        "Spawner.cmd": [sys.executable, "-m", "jupyterhub.singleuser"],
        # Kernels that start together can take the same TCP port; sockets in a folder have none.
        "Spawner.args": ["--KernelManager.transport=ipc", *["--allow-root"] * as_root],
        "Spawner.environment": {
            **passed_on,
            "PYTHONPATH": str(ROOT),  # the checkout's helpers, not others that are installed
            "TMPDIR": str(folder),
        },
        "Spawner.start_timeout": START_SECONDS,
        "Spawner.http_timeout": START_SECONDS,
    }
    lines = [f"c.{key} = {value!r}" for key, value in values.items()]
    # Below a home such a socket's path can be too long for the system.
    runtime = f"lambda spawner: {str(folder / 'run')!r} + '/' + spawner.user.name"
    lines.append(f'c.Spawner.environment["JUPYTER_RUNTIME_DIR"] = {runtime}')
    return "\n".join(lines) + "\n"


@contextmanager
def running_hub(folder):
    """A JupyterHub in `folder`. Yields (its process, its address, its service's token)."""
    token, ports = secrets.token_hex(32), free_ports(3)
    with surroundings() as environ, (folder / "hub.log").open("wb") as log:
        config = folder / "jupyterhub_config.py"
        config.write_text(settings(folder, token, ports, environ), encoding="utf-8")
        hub = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "--config", str(config)],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C ends this program, and this program ends the hub
        )
        try:
            address = f"http://127.0.0.1:{ports[0]}"
            wait_for(lambda: answers(f"{address}/hub/health", hub), "the hub")
            yield psutil.Process(hub.pid), address, token
        finally:
            end(hub)


def answers(address, hub):
    if hub.poll() is not None:
        raise NotebookError(f"the hub ended with status {hub.returncode}")
    try:
        return requests.get(address, timeout=5).ok
    except requests.ConnectionError:
        return False


def wait_for(question, what):
    until = monotonic() + START_SECONDS
    while not question():
        if monotonic() > until:
            raise NotebookError(f"{what} did not start in {START_SECONDS} s")
        sleep(0.2)


def end(hub):
    """End the hub, which ends its servers and its proxy; then what is left of them, by number."""
    started = psutil.Process(hub.pid).children(recursive=True) if hub.poll() is None else []
    hub.terminate()
    try:
        hub.wait(30)
    except subprocess.TimeoutExpired:
        hub.kill()
        hub.wait()
    _, left = psutil.wait_procs(started, timeout=5)
    for process in left:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            pass


# ---------------------------------------- a student
class Desk:
    """What a student's browser would do, over the hub's and the server's REST APIs."""

    def __init__(self, address, token):
        self.address = address
        self.headers = {"Authorization": f"token {token}"}

    def ask(self, method, path, body=None):
        said = requests.request(
            method, self.address + path, json=body, headers=self.headers, timeout=START_SECONDS
        )
        if not said.ok:
            raise NotebookError(f"{method} {path}: {said.status_code} {said.text[:200]}")
        return said.json() if said.content else None

    def start(self, student):
        """Make the student known to the hub, with a token of its own, and start its server."""
        user = f"/hub/api/users/{student.name}"
        self.ask("POST", user)
        student.token = self.ask("POST", f"{user}/tokens", {"note": "classroom"})["token"]
        self.ask("POST", f"{user}/server")
        wait_for(
            lambda: self.ask("GET", user)["servers"].get("", {}).get("ready"),
            f"{student.name}'s server",
        )

    def attend(self, student, path):
        """Open the notebook, run its code cells in order, save it."""
        server = f"/user/{student.name}"
        content = self.ask("GET", f"{server}/api/contents/{path}")["content"]
        live = nbformat.from_dict(content)
        session = self.ask(
            "POST",
            f"{server}/api/sessions",
            {"path": path, "name": path, "type": "notebook", "kernel": {"name": "python3"}},
        )
        channels = f"{server}/api/kernels/{session['kernel']['id']}/channels"
        with closing(
            websocket.create_connection(
                self.address.replace("http", "ws", 1) + channels,
                header=self.headers,
                timeout=CELL_SECONDS,
            )
        ) as connection:
            run_cells(live, connection)
        saved = {"type": "notebook", "format": "json", "content": live}
        self.ask("PUT", f"{server}/api/contents/{path}", saved)


def run_cells(live, connection):
    """Run a notebook's code cells over the websocket of a kernel; their outputs go into `live`."""
    keeper = NotebookClient(live, store_widget_state=False, record_timing=False)
    keeper.reset_execution_trackers()
    for place, cell in enumerate(live.cells):
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        cell.outputs, keeper.clear_before_next_output = [], False
        run_cell(cell, place, connection, keeper)
        errors = [output for output in cell.outputs if output.output_type == "error"]
        if errors and RAISES not in tags(cell):
            raise NotebookError(f"{name(cell, place + 1)} raised {errors[0].ename}")


def run_cell(cell, place, connection, keeper):
    own = uuid.uuid4().hex
    header = {"msg_id": own, "msg_type": "execute_request", "session": own, "version": "5.4"}
    content = {
        "code": cell.source,
        "silent": False,
        "store_history": True,
        "user_expressions": {},
        "allow_stdin": False,
        "stop_on_error": True,
    }
    request = {"channel": "shell", "header": header, "content": content}
    connection.send(json.dumps({**request, "parent_header": {}, "metadata": {}}))
    until = monotonic() + CELL_SECONDS
    while monotonic() < until:
        kind, frame = connection.recv_data_frame(control_frame=True)  # a ping is told too
        if kind != websocket.ABNF.OPCODE_TEXT:
            continue
        message = json.loads(frame.data)
        if message["content"].get("execution_state") in ("restarting", "dead"):
            raise NotebookError(f"{name(cell, place + 1)}: its kernel died")
        if message["parent_header"].get("msg_id") != own or message["channel"] != "iopub":
            continue
        try:
            keeper.process_message(message, cell, place)
        except CellExecutionComplete:
            return
    raise NotebookError(f"{name(cell, place + 1)} took over {CELL_SECONDS:.0f} s")


def faults(stored, saved):
    """Lines on every compared output of a student's notebook that is not the stored one."""
    found = differences(normal_form(stored), normal_form(saved))
    return [f"{cell}: {'; '.join(lines[:3])}" for cell, lines in found]


def measure(hub, students):
    """Set each student's memory and CPU; returns the memory of the hub and its proxy."""
    students = {student.name: student for student in students}
    rest = memory(hub)
    for child in hub.children():
        family = [child, *child.children(recursive=True)]
        student = students.get(child.environ().get("JUPYTERHUB_USER"))
        if student is None:
            rest += sum(map(memory, family))
            continue
        student.memory = sum(map(memory, family))
        student.cpu = sum(sum(process.cpu_times()[:2]) for process in family)
    return rest


def memory(process):
    """Bytes of a process, a page that several share divided among them where the system says so."""
    info = process.memory_full_info()
    return getattr(info, "pss", info.uss)


# ---------------------------------------- the class
def hold(lesson, students, folder):
    """All students at once. Returns (seconds to start, seconds of the lesson, bytes of the hub)."""
    stored = read(lesson)

    def guarded(step):
        def one(student):
            began = monotonic()
            try:
                if not student.faults:
                    step(student)
            except (NotebookError, OSError, websocket.WebSocketException) as error:
                student.faults.append(str(error))
            student.seconds = monotonic() - began

        return one

    def attend(student):
        Desk(address, student.token).attend(student, lesson.name)
        student.faults += faults(stored, read(student.home / lesson.name))

    for student in students:
        student.home.mkdir(parents=True)
        (student.home / lesson.name).write_text(dumps(stripped(stored)), encoding="utf-8")
    # The hub ends first, so that a student who still waits for it stops waiting.
    with ThreadPoolExecutor(len(students)) as pool, running_hub(folder) as (hub, address, token):
        began = monotonic()
        list(pool.map(guarded(Desk(address, token).start), students))
        ready = monotonic()
        list(pool.map(guarded(attend), students))
        done = monotonic()
        return ready - began, done - ready, measure(hub, students)


def stripped(notebook):
    """The notebook without outputs: whatever a student's copy holds afterwards was computed."""
    new = normal_form(notebook)
    for cell in new["cells"]:
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
    return new


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--students", type=int, default=10, help="how many (10)")
    parser.add_argument("--lesson", default="07", help="which lesson they run (07)")
    options = parser.parse_args(arguments)
    if why := obstacle():
        print(why)
        return 2
    try:
        (lesson,) = find([options.lesson])
    except NotebookError as error:
        print(error)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # else the hub would be left running
    before = snapshot(places())
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as parent:
        folder = Path(parent).resolve()
        names = [f"student-{number:02}" for number in range(1, options.students + 1)]
        students = [Student(one, folder / "students" / one) for one in names]
        try:
            start, lasted, rest = hold(lesson, students, folder)
        except NotebookError as error:
            log = (folder / "hub.log").read_text(encoding="utf-8", errors="replace")
            print(error, *log.splitlines()[-10:], sep="\n    ")
            return 1
    written = list(changes(before, snapshot(places())))
    return report(students, written, start, lasted, rest)


def report(students, written, start, lasted, rest):
    """Print a line per student, what was written elsewhere, the figures, the count."""
    for one in students:
        verdict = "FAILED" if one.faults else "no output differs"
        print(
            f"{one.name:12} {verdict:18} {one.seconds:6.1f} s {one.cpu:6.1f} s of CPU"
            f" {one.memory / MIB:6.0f} MiB"
        )
        print("".join(f"    {line}\n" for line in one.faults[:20]), end="")
    if written:
        print(f"{len(written)} files outside the students' folders were written")
        print("".join(f"    {line}\n" for line in written[:20]), end="")
    count = len(students)
    print(
        f"servers started in {start:.1f} s, the lesson took {lasted:.1f} s in all; a student:"
        f" {sum(one.cpu for one in students) / count:.1f} s of CPU,"
        f" {sum(one.memory for one in students) / count / MIB:.0f} MiB;"
        f" hub and proxy: {rest / MIB:.0f} MiB"
    )
    failed = sum(bool(one.faults) for one in students)
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed or written else 0


if __name__ == "__main__":
    sys.exit(main())
