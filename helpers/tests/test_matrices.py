"""Small matrices in text, as a person writes them."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from helpers import Eye, matrix
from helpers.matrices import number, power

torch.set_num_threads(1)
INF, NAN = float("inf"), float("nan")
NUMBERS = {
    0.0: "0",
    1.0: "1",
    -1.0: "-1",
    0.5: ".500",
    -0.5: "-.500",
    0.9999999: "1",
    1e-7: "0",
    -1e-7: "0",
    0.9996: "1.000",
    -1.25: "-1.250",
    10.5: "10.500",
    0.0123456: ".012",
    0.00034: ".00034",
    -0.00034: "-.00034",
    0.00099: ".00099",
    0.000996: ".001",
    0.0000123: ".000012",
    384.0001: "384",
    -1e9: "-1e9",
    123456789.0: "1.23e8",
    65504.0: "65504",
    3.4e38: "3.4e38",
    1e300: "1e300",
    NAN: "nan",
    INF: "inf",
    -INF: "-inf",
}


@pytest.mark.parametrize(("value", "text"), NUMBERS.items())
def test_a_number(value, text):
    assert number(value) == text


def test_zero_has_no_sign():
    assert number(-0.0) == number(-0.0, 0) == "0"


@pytest.mark.parametrize("decimals", [0, 1, 2, 3])
def test_no_minus_zero_and_never_far_off(decimals):
    for step in range(-1200, 1201):
        value = step / 1000
        for small in (True, False):
            text = number(value, decimals, small)
            assert float(text) != 0 or not text.startswith("-")
            assert abs(float(text) - value) <= 0.5000001 * 10.0**-decimals


def test_a_power_of_ten():
    assert [power(v, 0) for v in (5.4e-6, -1e-5, 9.6e-7)] == ["5e-6", "-1e-5", "1e-6"]
    assert [power(v, 2) for v in (1.2e7, 1.234e7)] == ["1.2e7", "1.23e7"]


def test_eye_as_on_paper():
    eye = Eye()
    assert repr(matrix(eye.weights, rows="eye", columns="eye")) == (
        "      e     y     e\ne     1     0     0\ny  .731  .269     0\ne  .245  .665  .090"
    )
    assert repr(matrix(eye.masked)) == " 0  -inf  -inf\n 1     0  -inf\n 0     1    -1".replace(
        "\n ", "\n"
    ).removeprefix(" ")
    assert repr(matrix(eye.causal)) == "1  0  0\n1  1  0\n1  1  1"
    assert repr(matrix(eye.q[1])) == "2  0  1  0"


def test_as_few_decimals_as_fit_all():
    assert repr(matrix(torch.tensor([0.5, 0.25]))) == ".50  .25"
    assert repr(matrix(torch.tensor([0.5, 2.0]))) == ".5  2"
    assert repr(matrix(torch.tensor([1 / 3, 2.0]), decimals=2)) == ".33  2"
    assert repr(matrix(torch.tensor([1 / 3, NAN, INF]))) == ".333  nan  inf"


@pytest.mark.parametrize(
    "values",
    [
        torch.tensor([[1.0, 0.5], [0.0, -2.0]], dtype=torch.bfloat16),
        torch.tensor([[1.0, 0.5], [0.0, -2.0]], dtype=torch.float16),
        torch.tensor([[1.0, 0.5], [0.0, -2.0]], dtype=torch.float64),
        torch.tensor([[1.0, 0.5], [0.0, -2.0]], requires_grad=True),
        nn.Parameter(torch.tensor([[1.0, 0.5], [0.0, -2.0]])),
        torch.tensor([[1.0, 0.0], [0.5, -2.0]]).T,
        torch.tensor([[1.0, 9.0, 0.5, 9.0], [-0.0, 9.0, -2.0, 9.0]])[:, ::2],
        np.array([[1.0, 0.5], [0.0, -2.0]]),
        [[1.0, 0.5], [0.0, -2.0]],
    ],
)
def test_any_kind_of_matrix(values):
    assert repr(matrix(values, rows="ab")) == "a  1  .5\nb  0  -2"


def test_whole_numbers_and_booleans():
    for dtype in (torch.int64, torch.uint8, torch.bool):
        assert repr(matrix(torch.tensor([[1, 0]], dtype=dtype))) == "1  0"
    assert repr(matrix(torch.tensor([[123]]))) == "123"
    assert repr(matrix(torch.zeros(2, 3))) == "0  0  0\n0  0  0"


def test_names_stand_over_their_columns():
    w = torch.tensor([[0.123, 1.0], [0.5, 0.456]])
    lines = repr(matrix(w, rows=["\n", "long"], columns=[" the", "a"])).splitlines()
    assert lines == ["      ␣the     a", "↵     .123     1", "long  .500  .456"]
    wide = repr(matrix(w, rows=["漢", "e\u0301"], columns="🙂a")).splitlines()
    assert wide == ["      🙂     a", "漢  .123     1", "e\u0301   .500  .456"]


def test_nothing_of_the_callers_changes():
    w = torch.tensor([[-0.0, NAN, 0.1234]], requires_grad=True)
    before, state = w.detach().clone(), torch.get_rng_state()
    shown = matrix(w)
    assert repr(shown) == repr(shown)
    assert torch.equal(w.view(torch.int32), before.view(torch.int32)) and w.requires_grad
    assert torch.equal(state, torch.get_rng_state())
    assert torch.get_default_dtype() is torch.float32


ERRORS = [
    (torch.zeros(2, 3, 3), ValueError, r"shape \(2, 3, 3\): pick one sequence"),
    (torch.zeros(()), ValueError, r"1 or 2 axes can be shown, this has shape \(\)"),
    (torch.zeros(1, 1, 2, 2), ValueError, r"1 or 2 axes can be shown"),
    (torch.zeros(0, 3), ValueError, r"nothing to show: the shape is \(0, 3\)"),
    (torch.zeros(25, 3), ValueError, "too large to read as text .limit 24.; use heatmap"),
    (torch.zeros(3, 3, dtype=torch.cfloat), ValueError, "complex"),
    (torch.zeros(3, 3, device="meta"), ValueError, 'on the device "meta"'),
    ("eye", TypeError, "a tensor is wanted here, not str"),
    (None, TypeError, "a tensor is wanted here, not NoneType"),
]


@pytest.mark.parametrize(("values", "kind", "message"), ERRORS)
def test_what_cannot_be_shown_is_said(values, kind, message):
    with pytest.raises(kind, match=message):
        matrix(values)


def test_the_wrong_number_of_tokens():
    with pytest.raises(ValueError, match="3 tokens were given for 2 rows"):
        matrix(torch.zeros(2, 3), rows="eye")
    with pytest.raises(ValueError, match="2 tokens were given for 3 columns"):
        matrix(torch.zeros(2, 3), columns="ey")


def test_each_number_can_be_read_back():
    generator = torch.Generator().manual_seed(0)
    w = torch.randn(24, 24, generator=generator) * 10 ** torch.randn(24, 24, generator=generator)
    for row, line in zip(w.tolist(), repr(matrix(w)).splitlines(), strict=True):
        for value, text in zip(row, line.split(), strict=True):
            assert math.isclose(float(text), value, rel_tol=0.06, abs_tol=0.0006)
