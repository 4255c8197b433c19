"""The answers to an attempt that was run: right, and wrong with all its stages."""

from __future__ import annotations

from .catalogue import REMARKS
from .judging import QUESTIONS, asked
from .look import Look
from .report import Result, Stage


def report_on(exercise, attempt, record, findings, diagnosis, remarks, guard) -> Result:
    if not findings:
        return _right(exercise, record, remarks)
    failed = {f.question: f.text for f in findings}
    if record.late:
        return Result(
            exercise.name,
            "wrong",
            open=(
                f"Your attempt did not come back within {guard.limit:g} seconds, so this is not a "
                "verdict on its numbers.",
                "Look for a loop that never ends.",
                *_printed(record),
            ),
        )
    looked = Look(exercise, attempt, record, failed, guard)
    return Result(
        exercise.name,
        "wrong",
        diagnosis.slugs,
        (),
        (*looked.first(diagnosis), *_printed(record)),
        (
            Stage("The smallest example", tuple(looked.example())),
            Stage("What happened", tuple(looked.what_happened(diagnosis))),
        ),
    )


def _right(exercise, record, remarks):
    extra = [REMARKS[slug] for slug in remarks]
    if not remarks and record.runs["ordinary"].outcome.drew and exercise.name != "Head":
        extra.append("It draws random numbers on the way, though the result does not show them.")
    held = [q.holds for q in QUESTIONS if asked(q, record)]
    return Result(
        exercise.name,
        "right",
        (),
        remarks,
        (f"Holds: {'; '.join(held)}.", *(f"Remark: {text}" for text in extra), *_printed(record)),
    )


def _printed(record):
    text = record.runs["ordinary"].outcome.printed.strip() if record.runs else ""
    if not text:
        return ()
    lines = text.splitlines()
    shown = lines[:6] + (["…"] if len(lines) > 6 else [])
    return ("Your attempt printed:", *(f"  {line[:200]}" for line in shown))
