"""The running tensor is real text, the same at every call, and disturbs nobody."""

import torch
from torch.testing import assert_close

from helpers import decode, encode, load_scene, running_x, windows
from helpers.running import BEGINS


def test_is_token_plus_position():
    x = running_x()
    assert x.shape == (4, 8, 384)
    assert not x.requires_grad
    torch.manual_seed(1)
    token, position = torch.nn.Embedding(65, 384), torch.nn.Embedding(8, 384)
    ids = torch.stack([encode(piece) for piece in BEGINS])
    assert_close(x, token(ids).detach() + position.weight.detach(), atol=0, rtol=0)
    assert 1.9 < x.var() < 2.1  # the sum of two tables of variance 1


def test_sequence_0_has_a_capital_and_a_comma_where_the_lessons_say():
    scene = load_scene()
    ids, _ = windows(encode(scene), [scene.index(BEGINS[0])], 8)
    assert decode(ids[0]) == "Ay, good"
    assert BEGINS[0][0].isupper() and BEGINS[0][2] == ","
    assert all(piece in scene for piece in BEGINS)


def test_leaves_the_generator_alone():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    first = running_x()
    assert torch.equal(torch.rand(3), expected)
    first.zero_()
    assert running_x().abs().sum() > 0
