"""What is said of a misconception, and the exercises that share one."""

from __future__ import annotations

from typing import NamedTuple


class Misconception(NamedTuple):
    exercises: tuple[str, ...]
    sentence: str
    nudge: str


SCORES = "attention_scores"
ATTENTION = "self_attention causal_attention Head"
CAUSAL = "causal_attention Head"
MASKED = f"causal_mask causal_weights {CAUSAL}"
WEIGHTED = f"causal_weights {CAUSAL}"
SOFTMAX = f"causal_weights {ATTENTION}"
PAST = f"bow averaging_matrix {MASKED} sdpa sdpa_decode"
GRID = f"raw_scores {SCORES} {ATTENTION}"
SCALE = f"{SCORES} {ATTENTION}"
BATCH = f"bow project raw_scores {SCORES} causal_mask causal_weights {ATTENTION}"
ALL = (
    f"bow averaging_matrix project raw_scores {SCORES} causal_mask causal_weights {ATTENTION} "
    "sdpa sdpa_decode"
)


def entry(exercises, sentence, nudge):
    return Misconception(tuple(exercises.split()), sentence, nudge)
