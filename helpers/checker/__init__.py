"""The exercise checker: says what holds, and names what the student did.

contracts  the exercises and the inputs that tell    attempts   is it an attempt at all
guard      run code that may crash, hang or print    heads      build a Head and look at it
probes     everything an attempt is seen to do       trace      the torch calls it makes
gaps       how a value differs from the expected     judging    what is asked, and the verdict
remarks    what an accepted attempt is told          recipes    a switch at every step
search     which switches were turned                reading    on all cases at once
evidence   what the calls tell of twins              errors     what an exception says
head_faults, projections, left_behind, experiments   and of the rest, each on its own
diagnosis  from all of it to names                   catalogue  the sentences
noticed    facts, where no name fits                 properties what holds, in words
look       a closer look at a wrong attempt          answer     right, and wrong in stages
report     how an answer is shown
"""

from __future__ import annotations

import difflib
import re
import warnings

from .attempts import files, nothing_yet, reordered, unfit
from .contracts import EXERCISES
from .guard import LIMIT, Guard
from .report import Result, report_nothing, report_unfit

__all__ = ["Result", "check"]


def check(exercise: str, attempt, seconds: float = LIMIT) -> Result:
    """Check an attempt at an exercise, and say what was done.

    exercise  its name: "bow", "averaging_matrix", "project", "raw_scores", "attention_scores",
              "causal_mask", "causal_weights", "self_attention", "causal_attention", "Head",
              "sdpa" or "sdpa_decode"
    attempt   the function, or the class for "Head"; None and `...` are not attempts yet
    seconds   how long the attempt may run in all. Loops and sleeps end there, on the main thread
              of a system with timer signals; elsewhere a single call into C runs to its end first

    Returns a result with `verdict` ("right", "wrong" or "not attempted"), `faults` and `remarks`
    (tuples of slugs from the catalogue, most specific first). As the last line of a cell it shows
    itself. Whatever the attempt does is reported and never raised; ValueError is for an exercise
    that does not exist.
    """
    if exercise not in EXERCISES:
        near = difflib.get_close_matches(str(exercise), EXERCISES, 1, 0.4)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise ValueError(f"no exercise {exercise!r}{hint} There are: {', '.join(EXERCISES)}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the checker's own arithmetic; an attempt's are kept
        return _checked(EXERCISES[exercise], attempt, seconds)


def _checked(contract, attempt, seconds) -> Result:
    if nothing_yet(attempt):
        return report_nothing(contract)
    why = unfit(contract, attempt)
    if why:
        return report_unfit(contract, why)
    # From here on there is something to look at; a lesson that is only read through needs no more.
    from .answer import report_on
    from .diagnosis import Diagnosis, Doctor
    from .judging import judge
    from .probes import observe
    from .remarks import remarks

    guard = Guard(seconds, files=files(attempt))
    record = observe(contract, attempt, guard)
    if _unwritten(record):
        return report_nothing(contract)
    findings = judge(record)
    if not findings:
        return report_on(contract, attempt, record, findings, Diagnosis(), remarks(record), guard)
    if contract.name == "Head" and reordered(attempt):
        return report_unfit(contract, reordered(attempt))
    try:
        diagnosis = Doctor(record, attempt, guard).examine()
        return report_on(contract, attempt, record, findings, diagnosis, (), guard)
    except Exception:  # the verdict stands, and a student is never shown the checker's own error
        return report_unfit(contract, f"What fails: {findings[0].text}.")


def _unwritten(record) -> bool:
    """A body that returns `...`, or raises NotImplementedError itself."""
    outcome = record.runs["ordinary"].outcome
    value = outcome.value
    parts = value if isinstance(value, tuple | list) else (value,)
    if parts and all(part is ... for part in parts):
        return True
    error = outcome.error
    return (
        error is not None
        and error.type == "NotImplementedError"
        and not re.search(r"not implemented for|Could not run", error.text)
    )
