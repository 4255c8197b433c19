"""A line of text that somebody typed, as ids: any text at all, and what had to be done to it."""

from dataclasses import dataclass
from functools import lru_cache

from helpers.explorers.drawing import OUTSIDE, sign
from helpers.text import vocabulary

SHOWN = 3


@dataclass(frozen=True)
class Line:
    """What is left of a typed line.

    text   at most so many characters, all of them in the vocabulary
    signs  one visible character for each; ▯ where a character was not in the vocabulary
    note   what was changed, in a sentence or two; "" when nothing was
    """

    text: str
    signs: tuple
    note: str


@lru_cache(maxsize=64)
def read_line(typed, longest, why=""):
    """The last `longest` characters of what was typed; one outside the vocabulary is a space.

    why   what sets the limit, for the note
    """
    cut = typed[max(0, len(typed) - longest) :]
    outside = [character for character in cut if character not in vocabulary]
    notes = []
    if len(cut) < len(typed):
        notes.append(f"Of {len(typed)} characters the last {longest} are read{why}.")
    if outside:
        some = list(dict.fromkeys(outside))
        names = ", ".join(_named(character) for character in some[:SHOWN])
        more = f" and {len(some) - SHOWN} more" if len(some) > SHOWN else ""
        notes.append(f"Not among the 65 characters, read as a space ({OUTSIDE}): {names}{more}.")
    text = "".join(character if character in vocabulary else " " for character in cut)
    signs = tuple(sign(c) if c in vocabulary else OUTSIDE for c in cut)
    return Line(text, signs, " ".join(notes))


def _named(character):
    code = f"U+{ord(character):04X}"
    # A mark or a half of a pair alone would join its neighbours, or nothing: its code is enough.
    return f"{character} ({code})" if character.isprintable() and character.strip() else code
