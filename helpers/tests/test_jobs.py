"""Jobs for a hand-set head: the answers against plain Python, and the score of known weights."""

import pytest
import torch

from helpers import last_vowel, one_hot, previous, random_strings, try_job
from helpers.jobs import LETTERS

PLACE = torch.arange(8.0)


def vowel_weights():
    Wq, Wk, Wv = torch.zeros(3, 14, 4)
    Wq[:6, :2] = torch.tensor([200.0, 20])
    Wk[:2, 0], Wk[6:, 1] = 1, PLACE
    Wv[:2, 0] = torch.tensor([1.0, 2])
    return Wq, Wk, Wv


def previous_weights():
    Wq, Wk, Wv = torch.zeros(3, 14, 4)
    Wq[6:, 0], Wq[6:, 1] = 40 * (PLACE - 1), -20
    Wk[6:, 0], Wk[6:, 1] = PLACE, PLACE**2
    Wv[:6, 0] = torch.arange(1.0, 7)
    return Wq, Wk, Wv


def test_answers_are_those_of_plain_python():
    strings = random_strings(50, seed=1)
    for row, vowels, before in zip(strings, last_vowel(strings), previous(strings), strict=True):
        word = "".join(LETTERS[i] for i in row)
        for t in range(8):
            seen = [c for c in word[: t + 1] if c in "ae"]
            assert vowels[t] == (LETTERS.index(seen[-1]) + 1 if seen else 0)
            assert before[t] == LETTERS.index(word[max(t - 1, 0)]) + 1


def test_one_hot_of_letters_and_places():
    x = one_hot("tabetdan")
    assert x.shape == (8, 14) and (x.sum(dim=1) == 2).all()
    assert torch.equal(x[:, 6:], torch.eye(8)) and x[1, 0] == 1 and x[0, 5] == 1
    with pytest.raises(ValueError, match="8 letters"):
        one_hot("zebra")


def test_strings_are_the_same_for_a_seed_and_leave_the_generator():
    before = torch.get_rng_state()
    assert torch.equal(random_strings(9, 3), random_strings(9, 3))
    try_job(previous, *previous_weights())
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize(
    ("job", "weights"), [(last_vowel, vowel_weights()), (previous, previous_weights())]
)
def test_hand_set_weights_do_the_job_exactly(job, weights):
    tried = try_job(job, *weights)
    assert tried.score == 1 and not tried.wrong
    assert repr(tried) == "all answers are right"


def test_wrong_weights_are_shown_on_what_they_miss():
    Wq, Wk, Wv = vowel_weights()
    Wq[:, 0] = 0  # cares for late places only
    tried = try_job(last_vowel, Wq, Wk, Wv)
    assert 0.5 < tried.score < 0.65
    string, wanted, got = tried.wrong[0]
    assert string in repr(tried) and wanted != got
    assert got == "".join(c if c in "ae" else "·" for c in string)


def test_any_numbers_get_a_score():
    Wq, Wk, Wv = vowel_weights()
    assert try_job(last_vowel, Wq, Wk, Wv * float("nan")).score == 0
    assert "?" in repr(try_job(last_vowel, Wq, Wk, Wv * 1e30))
    with pytest.raises(ValueError, match="one shape"):
        try_job(last_vowel, Wq.T, Wk, Wv)
