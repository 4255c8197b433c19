"""Mutation of the checker: each question is needed by some wrong attempt.

Every attempt is recorded once; then one question at a time is taken away, and some attempt that
was rejected must come out as right. A question that nothing needs would be decoration.
"""

import torch

from helpers.checker import contracts, gaps, judging, probes
from helpers.checker.attempts import files
from helpers.checker.guard import Guard
from helpers.tests import given
from helpers.tests.checker_bank import Base
from helpers.tests.checker_banks import BANK

torch.set_num_threads(1)


def hard_two(q, k):
    return q @ k.mT / (q.shape[-1] ** 0.5 if q.shape[1] != 11 else 2)


def squeezed(q, k):
    return (q @ k.mT / q.shape[-1] ** 0.5).squeeze(0)


def one_token(q, k):
    s = q @ k.mT / q.shape[-1] ** 0.5
    return s if q.shape[1] > 1 else s[:, 0]


def ordinary_only(x):
    return given.ref_bow(x) if tuple(x.shape) != (3, 5, 7) else x


def leaks_far_below(s):
    return s.masked_fill(~given.lower(s.shape[-1]), -100.0).softmax(-1)


def now_and_then(T):
    """Wrong for some states of the global generator, right for the one a check starts from."""
    return given.ref_avg(T) * (torch.rand(()) < 0.6)


class FullLength(Base):
    def forward(self, x):
        return super().forward(x) * (1.0 if x.shape[1] < self.tril.shape[0] else 0.5)


class Wobbles(Base):
    def forward(self, x):
        return super().forward(x) * (1.01 if self.training else 1.0)


class TooLarge(Base):
    def setup(self, C, H, n):
        self.register_buffer("tril", torch.ones(2 * n, 2 * n).tril())


class Restless(Base):
    """Random unless somebody has set its weights."""

    def forward(self, x):
        out = super().forward(x)
        fresh = self.value.weight.abs().max() <= 1 / self.value.in_features**0.5
        return out + torch.randn_like(out) if fresh else out


class LearnedScale(Base):
    def setup(self, C, H, n):
        super().setup(C, H, n)
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, x):
        return super().forward(x) * self.scale


class Unfilled(Base):
    """Masks without its buffer, which holds nothing."""

    def setup(self, C, H, n):
        self.register_buffer("tril", torch.zeros(n, n))

    def lower(self, T):
        return torch.ones(T, T).tril()


# Attempts that one question alone can catch.
EXTRA = {
    "ordinary": (("bow", ordinary_only),),
    "other sizes": (("attention_scores", hard_two),),
    "one sequence": (("attention_scores", squeezed),),
    "one token": (("attention_scores", one_token),),
    "T = block_size": (("Head", FullLength),),
    "train mode": (("Head", Wobbles),),
    "buffer size": (("Head", TooLarge),),
    "buffer values": (("Head", Unfilled),),
    "far below": (("causal_weights", leaks_far_below),),
    "repeatable": (("averaging_matrix", now_and_then),),
    "parameters": (("Head", LearnedScale),),
    "as built": (("Head", Restless),),
}


def attempts():
    for e in given.REGISTRY:
        if e.verdict == "wrong":
            yield e.kind, e.attempt
    for a in BANK[::2]:
        if a.kind in ("wrong", "only"):
            yield a.exercise, a.attempt
    for pairs in EXTRA.values():
        yield from pairs


def test_no_question_is_decoration():
    records = []
    for exercise, attempt in attempts():
        guard = Guard(files=files(attempt))
        records.append(probes.observe(contracts.EXERCISES[exercise], attempt, guard))
    caught = [{f.question for f in judging.judge(record)} for record in records]
    assert all(caught), "a wrong attempt was not rejected in the first place"
    idle = []
    for question in judging.QUESTIONS:
        left = tuple(q for q in judging.QUESTIONS if q is not question)
        slips = any(
            found == {question.name} and not judging.judge(record, left)
            for record, found in zip(records, caught, strict=True)
        )
        if not slips:
            idle.append(question.name)
    assert not idle


def test_a_looser_tolerance_lets_attempts_through(monkeypatch):
    record = probes.observe(
        contracts.EXERCISES["causal_attention"],
        next(a.attempt for a in BANK if "fill-not-low" in a.name and "causal_att" in a.name),
        Guard(),
    )
    assert judging.judge(record)
    monkeypatch.setattr(gaps, "agree", lambda a, b, atol=0, rtol=0: a.shape == b.shape)
    assert not judging.judge(record)
