"""Bring tiny-Shakespeare into data/: from its public home, or from a file you have.

    python helpers/tools/data.py [SOURCE] [--if-possible]

The text is put in place only when its SHA-256 is right, and in one move, so that neither an
interruption nor a full disk leaves part of it behind. Needs the standard library only.
"""

import argparse
import http.client
import os
import signal
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

if not __package__:  # run as a script, Python looks for modules beside it, not in the project
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from helpers.text import DATA, SHAKESPEARE  # noqa: E402

URL = "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
STALLED = 20.0  # seconds without a byte
AT_MOST = 300.0  # seconds in all


class Refused(Exception):
    """Why the text was not put in place, in one line."""


def main(arguments=None):
    """The command. Returns the exit status; says what it did, or in one line why it did not."""
    parser = argparse.ArgumentParser(prog="data.py", description=__doc__.split("\n")[0])
    parser.add_argument("source", nargs="?", help="a copy of tiny-Shakespeare on this machine")
    parser.add_argument(
        "--if-possible", action="store_true", help="failing is no error: the course has a text"
    )
    parser.add_argument("--folder", type=Path, default=DATA, help="where to put it")
    parser.add_argument("--url", default=URL, help="where to fetch it")
    parser.add_argument("--stalled", type=float, default=STALLED, help="time-out in seconds")
    given = parser.parse_args(arguments)
    try:
        print(bring(given.folder, given.source, given.url, given.stalled))
    except Refused as refusal:
        if given.if_possible:
            old = given.folder / SHAKESPEARE.name
            then = f"{old} is damaged, delete it" if old.exists() else "`make data` tries again"
            print(f"no tiny-Shakespeare, the course's own text serves ({refusal}); {then}")
            return 0
        print(f"error: {refusal}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; nothing was left behind", file=sys.stderr)
        return 130
    return 0


def bring(folder=DATA, source=None, url=URL, stalled=STALLED, wanted=SHAKESPEARE, screen=None):
    """Put the wanted text into a folder, unless it is there. Returns a line on what was done.

    source    a file to take it from; without one it is fetched from `url`
    stalled   seconds without a byte after which fetching is given up
    wanted    the TextFile to bring
    screen    where the progress bar goes, when it is a terminal; by default sys.stderr
    Raises Refused, with the reason, and leaves the folder as it was.
    """
    target = Path(folder) / wanted.name
    shown = f"{target.parent.name}/{target.name}"
    if target.is_file() and not wanted.fault(taken(target, wanted)):
        return f"{shown} is already there, and right"
    if source:
        content, origin = taken(source, wanted), source
    else:
        content, origin = fetched(url, stalled, wanted, screen or sys.stderr), url
    fault = wanted.fault(content)
    if fault:
        raise Refused(f"{origin} is not the text of this course: {fault}")
    try:
        put(content, target)
    except OSError as error:
        raise Refused(f"{shown} could not be written: {error.strerror or error}") from error
    return f"{shown} is in place: {wanted.size:,} characters, SHA-256 right"


def taken(source, wanted):
    """The bytes of a file on this machine, no more than tell it from the wanted one."""
    if not Path(source).is_file():
        raise Refused(f"there is no file {source}")
    try:
        with open(source, "rb") as file:
            return file.read(2 * wanted.size)
    except OSError as error:
        raise Refused(f"{source} could not be read: {error.strerror or error}") from error


def fetched(url, stalled, wanted, screen):
    """The bytes behind a URL, no more than tell them from the wanted ones."""
    host = urllib.parse.urlsplit(url).hostname or url
    end = time.monotonic() + AT_MOST
    content = bytearray()
    try:
        with urllib.request.urlopen(url, timeout=stalled) as answer, Bar(screen, wanted) as bar:
            promised = int(answer.headers.get("Content-Length") or 0)
            # read1 hands over what has come, so that a slow line moves the bar and meets the limit.
            while len(content) < 2 * wanted.size and (part := answer.read1(1 << 16)):
                content += part
                bar.show(len(content))
                if time.monotonic() > end:
                    raise TimeoutError
    except urllib.error.HTTPError as error:
        raise Refused(f"{host} answered {error.code} {error.reason}") from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            got = f" after {len(content):,} bytes" if content else ""
            raise Refused(f"{host} did not answer in time{got}") from error
        if content:
            raise Refused(f"the connection to {host} broke after {len(content):,} bytes") from error
        why = getattr(reason, "strerror", None) or reason
        raise Refused(f"no connection to {host}: {why}") from error
    if len(content) < promised <= 2 * wanted.size:
        raise Refused(
            f"the connection to {host} ended after {len(content):,} of {promised:,} bytes"
        )
    return bytes(content)


def put(content, target):
    """Write a file in one move: all of it, or nothing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


class Bar:
    """A progress bar on a terminal; nothing anywhere else."""

    def __init__(self, screen, wanted):
        self.screen = screen if screen.isatty() else None
        self.wanted = wanted

    def __enter__(self):
        self.show(0)
        return self

    def show(self, count):
        if self.screen:
            share = min(count / self.wanted.size, 1)
            bar = "#" * int(30 * share)
            self.screen.write(f"\r{self.wanted.name} [{bar:<30}] {share:4.0%}")
            self.screen.flush()

    def __exit__(self, *_):
        if self.screen:
            self.screen.write("\n")


def _stop(*_):
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    sys.stdout.reconfigure(errors="replace")  # a terminal without "…" is no reason to fail
    sys.exit(main())
