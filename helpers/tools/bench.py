"""Measure what the course costs, each figure beside a yardstick in the same run.

    python helpers/tools/bench.py [--only GROUP …] [--without GROUP …] [--rounds 5]

Prints one table and writes build/bench.json. A figure is a ratio, the median of --rounds rounds
in which the yardstick runs in between; training and the whole test run are done once. Where a
figure misses its bar the table says so, and the exit status is 1.

Groups: size, imports, replay, explorer, check, calls, training, tests. The last two take longest.
"""

import argparse
import io
import json
import platform
import re
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from helpers.tools import costs
from helpers.tools.habits import KB
from helpers.tools.normal_form import EXEMPT, RAISES, read, tags, text

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = ROOT / "build" / "bench.json"
ROUNDS = 5

# The bars; costs.py has those of the replays.
TEST_SECONDS = 180
LESSON_09_SECONDS = 60
MOVE_BYTES, MOVE_MS, MOVE_SPEEDUP = 10_000, 5, 50
CHECK_SECONDS = {"right": 0.1, "wrong": 0.5}
IMPORT_RATIO, IMPORT_SECONDS = 0.1, 0.1
LENGTHS = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)
CALLS = ("loop", "product", "by_hand", "fused", "fused_4d")
# Where lesson 09 keeps its validation losses, and their bounds on tiny-Shakespeare.
LOSSES = {name: f"final[{name!r}]" for name in ("none", "average", "by place", "head")}
LOSSES |= {"wide": "wide_loss", "cheater": "both[1]"}
LOSS_BARS = {
    "none": (2.50, 2.56),
    "average": (2.80, 2.88),
    "by place": (None, None),
    "head": (None, 2.47),
    "wide": (None, 2.38),
    "cheater": (None, 0.6),
}
SLOPE_FROM = 256  # below it, what a call costs at any length hides how it grows


@dataclass(frozen=True)
class Figure:
    """One line of the table.

    key    its name, the same in every run
    value  the number measured
    unit   of the value; "x" is a ratio to what `over` names
    over   the yardstick of a ratio
    least, most   the bar: bounds of the value, None where there is none
    """

    key: str
    value: float
    unit: str = "x"
    over: str = ""
    least: float | None = None
    most: float | None = None

    @property
    def holds(self):
        """Whether the value is within its bar; None where it has none. NaN never is."""
        if self.least is None and self.most is None:
            return None
        above = self.least is None or self.value >= self.least
        return above and (self.most is None or self.value <= self.most)

    @property
    def bar(self):
        if self.least is not None and self.most is not None:
            return f"{_short(self.least)} to {_short(self.most)}"
        if self.least is not None:
            return f"at least {_short(self.least)}"
        return "" if self.most is None else f"at most {_short(self.most)}"


class CannotMeasure(Exception):
    """Why a group is left out, in a line."""


GROUPS = {}


def group(function):
    GROUPS[function.__name__] = function
    return function


@group
def size(rounds):
    """Each notebook's size, its outputs included."""
    for lesson, path in costs.lessons().items():
        yield Figure(f"size.{lesson}", path.stat().st_size / 1024, "KB", most=KB)


@group
def imports(rounds):
    """CPU of importing helpers after torch, in fresh processes."""
    code = (
        "import json, time\n"
        "a = time.process_time()\nimport torch\nb = time.process_time()\n"
        "from helpers import Eye, influence_grid, matrix, shapes\n"
        "print(json.dumps([b - a, time.process_time() - b]))"
    )
    pairs = []
    for _ in range(rounds):
        child = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        pairs.append(json.loads(child.stdout))
    ratio = median(ours / torch for torch, ours in pairs)
    yield Figure("imports.helpers", ratio, over="import torch", most=IMPORT_RATIO)
    yield Figure("imports.helpers.s", median(p[1] for p in pairs), "s", most=IMPORT_SECONDS)


@group
def replay(rounds):
    """CPU of each lesson's replay over that of a notebook which imports and draws one picture."""
    spent = costs.replay_rounds(rounds)
    for lesson, path in costs.lessons().items():
        if lesson not in spent:
            continue
        yardstick, over = "baseline", "imports, a picture"
        if costs.compares(path):
            yardstick, over = "comparing", "the same, one assert_close"
        ratio = median(a / b for a, b in zip(spent[lesson], spent[yardstick], strict=True))
        yield Figure(f"replay.{lesson}", ratio, over=over, most=costs.replay_bar(lesson))
    yield Figure("replay.baseline.s", median(spent["baseline"]), "s")


@group
def explorer(rounds):
    """A move of each explorer over drawing its grid anew with pyplot, and what it sends."""
    import matplotlib
    import torch

    from helpers import explore_average, explore_head, explore_masking, explore_scaling

    matplotlib.use("agg")
    torch.set_num_threads(1)
    makers = {
        "head": explore_head,
        "scaling": explore_scaling,
        "average": explore_average,
        "masking": explore_masking,
    }
    grid = torch.eye(32)
    signs = [chr(97 + place % 26) for place in range(32)]
    costs.redrawn(grid, signs)
    for name, make in makers.items():
        shown = make()
        shown.box  # noqa: B018  # builds the controls
        ratios, seconds, sizes = _moves(shown, lambda: costs.redrawn(grid, signs), 8 * rounds)
        # The bars are for a grid of 32 positions without numbers: the head's.
        bars = {"least": MOVE_SPEEDUP}, {"most": MOVE_MS}, {"most": MOVE_BYTES}
        bars = bars if name == "head" else ({}, {}, {})
        yield Figure(f"explorer.{name}", median(ratios), "times", "a pyplot figure", **bars[0])
        yield Figure(f"explorer.{name}.p95.ms", 1000 * _p95(seconds), "ms", **bars[1])
        yield Figure(f"explorer.{name}.bytes", float(max(sizes)), "bytes", **bars[2])


def _moves(shown, redraw, count):
    """(ratios, CPU seconds, bytes) of `count` moves of an explorer's first slider."""
    from ipywidgets.widgets.widget import Widget

    slider = next(c for c in shown._controls.values() if hasattr(c, "min") and c.max > c.min)
    span = round((slider.max - slider.min) / slider.step)
    sent, before = [], Widget._send
    ratios, seconds, sizes = [], [], []
    try:
        Widget._send = lambda self, message, buffers=None: sent.append(message)
        for number in range(count):
            sent.clear()
            start = process_time()
            redraw()
            middle = process_time()
            slider.value = slider.min + slider.step * ((7 * number + 3) % (span + 1))
            end = process_time()
            if sent:  # where the slider already stood, nothing is drawn
                ratios.append((middle - start) / (end - middle))
                seconds.append(end - middle)
                sizes.append(sum(len(json.dumps(message).encode()) for message in sent))
    finally:
        Widget._send = before
    return ratios, seconds, sizes


def _p95(values):
    return sorted(values)[int(0.95 * (len(values) - 1))]


@group
def check(rounds):
    """A check of each right and wrong attempt there is, over drawing a pyplot figure."""
    import matplotlib
    import torch

    from helpers import check
    from helpers.tests import given

    matplotlib.use("agg")
    torch.set_num_threads(1)
    signs = [chr(97 + place % 26) for place in range(32)]
    costs.redrawn(torch.eye(32), signs)
    for kind, bar in CHECK_SECONDS.items():
        attempts = [e for e in given.REGISTRY if e.verdict == kind]
        ratios, seconds = [], []
        for number, entry in enumerate(attempts):
            if number % 10 == 0:
                start = perf_counter()
                costs.redrawn(torch.eye(32), signs)
                yardstick = perf_counter() - start
            start = perf_counter()
            check(entry.kind, entry.attempt)
            seconds.append(perf_counter() - start)
            ratios.append(seconds[-1] / yardstick)
        yield Figure(f"check.{kind}", median(ratios), over="a pyplot figure")
        yield Figure(f"check.{kind}.s", median(seconds), "s", most=bar)


@group
def calls(rounds):
    """Lesson 08's five ways, its own functions, over growing T: times, memory, slopes."""
    import torch

    torch.set_num_threads(1)
    names = _names_of("08", (*CALLS, "extra_memory"))
    seconds = {name: [] for name in CALLS}  # for each T the medians, in order
    memory = {name: [] for name in CALLS}
    ahead = {}
    for length in LENGTHS:
        qkv = torch.randn(3, 4, length, 16, generator=torch.Generator().manual_seed(length))
        found = {name: [] for name in CALLS}
        for way in CALLS:
            names[way](*qkv)
        for _ in range(rounds):
            for way in CALLS:
                start = perf_counter()
                names[way](*qkv)
                found[way].append(perf_counter() - start)
        for way in CALLS:
            seconds[way].append(median(found[way]))
            memory[way].append(names["extra_memory"](lambda f=names[way], a=qkv: f(*a)))
            ahead[way, length] = median(
                mine / product for mine, product in zip(found[way], found["product"], strict=True)
            )
    slopes = {"by_hand": (1.8, 2.2), "fused_4d": (0.8, 1.3)}
    for way in CALLS:
        if way != "product":
            for length in (64, 256, 2048):
                least = 1.0 if way == "loop" and length < 2048 else None
                key = f"calls.{way}.T{length}"
                yield Figure(key, ahead[way, length], over="one matmul", least=least)
        yield Figure(f"calls.{way}.time.slope", _slope(seconds[way]), "slope")
        least, most = slopes.get(way, (None, None))
        key = f"calls.{way}.memory.slope"
        yield Figure(key, _slope(memory[way]), "slope", least=least, most=most)


def _slope(values):
    """Slope of log value on log T, from SLOPE_FROM on."""
    from math import log

    points = [(log(t), log(v)) for t, v in zip(LENGTHS, values, strict=True) if t >= SLOPE_FROM]
    mean_t, mean_v = (sum(axis) / len(points) for axis in zip(*points, strict=True))
    along = sum((t - mean_t) * (v - mean_v) for t, v in points)
    return along / sum((t - mean_t) ** 2 for t, _ in points)


def _names_of(lesson, wanted):
    """What a lesson calls these names, its cells run in order until all are there."""
    path = costs.lessons().get(lesson)
    if path is None:
        raise CannotMeasure(f"lesson {lesson} is not there")
    namespace = {"__name__": f"lesson_{lesson}"}
    for cell in read(path)["cells"]:
        if cell["cell_type"] != "code" or {EXEMPT, RAISES} & set(tags(cell)):
            continue
        with redirect_stdout(io.StringIO()):
            exec(compile(text(cell["source"]), f"<{lesson} #{cell['id']}>", "exec"), namespace)
        if all(name in namespace for name in wanted):
            return namespace
    missing = ", ".join(name for name in wanted if name not in namespace)
    raise CannotMeasure(f"lesson {lesson} no longer defines {missing}")


@group
def training(rounds):
    """Lesson 09 run once: what its training takes, and the validation losses it ends with."""
    path = costs.lessons().get("09")
    if path is None:
        raise CannotMeasure("lesson 09 is not there")
    start = perf_counter()
    costs.replay_cpu(costs.BASELINE)
    baseline = perf_counter() - start
    start, trains = perf_counter(), 0.0
    with costs.kernel() as running:
        for cell in read(path)["cells"]:
            if cell["cell_type"] != "code":
                continue
            began, source = perf_counter(), text(cell["source"])
            error = running.run(source)
            if error and RAISES not in tags(cell):
                raise CannotMeasure(f"lesson 09's cell #{cell['id']} raised {error}")
            if re.search(r"(?<!def )\btrain\(", source):
                trains += perf_counter() - began
        spent = perf_counter() - start
        try:
            loss = {name: running.number(where) for name, where in LOSSES.items()}
            shakespeare = running.number("shakespeare")
        except ValueError as error:
            raise CannotMeasure(f"lesson 09's names have changed: {error}") from error
    yield Figure("training", spent / baseline, over="imports, a picture")
    yield Figure("training.s", spent, "s", most=LESSON_09_SECONDS)
    yield Figure("training.models.s", trains, "s")
    yield Figure("training.average", loss["average"] / loss["none"], over="no mixing", least=1)
    yield Figure("training.head", loss["head"] / loss["none"], over="no mixing", most=1)
    for name, found in loss.items():
        least, most = LOSS_BARS[name] if shakespeare else (None, None)
        key = f"training.{name.replace(' ', '_')}.loss"
        yield Figure(key, found, "nats", least=least, most=most)


@group
def tests(rounds):
    """The whole test run, lint included, over starting a kernel, importing, and one picture."""
    start = perf_counter()
    costs.replay_cpu(costs.BASELINE)
    middle = perf_counter()
    steps = (
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "helpers"],
        ["pytest", "-q", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"],
    )
    for step in steps:
        run = subprocess.run(
            [sys.executable, "-m", *step], cwd=ROOT, capture_output=True, text=True
        )
        if run.returncode:
            last = (run.stdout + run.stderr).strip().splitlines()[-1:]
            raise CannotMeasure(f"{step[0]} failed: {' '.join(last)}")
    spent = perf_counter() - middle
    yield Figure("tests", spent / (middle - start), over="imports, a picture")
    yield Figure("tests.s", spent, "s", most=TEST_SECONDS)


# ---------------------------------------- saying it
def _short(number):
    if number != number:
        return "nan"
    if abs(number) >= 100 or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.3g}"


def table(figures):
    """The figures as lines of text, columns lined up."""
    rows = [("figure", "value", "over", "bar", "")]
    for f in figures:
        unit = "" if f.unit in ("x", "slope") else f" {f.unit}"
        verdict = {True: "holds", False: "MISSES", None: ""}[f.holds]
        rows.append((f.key, _short(f.value) + unit, f.over, f.bar, verdict))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def measure(chosen, rounds, say=lambda line: None):
    """(figures, {group: why it was left out}) of these groups, in the order of GROUPS."""
    figures, left_out = [], {}
    for name, function in GROUPS.items():
        if name not in chosen:
            continue
        say(f"measuring {name}: {function.__doc__.splitlines()[0]}")
        try:
            figures += function(rounds)
        except CannotMeasure as why:
            left_out[name] = str(why)
    return figures, left_out


def as_json(figures, left_out, rounds):
    """The text of bench.json: the figures by key, and what they were measured with."""
    packages = ("torch", "numpy", "matplotlib", "ipywidgets", "jupyterlab")
    measured_with = {name: version(name) for name in packages}
    measured_with["python"] = platform.python_version()
    entries = {}
    for figure in figures:
        entry = asdict(figure)
        del entry["key"]
        entries[figure.key] = {**entry, "holds": figure.holds}
    content = {
        "rounds": rounds,
        "measured_with": measured_with,
        "left_out": left_out,
        "figures": entries,
    }
    return json.dumps(content, indent=1) + "\n"


def words(value):
    return re.findall(r"\w+", value)


def main(arguments=None, written=WRITTEN):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog=f"groups: {', '.join(GROUPS)}"
    )
    parser.add_argument("--only", default="", help="measure these groups alone")
    parser.add_argument("--without", default="", help="leave these groups out")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="at least 5 for a record")
    options = parser.parse_args(arguments)
    only, without = words(options.only), words(options.without)
    if unknown := {*only, *without} - set(GROUPS):
        print(f"no group {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
        return 2
    chosen = [name for name in only or GROUPS if name not in without]
    figures, left_out = measure(
        chosen, options.rounds, lambda line: print(line, file=sys.stderr, flush=True)
    )
    written.parent.mkdir(exist_ok=True)
    written.write_text(as_json(figures, left_out, options.rounds), encoding="utf-8")
    print("\n".join(table(figures)))
    for name, why in left_out.items():
        print(f"{name}: not measured, {why}")
    missed = [figure.key for figure in figures if figure.holds is False]
    if missed:
        print(f"{len(missed)} of {len(figures)} miss their bar: {', '.join(missed)}")
    return 1 if missed or left_out else 0


if __name__ == "__main__":
    sys.exit(main())
