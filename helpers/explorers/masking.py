"""Lesson 06's explorer: the right mask beside those that look right."""

from functools import lru_cache

import torch
import torch.nn.functional as F

from helpers.explorers.drawing import (
    COOL,
    LIT,
    NO_NUMBER,
    QUIET,
    frame,
    line,
    matrix_panel,
    short,
    text,
)
from helpers.explorers.panel import Explorer
from helpers.handsized import Eye
from helpers.influence import influence_grid

LOUD = 200.0


def explore_masking():
    """Choose a mask, right or one of those that look right, and see what it does to `eye`.

    Weights, row sums, influence grid and `out` change together, and the fault is said in words.
    Two settings make the test harsher: a number added to every score, which must change nothing,
    and a future score of 200 in row 0, which must not matter.
    """
    return MaskingExplorer()


# ---------------------------------------- masks: scores (..., T, T) to weights (..., T, T)
def _allowed(scores):
    return torch.ones(scores.shape[-2:]).tril().bool()  # (T, T)


def _fill(scores, where, number=-torch.inf):
    return F.softmax(scores.masked_fill(where, number), dim=-1)


def _right(scores):
    return _fill(scores, ~_allowed(scores))


def _every_zero(scores):
    masked = scores.tril()
    masked[masked == 0] = -torch.inf
    return F.softmax(masked, dim=-1)


def _not_kept(scores):
    scores.masked_fill(~_allowed(scores), -torch.inf)
    return F.softmax(scores, dim=-1)


def _after_and_divided(scores):
    kept = F.softmax(scores, dim=-1).tril()
    return kept / kept.sum(dim=-1, keepdim=True)


def _future(scores):
    return torch.ones(scores.shape[-2:]).triu(1)  # (T, T), 1 - mask


GALLERY = {
    "right": (_right, "−inf above the diagonal, before the softmax"),
    "no mask": (lambda s: F.softmax(s, dim=-1), "every position reads every other"),
    "filled with 0": (
        lambda s: F.softmax(s.tril(), dim=-1),
        "exp(0) is 1, so the future gets a share",
    ),
    "after softmax": (
        lambda s: F.softmax(s, dim=-1).tril(),
        "the future has spoken in the division already",
    ),
    "every 0": (_every_zero, "scores that are 0 in earnest are struck out too"),
    "A fill -10": (
        lambda s: _fill(s, ~_allowed(s), -10.0),
        "exp(−10) is small and not 0, and scores as low as that are not rare",
    ),
    "B diagonal too": (
        lambda s: _fill(s, _allowed(s).mT),
        "row 0 has no survivor, and 0 divided by 0 is NaN",
    ),
    "C upper": (lambda s: _fill(s, _future(s).mT.bool()), "the past is masked, not the future"),
    "D not kept": (_not_kept, "masked_fill returns a copy, which is dropped here"),
    "E (1-mask)*-inf": (
        lambda s: F.softmax(s + _future(s) * -torch.inf, dim=-1),
        "0 · ∞ is NaN",
    ),
    "F one ahead": (
        lambda s: _fill(s, _future(s).triu(2).bool()),
        "each position reads the next one, which is the answer",
    ),
    "renormalised": (
        _after_and_divided,
        "masked after the softmax, then divided by the new row sums: equal algebra, until a masked "
        "score has rounded the others to 0",
    ),
    "fill -1e9": (
        lambda s: _fill(s, ~_allowed(s), -1e9),
        "as good as −inf in float32; float16 cannot hold it",
    ),
}


def attend(x, weigh, Wq, Wk, Wv):
    """Lesson 06's function: x (..., T, C) to out, `weigh` turns scores into weights."""
    q, k, v = x @ Wq, x @ Wk, x @ Wv  # (B, T, head_size) each
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5  # (B, T, T)
    return weigh(scores) @ v  # (B, T, head_size)


@lru_cache(maxsize=256)
def examined(mask, add, loud):
    """weights (T, T), heard (T, T) booleans and out (T, head_size), and the right out."""
    eye = Eye()
    weigh = GALLERY[mask][0]

    def harsher(scores):
        scores = scores + add
        if loud:
            scores[..., 0, 1] = LOUD
        return weigh(scores)

    weights = harsher(eye.scores)
    heard = influence_grid(lambda x: attend(x, harsher, eye.Wq, eye.Wk, eye.Wv), eye.x)
    return weights, heard, weights @ eye.v, eye.out


class MaskingExplorer(Explorer):
    NAME, HIGH = "Explorer: masks", 256
    SETTINGS = {"mask": "filled with 0", "add": 0, "loud": False}

    def controls(self):
        import ipywidgets as widgets

        named = {"description_width": "initial"}
        controls = {
            "mask": widgets.Dropdown(
                options=list(GALLERY),
                value=self.SETTINGS["mask"],
                description="mask",
                style=named,
                layout=widgets.Layout(width="18em"),
            ),
            "add": widgets.IntSlider(
                0,
                -20,
                20,
                description="added to every score",
                style=named,
                layout=widgets.Layout(width="24em"),
            ),
            "loud": widgets.Checkbox(
                False,
                description="row 0, key 1: score 200",
                indent=False,
                layout=widgets.Layout(width="16em"),
            ),
        }
        return controls, [["mask", "add", "loud"]]

    def numbers(self, mask, add, loud):
        """weights (T, T), heard (T, T) booleans and out (T, head_size), and the right out."""
        return examined(mask, add, loud)

    def state(self, **settings):
        return self._said(settings["mask"], *self.numbers(**settings))

    def _said(self, mask, weights, heard, out, right):
        faults = list(_faults(weights, heard, out, right))
        reason = GALLERY[mask][1]
        if faults:
            return f"{mask}: {'; '.join(faults)}. Why: {reason}."
        caught = "no fault" if mask == "right" else "no fault shows on these scores"
        return f"{mask}: {caught}; rows sum to 1, and only the past is heard. {_upper(reason)}."

    def drawn(self, **settings):
        weights, heard, out, right = self.numbers(**settings)
        said = self._said(settings["mask"], weights, heard, out, right)
        axes, kept = ("query", "key"), {"pattern": self.pattern, "numbers": True}
        parts = [
            matrix_panel(weights.double().numpy(), 66, 66, 168, "eye", axes=axes, **kept),
            matrix_panel(heard.numpy(), 406, 66, 168, "eye", pattern=self.pattern, axes=axes),
            text(40, 22, "weights", bold=True),
            text(250, 22, "row sums", bold=True),
            text(380, 22, "who is heard", bold=True),
            text(612, 22, "out", bold=True),
        ]
        for j, name in enumerate(("one", "e", "y", "place")):
            parts.append(text(640 + 44 * j, 54, name, 13, QUIET, "middle"))
        for i in range(3):
            y = 66 + 56 * i + 33
            total = float(weights[i].sum())
            wrong = not abs(total - 1) < 5e-4
            parts.append(text(282, y, _entry(total), 16, _ink(total, wrong), "middle", wrong))
            for j, value in enumerate(out[i].tolist()):
                parts.append(text(640 + 44 * j, y, _entry(value), 14, _ink(value), "middle"))
            good = _same(out[i], right[i])
            mark, colour = ("✓ right", COOL) if good else ("✗ wrong", LIT)
            parts.append(text(640, y + 17, mark, 12, colour, "middle", not good))
        parts.append(line(330, 30, 330, 234, "#dcdcdc") + line(592, 30, 592, 234, "#dcdcdc"))
        return frame(830, self.HIGH, said, *parts)

    def picture(self):
        from helpers.pictures import heatmap

        mask = self.SETTINGS["mask"]
        weights, heard, _, _ = self.numbers(**self.SETTINGS)
        right = self.numbers(**self.SETTINGS | {"mask": "right"})[0]
        return heatmap(
            {"right": right, mask: weights, "who is heard": heard},
            "eye",
            title=f"Run the cell to choose among {len(GALLERY)} masks. Here: right, and {mask}",
            alt="Weights of eye under the right mask, 1 0 0 in row 0; filled with 0, where row 0 "
            "is three thirds; and the influence grid of the second, lit in every cell: the future "
            "is heard.",
        )


# ---------------------------------------- words
def _same(row, right):
    return torch.allclose(row, right, atol=1e-3, rtol=0)


def _faults(weights, heard, out, right):
    """What is wrong in these numbers, a phrase each."""
    broken = weights.isnan().any(dim=-1)
    if broken.any():
        yield _rows(broken, "is NaN", "are NaN")
    sums = weights.sum(dim=-1)
    off = ~broken & ((sums - 1).abs() > 5e-4)
    if off.any():
        yield "rows sum to " + ", ".join(_entry(float(s)) for s in sums)
    past = torch.ones_like(heard).tril()
    leaks = [f"{i} hears {_list(heard[i] & ~past[i])}" for i in range(3)]
    leaks = [words for words in leaks if not words.endswith("hears ")]
    if leaks:
        yield "the future leaks: " + ", ".join(leaks)
    deaf = [f"{i} misses {_list(past[i] & ~heard[i])}" for i in range(3)]
    deaf = [words for words in deaf if not words.endswith("misses ")]
    if deaf:
        yield "the past is lost: " + ", ".join(deaf)
    wrong = torch.tensor([not _same(*rows) for rows in zip(out, right, strict=True)])
    if wrong.any():
        yield f"{_rows(wrong, 'of out is wrong', 'of out are wrong')}"
    elif leaks or off.any():
        yield "out is right to three decimals"


def _list(chosen):
    return " and ".join(str(j) for j in chosen.nonzero()[:, 0].tolist())


def _rows(chosen, one, more):
    found = chosen.nonzero()[:, 0].tolist()
    if len(found) == 1:
        return f"row {found[0]} {one}"
    return f"rows {', '.join(map(str, found[:-1]))} and {found[-1]} {more}"


def _entry(value):
    return "NaN" if value != value else short(value, 3)


def _ink(value, wrong=False):
    return NO_NUMBER if value != value else LIT if wrong else None


def _upper(words):
    return words[:1].upper() + words[1:]
