"""Bringing tiny-Shakespeare, from a server on this machine that behaves and misbehaves."""

import io
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from helpers.text import TextFile
from helpers.tools import data

CONTENT = b"".join(b"NOBODY:\nThis is verse %d.\n\n" % n for n in range(20_000))
WANTED = TextFile("tinyshakespeare.txt", len(CONTENT), sha256(CONTENT).hexdigest())
SCRIPT = Path(data.__file__)


class Answers(BaseHTTPRequestHandler):
    """A path names what the server does."""

    def do_GET(self):
        if self.path == "/absent":
            self.send_error(404, "Not Found")
            return
        body = {
            "/crlf": CONTENT.replace(b"\n", b"\r\n"),
            "/page": b"<!DOCTYPE html><p>Please sign in to this network</p>",
            "/other": CONTENT[:-5] + b"else\n",
            "/short": CONTENT[:1000],
        }.get(self.path, CONTENT)
        self.send_response(200)
        if self.path not in ("/endless", "/nolength"):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.path == "/silent":
            self.server.over.wait(20)
        elif self.path in ("/stalled", "/broken"):
            self.wfile.write(body[:1000])
            self.wfile.flush()
            self.server.begun.set()
            if self.path == "/stalled":
                self.server.over.wait(20)
        elif self.path == "/endless":
            try:
                while not self.server.over.is_set():
                    self.wfile.write(b"z" * 65536)
            except OSError:
                pass
        else:
            self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.over, server.begun = threading.Event(), threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def home(server, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return f"http://127.0.0.1:{server.server_port}"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def bring(folder, url=None, **keywords):
    return data.bring(folder, url=url, wanted=WANTED, **{"stalled": 10, **keywords})


def run(*arguments, **keywords):
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **keywords)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# What works


@pytest.mark.parametrize("path", ["/right", "/nolength"])
def test_fetched_and_put_in_place(tmp_path, home, path):
    said = bring(tmp_path, home + path)
    assert said == (
        f"{tmp_path.name}/tinyshakespeare.txt is in place: {len(CONTENT):,} characters, "
        "SHA-256 right"
    )
    assert names(tmp_path) == [WANTED.name]
    assert (tmp_path / WANTED.name).read_bytes() == CONTENT


def test_taken_from_a_file(tmp_path):
    source = tmp_path / "a copy of it.txt"
    source.write_bytes(CONTENT)
    bring(tmp_path / "new", source=str(source))
    assert names(tmp_path / "new") == [WANTED.name]
    assert (tmp_path / "new" / WANTED.name).read_bytes() == source.read_bytes() == CONTENT


def test_nothing_is_done_when_the_right_file_is_there(tmp_path):
    target = tmp_path / WANTED.name
    target.write_bytes(CONTENT)
    before = target.stat()
    said = bring(tmp_path, "http://127.0.0.1:1/never-asked")
    assert said == f"{tmp_path.name}/tinyshakespeare.txt is already there, and right"
    assert (target.stat().st_mtime_ns, target.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_a_damaged_file_is_replaced(tmp_path, home):
    (tmp_path / WANTED.name).write_bytes(CONTENT[:77])
    bring(tmp_path, home + "/right")
    assert (tmp_path / WANTED.name).read_bytes() == CONTENT


def test_progress_is_shown_on_a_terminal_and_nowhere_else(tmp_path, home):
    for folder, screen in (("a", Terminal()), ("b", io.StringIO())):
        bring(tmp_path / folder, home + "/right", screen=screen)
        if folder == "b":
            assert screen.getvalue() == ""
        else:
            steps = re.split(r"[\r\n]", screen.getvalue())
            assert steps[1].endswith("  0%") and steps[-2].endswith("[" + "#" * 30 + "] 100%")
            assert steps[-1] == "" and max(map(len, steps)) < 80


# What is refused


@pytest.mark.parametrize("damaged_before", [False, True])
@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/crlf", r"expected 5\d\d,\d\d\d bytes with .*found .*: its .* converted to CRLF$"),
        ("/page", r"found 52 with .*: it looks like a web page$"),
        ("/other", r"expected (5\d\d,\d\d\d) bytes with SHA-256 .{13}, found \1 with .{13}$"),
        ("/short", r"found 1,000 with .* bytes are missing$"),
        ("/endless", r"expected 5\d\d,\d\d\d bytes with .*, found 1,\d\d\d,\d\d\d with"),
        ("/absent", r"^127.0.0.1 answered 404 Not Found$"),
        ("/broken", r"^the connection to 127.0.0.1 (ended|broke) after 1,000 "),
    ],
)
def test_nothing_stays_of_what_is_wrong(tmp_path, home, path, says, damaged_before):
    if damaged_before:
        (tmp_path / WANTED.name).write_bytes(b"an older one")
    with pytest.raises(data.Refused, match=says) as refusal:
        bring(tmp_path, home + path)
    assert "\n" not in str(refusal.value)
    assert names(tmp_path) == [WANTED.name] * damaged_before
    if damaged_before:
        assert (tmp_path / WANTED.name).read_bytes() == b"an older one"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/silent", "^127.0.0.1 did not answer in time$"),
        ("/stalled", "^127.0.0.1 did not answer in time after 1,000 bytes$"),
    ],
)
def test_a_stalled_server_is_given_up(tmp_path, home, path, says):
    with pytest.raises(data.Refused, match=says):
        bring(tmp_path, home + path, stalled=0.2)
    assert names(tmp_path) == []


def test_a_trickle_is_given_up(tmp_path, home, monkeypatch):
    monkeypatch.setattr(data, "AT_MOST", -1)
    with pytest.raises(data.Refused, match="did not answer in time after [0-9,]+ bytes"):
        bring(tmp_path, home + "/right")


def test_no_network(tmp_path, monkeypatch):
    def nowhere(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    for proxy in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    with pytest.raises(data.Refused, match="^no connection to example.test: Name or service"):
        bring(tmp_path, "http://example.test/input.txt")


def test_nobody_listens(tmp_path, home):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(data.Refused, match="^no connection to 127.0.0.1: .*refused"):
        bring(tmp_path, f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "there is no file .*source.txt$"),
        (b"", "source.txt is not the text of this course: .*found 0 with"),
        (CONTENT.replace(b"\n", b"\r\n"), "source.txt is not .*converted to CRLF$"),
        (CONTENT * 3, "source.txt is not .*found 1,"),
    ],
)
def test_a_source_that_is_not_it(tmp_path, content, says):
    source, folder = tmp_path / "source.txt", tmp_path / "data"
    if content is not None:
        source.write_bytes(content)
    with pytest.raises(data.Refused, match=says):
        bring(folder, source=source)
    assert not folder.exists()


def test_a_folder_is_no_source(tmp_path):
    with pytest.raises(data.Refused, match="there is no file"):
        bring(tmp_path / "data", source=tmp_path)


def test_a_target_that_cannot_be_replaced(tmp_path):
    (tmp_path / "copy").write_bytes(CONTENT)
    (tmp_path / "data" / WANTED.name / "in the way").mkdir(parents=True)
    with pytest.raises(data.Refused, match="^data/tinyshakespeare.txt could not be written: "):
        bring(tmp_path / "data", source=tmp_path / "copy")
    assert names(tmp_path / "data") == [WANTED.name]


def test_a_full_disk_keeps_nothing(tmp_path):
    """The limit on the size of a file stands in for the disk: the write fails half-way."""
    pytest.importorskip("resource")
    (tmp_path / "copy").write_bytes(CONTENT)
    code = (
        "import resource, sys\n"
        "from helpers.text import TextFile\n"
        "from helpers.tools import data\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        f"data.bring(sys.argv[1], source=sys.argv[2], wanted={WANTED!r})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "data", tmp_path / "copy"],
        cwd=SCRIPT.parents[2],
        capture_output=True,
        text=True,
    )
    assert "Refused: data/tinyshakespeare.txt could not be written: " in done.stderr
    assert names(tmp_path / "data") == []


# The command


def test_the_command_in_a_line(tmp_path, home):
    done = run(tmp_path / "nothing here.txt", "--folder", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: there is no file {tmp_path / 'nothing here.txt'}\n"
    done = run("", "--folder", tmp_path, "--url", home + "/absent", "--if-possible")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "no tiny-Shakespeare, the course's own text serves (127.0.0.1 answered 404 Not Found); "
        "`make data` tries again\n"
    )
    assert names(tmp_path) == []
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = run(SCRIPT, "--folder", tmp_path, "--if-possible", env=ascii_only)
    assert done.returncode == 0 and "expected 1,115,394 bytes" in done.stdout


def test_if_possible_speaks_of_a_damaged_file(tmp_path, capsys):
    (tmp_path / WANTED.name).write_bytes(b"half of it")
    assert data.main([str(tmp_path / "none"), "--folder", str(tmp_path), "--if-possible"]) == 0
    assert capsys.readouterr().out.endswith(f"{tmp_path / WANTED.name} is damaged, delete it\n")


def test_the_command_needs_no_torch_and_runs_anywhere(tmp_path):
    code = (
        "import runpy, sys; sys.modules['torch'] = None\n"
        "sys.argv = ['data.py', 'none', '--folder', '.']\n"
        f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (1, "error: there is no file none\n")


@pytest.mark.skipif(os.name != "posix", reason="signals of this kind are POSIX")
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_leaves_nothing(tmp_path, server, home, kind):
    server.begun.clear()
    child = subprocess.Popen(
        [sys.executable, str(SCRIPT), "--folder", str(tmp_path), "--url", home + "/stalled"],
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background ignores Ctrl-C, and its children would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert server.begun.wait(30)
        child.send_signal(kind)
        said = child.communicate(timeout=30)[1]
    finally:
        child.kill()
    assert child.returncode == 130
    assert said == "\nstopped; nothing was left behind\n"
    assert names(tmp_path) == []
