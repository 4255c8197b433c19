"""Text as the course uses it: characters, ids, batches, and two texts to take them from.

A text is a str, its ids a LongTensor (N,), a batch a LongTensor (B, T). The vocabulary is a
constant, so that ids and shapes are the same whichever text is loaded.

Torch is imported where it is used: `make data` needs these constants on a machine without it.
"""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from helpers.labels import visible

vocabulary = "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
"""The 65 characters of tiny-Shakespeare in sorted order: a character's id is its place here."""

DATA = Path(__file__).resolve().parent.parent / "data"


@dataclass(frozen=True)
class TextFile:
    """A file of `data/` of which every byte is known."""

    name: str
    size: int
    sha256: str

    def fault(self, content):
        """What is wrong with these bytes, expected and found, in a line; "" when they are right."""
        digest = sha256(content).hexdigest()
        if digest == self.sha256:
            return ""
        reason = ""
        if b"\r\n" in content:
            restored = sha256(content.replace(b"\r\n", b"\n")).hexdigest()
            only = "" if restored == self.sha256 else ", and that is not all"
            reason = f": its line ends were converted to CRLF{only}"
        elif content.lstrip()[:1] == b"<":
            reason = ": it looks like a web page"
        elif len(content) < self.size:
            reason = f": {self.size - len(content):,} bytes are missing"
        return (
            f"expected {self.size:,} bytes with SHA-256 {self.sha256[:12]}…, "
            f"found {len(content):,} with {digest[:12]}…{reason}"
        )

    def load(self, folder, remedy):
        """The file's text. Raises ValueError when a byte differs, FileNotFoundError without it."""
        path = Path(folder) / self.name
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}; {remedy}")
        content = path.read_bytes()
        fault = self.fault(content)
        if fault:
            raise ValueError(f"{path} is damaged: {fault}; {remedy}")
        return content.decode("ascii")


SCENE = TextFile(
    "scene.txt", 22_575, "41e88ff547754f3e184c74e6dbb7f3def70ed865187c631aee9d02f241c6377c"
)
SHAKESPEARE = TextFile(
    "tinyshakespeare.txt",
    1_115_394,
    "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
)


@dataclass(frozen=True, repr=False)
class Text:
    """A text that says which one it is: `name`, and the `characters` themselves."""

    name: str
    characters: str

    def __repr__(self):
        return f"{self.name}: {len(self.characters):,} characters"


def load_scene(folder=DATA):
    """The scene written for this course, a str, the same on every machine.

    folder   where scene.txt is; `data/` unless a test says otherwise
    Raises ValueError when the file is damaged, FileNotFoundError when it is missing.
    """
    return SCENE.load(folder, "bring it back with `git checkout data/scene.txt`")


def load_shakespeare(folder=DATA):
    """Tiny-Shakespeare when it is in `data/`, else the scene as its stand-in, as a `Text`.

    Its `name` says which of the two it is. A damaged file is never replaced in silence:
    it raises ValueError.
    """
    if (Path(folder) / SHAKESPEARE.name).exists():
        remedy = "delete it, or bring it again with `make data`"
        return Text("tiny-Shakespeare", SHAKESPEARE.load(folder, remedy))
    return Text("the scene, standing in for tiny-Shakespeare", load_scene(folder))


def encode(text):
    """The ids of a text's characters, a LongTensor (N,).

    Raises ValueError naming the characters outside the vocabulary, and where they are.
    """
    import torch

    if not isinstance(text, str):
        raise TypeError(f"encode takes a str, got {type(text).__name__}")
    ids = {character: i for i, character in enumerate(vocabulary)}
    outside = [(i, c) for i, c in enumerate(text) if c not in ids]
    if outside:
        reason = "; the line ends look like CRLF" if "\r\n" in text else ""
        raise ValueError(
            "not among the 65 characters of the vocabulary: "
            + _few([f"{_shown(c)} at position {i}" for i, c in outside])
            + reason
        )
    return torch.tensor([ids[c] for c in text], dtype=torch.long)


def decode(ids):
    """The str that a tensor or list of ids (N,), or a single id, stands for.

    Raises TypeError for what is not whole numbers, ValueError for an id outside 0 … 64 and
    for more axes than one.
    """
    ids = _whole_numbers(ids, "decode")
    if ids.dim() > 1:
        raise ValueError(
            f"decode takes one sequence, (T,), got {tuple(ids.shape)}: choose one, as in ids[0]"
        )
    numbers = ids.reshape(-1).tolist()
    outside = [(i, n) for i, n in enumerate(numbers) if not 0 <= n < len(vocabulary)]
    if outside:
        raise ValueError(
            f"ids go from 0 to {len(vocabulary) - 1}, got "
            + _few([f"{n} at position {i}" for i, n in outside])
        )
    return "".join(vocabulary[n] for n in numbers)


def tokens(text):
    """The characters of a text as labels, a list of str: newline as ↵, space as ␣."""
    if not isinstance(text, str):
        raise TypeError(f"tokens takes a str, got {type(text).__name__}: decode the ids first")
    return [visible(character) for character in text]


def split(ids):
    """The first nine tenths of ids (N,) to train on, and the last tenth to validate on."""
    ids = _line_of_ids(ids, "split")
    if len(ids) < 2:
        raise ValueError(f"a text to split needs at least 2 characters, got {len(ids)}")
    cut = len(ids) * 9 // 10
    return ids[:cut], ids[cut:]


def windows(ids, starts, T):
    """The windows of T ids at chosen places: x and y, each (B, T), y one position further on.

    ids      a LongTensor (N,)
    starts   B whole numbers, where the windows begin, each from 0 to N - T - 1
    Raises ValueError when the text is too short, or a window or its last target leaves it.
    """
    import torch

    ids = _line_of_ids(ids, "windows")
    starts = _whole_numbers(starts, "windows").to(ids.device)
    _check_size("T", T)
    if starts.dim() != 1 or len(starts) == 0:
        raise ValueError(f"starts must be (B,), got {tuple(starts.shape)}")
    last = len(ids) - T - 1
    _check_length(ids, T)
    outside = [s for s in starts.tolist() if not 0 <= s <= last]
    if outside:
        raise ValueError(
            f"a window of T = {T} with its targets may begin at 0 to {last} in a text of "
            f"{len(ids):,} characters, got {_few([str(s) for s in outside])}"
        )
    places = starts[:, None] + torch.arange(T, device=ids.device)  # (B, T)
    return ids[places], ids[places + 1]


def batch(ids, B, T, generator):
    """B windows of T ids at random places: x and y, each (B, T), y one position further on.

    ids         a LongTensor (N,)
    generator   the torch.Generator to draw from, so that a batch can be drawn again
    Raises ValueError when the text has fewer than T + 1 characters.
    """
    import torch

    ids = _line_of_ids(ids, "batch")
    _check_size("B", B)
    _check_size("T", T)
    if not isinstance(generator, torch.Generator):
        raise TypeError(
            f"batch needs a torch.Generator, got {type(generator).__name__}: "
            "pass torch.Generator().manual_seed(…)"
        )
    _check_length(ids, T)
    starts = torch.randint(len(ids) - T, (B,), generator=generator, device=generator.device)
    return windows(ids, starts, T)


def _whole_numbers(ids, who):
    import torch

    if isinstance(ids, str):
        raise TypeError(f"{who} takes ids, got a str: encode it first")
    try:
        ids = torch.as_tensor(ids)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(
            f"{who} takes a tensor or a list of whole numbers, got {type(ids).__name__}"
        ) from None
    if ids.device.type == "meta":
        raise ValueError(f"{who} cannot read a tensor on the device 'meta': it holds no numbers")
    if ids.numel() == 0 and ids.dim() == 1:
        return ids.long()
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise TypeError(f"{who} takes ids, which are whole numbers, got {ids.dtype}")
    return ids.long()


def _line_of_ids(ids, who):
    ids = _whole_numbers(ids, who)
    if ids.dim() != 1:
        raise ValueError(f"{who} takes the ids of a whole text, (N,), got {tuple(ids.shape)}")
    return ids


def _check_size(name, size):
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise ValueError(f"{name} must be a whole number from 1 on, got {size!r}")


def _check_length(ids, T):
    if len(ids) < T + 1:
        raise ValueError(
            f"a window of T = {T} with its targets takes {T + 1} characters, "
            f"the text has {len(ids)}"
        )


def _few(items, count=5):
    more = len(items) - count
    return ", ".join(items[:count]) + (f" and {more:,} more" if more > 0 else "")


def _shown(character):
    """As Python writes it, with its code point where it may be mistaken for another."""
    return repr(character) + ("" if character.isascii() else f" (U+{ord(character):04X})")
