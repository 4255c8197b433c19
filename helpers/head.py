"""The head of lesson 07, for the lessons after it. A test holds the two to the same code."""

import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    """One causal head of self-attention, from (B, T, C) to (B, T, head_size).

    C           channels of x
    head_size   channels of q, k, v and out
    block_size  the longest T; the buffer `tril` is (block_size, block_size)

    Raises ValueError for an x that is not (B, T, C) with T <= block_size.
    """

    def __init__(self, C, head_size, block_size):
        super().__init__()
        self.query = nn.Linear(C, head_size, bias=False)
        self.key = nn.Linear(C, head_size, bias=False)
        self.value = nn.Linear(C, head_size, bias=False)
        tril = torch.ones(block_size, block_size).tril()
        self.register_buffer("tril", tril)

    def forward(self, x):
        C, most = self.key.in_features, len(self.tril)
        if x.ndim != 3 or x.shape[2] != C or x.shape[1] > most:
            raise ValueError(
                f"x must be (B, T, C = {C}), T at most block_size"
                f" = {most}; its shape is {tuple(x.shape)}"
            )
        T = x.shape[1]
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        masked = scores.masked_fill(self.tril[:T, :T] == 0, -torch.inf)
        weights = F.softmax(masked, dim=-1)
        return weights @ v
