"""The checker against attempts: those given, a bank of further ones, and unruly ones."""

import importlib
import random
import statistics
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest
import torch

from helpers import check
from helpers.checker import contracts
from helpers.checker.catalogue import CLOSER, EXERCISES_OF, MISCONCEPTIONS, REMARKS
from helpers.checker.diagnosis import TIME_FIRST
from helpers.checker.recipes import RECIPES
from helpers.tests import given
from helpers.tests.checker_banks import BANK

torch.set_num_threads(1)
HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared" / "faults"


def named(result, slugs, exercise, most=3):
    good = set().union(*(given.accepted(slug, exercise) for slug in slugs))
    return bool(set(result.faults) & good) and len(result.faults) <= most


# ---------------------------------------- given.py
@pytest.fixture(scope="module")
def checked():
    return {e.id: check(e.kind, e.attempt) for e in given.REGISTRY}


def test_own_copy_is_the_one_given():
    if not (SHARED / "given.py").exists():
        pytest.skip("the shared file is not beside the project")
    assert (HERE / "given.py").read_text() == (SHARED / "given.py").read_text()


def test_every_verdict_is_right(checked):
    expected = {e.id: "wrong" if e.verdict == "wrong" else "right" for e in given.REGISTRY}
    assert {i: r.verdict for i, r in checked.items()} == expected


def test_grey_attempts_carry_their_remark(checked):
    for e in given.REGISTRY:
        if e.verdict == "grey":
            assert checked[e.id].remarks == (e.fault,), e.id
        assert e.verdict == "wrong" or not checked[e.id].faults, e.id


def test_wrong_attempts_are_named(checked):
    wrong = [e for e in given.REGISTRY if e.verdict == "wrong"]
    missed = [e.id for e in wrong if not named(checked[e.id], (e.fault, *e.also), e.kind)]
    assert not missed


def test_both_faults_of_a_pair_are_named():
    for two in given.PAIRS:
        result = check(two.kind, two.attempt)
        for slug in two.faults:
            assert named(result, (slug,), two.kind, 4), (two.id, result.faults)


# ---------------------------------------- the bank
@pytest.mark.parametrize("exercise", contracts.EXERCISES)
def test_bank(exercise):
    for a in BANK:
        if a.exercise != exercise:
            continue
        result = check(exercise, a.attempt)
        told = (a.name, result.verdict, result.faults, result.remarks)
        if a.kind in ("right", "grey"):
            assert result.verdict == "right" and result.remarks == a.slugs, told
        elif a.kind == "only":
            assert result.verdict == "wrong" and result.faults == a.slugs, told
        elif a.kind == "both":
            assert all(named(result, (s,), exercise, 4) for s in a.slugs), told
        else:
            assert result.verdict == "wrong", told
            assert named(result, a.slugs, exercise) if a.slugs else not result.faults, told


# ---------------------------------------- not attempted
def test_not_attempted():
    def only_pass(x):
        pass

    def only_dots(x):
        """Only a docstring and dots."""
        ...

    def returns_dots(x):
        out = ...
        return out

    def not_implemented(x):
        raise NotImplementedError

    for attempt in (None, ..., only_pass, only_dots, returns_dots, not_implemented):
        assert check("bow", attempt).verdict == "not attempted"

    class Empty(torch.nn.Module):
        pass

    class Unwritten(torch.nn.Module):
        def __init__(self, C, head_size, block_size):
            super().__init__()

        def forward(self, x): ...

    for attempt in (Empty, Unwritten):
        assert check("Head", attempt).verdict == "not attempted"
    assert check("project", lambda x, a, b, c: (..., ..., ...)).verdict == "not attempted"
    assert check("bow", lambda x: x.sum() and None).faults == ("nothing-returned",)


def test_unknown_exercise_says_which_there_are():
    with pytest.raises(ValueError, match="causal_weights"):
        check("causal_weight", None)


# ---------------------------------------- unruly attempts
def never_ends(x):
    while True:
        pass


def sleeps(x):
    while True:
        try:
            time.sleep(10)
        except:  # noqa: E722
            pass


def prints_for_ever(x):
    while True:
        print("again")


def recurses(x):
    return recurses(x)


def exits(x):
    raise SystemExit(3)


@pytest.mark.parametrize("attempt", [never_ends, sleeps, prints_for_ever])
def test_loops_end_at_the_limit(attempt):
    result = check("bow", attempt, seconds=0.3)
    assert result.verdict == "wrong" and not result.faults
    assert "did not come back" in repr(result)


def test_an_import_is_not_cut_off_half_way(tmp_path, monkeypatch):
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(0.6)\nready = True\n")
    monkeypatch.syspath_prepend(tmp_path)

    def imports_late(x):
        import slow_to_import

        while slow_to_import.ready:
            pass

    assert "did not come back" in repr(check("bow", imports_late, seconds=0.3))
    assert sys.modules.pop("slow_to_import").ready


def test_loops_end_off_the_main_thread():
    kept = []
    thread = threading.Thread(target=lambda: kept.append(check("bow", never_ends, seconds=0.3)))
    thread.start()
    thread.join(20)
    assert kept and kept[0].verdict == "wrong"


@pytest.mark.parametrize("attempt", [recurses, exits, lambda x: "text", lambda: 1, 7, "bow"])
def test_nonsense_is_reported(attempt):
    result = check("bow", attempt)
    assert result.verdict == "wrong" and not result.faults
    assert repr(result) and result._repr_html_()


def test_results_that_hold_no_plain_numbers():
    odd = (
        torch.ones(2, device="meta"),
        torch.ones(2, 3).to_sparse(),
        torch.ones(2, dtype=torch.complex64),
        float("nan"),
        {},
        [],
        [torch.ones(2)],
        object(),
    )
    for value in odd:
        for exercise in ("bow", "project", "causal_mask", "causal_weights", "sdpa"):
            result = check(exercise, lambda *a, v=value: v)
            assert result.verdict == "wrong" and repr(result)


def test_state_is_as_before():
    def unruly(x):
        torch.manual_seed(5)
        random.random()
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        warnings.simplefilter("error")
        sys.setrecursionlimit(5_000)
        print("noise")
        return x

    torch.manual_seed(3)
    before = (
        torch.get_rng_state().tolist(), random.getstate(), torch.get_default_dtype(),
        torch.is_grad_enabled(), torch.get_num_threads(), list(warnings.filters),
        sys.getrecursionlimit(), sys.stdout,
    )  # fmt: skip
    result = check("bow", unruly)
    after = (
        torch.get_rng_state().tolist(), random.getstate(), torch.get_default_dtype(),
        torch.is_grad_enabled(), torch.get_num_threads(), list(warnings.filters),
        sys.getrecursionlimit(), sys.stdout,
    )  # fmt: skip
    assert before == after
    assert "noise" in repr(result)


def test_works_whatever_the_notebook_is_set_to():
    dtype = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        with torch.no_grad():
            assert check("causal_weights", given.ref_weights).verdict == "right"
            assert check("Head", given.RefHead).verdict == "right"
    finally:
        torch.set_default_dtype(dtype)


def test_an_error_is_shown_with_its_line():
    def attempt(q, k):
        grid = q @ k
        return grid / 2

    text = repr(check("attention_scores", attempt))
    assert "grid = q @ k" in text and "In line 2" in text
    assert "(B, T, head_size) met (B, T, head_size)" in text


# ---------------------------------------- what is shown
def test_shown_the_same_twice_and_without_addresses():
    for e in given.REGISTRY[::7]:
        first, second = (check(e.kind, e.attempt) for _ in range(2))
        assert repr(first) == repr(second) and first._repr_html_() == second._repr_html_()
        assert " at 0x" not in repr(first)


def test_html_is_escaped_and_folded():
    def attempt(x):
        raise ValueError("<script>alert(1)</script>")

    html = check("bow", attempt)._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html
    assert html.count("<details>") == 2 and "--jp-" in html


def test_the_sentences_cover_the_catalogue():
    assert len(MISCONCEPTIONS) == 81 and len(REMARKS) == 10
    assert all(m.sentence and m.nudge and m.exercises for m in MISCONCEPTIONS.values())
    used = {e.fault for e in given.REGISTRY if e.verdict == "wrong"}
    assert used <= set(EXERCISES_OF)


def test_closer_sentences_belong_to_a_switch():
    switches = {
        (slug, option.label)
        for steps in RECIPES.values()
        for step in steps
        for option in step.options
        for slug in option.slugs
    }
    assert set(CLOSER) <= switches | {("axis-added-or-lost", TIME_FIRST)}


def test_a_check_costs_no_more_than_a_few_runs_of_the_record():
    """A right answer is cheaper to check than a wrong one: diagnosis is paid by mistakes only."""

    def median(kind):
        times = []
        for e in given.REGISTRY:
            if e.verdict == kind:
                start = time.perf_counter()
                check(e.kind, e.attempt)
                times.append(time.perf_counter() - start)
        return statistics.median(times)

    assert median("right") < 2 * median("wrong")


def test_checker_is_imported_lazily():
    assert importlib.import_module("helpers.checker").check is check
