"""What the course's costs are measured against, and the bars they stay under.

A figure is a ratio: what is measured, over a yardstick that runs in between on the same cores,
so that the machine's speed and its load cancel. `bench` and the tests take both from here.
"""

import io
import re
import subprocess
from contextlib import contextmanager
from pathlib import Path

import psutil
from jupyter_client.manager import KernelManager

from helpers.tools.normal_form import EXEMPT, read, tags, text
from helpers.tools.replay import CELL_SECONDS, surroundings

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"

# The yardstick of a replay: start a kernel, import, draw one picture.
BASELINE = [
    "import torch\nfrom matplotlib import pyplot\nfrom helpers import heatmap\n"
    "torch.set_num_threads(1)",
    'heatmap(torch.eye(8), "Ay, good", title="The baseline")',
]
# The first assert_close of a kernel imports 519 modules (torch.distributed.tensor, and with it
# sympy): about 0.3 of the baseline, which no lesson can avoid and none is responsible for.
FIRST_COMPARISON = "torch.testing.assert_close(torch.ones(1), torch.ones(1))"

# 07 trains three small models, which the 1.6 of its neighbours leaves apart.
REPLAY_AT_MOST = {"01": 1.25, "02": 1.25, "03": 1.25, "07": 2.0, "08": 2.0}
REPLAY_OTHERWISE = 1.6
TRAINS = {"09"}  # its cost is a training run, which the lesson itself bounds
MEASURES = {"08"}  # its cells that replay does not compare are a measurement, left out here
EXPLORES = re.compile(r"^explore_\w+\(", re.MULTILINE)  # explorers have bars of their own

KINDS = ("user", "system", "children_user", "children_system")


def lessons(folder=NOTEBOOKS):
    """Paths of the lessons by their two digits."""
    return {path.name[:2]: path for path in sorted(folder.glob("[0-9][0-9]_*.ipynb"))}


def compares(path):
    """Whether a replay of this lesson meets the first assert_close of its kernel."""
    return "assert_close(" in path.read_text(encoding="utf-8")


def replay_bar(lesson):
    return REPLAY_AT_MOST.get(lesson, REPLAY_OTHERWISE)


class Kernel:
    """A running kernel, to run cells in."""

    def __init__(self, manager, client):
        self.manager, self.client = manager, client

    def run(self, source):
        """Run a cell. Returns the text of the error that it raised, or None."""
        reply = self.client.execute_interactive(
            source,
            store_history=False,
            allow_stdin=False,
            timeout=CELL_SECONDS,
            output_hook=lambda message: None,
            stop_on_error=False,
        )["content"]
        return None if reply["status"] == "ok" else f"{reply['ename']}: {reply['evalue']}"

    def number(self, expression):
        """The value of an expression over the cells' names, as a float.

        Raises ValueError when it cannot be had.
        """
        reply = self.client.execute(
            "", silent=True, user_expressions={"it": f"float({expression})"}, reply=True
        )
        found = reply["content"]["user_expressions"]["it"]
        if found["status"] != "ok":
            raise ValueError(f"{expression}: {found['ename']}: {found['evalue']}")
        return float(found["data"]["text/plain"])

    def cpu(self):
        """CPU seconds, user and system, of the kernel and its children so far."""
        times = psutil.Process(self.manager.provisioner.pid).cpu_times()
        return sum(getattr(times, kind, 0.0) for kind in KINDS)


@contextmanager
def kernel(folder=NOTEBOOKS):
    """A fresh kernel that computes as in a replay; ended with the context."""
    with surroundings() as environ:
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel(env=environ, cwd=str(folder), stderr=subprocess.DEVNULL)
        client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=60)
            yield Kernel(manager, client)
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


def replay_cpu(sources):
    """CPU seconds that a kernel and its children spend on these cells, its start included."""
    with kernel() as running:
        for source in sources:
            running.run(source)
        return running.cpu()


def replay_rounds(rounds, chosen=None):
    """CPU seconds of replays, interleaved: {"baseline": […], "comparing": […], "01": […], …}.

    rounds  how many of each
    chosen  the lessons, by their two digits; all that replay compares if None

    "comparing" is the baseline with a first assert_close. All .pyc files are warm.
    """
    runs = {"baseline": BASELINE, "comparing": [*BASELINE, FIRST_COMPARISON]}
    for lesson, path in lessons().items():
        if lesson not in TRAINS and (chosen is None or lesson in chosen):
            runs[lesson] = list(_counted(lesson, read(path)))
    replay_cpu(BASELINE)
    spent = {name: [] for name in runs}
    for _ in range(rounds):
        for name, found in spent.items():
            found.append(replay_cpu(runs[name]))
    return spent


def _counted(lesson, notebook):
    """Sources of the cells whose cost a lesson answers for."""
    for cell in notebook["cells"]:
        source = text(cell["source"])
        measures = lesson in MEASURES and EXEMPT in tags(cell)
        if cell["cell_type"] == "code" and not measures and not EXPLORES.search(source):
            yield source


def redrawn(grid, signs):
    """A grid drawn anew with pyplot, as a lesson without explorers would on each move."""
    from matplotlib import pyplot as plt

    fig, ax = plt.subplots(figsize=(4, 4))
    ax.imshow(grid, cmap="cividis", vmin=0, vmax=1)
    ax.set_xticks(range(len(grid)), signs)
    ax.set_yticks(range(len(grid)), signs)
    fig.savefig(io.BytesIO())
    plt.close(fig)
