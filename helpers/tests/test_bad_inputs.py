"""Bad inputs to the public helpers: each gets the named error with its sentence, and no more.

Nothing else changes: the global random state, the default dtype and the gradient mode are as
before, and so is every tensor that was handed over.
"""

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

import helpers
from helpers import (
    Head,
    Sheet,
    batch,
    check,
    decode,
    drill,
    encode,
    explore_head,
    figure,
    heatmap,
    influence_grid,
    last_vowel,
    load_head,
    load_scene,
    load_shakespeare,
    matrix,
    one_head,
    one_hot,
    previous,
    profiled,
    progress,
    random_strings,
    shapes,
    split,
    ten_questions,
    tokens,
    try_job,
    windows,
)

ALT = "A picture with three bars in a row."
EYE = torch.eye(3)
X = torch.zeros(3, 5)
IDS = torch.arange(8)
W = torch.zeros(14, 4)
META = torch.zeros(3, 3, device="meta")
COMPLEX = torch.zeros(3, 3, dtype=torch.complex64)


def three_bars():
    drawn = Figure()
    drawn.subplots().bar(range(3), range(3))
    return drawn


def same(x):
    return x


def generator():
    return torch.Generator().manual_seed(1)


# (helper, arguments, named arguments, error, part of its sentence)
BANK = [
    (shapes, ["(B, T)"], {}, ValueError, "needs a tensor by name"),
    (shapes, ["(B, T)"], {"q": [1, 2]}, TypeError, "q is of type list"),
    (shapes, ["(B, T)"], {"q": None}, TypeError, "q is of type NoneType"),
    (shapes, ["(B, T, C)"], {"q": torch.zeros(4, 8)}, helpers.ShapeError, "axis C is gone"),
    (
        shapes,
        ["(B, T, head_size)"],
        {"q": torch.zeros(4, 16, 8)},
        helpers.ShapeError,
        "were the last two axes swapped?",
    ),
    (
        shapes,
        ["(B, T), (B, T)"],
        {"q": torch.zeros(4, 8), "k": torch.zeros(4, 9)},
        helpers.ShapeError,
        "k: axis 1 is 9, expected T = 8",
    ),
    (shapes, [""], {"q": X}, ValueError, "cannot read the axes"),
    (shapes, ["B, T"], {"q": X}, ValueError, "write them as in '(B, T, C)'"),
    (shapes, [3], {"q": X}, TypeError, "takes the axes first, as text"),
    (matrix, [torch.zeros(2, 3, 4)], {}, ValueError, "pick one sequence, for example [0]"),
    (matrix, ["abc"], {}, TypeError, "a tensor is wanted here, not str"),
    (matrix, [None], {}, TypeError, "a tensor is wanted here, not NoneType"),
    (matrix, [[[1, 2], [3]]], {}, ValueError, "expected sequence of length 2"),
    (matrix, [EYE], {"rows": "ab"}, ValueError, "2 tokens were given for 3 rows"),
    (matrix, [EYE], {"columns": "abcd"}, ValueError, "4 tokens were given for 3 columns"),
    (matrix, [torch.zeros(0, 3)], {}, ValueError, "nothing to show"),
    (matrix, [COMPLEX], {}, ValueError, "complex numbers cannot be shown"),
    (matrix, [META], {}, ValueError, "no numbers to show"),
    (matrix, [torch.zeros(100, 100)], {}, ValueError, "use heatmap"),
    (matrix, [EYE], {"decimals": -1}, ValueError, "decimals is a whole number from 0 to 6"),
    (heatmap, [torch.zeros(4, 8, 8), "Ay, good"], {}, ValueError, "pick one sequence"),
    (heatmap, [EYE, "Ay, good"], {}, ValueError, "8 tokens were given for 3 rows"),
    (heatmap, [torch.zeros(0, 0), ""], {}, ValueError, "nothing to show"),
    (heatmap, [torch.zeros(3, 200)], {}, ValueError, "too large to draw"),
    (heatmap, [None, "eye"], {}, TypeError, "a tensor is wanted here"),
    (heatmap, [{}, "eye"], {}, ValueError, "no matrix to draw"),
    (heatmap, [{"a": EYE, "b": torch.eye(4)}], {}, ValueError, "must be of one shape"),
    (heatmap, [META, "eye"], {}, ValueError, "no numbers to show"),
    (heatmap, [COMPLEX, "eye"], {}, ValueError, "complex numbers cannot be shown"),
    (heatmap, [EYE, "eye"], {"masked": "past"}, ValueError, 'masked is "future"'),
    (heatmap, [EYE], {"masked": EYE}, ValueError, "masked must be boolean"),
    (heatmap, [EYE, "eye"], {"title": None}, TypeError, "title is text, not NoneType"),
    (heatmap, [EYE, "eye"], {"alt": 3}, TypeError, "alt is text, not int"),
    (heatmap, [EYE, "eye"], {"limits": (1, 0)}, ValueError, "limits are (low, high)"),
    (figure, [None, ALT], {}, TypeError, "takes a matplotlib figure, not NoneType"),
    (figure, [three_bars(), ""], {}, ValueError, "what the picture shows and what to notice"),
    (figure, [three_bars(), " " * 30], {}, ValueError, "alt must say in a sentence"),
    (figure, [three_bars(), 3], {}, ValueError, "alt must say in a sentence"),
    (figure, [Figure(), ALT], {}, ValueError, "nothing is drawn in it yet"),
    (influence_grid, [3, X], {}, TypeError, "takes a function of x first"),
    (influence_grid, [same, torch.zeros(3)], {}, ValueError, "floats of shape (T, C)"),
    (influence_grid, [same, X.long()], {}, ValueError, "this is torch.int64 (3, 5)"),
    (influence_grid, [same, [[1.0, 2.0]]], {}, ValueError, "this is list"),
    (influence_grid, [same, torch.zeros(0, 5)], {}, ValueError, "x is empty"),
    (influence_grid, [same, X.to("meta")], {}, ValueError, "no numbers to change"),
    (influence_grid, [lambda x: None, X], {}, ValueError, "must return a tensor"),
    (influence_grid, [torch.sum, X], {}, ValueError, "must return a row for each position"),
    (influence_grid, [torch.rand_like, X], {}, ValueError, "is there dropout?"),
    (encode, ["caf\u00e9"], {}, ValueError, "'\u00e9' (U+00E9) at position 3"),
    (encode, [5], {}, TypeError, "encode takes a str, got int"),
    (encode, [b"abc"], {}, TypeError, "encode takes a str, got bytes"),
    (decode, [torch.tensor([3, 65])], {}, ValueError, "got 65 at position 1"),
    (decode, [[-1]], {}, ValueError, "ids go from 0 to 64, got -1"),
    (decode, [torch.tensor([1.5])], {}, TypeError, "which are whole numbers"),
    (decode, [torch.zeros(2, 2, dtype=torch.long)], {}, ValueError, "choose one, as in ids[0]"),
    (decode, ["abc"], {}, TypeError, "encode it first"),
    (tokens, [5], {}, TypeError, "decode the ids first"),
    (split, [None], {}, TypeError, "got NoneType"),
    (split, [torch.zeros(0, dtype=torch.long)], {}, ValueError, "at least 2 characters"),
    (windows, [IDS, [5], 8], {}, ValueError, "takes 9 characters, the text has 8"),
    (windows, [IDS, [-1], 2], {}, ValueError, "may begin at 0 to 5"),
    (windows, [IDS, [0], 0], {}, ValueError, "T must be a whole number from 1 on"),
    (windows, ["Ay, good", [0], 2], {}, TypeError, "encode it first"),
    (batch, [IDS, 2, 2, None], {}, TypeError, "needs a torch.Generator"),
    (batch, [IDS[:2], 2, 8, generator()], {}, ValueError, "the text has 2"),
    (batch, [IDS, 0, 2, generator()], {}, ValueError, "B must be a whole number from 1 on"),
    (Head(5, 4, 3), [torch.zeros(1, 4, 5)], {}, ValueError, "at most block_size = 3"),
    (Head(5, 4, 3), [torch.zeros(1, 3, 6)], {}, ValueError, "x must be (B, T, C = 5)"),
    (Head(5, 4, 3), [X], {}, ValueError, "its shape is (3, 5)"),
    (one_head, [Head(5, 4, 64), torch.zeros(33, 5)], {}, ValueError, "too many to draw"),
    (one_head, [3, X], {}, TypeError, "a head has layers query, key and value"),
    (one_head, [Head(5, 4, 3), torch.zeros(3, 6)], {}, ValueError, "C = 5 channels, x has 6"),
    (one_head, [Head(5, 4, 3), X, "ey"], {}, ValueError, "2 tokens were given for 3"),
    (one_head, [Head(5, 4, 3), torch.zeros(2, 3, 5)], {}, ValueError, "a batch of 2: pick one"),
    (one_hot, ["xyz"], {}, ValueError, "8 letters of aebdnt"),
    (one_hot, [3], {}, TypeError, "takes a string or letter numbers, not int"),
    (one_hot, [torch.full((1, 8), 6)], {}, ValueError, "letter numbers go from 0 to 5"),
    (previous, [3], {}, TypeError, "letter numbers, a tensor of int64, not int"),
    (last_vowel, [torch.zeros(2, 5, dtype=torch.long)], {}, ValueError, "these are (2, 5)"),
    (random_strings, [0, 1], {}, ValueError, "n is a whole number from 1 on"),
    (try_job, [previous, W[:3], W, W], {}, ValueError, "must be of one shape (14, d_k)"),
    (try_job, [previous, None, W, W], {}, TypeError, "Wq is a tensor, not NoneType"),
    (try_job, ["previous", W, W, W], {}, TypeError, "a job is a function"),
    (check, ["causal_wieghts", same], {}, ValueError, "did you mean 'causal_weights'?"),
    (explore_head, [Head(5, 4, 8)], {}, TypeError, "embed is missing"),
    (explore_head, [Head, X], {}, TypeError, "a trained head needs query, key, value and tril"),
    (explore_head, [None, same], {}, TypeError, "no trained head was given"),
    (explore_head, [], {"block_size": 65}, ValueError, "a whole number from 1 to 64, got 65"),
    (explore_head, [], {"block_size": 8.0}, ValueError, "a whole number from 1 to 64, got 8.0"),
    (explore_head, [Head(5, 4, 8), same], {"block_size": 9}, ValueError, "from 1 to 8, got 9"),
    (explore_head, [Head(5, 4, 8), same], {}, ValueError, "its result is (1, 8)"),
    (explore_head, [Head(5, 4, 8), list], {}, ValueError, "(1, 8, 5) of 8 ids; its result is list"),
    (explore_head, [], {"begin": 5}, TypeError, "begin is a line of text, not int"),
    (Sheet, ["eyes"], {}, ValueError, "a word of 3 letters, this is 'eyes'"),
    (Sheet, [345], {}, ValueError, "a word of 3 letters, this is 345"),
    (Sheet, ["eee"], {}, ValueError, "all letters of 'eee' are the same"),
    (Sheet, ["eye", 1.5], {}, ValueError, "a seed is a whole number, this is 1.5"),
    (Sheet, ["eye", True], {}, ValueError, "a seed is a whole number, this is True"),
    (drill, ["ordre"], {}, ValueError, "did you mean 'order'?"),
    (drill, [3], {}, ValueError, "no drill 3. There are: order, shapes, head, sentence"),
    (drill, ["shapes", "7"], {}, ValueError, "seed is a whole number, this is '7'"),
    (drill, ["order", 0, 8], {}, ValueError, "strangers is 0 to 7, this is 8"),
    (drill, ["order", 0, -1], {}, ValueError, "strangers is 0 to 7, this is -1"),
    (drill, ["head", 0, 1], {}, ValueError, "strangers are for the drill 'order', not for 'head'"),
    (ten_questions, ["seven"], {}, ValueError, "seed is a whole number, this is 'seven'"),
    (ten_questions, [None], {}, ValueError, "seed is a whole number, this is None"),
    (progress, [-1, "steps"], {}, ValueError, "a whole number from 0 on, got -1"),
    (progress, [range(3), "steps"], {}, ValueError, "a whole number from 0 on, got range(0, 3)"),
    (progress, [True, "steps"], {}, ValueError, "a whole number from 0 on, got True"),
    (load_head, [Head(5, 4, 3), "missing.pt"], {}, FileNotFoundError, "missing.pt"),
    (load_head, [Head(5, 4, 3), __file__], {}, ValueError, "was not written by torch.save"),
    (profiled, [3], {}, TypeError, "not callable"),
    (profiled, [lambda: influence_grid(same, 3)], {}, ValueError, "floats of shape (T, C)"),
    (getattr, [helpers, "heatmp"], {}, AttributeError, "helpers has no 'heatmp'"),
    (load_scene, ["no/such/folder"], {}, FileNotFoundError, "git checkout data/scene.txt"),
    (load_shakespeare, ["no/such/folder"], {}, FileNotFoundError, "there is no file"),
]


def state():
    return [
        torch.get_rng_state().tolist(),
        np.random.get_state()[1].tolist(),
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.get_num_threads(),
    ]


def name(case):
    helper, arguments, named, *_ = case
    return getattr(helper, "__name__", type(helper).__name__)


@pytest.mark.parametrize("case", BANK, ids=[f"{name(c)}-{i}" for i, c in enumerate(BANK)])
def test_bad_input_gets_its_sentence_and_changes_nothing(case):
    helper, arguments, named, error, sentence = case
    handed = [v for v in [*arguments, *named.values()] if isinstance(v, torch.Tensor)]
    before, kept = state(), [t.clone() for t in handed]
    with pytest.raises(error) as caught:
        helper(*arguments, **named)
    assert type(caught.value) is error and sentence in str(caught.value)
    assert state() == before
    assert all(t.is_meta or torch.equal(t, k) for t, k in zip(handed, kept, strict=True))


def test_the_bank_reaches_every_public_helper():
    others = {"Eye", "ShapeError", "running_x", "vocabulary"}  # take no input
    others |= {"explore_average", "explore_masking", "explore_scaling"}
    assert len(BANK) >= 60
    assert set(helpers.__all__) - others == {name(c) for c in BANK} - {"getattr"}
