"""A saved head comes back equal, or not at all: what is damaged or foreign is refused by name."""

import pickle
import re
from zipfile import ZipFile

import pytest
import torch
from torch import nn

from helpers import Head, load_head

C, HEAD_SIZE, BLOCK = 12, 5, 7


def made(seed, C=C, head_size=HEAD_SIZE, block_size=BLOCK):
    torch.manual_seed(seed)
    return Head(C, head_size, block_size)


@pytest.fixture
def saved(tmp_path):
    """A head, and the file that holds it."""
    head, path = made(1), tmp_path / "head.pt"
    torch.save(head.state_dict(), path)
    return head, path


def same(one, other):
    one, other = one.state_dict(), other.state_dict()
    return one.keys() == other.keys() and all(torch.equal(one[n], other[n]) for n in one)


def refused(path, head=None):
    """The message with which a file is refused, by a head that stays as it was."""
    head = made(2) if head is None else head
    before = {name: tensor.clone() for name, tensor in head.state_dict().items()}
    with pytest.raises(ValueError) as caught:
        load_head(head, path)
    assert all(torch.equal(before[n], t) for n, t in head.state_dict().items()), "it was touched"
    assert path.name in str(caught.value) and str(path.parent) not in str(caught.value)
    return str(caught.value)


# ---------------------------------------- good files
def test_a_head_comes_back_equal_with_its_triangle(saved):
    head, path = saved
    other = made(2)
    other.tril.zero_()
    assert not same(head, other)
    assert load_head(other, path) is other
    assert same(head, other) and other.tril.equal(torch.ones(BLOCK, BLOCK).tril())
    x = torch.randn(2, BLOCK, C)
    assert torch.equal(head(x), other(x))


def test_the_path_may_be_a_string(saved):
    head, path = saved
    assert same(load_head(made(2), str(path)), head)


def test_dtype_and_gradients_stay_the_heads_own(saved):
    head, path = saved
    wide = load_head(made(2).double(), path)
    assert wide.key.weight.dtype == torch.float64 and wide.key.weight.requires_grad
    assert torch.equal(wide.key.weight.float(), head.key.weight)


def test_not_a_number_comes_back_too(saved):
    head, path = saved
    with torch.no_grad():
        head.key.weight[0, 0], head.key.weight[0, 1] = torch.nan, -torch.inf
    torch.save(head.state_dict(), path)
    back = load_head(made(2), path).key.weight
    assert back[0, 0].isnan() and back[0, 1] == -torch.inf


# ---------------------------------------- damaged files
@pytest.mark.parametrize("kept", [0, 1, 100, 0.5, 0.9, -1])
def test_a_truncated_file_is_refused(saved, kept):
    _, path = saved
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if isinstance(kept, float) else kept])
    assert "is damaged" in refused(path)


def test_a_flipped_byte_is_refused_in_every_tensor(saved):
    """One byte of the data of each tensor, which `torch.load` alone lets pass."""
    head, path = saved
    content = path.read_bytes()
    found = set()
    for name, tensor in head.state_dict().items():
        data = tensor.numpy().tobytes()
        assert content.count(data) == 1
        place = content.index(data) + len(data) // 2
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(changed)
        passed = torch.load(path, weights_only=True)
        found |= {n for n, t in head.state_dict().items() if not torch.equal(passed[n], t)}
        assert "is damaged" in refused(path), name
    assert found == set(head.state_dict()), "torch.load notices now: the helper may be needless"


def test_no_flipped_byte_brings_another_head(saved):
    """Anywhere in the file: it is refused, or what comes back is the head that was saved."""
    head, path = saved
    content = path.read_bytes()
    outcomes = set()
    for place in range(0, len(content), 23):
        changed = bytearray(content)
        changed[place] ^= 0x10
        path.write_bytes(changed)
        other = made(2)
        try:
            load_head(other, path)
        except ValueError as error:
            assert "head.pt" in str(error)
            outcomes.add("refused")
        else:
            assert same(head, other), f"byte {place} changes the head unnoticed"
            outcomes.add("the same")
    assert "refused" in outcomes


@pytest.mark.parametrize("content", [b"", b"\0" * 300, b"PK\x03\x04", b"<html>not found</html>"])
def test_what_is_no_archive_is_refused(tmp_path, content):
    path = tmp_path / "head.pt"
    path.write_bytes(content)
    assert "was not written by torch.save" in refused(path)


def test_another_archive_is_refused(tmp_path):
    path = tmp_path / "head.pt"
    with ZipFile(path, "w") as file:
        file.writestr("lesson.txt", "a head")
    assert "was not written by torch.save" in refused(path)


# ---------------------------------------- files that hold something else
class Runs:
    """An object that would run code when it is unpickled."""

    ran = []

    def __reduce__(self):
        return Runs.ran.append, ("ran",)


@pytest.mark.parametrize("save", [torch.save, lambda x, p: p.write_bytes(pickle.dumps(x))])
def test_code_that_a_file_brings_is_never_run(tmp_path, save):
    path = tmp_path / "head.pt"
    save({"key.weight": Runs()}, path)
    assert "save the head again" in refused(path)
    assert Runs.ran == []


def test_a_whole_module_is_refused(saved):
    head, path = saved
    torch.save(head, path)
    assert "save the head again" in refused(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (torch.ones(3), "holds Tensor"),
        ([torch.ones(3)], "holds list"),
        ({"loss": 2.44}, "holds dict"),
        ({"head": {"key.weight": torch.ones(3)}}, "holds dict"),
        (7, "holds int"),
    ],
)
def test_what_is_no_state_dict_is_refused(tmp_path, content, said):
    path = tmp_path / "head.pt"
    torch.save(content, path)
    assert f"{said}, not a state dict of tensors" in refused(path)


def test_numbers_for_names_are_refused(tmp_path):
    path = tmp_path / "head.pt"
    torch.save({0: torch.ones(3)}, path)
    assert "has tril of no size" in refused(path)


def test_an_empty_state_dict_is_refused(tmp_path):
    path = tmp_path / "head.pt"
    torch.save({}, path)
    assert refused(path) == f"head.pt has tril of no size, the head's is {(BLOCK, BLOCK)}"


# ---------------------------------------- other names and sizes
@pytest.mark.parametrize(
    ("other", "name", "found", "wanted"),
    [
        ({"C": 13}, "query.weight", (HEAD_SIZE, 13), (HEAD_SIZE, C)),
        ({"head_size": 6}, "query.weight", (6, C), (HEAD_SIZE, C)),
        ({"block_size": 8}, "tril", (8, 8), (BLOCK, BLOCK)),
    ],
)
def test_other_sizes_are_named(tmp_path, other, name, found, wanted):
    path = tmp_path / "head.pt"
    torch.save(made(1, **other).state_dict(), path)
    assert refused(path) == f"head.pt has {name} of {found}, the head's is {wanted}"


def test_sizes_that_pytorch_would_stretch_are_refused(saved):
    head, path = saved
    state = head.state_dict()
    state["tril"] = state["tril"][:1]
    torch.save(state, path)
    assert f"tril of {(1, BLOCK)}" in refused(path)


def test_a_missing_tensor_is_named(saved):
    head, path = saved
    state = head.state_dict()
    del state["tril"]
    torch.save(state, path)
    assert refused(path) == f"head.pt has tril of no size, the head's is {(BLOCK, BLOCK)}"


def test_a_tensor_too_many_is_named(saved):
    head, path = saved
    torch.save(head.state_dict() | {"key.bias": torch.ones(HEAD_SIZE)}, path)
    assert refused(path) == f"head.pt has key.bias of {(HEAD_SIZE,)}, the head's is no size"


def test_another_modules_names_are_refused(tmp_path):
    path = tmp_path / "head.pt"
    torch.save(nn.Linear(C, HEAD_SIZE).state_dict(), path)
    assert "tril of no size" in refused(path)


# ---------------------------------------- no file
def test_a_file_that_is_missing(tmp_path):
    head = made(2)
    with pytest.raises(FileNotFoundError, match=re.escape("nowhere.pt")):
        load_head(head, tmp_path / "nowhere.pt")
    assert same(head, made(2))


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(OSError):
        load_head(made(2), tmp_path)


def test_the_file_is_left_alone(saved):
    _, path = saved
    before = path.read_bytes()
    load_head(made(2), path)
    assert path.read_bytes() == before and [p.name for p in path.parent.iterdir()] == ["head.pt"]
