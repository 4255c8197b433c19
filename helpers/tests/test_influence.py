"""The influence grid against functions whose answer is known."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers import Eye, influence_grid

torch.set_num_threads(1)
T, C = 6, 10
LOWER = torch.ones(T, T, dtype=torch.bool).tril()


def x_of(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def weights_of(x, fill=float("-inf"), diagonal=1):
    """Causal self-attention weights, q = k = x; the future filled as told."""
    T, C = x.shape[-2:]
    scores = x @ x.transpose(-2, -1) / C
    future = torch.ones(T, T, dtype=torch.bool).triu(diagonal)
    return F.softmax(scores.masked_fill(future, fill), dim=-1)


def average(x):
    lower = torch.ones(x.shape[-2], x.shape[-2], dtype=x.dtype).tril()
    return lower / lower.sum(dim=1, keepdim=True) @ x


def shift(x):
    return torch.cat([torch.zeros_like(x[..., :1, :]), x[..., :-1, :]], dim=-2)


KNOWN = {
    "identity": (lambda x: x, torch.eye(T, dtype=torch.bool)),
    "causal average": (average, LOWER),
    "full attention": (lambda x: weights_of(x, 0.0) @ x, torch.ones(T, T, dtype=torch.bool)),
    "causal attention": (lambda x: weights_of(x) @ x, LOWER),
    "shift by one": (shift, torch.ones(T, T, dtype=torch.bool).tril(-1).triu(-1)),
    "constant": (torch.zeros_like, torch.zeros(T, T, dtype=torch.bool)),
    "reversed": (lambda x: x.flip(-2), torch.eye(T, dtype=torch.bool).flip(0)),
    "one channel": (lambda x: x[..., 3:4], torch.eye(T, dtype=torch.bool)),
    "normalised": (lambda x: F.layer_norm(x, (C,)), torch.eye(T, dtype=torch.bool)),
    # Row 0 of the weights is [1, 0, 0 …] whatever x holds.
    "weights": (weights_of, LOWER & (torch.arange(T) + torch.arange(T)[:, None] > 0)),
}


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("shape", [(T, C), (3, T, C)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_functions_whose_answer_is_known(name, shape, dtype):
    f, grid = KNOWN[name]
    found = influence_grid(f, x_of(*shape).to(dtype))
    assert found.dtype is torch.bool and found.shape == (T, T)
    assert torch.equal(found, grid)


def brute_force(f, x):
    rows = []
    for i in range(T):
        row = []
        for j in range(T):
            other = x.clone()
            other[0, j] += 1.0
            row.append(bool((f(other)[0, i] - f(x)[0, i]).abs().max() > 1e-6))
        rows.append(row)
    return torch.tensor(rows)


@pytest.mark.parametrize("seed", range(4))
def test_equals_the_loop_of_lesson_01_for_a_random_pattern(seed):
    heard = x_of(T, T, seed=seed) > 0.3

    def f(x):
        return torch.tanh(heard.float() @ x)

    x = 0.3 * x_of(2, T, C, seed=seed + 10)
    assert torch.equal(influence_grid(f, x), heard)
    assert torch.equal(brute_force(f, x), heard)


def test_each_row_and_column_is_told_apart():
    for i, j in [(0, 5), (5, 0), (2, 3)]:

        def f(x, i=i, j=j):
            out = torch.zeros(T, 1)
            out[i] = x[j].sum()
            return out

        assert influence_grid(f, x_of(T, C)).nonzero().tolist() == [[i, j]]


def test_only_sequence_0_is_looked_at():
    def f(x):
        return torch.stack([x[0], x[0] + x[1]])

    assert torch.equal(influence_grid(f, x_of(2, T, C)), torch.eye(T, dtype=torch.bool))


@pytest.mark.parametrize("x", [x_of(T, C), Eye().x], ids=["random", "eye"])
def test_a_leak_of_exp_minus_10_is_heard(x):
    assert influence_grid(lambda x: weights_of(x, -10.0) @ x, x).all()
    assert not influence_grid(lambda x: weights_of(x) @ x, x).all()


def test_fewer_rows_than_positions_and_a_row_without_channels():
    assert torch.equal(influence_grid(lambda x: average(x)[..., -2:, :], x_of(1, T, C)), LOWER[-2:])
    assert torch.equal(influence_grid(lambda x: average(x).sum(dim=-1), x_of(T, C)), LOWER)


def test_rows_of_nan_are_not_heard_and_hear_nothing():
    # The diagonal masked too: row 0 has nothing left to look at, and its weights are NaN. Row 1
    # has only position 0, whatever it asks; later rows hear themselves through their query.
    found = influence_grid(lambda x: weights_of(x, diagonal=0) @ x, x_of(T, C))
    known = LOWER.clone()
    known[0, 0] = known[1, 1] = False
    assert torch.equal(found, known)
    grid = influence_grid(lambda x: torch.full_like(x, float("nan")), x_of(T, C))
    assert not grid.any()
    # An output of inf, and one that becomes inf, are seen as what they are.
    assert not influence_grid(lambda x: x * 0 + float("inf"), x_of(T, C)).any()


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -float("inf")])
def test_an_x_with_what_is_no_number(odd):
    x = x_of(T, C)
    x[2] = odd
    assert torch.equal(influence_grid(lambda x: x, x), torch.eye(T, dtype=torch.bool))


@pytest.mark.parametrize("size", [0.0, 1e-6, 1e4])
def test_constant_tiny_and_huge_x(size):
    for x in (torch.full((T, C), size), size * x_of(T, C)):
        assert torch.equal(influence_grid(average, x), LOWER)


def test_the_changes_stay_finite_in_half_precision():
    seen = []

    def f(x):
        seen.append(bool(x.isfinite().all()))
        return x

    influence_grid(f, torch.full((T, C), 60000.0, dtype=torch.float16))
    assert all(seen)


@pytest.mark.parametrize("size", [1, 2, 32])
def test_other_lengths(size):
    found = influence_grid(average, x_of(size, 3))
    assert torch.equal(found, torch.ones(size, size, dtype=torch.bool).tril())


def test_modules_parameters_and_views():
    layer = nn.Linear(C, 4, bias=False)
    eye = torch.eye(T, dtype=torch.bool)
    for x in (nn.Parameter(x_of(2, T, C)), x_of(T, C).requires_grad_(), x_of(C, T).T):
        before = x.detach().clone()
        assert torch.equal(influence_grid(layer, x), eye)
        assert torch.equal(x, before) and x.grad is None
    assert layer.weight.grad is None


def test_f_may_change_its_argument_but_not_the_callers_x():
    x = x_of(2, T, C)
    before = x.clone()
    assert torch.equal(influence_grid(lambda x: x.mul_(2), x), torch.eye(T, dtype=torch.bool))
    assert torch.equal(x, before)


def test_f_may_keep_one_output_and_fill_it_again():
    kept = torch.zeros(T, C, dtype=torch.float64)
    f = kept.copy_
    assert torch.equal(influence_grid(f, x_of(T, C).double()), torch.eye(T, dtype=torch.bool))


def test_dropout_is_refused_and_the_random_state_left_alone():
    model = nn.Dropout(0.5)
    state = torch.get_rng_state()
    with pytest.raises(ValueError, match="two answers for the same x: is there dropout"):
        influence_grid(model, x_of(T, C))
    influence_grid(model.eval(), x_of(T, C))
    assert torch.equal(state, torch.get_rng_state())
    assert torch.is_grad_enabled()


def changing_shape():
    shapes = iter([3, 3, 4])
    return lambda x: torch.zeros(next(shapes), 1)


ERRORS = [
    (torch.zeros_like, torch.zeros(C), r"floats of shape \(T, C\) or \(B, T, C\), .*\(10,\)"),
    (torch.zeros_like, torch.zeros(1, 1, T, C), r"\(1, 1, 6, 10\)"),
    (torch.zeros_like, torch.zeros(T, C, dtype=torch.long), "torch.int64"),
    (torch.zeros_like, torch.zeros(T, C, dtype=torch.bool), "torch.bool"),
    (torch.zeros_like, torch.zeros(T, C, dtype=torch.cfloat), "torch.complex64"),
    (torch.zeros_like, [[1.0]], "this is list"),
    (torch.zeros_like, torch.zeros(0, C), "x is empty"),
    (torch.zeros_like, torch.zeros(0, T, C), "x is empty"),
    (torch.zeros_like, torch.zeros(T, C, device="meta"), "meta"),
    (lambda x: (x, x), torch.zeros(T, C), "must return a tensor, it returned tuple"),
    (lambda x: x.sum(), torch.zeros(T, C), "a row for each position"),
    (lambda x: x[0], torch.zeros(2, T, C), "a row for each position"),
    (changing_shape(), torch.zeros(T, C), "different shapes"),
]


@pytest.mark.parametrize(("f", "x", "message"), ERRORS)
def test_what_makes_no_grid_is_said(f, x, message):
    with pytest.raises(ValueError, match=message):
        influence_grid(f, x)
