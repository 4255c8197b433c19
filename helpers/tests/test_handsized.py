"""Every number of the hand-sized example, as a person works it out."""

import torch
from torch.testing import assert_close

from helpers import Eye

EXACT = {
    "x": [[1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [1, 0, 0, 0, 1]],
    "Wq": [[0, 1, 0, 0], [2, 0, 0, 0], [0, 0, 1, 2], [0, 0, 1, 0], [0, 0, -1, 0]],
    "Wk": [[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 2, 0]],
    "Wv": [[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 2]],
    "q": [[0, 1, 1, 2], [2, 0, 1, 0], [0, 1, -1, 0]],
    "k": [[1, 0, 0, 0], [0, 2, 0, 1], [1, 0, 2, 0]],
    "v": [[1, 1, 0, 0], [1, 0, 1, 1], [1, 1, 0, 2]],
    "raw": [[0, 4, 2], [2, 0, 4], [0, 2, -2]],
    "scores": [[0, 2, 1], [1, 0, 2], [0, 1, -1]],
}
INF = float("inf")
ROUNDED = {
    "xbow": [
        [1, 0, 1, 0, 0],
        [1 / 2, 1 / 2, 1 / 2, 1 / 2, 0],
        [2 / 3, 1 / 3, 1 / 3, 1 / 3, 1 / 3],
    ],
    "weights_unmasked": [[0.090, 0.665, 0.245], [0.245, 0.090, 0.665], [0.245, 0.665, 0.090]],
    "out_unmasked": [[1, 0.335, 0.665, 1.155], [1, 0.910, 0.090, 1.421], [1, 0.335, 0.665, 0.845]],
    "masked": [[0, -INF, -INF], [1, 0, -INF], [0, 1, -1]],
    "weights": [[1, 0, 0], [0.731, 0.269, 0], [0.245, 0.665, 0.090]],
    "out": [[1, 1, 0, 0], [1, 0.731, 0.269, 0.269], [1, 0.335, 0.665, 0.845]],
    "average_of_v": [[1, 1, 0, 0], [1, 1 / 2, 1 / 2, 1 / 2], [1, 2 / 3, 1 / 3, 1]],
}


def test_whole_numbers_are_exact():
    eye = Eye()
    for name, rows in EXACT.items():
        assert getattr(eye, name).tolist() == rows, name


def test_the_rest_to_three_decimals():
    eye = Eye()
    for name, rows in ROUNDED.items():
        want = torch.tensor(rows, dtype=torch.float32)
        assert_close(
            getattr(eye, name), want, atol=5.1e-4, rtol=0, msg=lambda m, n=name: f"{n}: {m}"
        )


def test_exponentials_and_their_sums():
    eye = Eye()
    sums = eye.scores.exp().sum(dim=-1)
    assert_close(sums, torch.tensor([11.107, 11.107, 4.086]), atol=1e-3, rtol=0)
    masked_sums = eye.masked.exp().sum(dim=-1)
    assert_close(masked_sums, torch.tensor([1, 3.718, 4.086]), atol=1e-3, rtol=0)


def test_nothing_is_shared_between_two_looks():
    eye = Eye()
    eye.x.zero_()
    eye.Wq.zero_()
    assert eye.q.tolist() == EXACT["q"]


def test_names_fit_the_numbers():
    eye = Eye()
    assert (len(eye.tokens), len(eye.channels)) == tuple(eye.x.shape)
    assert (
        eye.sizes
        == {"T": 3, "C": 5, "head_size": 4}
        == {"T": eye.x.shape[0], "C": eye.x.shape[1], "head_size": eye.q.shape[1]}
    )
    letters = [eye.channels[row[:2].argmax()][-1] for row in eye.x]
    assert tuple(letters) == eye.tokens
