"""The explorer of lessons 07 and 09: what one head reads, in a line that you type."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from helpers.explorers.drawing import (
    COOL,
    FAINT,
    LIT,
    OUTSIDE,
    QUIET,
    bar,
    frame,
    letters,
    line,
    matrix_panel,
    short,
    text,
)
from helpers.explorers.line import read_line as read_up_to
from helpers.explorers.panel import Explorer
from helpers.head import Head
from helpers.named_axes import COURSE_SIZES
from helpers.text import encode, vocabulary

VOWELS = "aeiouAEIOU"
BLOCK = 32
LONGEST = 64
BEGIN = "Ay, good and thick. I have drunk"
PICTURED = 19  # of the line, in the stored picture: letters that can be read
LAST_VOWEL, PREVIOUS, UNTRAINED, TRAINED = (
    "programmed: the last vowel",
    "programmed: the previous character",
    "untrained",
    "trained",
)


def explore_head(trained=None, embed=None, *, block_size=None, begin=BEGIN):
    """Type a line of text, choose a position, and see which characters a head draws on.

    trained     a trained head with layers `query`, `key` and `value` and the buffer `tril`, such
                as lesson 07's `Head`; it joins the weights that can be chosen
    embed       what makes its x: a function of ids (1, T), a LongTensor, that returns (1, T, C)
    block_size  the longest line, at most 64: that of the trained head, else 32
    begin       the line to begin with

    The other heads are lesson 07's: untrained, and with weights set by hand for two jobs, on one
    1 for the letter and one for the place. A character outside the vocabulary is read as a space
    and marked ▯; of a longer line the last block_size characters are read.

    The stored picture never shows the trained head: its weights differ from machine to machine.

    Raises TypeError for a trained head of another kind, for one of `trained` and `embed` without
    the other, and for a line that is no text. Raises ValueError for a block_size the head or the
    picture has no room for, for an x of another shape, and where `trained` gives another out than
    project, score and scale, mask, softmax, average the values.
    """
    return HeadExplorer(trained, embed, block_size, begin)


# ---------------------------------------- heads
def untrained(block_size):
    """(embed, head): lesson 07's untrained head, on x as `running_x` makes it, for longer lines."""
    C = COURSE_SIZES["C"]
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(1)
        token_embedding = nn.Embedding(len(vocabulary), C)
        position_embedding = nn.Embedding(block_size, C)
        torch.manual_seed(3)
        head = Head(C, COURSE_SIZES["head_size"], block_size)
    places = torch.arange(block_size)
    return lambda ids: token_embedding(ids) + position_embedding(places[: ids.shape[1]]), head


def programmed(job, block_size):
    """(embed, head): lesson 07's weights by hand, for the whole vocabulary and longer lines.

    The place weighs as much as there. A vowel weighs 25 for each place that there is, so that the
    first vowel still beats the last consonant.
    """
    letter, place = slice(len(vocabulary)), slice(len(vocabulary), None)
    places = torch.arange(float(block_size))
    Wq, Wk, Wv = torch.zeros(3, len(vocabulary) + block_size, 4)
    if job == PREVIOUS:
        Wq[place, 0], Wq[place, 1] = 40 * (places - 1), -20
        Wk[place, 0], Wk[place, 1] = places, places**2
        Wv[letter, 0] = torch.arange(1.0, len(vocabulary) + 1)
    else:
        vowels = [vocabulary.index(vowel) for vowel in VOWELS]
        Wk[vowels, 0], Wk[place, 1] = 1, places
        Wv[vowels, 0] = torch.arange(1.0, len(vowels) + 1)
        Wq[letter, :2] = torch.tensor([25.0 * block_size, 20])
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        head = Head(*Wq.shape, block_size)
        for layer, W in ((head.query, Wq), (head.key, Wk), (head.value, Wv)):
            layer.weight.copy_(W.T)
    return lambda ids: one_hot(ids, block_size), head


def one_hot(ids, block_size):
    """(1, T, C): one 1 for the letter, one for the place; C = 65 + block_size."""
    T = ids.shape[1]
    places = torch.eye(block_size)[:T].expand(len(ids), T, block_size)
    return torch.cat([F.one_hot(ids, len(vocabulary)).float(), places], dim=-1)


def weights_of(head, x, mask):
    """The weights (1, T, T) of a head on x (1, T, C), with its mask or without."""
    T = x.shape[1]
    q, k = head.query(x), head.key(x)
    scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
    if mask:
        scores = scores.masked_fill(head.tril[:T, :T] == 0, float("-inf"))
    return F.softmax(scores, dim=-1)


def _ids(text, head):
    """The ids (1, T) of a line, on the device of the head."""
    return encode(text)[None].to(head.tril.device)


def _room(trained, embed, block_size):
    """The block size, when the trained head is one that can be explored at it."""
    if trained is None:
        if embed is not None:
            raise TypeError("embed makes the x of a trained head, and no trained head was given")
        most = LONGEST
    else:
        missing = [n for n in ("query", "key", "value", "tril") if not hasattr(trained, n)]
        if missing or not callable(embed):
            lacks = f"it has no {missing[0]}" if missing else "embed is missing"
            raise TypeError(
                "a trained head needs query, key, value and tril, and embed, a function of ids "
                f"(1, T) to x (1, T, C); {lacks}"
            )
        most = min(LONGEST, len(trained.tril))
    size = (BLOCK if trained is None else most) if block_size is None else block_size
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= most:
        raise ValueError(f"block_size must be a whole number from 1 to {most}, got {size!r}")
    if trained is not None:
        with torch.no_grad():
            ids = _ids(BEGIN[: min(size, 8)], trained)
            x = embed(ids)
            wanted = (*ids.shape, trained.query.in_features)
            shape = tuple(getattr(x, "shape", ()))
            if shape != wanted:
                raise ValueError(
                    f"embed must make x (1, T, C) = {wanted} of {ids.shape[1]} ids; its result is "
                    f"{shape or type(x).__name__}"
                )
            ours = weights_of(trained, x, mask=True) @ trained.value(x)
            theirs = trained(x)
        if theirs.shape != ours.shape or not torch.allclose(
            theirs, ours, atol=1e-4, rtol=1e-4, equal_nan=True
        ):
            raise ValueError(
                "this head's output is not what the five moves give: project, score and scale, "
                "mask, softmax, average the values"
            )
    return size


# ---------------------------------------- the explorer
class HeadExplorer(Explorer):
    NAME, HIGH = "Explorer: one head", 372

    def __init__(self, trained=None, embed=None, block_size=None, begin=BEGIN):
        if not isinstance(begin, str):
            raise TypeError(f"begin is a line of text, not {type(begin).__name__}")
        self.block_size = _room(trained, embed, block_size)
        self.heads = {job: programmed(job, self.block_size) for job in (LAST_VOWEL, PREVIOUS)} | {
            UNTRAINED: untrained(self.block_size)
        }
        if trained is not None:
            self.heads[TRAINED] = embed, trained
        last = len(self.read(begin).text) - 1
        self.SETTINGS = {
            "typed": begin, "position": max(0, last), "mask": True, "weights": LAST_VOWEL
        }  # fmt: skip
        self._kept = None, None
        super().__init__()

    def controls(self):
        import ipywidgets as widgets

        named = {"description_width": "initial"}
        begin = self.SETTINGS
        controls = {
            "typed": widgets.Text(
                begin["typed"],
                description="line of text",
                style=named,
                layout=widgets.Layout(width="36em"),
            ),
            "weights": widgets.Dropdown(
                options=list(self.heads),
                description="weights",
                style=named,
                layout=widgets.Layout(width="26em"),
            ),
            "position": widgets.IntSlider(
                begin["position"],
                0,
                max(1, begin["position"]),
                description="position",
                style=named,
                layout=widgets.Layout(width="26em"),
            ),
            "mask": widgets.Checkbox(
                True, description="mask", indent=False, layout=widgets.Layout(width="8em")
            ),
        }
        return controls, [["typed", "mask"], ["weights", "position"]]

    def read(self, typed):
        return read_up_to(typed, self.block_size, f", since block_size is {self.block_size}")

    def settled(self, settings, controls):
        """The slider ends where the line ends, and follows the end of a line that grows."""
        last = max(0, len(self.read(settings["typed"]).text) - 1)
        slider = controls["position"]
        before = max(0, len(self.read(self.settings["typed"]).text) - 1)
        place = last if slider.value >= before else slider.value
        slider.max = max(1, last)  # a slider of a single value cannot be drawn
        slider.value = min(place, last)
        slider.disabled = last == 0
        return settings | {"position": slider.value}

    def numbers(self, typed, position, mask, weights):
        """The Line that is read, and the weights (T, T) as a float64 array; None without a line."""
        read = self.read(typed)
        if not read.text:
            return read, None
        # The words and the picture of a move, and moves of the position, share what is computed.
        if self._kept[0] != (read.text, mask, weights):
            embed, head = self.heads[weights]
            with torch.no_grad():
                w = weights_of(head, embed(_ids(read.text, head)), mask)
            self._kept = (read.text, mask, weights), w[0].double().cpu().numpy()
        return read, self._kept[1]

    def state(self, typed, position, mask, weights):
        read, w = self.numbers(typed, position, mask, weights)
        return self._said(read, w, position, mask, weights)

    def _said(self, read, w, position, mask, weights):
        if w is None:
            return "The line is empty: type a character, and it can read itself."
        T = len(w)
        position = min(position, T - 1)
        first, *others = _drawn_on(w[position], read.signs)
        more = f", then {others[0]}" if others else ""
        ahead = float(np.nan_to_num(w[position, position + 1 :]).sum())
        reach = f"mask on, {position + 1} of {T} in reach"
        if not mask:
            reach = f"mask off, all {T} in reach, {short(ahead)} drawn from the future"
        note = f" {read.note}" if read.note else ""
        return (
            f"Position {position}, {read.signs[position]}, draws on {first}{more}; {weights}, "
            f"{reach}.{note}"
        )

    def drawn(self, typed, position, mask, weights):
        read, w = self.numbers(typed, position, mask, weights)
        said = self._said(read, w, position, mask, weights)
        if w is None:
            words = text(415, 190, "An empty line has no positions.", 16, QUIET, "middle")
            return frame(830, self.HIGH, said, words)
        T = len(w)
        position = min(position, T - 1)
        grid = matrix_panel(
            w,
            56,
            48,
            316,
            read.signs,
            pattern=self.pattern,
            hidden=np.triu(np.ones((T, T), dtype=bool), 1) if mask else None,
            row=position,
            numbers=T <= 8,
            axes=("query", "key"),
        )
        title = f"what position {position}, {read.signs[position]}, draws on"
        parts = [grid, text(400, 24, title, bold=True)]
        rows = 1 if T <= 32 else 2
        high = 130 if rows == 1 else 70
        for n in range(rows):
            some = range(32 * n, min(T, 32 * (n + 1)))
            parts.append(self._strip(read, w[position], some, position, mask, 44 + 108 * n, high))
        top = 44 + 108 * (rows - 1) + high + 56
        for i, words in enumerate(_drawn_on(w[position], read.signs, 4 if rows == 1 else 3)):
            parts.append(text(404, top + 22 * i, words, 15))
        return frame(830, self.HIGH, said, *parts)

    def _strip(self, read, row, some, position, mask, top, high):
        """Bars over the characters of part of the line."""
        pitch = min(40.0, 420 / min(32, len(row)))
        size = min(16.0, max(12.0, pitch))
        x = [404 + pitch * (j - some[0] + 0.5) for j in some]
        floor = top + high
        parts = [line(402, floor, 404 + pitch * len(x), floor)]
        for j, at in zip(some, x, strict=True):
            if row[j] >= 0.002:
                tall = high * row[j]
                parts.append(bar(at - 0.4 * pitch, floor - tall, 0.8 * pitch, tall, COOL))
        kinds = {None: [], LIT: [], "#8a8a8a": []}
        for j, at in zip(some, x, strict=True):
            future = mask and j > position
            kind = "#8a8a8a" if future else LIT if read.signs[j] == OUTSIDE else None
            kinds[kind].append((read.signs[j], at))
        for colour, found in kinds.items():
            if found:
                signs, xs = zip(*found, strict=True)
                parts.append(letters(signs, xs, [floor + size + 2] * len(xs), size, colour))
        if position in some:
            at = x[position - some[0]]
            parts.append(bar(at - pitch / 2, floor + size + 7, pitch, 3, LIT))
        if high > 100:
            parts.append(line(402, top, 404 + pitch * len(x), top, FAINT))
            parts.append(text(398, top + 5, "1", 12, QUIET, "end"))
            parts.append(text(398, floor + 4, "0", 12, QUIET, "end"))
        return "".join(parts)

    def picture(self):
        from helpers.pictures import heatmap

        job = self.SETTINGS["weights"]
        line = self.read(self.SETTINGS["typed"]).text or BEGIN
        read, w = self.numbers(line[:PICTURED], 0, True, job)
        last = len(w) - 1
        first = _drawn_on(w[last], read.signs, 1)[0]
        return heatmap(
            torch.from_numpy(w),
            list(read.signs),
            masked="future",
            title="Run the cell to type a line and choose position, mask and weights. "
            f"Here {job.replace(':', ' for')}",
            alt=f"Weights of a head that is {job.replace(':', ' to read')}, on the line "
            f"“{''.join(read.signs)}”, the future hatched. Each row has one bright cell. "
            f"The last row, {read.signs[last]}, draws on {first}.",
        )


def _drawn_on(row, signs, most=2):
    """The positions of which a row draws most, in words."""
    if np.isnan(row).any():
        return ["no position, its weights are NaN"]
    order = np.argsort(-row, kind="stable")[:most]
    return [f"{signs[j]} at {j} ({short(row[j])})" for j in order if row[j] >= 0.005]
