"""The bar of a long loop: it counts like range, says how it ended, and a replay sees one line."""

import os
import signal
import time

import nbformat
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

from helpers import progress, waiting
from helpers.tools.normal_form import WIDGET_VIEW, compared
from helpers.tools.replay import surroundings


# ---------------------------------------- outside a notebook
@pytest.mark.parametrize("steps", [0, 1, 7])
def test_it_counts_like_range(steps, capfd):
    assert list(progress(steps, "head")) == list(range(steps))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("steps", [-1, 2.0, "7", None, True, [1, 2]])
def test_other_numbers_of_steps_are_refused_at_once(steps):
    with pytest.raises(ValueError, match="steps must be a whole number from 0 on, got"):
        progress(steps, "head")


# ---------------------------------------- in a notebook, its front end played by a list
class Place:
    def __init__(self, events):
        self.events = events

    def update(self, shown, raw):
        assert raw
        self.events.append(("line", shown["text/plain"], WIDGET_VIEW in shown))


@pytest.fixture
def events(monkeypatch):
    """What is shown and closed, in order."""
    import IPython.display
    import ipywidgets

    found = []

    def display(shown, raw, display_id):
        assert raw and display_id
        found.append(("bar", shown["text/plain"], WIDGET_VIEW in shown))
        return Place(found)

    monkeypatch.setattr(waiting, "_in_a_notebook", lambda: True)
    monkeypatch.setattr(IPython.display, "display", display)
    close = ipywidgets.Widget.close

    def closed(box):
        # Once: a widget that is collected later closes itself again.
        found.extend([("closed",)] if box.comm is not None else [])
        close(box)

    monkeypatch.setattr(ipywidgets.HBox, "close", closed)
    return found


def ended(what):
    return [("line", what, False), ("closed",)]


def test_the_bar_makes_room_for_one_line(events):
    assert list(progress(3, "head")) == [0, 1, 2]
    assert events == [("bar", "head: done", True), *ended("head: done")]


def test_no_steps_are_done_too(events):
    assert list(progress(0, "head")) == []
    assert events[-2:] == ended("head: done")


def test_the_line_is_the_same_for_every_number_of_steps(events):
    for steps in (1500, 2000):
        list(progress(steps, "head"))
    assert {event[1] for event in events if len(event) > 1} == {"head: done"}


def test_nothing_is_shown_before_the_loop_begins(events):
    waits = progress(3, "head")
    assert events == []
    next(waits)
    assert len(events) == 1


def run_out_of(error, steps=5_000, at=1_234):
    for step in progress(steps, "head"):
        if step == at:
            raise error


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt(), SystemExit()])
def test_an_exception_in_the_loop_closes_the_bar(events, error):
    with pytest.raises(type(error)) as caught:
        run_out_of(error)
    # While the traceback, and with it the frame of the loop, is still held.
    assert caught.tb is not None
    assert events[1:] == ended("head: left after 1,234 of 5,000 steps")


def test_break_closes_the_bar(events):
    for step in progress(10, "head"):
        if step == 4:
            break
    assert events[1:] == ended("head: left after 4 of 10 steps")


def test_an_interrupt_while_the_bar_moves_closes_it(events, monkeypatch):
    def interrupted(self, done):
        if done == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(waiting._Bar, "move", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(progress(10, "head"))
    assert events[1:] == ended("head: left after 3 of 10 steps")


def test_two_bars_side_by_side_end_each_for_itself(events):
    for _ in zip(progress(2, "one"), progress(2, "two"), strict=True):
        pass
    assert ended("one: done")[0] in events and ended("two: done")[0] in events


def test_the_bar_moves_now_and_then_and_not_at_every_step(events, monkeypatch):
    clock = iter(n / 1000 for n in range(100_000))
    monkeypatch.setattr(waiting, "monotonic", lambda: next(clock))
    shown = []
    move = waiting._Bar.move
    monkeypatch.setattr(
        waiting._Bar, "move", lambda bar, done: (move(bar, done), shown.append(bar.widget.value))
    )
    list(progress(1_000, "head"))
    moves = len(set(shown) - {0})
    assert 5 <= moves <= 20, "about ten a second, whatever the number of steps"
    assert shown == sorted(shown)


# ---------------------------------------- in a real kernel
LOOP = "from helpers import progress\nfor step in progress({steps}, 'head'):\n    {body}"


def executed(*sources):
    """The outputs that each cell leaves, as refresh runs them: errors are kept, not raised."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    notebook = nbformat.v4.new_notebook(cells=cells)
    with surroundings() as environ:
        client = NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True)
        client.execute(env=environ)
    return [cell.outputs for cell in notebook.cells]


def test_a_run_stores_one_line_and_no_bar():
    done, left, wrong = executed(
        LOOP.format(steps=3, body="pass"),
        LOOP.format(steps=3, body="break"),
        LOOP.format(steps=3, body="1 / step"),
    )
    assert [output["data"] for output in done] == [{"text/plain": "head: done"}]
    assert [output["data"] for output in left] == [{"text/plain": "head: left after 0 of 3 steps"}]
    shown, error = wrong
    assert shown["data"] == {"text/plain": "head: left after 0 of 3 steps"}
    assert error["ename"] == "ZeroDivisionError"


@pytest.fixture
def kernel():
    with surroundings() as environ:
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel(env=environ)
        client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=120)
            yield manager, client
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


def messages(client, source, on_message=lambda message: None):
    """What the kernel says while it runs a cell, in order, as (type, content)."""
    found = []

    def keep(message):
        found.append((message["msg_type"], message["content"]))
        on_message(message)

    client.execute_interactive(
        source, timeout=120, output_hook=keep, stop_on_error=False, allow_stdin=False
    )
    return found


def test_a_replay_sees_the_stored_line_in_the_first_message(kernel):
    """nbval keeps no later change of an output, and never compares a widget's view."""
    _, client = kernel
    found = messages(client, LOOP.format(steps=3, body="pass"))
    (first,) = [content for kind, content in found if kind == "display_data"]
    (last,) = [content for kind, content in found if kind == "update_display_data"]
    assert first["data"].keys() == {WIDGET_VIEW, "text/plain"}
    assert first["data"]["text/plain"] == last["data"]["text/plain"] == "head: done"
    assert WIDGET_VIEW not in last["data"]
    assert first["transient"] == last["transient"]
    stored = {"output_type": "display_data", "data": last["data"], "metadata": {}}
    assert compared([stored]) == compared([{**stored, "data": {"text/plain": "head: done"}}])
    assert {kind for kind, _ in found if kind in ("stream", "error")} == set()


def test_an_interrupt_from_the_notebook_ends_the_bar(kernel):
    manager, client = kernel

    def interrupt(message):
        if message["msg_type"] == "display_data":
            time.sleep(0.3)
            os.kill(manager.provisioner.pid, signal.SIGINT)

    body = "import time; time.sleep(0.05)"
    found = messages(client, LOOP.format(steps=2_000, body=body), interrupt)
    kinds = [kind for kind, _ in found]
    (last,) = [content for kind, content in found if kind == "update_display_data"]
    assert last["data"]["text/plain"].startswith("head: left after ")
    assert last["data"]["text/plain"].endswith(" of 2,000 steps")
    (error,) = [content for kind, content in found if kind == "error"]
    assert error["ename"] == "KeyboardInterrupt"
    # The view goes first, then its widgets, then the error is told.
    assert kinds.index("update_display_data") < kinds.index("error")
    closed = [i for i, kind in enumerate(kinds) if kind == "comm_close"]
    assert closed and kinds.index("update_display_data") < closed[0]
