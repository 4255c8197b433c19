"""One head in one picture: the tensors it shows are the head's, and it fits a projector."""

import re

import numpy as np
import pytest
import torch

from helpers import Eye, running_x
from helpers.anatomy import one_head
from helpers.head import Head

ORDER = ["x", "q", "k", "v", "scores", "masked", "weights", "out"]


def eye_head():
    eye, head = Eye(), Head(5, 4, 3)
    with torch.no_grad():
        head.query.weight.copy_(eye.Wq.T)
        head.key.weight.copy_(eye.Wk.T)
        head.value.weight.copy_(eye.Wv.T)
    return head


def real_head(head_size=16, T=8):
    torch.manual_seed(3)
    return Head(384, head_size, T)


@pytest.fixture(scope="module")
def picture():
    return one_head(eye_head(), Eye().x, "eye", channels=Eye.channels, title="The head of eye")


def test_shows_eye_in_order(picture):
    assert [ax.get_label() for ax in picture.axes] == ORDER
    for name, array in zip(ORDER, picture.arrays, strict=True):
        wanted = getattr(Eye(), name).numpy()
        np.testing.assert_allclose(np.where(array.mask, -np.inf, array.data), wanted, atol=1e-6)


def test_names_shapes_and_moves_are_in_the_text(picture):
    text = repr(picture)
    for part in ("1  q = x Wq", "(T, head_size) = (3, 4)", "(T, C) = (3, 5)", "3  masked", ".731"):
        assert part in text
    assert "at 2" in text and "//" in text


def test_alt_names_the_panels(picture):
    html = picture._repr_mimebundle_()["text/html"]
    alt = re.search(r'alt="([^"]*)"', html).group(1)
    assert "weights" in alt and "The head of eye." in alt
    assert one_head(eye_head(), Eye().x, "eye", alt="my own words about it").alt == (
        "my own words about it"
    )


@pytest.mark.parametrize("T", [1, 2, 6, 8, 16, 32])
def test_any_length_is_small_enough(T):
    picture = one_head(real_head(T=T), torch.randn(T, 384), "a" * T)
    assert len(picture.png()) <= 40_000
    width, height = picture.figure.get_size_inches()
    assert width <= 9.01 and height <= 3.5


def test_eye_fits_a_projector(picture):
    assert picture.figure.get_size_inches()[1] <= 2.61
    assert len(picture.png()) <= 40_000


def test_a_wide_x_is_cut_and_says_so():
    picture = one_head(real_head(), running_x()[0], "Ay, good")
    assert picture.arrays[0].shape == (8, 24)
    assert "first 24 channels" in repr(picture) and "(8, 384)" in repr(picture)


def test_a_head_that_does_something_else_has_no_picture():
    class Unmasked(Head):
        def forward(self, x):
            q, k, v = self.query(x), self.key(x), self.value(x)
            return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v

    torch.manual_seed(0)
    with pytest.raises(ValueError, match="not what the five moves give"):
        one_head(Unmasked(5, 4, 3), torch.randn(3, 5))


def test_refuses_a_batch_and_wrong_names():
    with pytest.raises(ValueError, match="batch of 4"):
        one_head(real_head(), running_x())
    with pytest.raises(ValueError, match="tokens were given"):
        one_head(eye_head(), Eye().x, "eyes")
    with pytest.raises(ValueError, match="33 positions"):
        one_head(real_head(T=33), torch.zeros(33, 384))
    with pytest.raises(ValueError, match="one sequence"):
        one_head(eye_head(), [1, 2])


def test_changes_neither_generator_nor_gradients():
    head = eye_head()
    torch.manual_seed(5)
    wanted = torch.rand(1)
    torch.manual_seed(5)
    one_head(head, Eye().x, "eye").png()
    assert torch.equal(torch.rand(1), wanted)
    assert all(p.grad is None for p in head.parameters())
