"""The set-up: which Python, when it has work to do, and its lines when something is missing."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.tools import environment as tool
from helpers.tools.environment import Environment, SetUpError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path):
    root = tmp_path / "a course"
    root.mkdir()
    for name in ("requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, root / name)
    return root


@pytest.fixture
def installed(checkout, monkeypatch):
    """A checkout whose installation always works, and the list of what was installed."""
    calls = []

    def run(command, log=None):
        if "venv" in command:
            python.parent.mkdir(parents=True)
            python.write_text("")
        return 0, ""

    def ask(command):
        return (command[0], (3, 12, 1), True) if os.path.exists(command[0]) else None

    here = Environment(str(checkout))
    python = Path(here.python)
    monkeypatch.setattr(tool, "run", run)
    monkeypatch.setattr(tool, "ask_python", ask)
    monkeypatch.setattr(tool, "find_python", lambda this_only: sys.executable)
    monkeypatch.setattr(Environment, "install", lambda self, dev: calls.append(dev))
    return here, calls


# ---------------------------------------- when there is work to do
def test_nothing_is_done_twice(installed):
    here, calls = installed
    here.make()
    here.make()
    assert calls == [False]
    here.make(dev=True)
    here.make(dev=True)
    here.make(dev=False)
    assert calls == [False, True]


def test_what_was_installed_for_testing_stays(installed, checkout):
    here, calls = installed
    here.make(dev=True)
    (checkout / "requirements.txt").write_text("torch==9.9.9\n")
    here.make(dev=False)
    assert calls == [True, True]


def test_a_new_pin_is_work_and_a_linter_s_setting_is_not(installed, checkout):
    here, calls = installed
    here.make()
    with open(checkout / "pyproject.toml", "a") as file:
        file.write("\n[tool.ruff.format]\n")
    assert here.is_ready(dev=False)
    with open(checkout / "requirements.txt", "a") as file:
        file.write("numpy==1.0\n")
    assert not here.is_ready(dev=False)


def test_a_moved_checkout_is_work(installed, checkout):
    here, _ = installed
    here.make()
    checkout.rename(checkout.parent / "elsewhere")
    assert not Environment(str(checkout.parent / "elsewhere")).is_ready(dev=False)


def test_an_interrupted_set_up_starts_afresh(installed, monkeypatch, capsys):
    here, calls = installed

    def interrupted(self, dev):
        Path(here.folder, "half a package").write_text("")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Environment, "install", interrupted)
        patch.setattr(tool.os, "getpid", lambda: 2**22 + 1)  # no such process
        with pytest.raises(KeyboardInterrupt):
            here.make()
    assert not here.is_ready(dev=False)
    here.make()
    assert calls == [False]
    assert not Path(here.folder, "half a package").exists()
    assert "interrupted: starting afresh" in capsys.readouterr().out


def test_a_set_up_that_fails_by_itself_is_not_thrown_away(installed, monkeypatch):
    here, calls = installed

    def offline(self, dev):
        raise SetUpError("No network")

    with monkeypatch.context() as patch:
        patch.setattr(Environment, "install", offline)
        with pytest.raises(SetUpError):
            here.make()
    assert os.path.exists(here.python) and not os.path.exists(here.marker)
    assert not here.is_ready(dev=False)


@pytest.mark.skipif(os.name == "nt", reason="processes are not asked about there")
def test_two_set_ups_at_once(installed):
    here, _ = installed
    here.make()
    Path(here.marker).write_text(str(os.getpid()))
    with pytest.raises(SetUpError, match="Another set-up is running"):
        here.make()


# ---------------------------------------- which Python
def python(path, version, has_venv=True):
    return path, version, has_venv


def finder(**known):
    return lambda command: known.get(command[0].replace(".", "_"))


def test_another_python_is_found_when_the_running_one_is_too_old():
    ask = finder(python3_12=python("/opt/python3.12", (3, 12, 1)))
    assert tool.find_python(version=(3, 9, 2), ask=ask) == "/opt/python3.12"


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 10, 13), (3, 15, 0)])
def test_an_unsupported_python_gets_one_line(version):
    with pytest.raises(SetUpError) as caught:
        tool.find_python(version=version, ask=finder(python3=python("/usr/bin/python3", version)))
    line = str(caught.value)
    assert f"This is Python {version[0]}.{version[1]}. The course needs Python 3.11 to 3.14" in line
    assert "\n" not in line


def test_only_this_python_means_no_other():
    ask = finder(python3_12=python("/opt/python3.12", (3, 12, 1)))
    with pytest.raises(SetUpError, match="This is Python 3.9"):
        tool.find_python(this_only=True, version=(3, 9, 2), ask=ask)


def test_a_python_without_venv_gets_one_line():
    ask = finder(python3_11=python("/usr/bin/python3.11", (3, 11, 2), has_venv=False))
    with pytest.raises(SetUpError, match="no venv module.*apt install python3.11-venv"):
        tool.find_python(version=(3, 9, 2), ask=ask)


def test_supported_pythons_are_stated_once():
    pyproject = (ROOT / "pyproject.toml").read_text()
    assert 'requires-python = ">=3.11,<3.15"' in pyproject
    assert (tool.OLDEST, tool.NEWEST) == ((3, 11), (3, 14))


def old_pythons():
    folder = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [*folder.glob("2.7.*/bin/python"), *folder.glob("3.[0-9].*/bin/python")]
    return sorted(found)[:2]


def test_an_old_python_can_read_the_set_up(tmp_path):
    source = Path(tool.__file__).read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 4))
    for python in old_pythons():
        script = tmp_path / "helpers" / "tools" / "environment.py"
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(source, encoding="utf-8")
        for name in ("requirements.txt", "pyproject.toml"):
            shutil.copy(ROOT / name, tmp_path / name)
        command = [str(python), "-B", str(script), "--this-python"]
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.returncode == 1
        (line,) = run.stderr.splitlines()
        assert "The course needs Python 3.11 to 3.14" in line
        assert not (tmp_path / ".venv").exists()


# ---------------------------------------- pip
class Pip:
    """Stands in for pip: fails with what it is told to print, and notes what it was asked."""

    def __init__(self, monkeypatch, config="", installed="", **fails):
        self.asked, self.config, self.installed, self.fails = [], config, installed, fails
        monkeypatch.setattr(tool, "run", self.run)

    def run(self, command, log=None):
        if "config" in command:
            return 0, self.config
        if "-c" in command:
            return 0, self.installed
        self.asked.append(" ".join(command[command.index("--log") + 2 :]))
        for word, printed in self.fails.items():
            if word in self.asked[-1]:
                return 1, printed
        return 0, ""


CPU = f"torch==2.13.0 --index-url {tool.CPU_INDEX}"


def test_linux_takes_the_cpu_build(checkout, monkeypatch):
    monkeypatch.setattr(tool.platform, "system", lambda: "Linux")
    pip = Pip(monkeypatch)
    Environment(str(checkout)).install(dev=True)
    assert pip.asked[0] == CPU
    assert pip.asked[-1] == "--no-build-isolation -e .[dev]"


@pytest.mark.parametrize("setting", ["global.index-url", ":env:.find-links", "user.no-index"])
def test_a_configured_pip_is_respected(setting, checkout, monkeypatch):
    monkeypatch.setattr(tool.platform, "system", lambda: "Linux")
    pip = Pip(monkeypatch, config=f"{setting}='somewhere'\n")
    Environment(str(checkout)).install(dev=False)
    assert pip.asked[0] == "torch==2.13.0"
    assert pip.asked[-1] == "--no-build-isolation -e ."


@pytest.mark.parametrize("system", ["Darwin", "Windows"])
def test_other_systems_take_the_usual_index(system, checkout, monkeypatch):
    monkeypatch.setattr(tool.platform, "system", lambda: system)
    pip = Pip(monkeypatch)
    Environment(str(checkout)).install(dev=False)
    assert pip.asked[0] == "torch==2.13.0"


def test_an_installed_torch_is_left_alone(checkout, monkeypatch):
    pip = Pip(monkeypatch, installed="2.13.0+cpu")
    Environment(str(checkout)).install(dev=False)
    assert not any(asked.startswith("torch") for asked in pip.asked)


def test_no_cpu_build_falls_back_and_says_so(checkout, monkeypatch, capsys):
    monkeypatch.setattr(tool.platform, "system", lambda: "Linux")
    pip = Pip(monkeypatch, pytorch="ERROR: No matching distribution found")
    Environment(str(checkout)).install(dev=False)
    assert pip.asked[:2] == [CPU, "torch==2.13.0"]
    assert "may be several GB" in capsys.readouterr().out


def test_no_network_gets_one_line(checkout, monkeypatch):
    printed = "WARNING: Retrying\nNewConnectionError: failed\nERROR: No matching distribution"
    Pip(monkeypatch, torch=printed, setuptools=printed)
    with pytest.raises(SetUpError, match="^No network: [^\n]*$"):
        Environment(str(checkout)).install(dev=False)


def test_another_failure_shows_pips_own_line(checkout, monkeypatch):
    Pip(monkeypatch, torch="some lines\nERROR: No space left on device\n")
    with pytest.raises(SetUpError, match="^pip failed: ERROR: No space left on device"):
        Environment(str(checkout)).install(dev=False)


def test_a_folder_of_wheels_needs_no_network(checkout, monkeypatch):
    (checkout / "wheels").mkdir()
    pip = Pip(monkeypatch)
    Environment(str(checkout)).install(dev=False)
    assert not any("--no-index" in asked for asked in pip.asked)  # the folder is empty
    (checkout / "wheels" / "torch-2.13.0-py3-none-any.whl").write_text("")
    pip.asked.clear()
    Environment(str(checkout)).install(dev=False)
    assert pip.asked and all(
        f"--no-index --find-links {checkout / 'wheels'}" in asked for asked in pip.asked
    )


# ---------------------------------------- the commands
def make(*arguments):
    return subprocess.run(["make", *arguments], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")
def test_make_alone_explains_every_target():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = makefile.split(".PHONY:")[1].splitlines()[0].split()
    inner = {"help", "setup", "setup-dev", "pytest"}
    said = make().stdout
    assert [
        target for target in targets if target not in inner and f"make {target}" not in said
    ] == []
