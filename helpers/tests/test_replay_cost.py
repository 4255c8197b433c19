"""Replaying a lesson costs little more than starting a kernel, importing, and one picture.

CPU time of the kernel and its children, as a ratio to a baseline notebook run in between, in the
same run: the machine's speed and its load cancel.
"""

import pytest

from helpers.tools.costs import TRAINS, compares, lessons, replay_bar, replay_rounds

LESSONS = {lesson: path for lesson, path in lessons().items() if lesson not in TRAINS}
ROUNDS = 6  # at most, for a lesson over its bar


@pytest.fixture(scope="module")
def spent():
    """CPU seconds of one round of all lessons and both baselines."""
    return replay_rounds(1)


@pytest.mark.parametrize("lesson", LESSONS)
def test_replay_costs_little_more_than_its_imports(lesson, spent, record_property):
    # Other work on the cores only adds time, so the least of interleaved rounds is nearest to the
    # cost; a lesson that one round finds under its bar needs no more of them.
    bound, mine = replay_bar(lesson), dict(spent)
    for _ in range(ROUNDS):
        plain, compared = (
            min(mine[lesson]) / min(mine[yardstick]) for yardstick in ("baseline", "comparing")
        )
        cost = compared if compares(LESSONS[lesson]) else plain
        if cost <= bound:
            break
        for name, more in replay_rounds(1, {lesson}).items():
            mine[name] = [*mine[name], *more]
    said = f"{plain:.2f}, with one assert_close in both {compared:.2f} of {bound:.2f}"
    record_property("replay cost", f"{lesson}: {said}")
    assert cost <= bound, f"lesson {lesson} costs {said}"
