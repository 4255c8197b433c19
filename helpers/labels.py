"""Names for rows and columns: tokens made visible, and counted."""

VISIBLE = str.maketrans({"\n": "↵", "\t": "⇥", "\r": "␍"})


def visible(token):
    """The token as it can be read: newline as ↵, a space at either end as ␣, nothing as ∅.

    Characters that show nothing or move the others (zero-width, left-to-right marks, halves of a
    pair) appear as their escapes.
    """
    text = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in str(token).translate(VISIBLE)
    )
    inner = text.strip(" ")
    before = len(text) - len(text.lstrip(" "))
    after = len(text) - len(inner) - before
    return "␣" * before + inner + "␣" * after or "∅"


def labels(tokens, count, what):
    """`count` readable names from a string (one a character) or a sequence of strings.

    tokens   None for the positions 0 … count-1; ids in a tensor or an array stand for themselves
    what     the rows or columns that are named, for the error
    Raises ValueError where the number of tokens is not `count`.
    """
    if tokens is None:
        return [str(i) for i in range(count)]
    tokens = tokens.tolist() if hasattr(tokens, "tolist") else tokens
    names = [visible(token) for token in tokens]
    if len(names) != count:
        raise ValueError(f"{len(names)} tokens were given for {count} {what}")
    return names
