"""`eye`, the example small enough to work with a pencil.

Three tokens, five channels, four numbers to a query: every step of attention comes out in
whole numbers up to the softmax, and each channel says what it means.
"""

from dataclasses import dataclass

import torch


def _rows(*rows):
    return torch.tensor(rows, dtype=torch.float32)


@dataclass(frozen=True)
class Eye:
    """The word `eye`: T = 3 positions, C = 5 channels, head_size = 4, so √head_size = 2.

    The channels of x are: is e, is y, at 0, at 1, at 2. So x is token embedding plus position
    embedding literally, and `x @ W` adds two rows of W. The three matrices are chosen by hand:
    a y asks for an e, an e asks for a y, and a value carries [1, is e, is y, position].

    Each attribute is computed afresh from x, Wq, Wk and Wv, in the course's names and order:
    q, k, v of (T, head_size); raw, scores, masked and the two weights of (T, T); out and
    average_of_v of (T, head_size); xbow of (T, C).
    """

    tokens = ("e", "y", "e")
    channels = ("is e", "is y", "at 0", "at 1", "at 2")

    @property
    def sizes(self):
        """The sizes that `shapes` checks against: `shapes("(T, C)", x=eye.x, **eye.sizes)`."""
        return {"T": 3, "C": 5, "head_size": 4}

    @property
    def x(self):
        """(T, C): one 1 for the letter, one for the place."""
        return _rows([1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [1, 0, 0, 0, 1])

    @property
    def Wq(self):
        """(C, head_size), applied as x @ Wq."""
        return _rows([0, 1, 0, 0], [2, 0, 0, 0], [0, 0, 1, 2], [0, 0, 1, 0], [0, 0, -1, 0])

    @property
    def Wk(self):
        """(C, head_size), applied as x @ Wk."""
        return _rows([1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 2, 0])

    @property
    def Wv(self):
        """(C, head_size), applied as x @ Wv."""
        return _rows([1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 2])

    @property
    def causal(self):
        """(T, T) boolean: True where row i may look at column j."""
        return torch.ones(3, 3, dtype=torch.bool).tril()

    @property
    def average(self):
        """(T, T): row i holds 1/(i+1) up to the diagonal."""
        return self.causal / self.causal.sum(dim=1, keepdim=True)

    @property
    def xbow(self):
        return self.average @ self.x

    @property
    def q(self):
        return self.x @ self.Wq

    @property
    def k(self):
        return self.x @ self.Wk

    @property
    def v(self):
        return self.x @ self.Wv

    @property
    def raw(self):
        return self.q @ self.k.transpose(-2, -1)

    @property
    def scores(self):
        return self.raw / self.sizes["head_size"] ** 0.5

    @property
    def weights_unmasked(self):
        return torch.softmax(self.scores, dim=-1)

    @property
    def out_unmasked(self):
        return self.weights_unmasked @ self.v

    @property
    def masked(self):
        return self.scores.masked_fill(~self.causal, float("-inf"))

    @property
    def weights(self):
        return torch.softmax(self.masked, dim=-1)

    @property
    def out(self):
        return self.weights @ self.v

    @property
    def average_of_v(self):
        return self.average @ self.v
