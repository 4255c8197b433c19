"""What an accepted attempt is to be told."""

from __future__ import annotations

from .gaps import alike, gap
from .probes import Record


def remarks(record: Record) -> tuple[str, ...]:
    """What an accepted attempt is to be told, as slugs."""
    found: list[str] = []
    name = record.exercise.name
    if name in ("causal_mask", "causal_weights"):
        got = record.runs["ordinary"]
        found += gap(record.exercise, got.case, got.value).remarks
    if name == "causal_weights":
        found += _remarks_on_weights(record)
    if name == "Head" and record.facts is not None and record.facts.ok:
        found += _remarks_on_head(record)
    return tuple(dict.fromkeys(found))


def _remarks_on_weights(record):
    def delicate(case):
        got = record.runs[case]
        return not got.outcome.ok or bool(gap(record.exercise, got.case, got.value).remarks)

    half = record.runs["half"].outcome
    if half.error and "without overflow" in half.error.text:
        yield "remark-1e9-fill"
    ordinary = record.runs["ordinary"]
    if gap(record.exercise, ordinary.case, ordinary.value).remarks:
        return  # half precision explains the rest
    if delicate("all far below"):
        yield "remark-unstable-softmax"
    elif delicate("future dominates"):
        yield "remark-renormalised-after-softmax"
    elif delicate("large"):
        yield "remark-unstable-softmax"


def _remarks_on_head(record):
    facts = record.facts.value
    if facts.fused:
        yield "remark-fused-projection"
    if facts.tril == "buffer" and len(facts.tril_shape) == 3:
        yield "remark-tril-extra-axis"
    if facts.tril == "buffer" and not facts.persistent:
        yield "remark-tril-not-persistent"
    if facts.dropout or differs_in_train_only(record):
        yield "remark-dropout-member"


def differs_in_train_only(record: Record) -> bool:
    """Random in train mode and still in eval: dropout that knows the difference."""
    if record.train is None or not record.facts.value.loaded:
        return False
    still = alike(record.again.value, record.runs["ordinary"].value)
    return still and not alike(record.train.value, record.train_again.value)
