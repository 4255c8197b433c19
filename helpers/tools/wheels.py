"""Gather what an install needs into wheels/, so that it needs no network: for a stick, a train.

    python helpers/tools/wheels.py [--dev]

The wheels are those for this system and this Python. The set-up uses the folder when it is
there (helpers/tools/environment.py). --dev adds what testing needs.
"""

import sys
import tomllib
from pathlib import Path

from helpers.tools.environment import CPU_INDEX, Environment, SetUpError, say

ROOT = Path(__file__).resolve().parents[2]


def wanted(root=ROOT, dev=False):
    """The pins an install takes: the build's, those of requirements.txt, with `dev` the extra's."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    lines = (root / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = [*project["build-system"]["requires"], "wheel"]
    pins += [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return pins + (project["project"]["optional-dependencies"]["dev"] if dev else [])


def gather(folder, dev=False, root=ROOT, pip=None, system=sys.platform):
    """Download the wheels into `folder`. Returns how many there are.

    On Linux torch comes first, as the CPU build: the usual index would bring one of several GB.
    Raises SetUpError, in one line, when pip can't.
    """
    here = Environment(str(root))
    pip = pip or here.pip
    pins = wanted(root, dev)
    download = ["--dest", str(folder), "--find-links", str(folder), "--only-binary", ":all:"]
    if system == "linux" and not here.pip_is_configured():
        torch = next(pin for pin in pins if pin.startswith("torch=="))
        pip([torch, "--index-url", CPU_INDEX, *download], "download")
    pip([*pins, *download], "download")
    return len(list(Path(folder).glob("*.whl")))


def main(arguments):
    folder = ROOT / "wheels"
    try:
        say("Gathering wheels for this system and Python (some minutes)")
        count = gather(folder, dev="--dev" in arguments)
    except SetUpError as error:
        print(f"wheels: {error}", file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in folder.glob("*.whl")) / 1e6
    print(f"wheels/ holds {count} wheels, {size:.0f} MB: copy it beside the course's Makefile")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
