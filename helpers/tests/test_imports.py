"""`import helpers` costs next to nothing, and each name is where it says."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import helpers


def in_a_child(code):
    """What the code prints, as JSON, in a Python that has imported nothing yet."""
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(child.stdout)


@pytest.fixture(scope="module")
def child():
    return in_a_child("""
import json, sys, time
start = time.process_time()
import torch
torch_done = time.process_time()
before = set(sys.modules)
from helpers import Eye, influence_grid, matrix, shapes
names_done = time.process_time()
added = {name.split(".")[0] for name in set(sys.modules) - before}
heavy = ("matplotlib", "PIL", "ipywidgets", "IPython")
heavy = [name for name in heavy if name in sys.modules]
from helpers import figure, heatmap
heatmap([[1.0, 0.0], [0.5, 0.5]], "ab").png()
late = ("matplotlib.pyplot", "ipywidgets", "IPython")
print(json.dumps({
    "cost of torch": torch_done - start,
    "cost of helpers": names_done - torch_done,
    "loaded by helpers": sorted(added) + heavy,
    "loaded by a picture": [name for name in late if name in sys.modules],
}))
""")


def test_importing_helpers_loads_little_and_is_quick_beside_torch(child):
    # The standard library is cheap, and which part of it is there already depends on the machine.
    new = [n for n in child["loaded by helpers"] if n not in sys.stdlib_module_names]
    assert new == ["helpers"]
    # 0.1 s is allowed beside a torch that takes a second: a tenth of it, on any machine.
    assert child["cost of helpers"] < 0.1 * child["cost of torch"]


def test_pictures_do_without_pyplot(child):
    assert child["loaded by a picture"] == []


def test_the_package_alone_does_not_even_import_torch():
    loaded = in_a_child("""
import json, sys
import helpers
dir(helpers)
print(json.dumps(sorted(name for name in sys.modules if name.startswith("helpers."))
                 + [name for name in ("torch", "matplotlib", "ipywidgets") if name in sys.modules]))
""")
    assert loaded == []


def test_no_module_bears_the_name_of_an_export():
    folder = Path(helpers.__file__).parent
    modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert not modules & set(helpers._HOME)
    assert sorted(helpers._HOME) == helpers.__all__ == sorted(dir(helpers))


@pytest.mark.parametrize("name", helpers.__all__)
def test_each_name_is_found_twice_and_is_its_homes(name):
    found = getattr(helpers, name)
    assert getattr(helpers, name) is found
    home = importlib.import_module(f"helpers.{helpers._HOME[name]}")
    assert getattr(home, name) is found
    assert getattr(found, "__doc__", None)


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(AttributeError, match="helpers has no 'heatmaps'; it offers .*heatmap"):
        _ = helpers.heatmaps
