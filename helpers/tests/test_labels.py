"""Tokens as names: everything visible, every one counted."""

import numpy as np
import pytest
import torch

from helpers.labels import labels, visible

SEEN = {
    "a": "a",
    "\n": "↵",
    "\t": "⇥",
    "\r": "␍",
    " ": "␣",
    "  ": "␣␣",
    " the": "␣the",
    "the ": "the␣",
    " a b ": "␣a b␣",
    "": "∅",
    "a\nb": "a↵b",
    "$x_1$": "$x_1$",
    "שלום": "שלום",
    "漢": "漢",
    "🙂": "🙂",
    "e\u0301": "e\u0301",
    "\x00": r"\x00",
    "\x1b[31m": r"\x1b[31m",
    "\u200b": r"\u200b",
    "\u202e": r"\u202e",
    "\u2028": r"\u2028",
    "\x85": r"\x85",
    "\xa0": r"\xa0",
    "\ud800": r"\ud800",
    7: "7",
}


@pytest.mark.parametrize(("token", "seen"), SEEN.items())
def test_a_token_as_it_is_read(token, seen):
    assert visible(token) == seen


def test_no_name_breaks_the_line_or_hides():
    for code in (*range(0x300), *range(0x2000, 0x2100), 0xFEFF):
        shown = visible(chr(code))
        assert shown.isprintable() and shown.strip() and shown.splitlines() == [shown]


def test_strings_sequences_and_ids():
    assert labels("e y", 3, "rows") == ["e", "␣", "y"]
    assert labels(("the", "the"), 2, "rows") == ["the", "the"]
    assert labels((c for c in "ab"), 2, "rows") == ["a", "b"]
    assert labels(None, 3, "rows") == ["0", "1", "2"]
    assert labels(torch.tensor([5, 0]), 2, "rows") == ["5", "0"]
    assert labels(np.array(["a", "\n"]), 2, "rows") == ["a", "↵"]


@pytest.mark.parametrize("tokens", ["", "ab", "abcd", ["eye"]])
def test_the_wrong_number(tokens):
    with pytest.raises(ValueError, match=f"^{len(tokens)} tokens were given for 3 columns$"):
        labels(tokens, 3, "columns")
