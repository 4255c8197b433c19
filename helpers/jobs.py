"""Jobs for a head with hand-set weights: strings, the answers wanted, and a score.

A string has 8 letters out of `aebdnt`: two vowels, four consonants. Its x is (8, 14): one 1 for
the letter, one 1 for the place. An answer is a number for each position: 0 for nothing, 1 for a,
2 for e, and so on in the order of the letters.
"""

import torch
import torch.nn.functional as F

from helpers.head import Head

LETTERS = "aebdnt"
VOWELS = 2  # the first ones of LETTERS
LENGTH = 8
C = len(LETTERS) + LENGTH
SHOWN = 3


def random_strings(n, seed):
    """n strings as letter numbers from 0 to 5, (n, T) with T = 8; the same for the same seed."""
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"n is a whole number from 1 on, not {n!r}")
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(len(LETTERS), (n, LENGTH), generator=generator)


def one_hot(strings):
    """x of strings: (n, T, C) for letter numbers (n, T), (T, C) for a str; C = 6 + 8 = 14."""
    if not isinstance(strings, (str, torch.Tensor)):
        raise TypeError(f"one_hot takes a string or letter numbers, not {type(strings).__name__}")
    if isinstance(strings, str):
        if len(strings) != LENGTH or not set(strings) <= set(LETTERS):
            raise ValueError(f"a string has {LENGTH} letters of {LETTERS}, this is {strings!r}")
        return one_hot(torch.tensor([[LETTERS.index(letter) for letter in strings]]))[0]
    _as_numbers(strings)
    places = torch.eye(LENGTH).expand(len(strings), LENGTH, LENGTH)
    return torch.cat([F.one_hot(strings, len(LETTERS)).float(), places], dim=-1)


def _as_numbers(strings):
    """Raises TypeError or ValueError for what is not letter numbers (n, T)."""
    if not isinstance(strings, torch.Tensor) or strings.dtype is not torch.long:
        kind = strings.dtype if isinstance(strings, torch.Tensor) else type(strings).__name__
        raise TypeError(f"strings are letter numbers, a tensor of int64, not {kind}")
    if strings.ndim != 2 or strings.shape[1] != LENGTH:
        raise ValueError(f"strings are (n, {LENGTH}), these are {tuple(strings.shape)}")
    if strings.numel() and not 0 <= strings.min() <= strings.max() < len(LETTERS):
        raise ValueError(f"letter numbers go from 0 to {len(LETTERS) - 1}")


def previous(strings):
    """The answers (n, T): the letter before each position; position 0 answers itself."""
    _as_numbers(strings)
    return torch.cat([strings[:, :1], strings[:, :-1]], dim=1) + 1


def last_vowel(strings):
    """The answers (n, T): the last vowel up to each position, itself included; 0 before any."""
    _as_numbers(strings)
    answers = [torch.zeros(len(strings), dtype=torch.long)]
    for column in strings.T:
        answers.append(torch.where(column < VOWELS, column + 1, answers[-1]))
    return torch.stack(answers[1:], dim=1)


class Tried:
    """How weights did: `score`, the share of right answers, and `wrong`, the strings missed.

    Each of `wrong` is (string, wanted, got), spelled, a dot where the answer is 0 and ? where the
    head gave no letter's number.
    """

    def __init__(self, score, wrong):
        self.score, self.wrong = score, wrong

    def __repr__(self):
        if not self.wrong:
            return "all answers are right"
        # Never rounded up to 1.00: an answer is missing.
        lines = [f"{int(self.score * 100) / 100:.2f} of the answers are right; wrong, for example:"]
        lines += [f"  {s}  wanted {want}  got {got}" for s, want, got in self.wrong[:SHOWN]]
        return "\n".join(lines)


def try_job(job, Wq, Wk, Wv):
    """Let a head with these weights do a job on a thousand random strings.

    job         `previous` or `last_vowel`, or any function of letter numbers (n, T) to (n, T)
    Wq, Wk, Wv  (C, head_size) = (14, d_k), applied as x @ W. The answer at a position is column 0
                of out, rounded to a whole number

    Returns a Tried, which shows the score and the first strings on which the weights fail.
    Raises ValueError for matrices that are not of one shape (14, d_k).
    """
    if not callable(job):
        raise TypeError(f"a job is a function of letter numbers, not {type(job).__name__}")
    for name, W in (("Wq", Wq), ("Wk", Wk), ("Wv", Wv)):
        if not isinstance(W, torch.Tensor):
            raise TypeError(f"{name} is a tensor, not {type(W).__name__}")
    shapes = [tuple(W.shape) for W in (Wq, Wk, Wv)]
    if len(set(shapes)) > 1 or len(shapes[0]) != 2 or shapes[0][0] != C:
        raise ValueError(f"Wq, Wk and Wv must be of one shape ({C}, d_k), these are {shapes}")
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        head = Head(*Wq.shape, LENGTH)
        for layer, W in ((head.query, Wq), (head.key, Wk), (head.value, Wv)):
            layer.weight.copy_(W.T)
        strings = random_strings(1000, seed=7)
        column = head(one_hot(strings))[..., 0].round().nan_to_num(-1)
    got = column.clamp(-1, len(LETTERS) + 1).long()
    want = job(strings)
    missed = (got != want).any(dim=1).nonzero()[:, 0].tolist()
    wrong = [(_spelled(strings[i] + 1), _spelled(want[i]), _spelled(got[i])) for i in missed]
    return Tried((got == want).double().mean().item(), wrong)


def _spelled(numbers):
    return "".join(f"·{LETTERS}"[n] if 0 <= n <= len(LETTERS) else "?" for n in numbers.tolist())
