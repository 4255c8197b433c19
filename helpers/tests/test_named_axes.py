"""`shapes` accepts what is so, and says what is not in words that help."""

import numpy as np
import pytest
import torch
from torch import nn

from helpers import Eye, ShapeError, shapes

torch.set_num_threads(1)
B, T, C, HEAD = 4, 8, 384, 16


def zeros(*shape):
    return torch.zeros(shape)


def test_one_line_a_tensor_names_aligned():
    stated = shapes("(B, T, head_size)", q=zeros(B, T, HEAD), keys=zeros(B, T, HEAD))
    assert repr(stated) == (
        "q     (B, T, head_size) = (4, 8, 16)\nkeys  (B, T, head_size) = (4, 8, 16)"
    )


def test_a_product_states_a_group_a_tensor():
    stated = shapes(
        "(T, T) @ (B, T, C) -> (B, T, C)", avg=zeros(T, T), x=zeros(B, T, C), xbow=zeros(B, T, C)
    )
    assert repr(stated).splitlines() == [
        "avg   (T, T) = (8, 8)",
        "x     (B, T, C) = (4, 8, 384)",
        "xbow  (B, T, C) = (4, 8, 384)",
    ]


@pytest.mark.parametrize(
    "tensor",
    [
        zeros(T).bfloat16(),
        zeros(T).bool(),
        zeros(T).cfloat(),
        nn.Parameter(zeros(T)),
        torch.empty(T, device="meta"),
        torch.full((T,), float("nan")),
        zeros(2 * T)[::2],
        np.zeros(T),
    ],
)
def test_any_kind_of_tensor(tensor):
    assert repr(shapes("(T,)", t=tensor)) == "t  (T,) = (8,)"


def test_names_that_could_collide_and_axes_without_a_size():
    assert repr(shapes("(n,) (2, n)", spec=zeros(5), self=zeros(2, 5))) == (
        "spec  (n,) = (5,)\nself  (2, n) = (2, 5)"
    )
    assert repr(shapes("()", loss=zeros())) == "loss  () = ()"


def test_eyes_sizes_and_sizes_from_numpy():
    eye = Eye()
    shapes("(T, C) @ (C, head_size) -> (T, head_size)", x=eye.x, W=eye.Wq, q=eye.q, **eye.sizes)
    shapes("(T,)", t=zeros(3), T=np.int64(3))


MISMATCHES = [
    ("(B, T, head_size)", (B, HEAD, T), {}, "t: axis 1 is 16 = head_size, expected T = 8: were "
     "the last two axes swapped?"),
    ("(B, T, head_size)", (B, T, C), {}, "t: axis 2 is 384 = C, expected head_size = 16: was the "
     "projection left out?"),
    ("(B, T, C)", (B, T, HEAD), {}, "t: axis 2 is 16 = head_size, expected C = 384: was it "
     "projected already?"),
    ("(B, T, C)", (T, B, C), {}, "t: axis 0 is 8 = T, expected B = 4: are the axes in another "
     "order?"),
    ("(B, T, T)", (B, HEAD, HEAD), {}, "t: axis 1 is 16 = head_size, expected T = 8: does one of "
     "the factors need its last two axes swapped?"),
    ("(B, T, C)", (B, 1, C), {}, "t: axis 1 is 1, expected T = 8: was keepdim left on, or a "
     "single entry sliced out?"),
    ("(B, T, C)", (B, 0, C), {}, "t: axis 1 is 0, expected T = 8: it is empty"),
    ("(B, T, C)", (B, T, 383), {}, "t: axis 2 is 383, expected C = 384"),
    ("(T, 3)", (T, 4), {}, "t: axis 1 is 4 = B, expected 3"),
    ("(n, n)", (3, 5), {}, "t: axis 1 is 5, expected n = 3"),
    ("(T, C)", (B, T, C), {}, "t has 3 axes (4, 8, 384), expected 2 axes (T, C) = (8, 384): an "
     "axis too many at the front; was the batch left on?"),
    ("(B, T, C)", (T, C), {}, "t has 2 axes (8, 384), expected 3 axes (B, T, C) = (4, 8, 384): "
     "the batch axis is missing; was one sequence picked out?"),
    ("(B, T, C)", (B, C), {}, "t has 2 axes (4, 384), expected 3 axes (B, T, C) = (4, 8, 384): "
     "axis T is gone; was it averaged or picked away?"),
    ("(B, C)", (B, 1, C), {}, "t has 3 axes (4, 1, 384), expected 2 axes (B, C) = (4, 384): an "
     "axis of size 1 too many; was keepdim or an unsqueeze left on?"),
    ("(T,)", (), {}, "t has 0 axes (), expected 1 axis (T,) = (8,)"),
    ("(n, T)", (T,), {}, "t has 1 axis (8,), expected 2 axes (n, T) = (?, 8)"),
    # The size that the caller named explains the error, not one of the course's that is as large.
    ("(T, C)", (3, 4), Eye().sizes, "t: axis 1 is 4 = head_size, expected C = 5: was it "
     "projected already?"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "shape", "sizes", "message"), MISMATCHES)
def test_a_mismatch_names_tensor_axis_sizes_and_reason(spec, shape, sizes, message):
    with pytest.raises(ShapeError) as error:
        shapes(spec, t=zeros(*shape), **sizes)
    assert str(error.value).startswith(message)
    assert isinstance(error.value, ValueError)


def test_the_size_of_an_unknown_axis_holds_between_tensors():
    with pytest.raises(ShapeError, match="b: axis 0 is 7, expected n = 6"):
        shapes("(n,) (n,)", a=zeros(6), b=zeros(7))
    shapes("(n,)", a=zeros(7))  # and is forgotten after the call


@pytest.mark.parametrize("spec", ["", "B, T", "(B, T", "(B; T)", "(2*T,)", "B(T)", "((T))", "[T]"])
def test_a_spec_that_cannot_be_read(spec):
    with pytest.raises(ValueError, match="cannot read the axes"):
        shapes(spec, t=zeros(T))


def test_calls_that_make_no_sense():
    with pytest.raises(TypeError, match="axes first, as text"):
        shapes(zeros(T), t=zeros(T))
    with pytest.raises(ValueError, match="a tensor by name"):
        shapes("(T,)")
    with pytest.raises(ValueError, match="states 2 shapes, but 3 tensors"):
        shapes("(T,) (T,)", a=zeros(T), b=zeros(T), c=zeros(T))
    for value in ([1, 2], True, None, "x"):
        with pytest.raises(TypeError, match="t is of type"):
            shapes("(T,)", t=value)
