"""Replaying a lesson costs little more than starting a kernel, importing, and one picture.

CPU time of the kernel and its children, as a ratio to a baseline notebook run in between, in the
same run: the machine's speed and its load cancel.
"""

import subprocess
from pathlib import Path

import psutil
import pytest
from jupyter_client.manager import KernelManager

from helpers.tools.normal_form import EXEMPT, read, tags, text
from helpers.tools.replay import CELL_SECONDS, surroundings

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
BASELINE = [
    "import torch\nfrom matplotlib import pyplot\nfrom helpers import heatmap\n"
    "torch.set_num_threads(1)",
    'heatmap(torch.eye(8), "Ay, good", title="The baseline")',
]
# The first assert_close of a kernel imports 519 modules (torch.distributed.tensor, and with it
# sympy): about 0.3 of the baseline, which no lesson can avoid and none is responsible for.
FIRST_COMPARISON = "torch.testing.assert_close(torch.ones(1), torch.ones(1))"

# 07 trains three small models, which the 1.6 of its neighbours leaves apart.
AT_MOST = {"01": 1.25, "02": 1.25, "03": 1.25, "07": 2.0, "08": 2.0}
OTHERWISE = 1.6
TRAINS = {"09"}  # its cost is a training run, which the lesson itself bounds
MEASURES = {"08"}  # its cells that replay does not compare are a measurement, left out here
ROUNDS = 2
KINDS = ("user", "system", "children_user", "children_system")


COMPARE = {p.name[:2] for p in LESSONS if "assert_close(" in p.read_text(encoding="utf-8")}


def replay_cpu(sources):
    """CPU seconds, user and system, that a kernel and its children spend on these cells."""
    with surroundings() as environ:
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel(env=environ, cwd=str(NOTEBOOKS), stderr=subprocess.DEVNULL)
        client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=60)
            for source in sources:
                client.execute_interactive(
                    source,
                    store_history=False,
                    allow_stdin=False,
                    timeout=CELL_SECONDS,
                    output_hook=lambda message: None,
                    stop_on_error=False,
                )
            times = psutil.Process(manager.provisioner.pid).cpu_times()
            return sum(getattr(times, kind, 0.0) for kind in KINDS)
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def ratios():
    """Cost of each lesson over the baseline's, and over the baseline's with one comparison.

    The least of interleaved rounds, .pyc files warm: other work on the cores only adds time.
    """
    cells = {
        path: [
            text(c["source"])
            for c in read(path)["cells"]
            if c["cell_type"] == "code" and not (path.name[:2] in MEASURES and EXEMPT in tags(c))
        ]
        for path in LESSONS
        if path.name[:2] not in TRAINS
    }
    replay_cpu(BASELINE)
    runs = {"baseline": BASELINE, "comparing": [*BASELINE, FIRST_COMPARISON], **cells}
    costs = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, found in costs.items():
            found.append(replay_cpu(runs[name]))
    spent = {name: min(found) for name, found in costs.items()}
    baseline, comparing = spent.pop("baseline"), spent.pop("comparing")
    return {path.name[:2]: (cpu / baseline, cpu / comparing) for path, cpu in spent.items()}


@pytest.mark.parametrize("lesson", [p.name[:2] for p in LESSONS if p.name[:2] not in TRAINS])
def test_replay_costs_little_more_than_its_imports(lesson, ratios, record_property):
    bound = AT_MOST.get(lesson, OTHERWISE)
    plain, compared = ratios[lesson]
    said = f"{plain:.2f}, with one assert_close in both {compared:.2f} of {bound:.2f}"
    record_property("replay cost", f"{lesson}: {said}")
    cost = compared if lesson in COMPARE else plain
    assert cost <= bound, f"lesson {lesson} costs {said}"
