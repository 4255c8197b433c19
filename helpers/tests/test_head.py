"""The head for lessons 08 to 10: the notebook's code, and what it promises."""

import ast
import json
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from helpers import Eye, head, influence_grid
from helpers.head import Head

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "07_a_single_head.ipynb"


def the_class(source):
    """The class Head in a source, as a tree without docstrings, comments and places."""
    found = [n for n in ast.parse(source).body if isinstance(n, ast.ClassDef) and n.name == "Head"]
    assert len(found) == 1
    for node in ast.walk(found[0]):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            del node.body[0]
    return ast.dump(found[0])


def in_the_notebook():
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and "class Head(" in source:
            return source
    raise AssertionError("the notebook has no class Head")


def test_is_the_code_of_the_lesson():
    ours = Path(head.__file__).read_text(encoding="utf-8")
    assert the_class(ours) == the_class(in_the_notebook())


@pytest.mark.parametrize(
    ("theirs", "ours"), [("** 0.5", "** 1.5"), ("dim=-1", "dim=-2"), ("== 0", "!= 0")]
)
def test_the_comparison_sees_a_difference(theirs, ours):
    source = in_the_notebook()
    assert theirs in source
    assert the_class(source.replace(theirs, ours)) != the_class(source)


def loaded(block_size):
    eye, head = Eye(), Head(5, 4, block_size)
    with torch.no_grad():
        head.query.weight.copy_(eye.Wq.T)
        head.key.weight.copy_(eye.Wk.T)
        head.value.weight.copy_(eye.Wv.T)
    return head


@pytest.mark.parametrize("block_size", [3, 8])
def test_eye_comes_out_as_by_pencil(block_size):
    assert_close(loaded(block_size)(Eye().x[None])[0], Eye().out, atol=1e-6, rtol=0)


def test_hears_the_past_only():
    torch.manual_seed(0)
    grid = influence_grid(Head(7, 4, 6), torch.randn(2, 5, 7))
    assert torch.equal(grid, torch.ones(5, 5).tril().bool())


def test_shorter_is_the_first_rows_of_longer():
    torch.manual_seed(0)
    head, x = Head(7, 4, 6), torch.randn(3, 6, 7)
    for T in range(1, 7):
        assert_close(head(x[:, :T]), head(x)[:, :T], atol=1e-6, rtol=0)


def test_tril_travels_and_is_not_trained():
    head = Head(7, 4, 6)
    assert "tril" in head.state_dict()
    assert [n for n, _ in head.named_parameters()] == [
        "query.weight",
        "key.weight",
        "value.weight",
    ]
    assert head.to("meta").tril.device.type == "meta"


def test_gradients_reach_all_projections():
    torch.manual_seed(0)
    head = Head(7, 4, 6)
    head(torch.randn(2, 5, 7)).square().sum().backward()
    assert all(p.grad.abs().sum() > 0 for p in head.parameters())


@pytest.mark.parametrize("shape", [(2, 7, 7), (2, 5, 6), (5, 7), (1, 2, 5, 7), (7,)])
def test_refuses_other_input_and_says_so(shape):
    with pytest.raises(ValueError) as error:
        Head(7, 4, 6)(torch.zeros(shape))
    for part in ("(B, T, C = 7)", "block_size = 6", str(shape)):
        assert part in str(error.value)
