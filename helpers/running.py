"""The running tensor: the batch of real text that every lesson starts from."""

from helpers.named_axes import COURSE_SIZES
from helpers.text import encode, load_scene, vocabulary, windows

BEGINS = ("Ay, good", "The boat", "And over", "It hums,")


def running_x():
    """x (B, T, C) = (4, 8, 384), as lesson 01 builds it: token plus position embedding.

    Sequence 0 is `Ay, good`. The embeddings are untrained, and the same at every call; the
    generator of the notebook is left as it was.
    """
    import torch
    from torch import nn

    C, T = COURSE_SIZES["C"], COURSE_SIZES["T"]
    scene = load_scene()
    ids, _ = windows(encode(scene), [scene.index(piece) for piece in BEGINS], T)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(1)
        token_embedding = nn.Embedding(len(vocabulary), C)
        position_embedding = nn.Embedding(T, C)
        return token_embedding(ids) + position_embedding(torch.arange(T))
