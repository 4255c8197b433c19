"""A reader's copies, the port, and how JupyterLab is started."""

import json
import socket
import subprocess
import sys

import pytest

from helpers.tools import clean, lab


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "a course"
    (root / "notebooks").mkdir(parents=True)
    for name in ("01_one.ipynb", "02_two.ipynb"):
        (root / "notebooks" / name).write_text(f"{name} as published")
    (root / "notebooks" / "README.md").write_text("a guide")
    return root


def test_copies_are_made_where_there_are_none(root):
    assert [path.name for path in lab.make_copies(root)] == ["01_one.ipynb", "02_two.ipynb"]
    assert (root / "work" / "02_two.ipynb").read_text() == "02_two.ipynb as published"


def test_a_copy_is_never_overwritten(root):
    lab.make_copies(root)
    mine = root / "work" / "01_one.ipynb"
    mine.write_text("my answers")
    (root / "notebooks" / "01_one.ipynb").write_text("an update")
    (root / "notebooks" / "03_three.ipynb").write_text("new")
    assert [path.name for path in lab.make_copies(root)] == ["03_three.ipynb"]
    assert mine.read_text() == "my answers"


def test_reset_keeps_every_old_copy(root):
    lab.make_copies(root)
    mine = root / "work" / "02_two.ipynb"
    for number in (1, 2):
        mine.write_text(f"try {number}")
        assert lab.reset("02", root) == (mine, root / "work" / f"02_two.old-{number}.ipynb")
        assert mine.read_text() == "02_two.ipynb as published"
    kept = sorted((root / "work").glob("02_two.old-*"))
    assert [path.read_text() for path in kept] == ["try 1", "try 2"]
    assert lab.reset("2", root) == (mine, None)


def test_an_unknown_lesson_gets_one_line(root):
    with pytest.raises(lab.LabError, match="no lesson '07': NB is one of 01, 02"):
        lab.find("07", root)


def test_a_busy_port_gets_one_line():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        started = subprocess.run(
            [sys.executable, lab.__file__, "open"],
            env={**lab.os.environ, "PORT": str(port)},
            capture_output=True,
            text=True,
        )
    assert started.returncode == 1
    (line,) = started.stderr.splitlines()
    assert f"Port {port} is busy" in line and f"PORT={port + 1}" in line


@pytest.mark.parametrize("port", ["", "x", "0", "65536", "-1", "80 80"])
def test_a_port_that_is_none_gets_one_line(port):
    with pytest.raises(lab.LabError, match="PORT must be a whole number"):
        lab.free_port(port)


def test_lab_listens_on_this_machine_only_and_keeps_its_token(root, monkeypatch):
    monkeypatch.setattr(lab.os, "geteuid", lambda: 1000, raising=False)
    command = lab.command(root / "work" / "01_one.ipynb", 8888, root)
    assert "--ServerApp.ip=127.0.0.1" in command
    assert "--LabApp.default_url=/lab/tree/work/01_one.ipynb" in command
    assert f"--ServerApp.root_dir={root}" in command
    assert "--allow-root" not in command
    assert not any("token" in word or "password" in word for word in command)
    monkeypatch.setattr(lab.os, "geteuid", lambda: 0, raising=False)
    assert "--allow-root" in lab.command(root / "work" / "01_one.ipynb", 8888, root)


def test_a_lecture_has_settings_of_its_own_written_anew(root):
    lab.make_copies(root)
    left_over = root / "build" / "present" / "workspaces" / "left-over"
    left_over.parent.mkdir(parents=True)
    left_over.write_text("what was open in the last lecture")
    command = lab.present_command(lab.to_present("1", root), 8888, root)
    options = dict(word[2:].split("=", 1) for word in command if word.startswith("--L"))
    assert options["LabApp.default_url"] == "/doc/tree/work/01_one.ipynb"
    own = root / "build" / "present"
    assert options["LabApp.user_settings_dir"] == str(own / "settings")
    assert options["LabApp.workspaces_dir"] == str(own / "workspaces")
    themes = own / "settings" / "@jupyterlab" / "apputils-extension" / "themes.jupyterlab-settings"
    assert json.loads(themes.read_text())["overrides"]["code-font-size"] == "16px"
    (workspace,) = own.glob("workspaces/*.jupyterlab-workspace")
    layout = json.loads(workspace.read_text())["data"]["layout-restorer:data"]
    assert not layout["left"]["visible"] and not layout["right"]["visible"]
    assert not left_over.exists()
    assert "--ServerApp.ip=127.0.0.1" in command
    assert not any("token" in word or "password" in word for word in command)
    assert len({word.partition("=")[0] for word in command}) == len(command), "no option twice"


def test_a_notebook_to_present_is_a_number_or_a_path(root):
    copy = root / "build" / "handout" / "lecturer" / "01_one.ipynb"
    copy.parent.mkdir(parents=True)
    copy.write_text("a copy")
    assert lab.to_present("02", root) == root / "work" / "02_two.ipynb"
    assert lab.to_present("build/handout/lecturer/01_one.ipynb", root) == copy
    for lesson in ("nothing.ipynb", "../outside.ipynb", "3"):
        with pytest.raises(lab.LabError, match="There is no"):
            lab.to_present(lesson, root)


def test_clean_leaves_what_is_the_readers(root):
    lab.make_copies(root)
    for kept in ("data", "wheels"):
        (root / kept).mkdir()
    for built in (".venv/bin", "build", "helpers/tools/__pycache__"):
        (root / built).mkdir(parents=True)
    assert clean.clean(root) == [".venv", "build", "helpers/tools/__pycache__"]
    assert {path.name for path in root.iterdir()} == {
        "data",
        "helpers",
        "notebooks",
        "wheels",
        "work",
    }
