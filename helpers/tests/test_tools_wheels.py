"""Wheels for an install without network: what is gathered, and from where."""

import re
from pathlib import Path

import pytest

from helpers.tools import wheels
from helpers.tools.environment import CPU_INDEX, Environment, SetUpError

ROOT = Path(__file__).resolve().parents[2]


def gathered(tmp_path, monkeypatch, system="linux", configured=False):
    monkeypatch.setattr(Environment, "pip_is_configured", lambda self: configured)
    calls = []
    wheels.gather(tmp_path, True, pip=lambda args, what: calls.append((what, args)), system=system)
    return calls


def test_every_pin_of_the_course_is_gathered():
    pins = wheels.wanted(ROOT, dev=True)
    for line in (ROOT / "requirements.txt").read_text().splitlines():
        if re.match(r"\w", line):
            assert line.strip() in pins
    assert any(pin.startswith("setuptools==") for pin in pins)
    assert any(pin.startswith("ruff==") for pin in pins)
    assert not any(pin.startswith("ruff==") for pin in wheels.wanted(ROOT, dev=False))


def test_torch_comes_first_and_as_a_cpu_build_on_linux(tmp_path, monkeypatch):
    first, rest = gathered(tmp_path, monkeypatch)
    assert first[0] == rest[0] == "download"
    assert first[1][0].startswith("torch==") and CPU_INDEX in first[1]
    assert CPU_INDEX not in rest[1] and str(tmp_path) in rest[1]


@pytest.mark.parametrize(("system", "configured"), [("darwin", False), ("linux", True)])
def test_elsewhere_and_where_pip_is_configured_one_call_takes_all(
    tmp_path, monkeypatch, system, configured
):
    (only,) = gathered(tmp_path, monkeypatch, system, configured)
    assert CPU_INDEX not in only[1]


def test_a_failure_is_one_line(monkeypatch, capsys):
    def fail(folder, dev):
        raise SetUpError("No network")

    monkeypatch.setattr(wheels, "gather", fail)
    assert wheels.main([]) == 1
    assert capsys.readouterr().err == "wheels: No network\n"
