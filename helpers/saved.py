"""Weights that come back from a file whole and of the right sizes, or not at all."""

from io import BytesIO
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import torch


def load_head(head, path):
    """Put the weights of a saved state dict into a head; buffers such as `tril` belong to them.

    head   the nn.Module to fill, on any device
    path   a file written by `torch.save(head.state_dict(), path)`

    Returns the head. `torch.load` lets a changed byte of a weight pass, and `load_state_dict`
    refuses other sizes after it has copied what fits; here both are asked before.

    Raises ValueError when the file is damaged, holds something else, or tensors of other names or
    sizes than the head's, which is then left as it was; FileNotFoundError when there is no file.
    """
    path = Path(path)
    state = _read(path)
    own = head.state_dict()
    for name in {**own, **state}:
        found, wanted = _size(state, name), _size(own, name)
        if found != wanted:
            raise ValueError(f"{path.name} has {name} of {found}, the head's is {wanted}")
    head.load_state_dict(state)
    return head


def _read(path):
    """The dict of tensors in a file, on the CPU."""
    # First of all, so that an OSError is the folder's; a damaged archive can raise one as well.
    content = path.read_bytes()
    try:
        with ZipFile(BytesIO(content)) as file:
            changed = file.testzip()  # compares the check sum of each tensor
        if changed:
            raise BadZipFile(f"the check sum of {changed} is another")
        # Reads tensors and plain containers, and never runs code that a file brings along.
        state = torch.load(BytesIO(content), weights_only=True, map_location="cpu")
    except Exception as error:
        raise ValueError(
            f"{path.name} is damaged, or was not written by torch.save: save the head again"
        ) from error
    tensors = isinstance(state, dict) and all(torch.is_tensor(t) for t in state.values())
    if not tensors:
        raise ValueError(f"{path.name} holds {type(state).__name__}, not a state dict of tensors")
    return state


def _size(state, name):
    return tuple(state[name].shape) if name in state else "no size"
