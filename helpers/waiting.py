"""A bar for a loop that takes a while: it moves in a notebook, and one constant line is stored."""

from time import monotonic

from helpers.tools.normal_form import WIDGET_VIEW

A_SECOND = 10  # redrawn so often at most: each time is a message to the browser


def progress(steps, what):
    """The numbers 0 … steps - 1 for a loop, with a bar in the notebook that says how far it is.

    steps   how many there will be, a whole number from 0 on
    what    the name that stands before the bar

    When the loop has run through, the bar makes room for the line `what: done`, the same at every
    run and for every number of steps, which is also what a notebook stores. A loop that is left
    early, by break, an exception or an interrupt, leaves the line that says after which step.
    Outside a notebook nothing is shown.

    Raises ValueError for steps that are no such number.
    """
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 0:
        raise ValueError(f"steps must be a whole number from 0 on, got {steps!r}")
    return _counted(steps, what)


def _counted(steps, what):
    bar = _Bar(steps, what) if _in_a_notebook() else None
    done = 0
    try:
        for step in range(steps):
            yield step
            done = step + 1
            if bar:
                bar.move(done)
    finally:
        if bar:
            bar.end(done)


def _in_a_notebook():
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return hasattr(get_ipython(), "kernel")


class _Bar:
    """A bar that is on show from the start and replaced by a line of text at the end."""

    def __init__(self, steps, what):
        import ipywidgets as widgets
        from IPython.display import display

        self.steps, self.what, self.moved = steps, what, monotonic()
        self.widget = widgets.IntProgress(max=max(1, steps), description=str(what))
        self.count = widgets.Label(self._count(0))
        self.box = widgets.HBox([self.widget, self.count])
        # The line goes out with the bar, so that a replay, which sees no later change, sees it too.
        view = self.box._repr_mimebundle_()[WIDGET_VIEW]
        shown = {WIDGET_VIEW: view, **self._line("done")}
        self.place = display(shown, raw=True, display_id=True)

    def _line(self, said):
        return {"text/plain": f"{self.what}: {said}"}

    def _count(self, done):
        return f"{done:,} of {self.steps:,}"

    def move(self, done):
        if monotonic() - self.moved >= 1 / A_SECOND:
            self.widget.value, self.count.value = done, self._count(done)
            self.moved = monotonic()

    def end(self, done):
        left = done < self.steps
        line = self._line(f"left after {self._count(done)} steps" if left else "done")
        # In this order: a view whose widget is gone is an error message for a moment.
        self.place.update(line, raw=True)
        for widget in (self.box, self.widget, self.count):
            widget.close()
