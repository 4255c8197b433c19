"""What an exception in an attempt says about the mistake.

Two sources: the text, where it names the mistake itself, and the call that raised with the shapes
it was given, read with the sizes of the case: those are pairwise different, so (3, 5, 6) can only
be (B, T, head_size).
"""

from __future__ import annotations

import re

import torch

from .contracts import LESSON, Sizes
from .guard import Raised
from .trace import DIVISIONS, MASKING, PRODUCTS, PRODUCTS_BY_ENTRY, Step

LETTERS = {"B": "B", "T": "T", "C": "C", "H": "head_size", "n": "block_size", "q": "Tq"}

# (pattern on the text, pattern on the line, slugs); the first that matches counts
TEXTS = (
    (r"before Module\.__init__|has no attribute '_(parameters|buffers|modules)", "",
     ("super-init-forgotten",)),
    (r"attn_mask should not be set when is_causal", "", ("mask-and-is-causal",)),
    (r"argument 'attn_mask'.*must be Tensor", "", ()),
    (r"argument 'dropout_p'.*must be float, not bool", "", ("dropout-always-on",)),
    (r"only supports boolean masks|bitwise_not|operator\.invert", "", ("mask-not-boolean",)),
    (r"[bB]ad operand type for unary ~", "", ("mask-not-boolean",)),
    (r"Expected attn_mask dtype|condition to be a boolean|mask.*(bool|Bool)", "",
     ("mask-not-boolean",)),
    (r"used as indices must be|expected.*BoolTensor", "", ("mask-not-boolean",)),
    (r"r?sqrt\(\): argument", "", ("root-miswritten",)),
    (r"converted to (a )?(Python scalar|Scalar)|must be real number", r"sqrt|\*\*|pow",
     ("root-miswritten",)),
    (r"for \*\* or pow\(\)|pow\(\)", "", ("root-miswritten",)),
    (r"softmax\(\) (missing|received an invalid)", "", ("softmax-without-dim",)),
    (r"division by zero", "", ("count-off-by-one",)),
    (r"leaf Variable that requires grad.*in-place", "", ("input-changed-in-place",)),
)  # fmt: skip


# (type or any, pattern on the text, what a reader needs to hear)
WORDS = (
    ("RecursionError", "", "The attempt calls itself without end."),
    ("NameError", "", "A name is used that has no value at that point."),
    ("UnboundLocalError", "", "A name is used that has no value at that point."),
    ("TypeError", "argument 'attn_mask'.*must be Tensor",
     "The fourth argument of that call is `attn_mask`, a tensor. Pass yours by its name."),
    ("TypeError", "argument 'dropout_p'.*must be float",
     "`dropout_p` is the share of the weights that is dropped, a number."),
    ("TypeError", "unexpected keyword", "That call has no argument of this name."),
    ("TypeError", r"__init__\(\) (takes|missing)",
     "The class is built with three arguments: Head(C, head_size, block_size)."),
    ("TypeError", "positional argument", "The number of arguments is not the one in the exercise."),
    ("TypeError", "invalid combination of arguments|must be Tensor",
     "An argument of that call is of another kind than it takes."),
    ("TypeError", "'Tensor' object is not callable",
     "A tensor stands before the brackets, where a function is needed."),
    ("", "NoneType", "A step before this one gave nothing back: its value is None."),
    ("ValueError", "values to unpack",
     "The tensor has another number of axes than there are names on the left."),
    ("IndexError", "Dimension out of range", "The tensor has no axis of that number."),
    ("IndexError", "out of bounds|out of range", "A place is asked for that does not exist."),
    ("RuntimeError", "same dtype|scalar type|expected m1 and m2",
     "Two tensors of different dtypes meet."),
    ("", "without overflow", "The number is larger than this dtype can hold."),
)  # fmt: skip


def by_text(error: Raised) -> tuple[str, ...]:
    """Slugs that the exception's own words name."""
    for text, line, slugs in TEXTS:
        if re.search(text, error.text) and re.search(line, error.line):
            return slugs
    return ()


def letters(shape, sizes: Sizes) -> str:
    """A shape in the course's letters: (3, 5, 6) -> "BTH"; a size that is none of them is "?".

    A size of 1 is a batch of one where it comes first, and elsewhere an axis that holds nothing.
    """
    names = {sizes.n: "n", sizes.H: "H", sizes.C: "C", sizes.T: "T", sizes.B: "B"}
    names.setdefault(sizes.Tq, "q")
    return "".join(
        "1" if size == 1 and place else names.get(size, "1" if size == 1 else "?")
        for place, size in enumerate(shape)
    )


def in_words(shape, sizes: Sizes) -> str:
    """The same for a reader: (B, T, head_size); numbers where a size is none of the course's."""
    parts = [
        str(size) if mark in "?1" else _letter(mark, sizes)
        for mark, size in zip(letters(shape, sizes), shape, strict=True)
    ]
    return "(" + ", ".join(parts) + ("," if len(parts) == 1 else "") + ")"


def by_call(step: Step | None, sizes: Sizes) -> tuple[str, ...]:
    """Slugs that the call which raised, and the shapes it was given, point to."""
    if step is None:
        return ()
    shapes = [letters(shape, sizes) for shape in step.shapes]
    if step.name in ("view", "reshape", "expand", "view_as", "split", "unflatten"):
        return ("size-hard-coded",) if _lesson_numbers(step, sizes) else ()
    if len(shapes) < 2:
        return ()
    first, second = shapes[:2]
    if step.name == "linear":
        return _linear(first, second)
    if step.name in PRODUCTS:
        return _product(first, second)
    if step.name in DIVISIONS and len(second) < len(first):
        return ("totals-not-a-column",) if second in ("T", "BT") else _mask(first, second, step)
    pair = {first, second}
    if step.name in PRODUCTS_BY_ENTRY and not _is_mask(step):
        if pair in ({"BTC", "CH"}, {"BTT", "BTH"}, {"BTH", "BHT"}, {"TT", "BTH"}):
            return ("elementwise-product",)
    return _mask(first, second, step)


def _lesson_numbers(step, sizes):
    numbers = [a for a in step.args[1:] if isinstance(a, int | tuple | list | torch.Size)]
    flat = [n for a in numbers for n in (a if isinstance(a, tuple | list) else (a,))]
    known = {*sizes, -1, 1, sizes.B * sizes.T, sizes.T * sizes.T}
    lesson = {LESSON.B, LESSON.T, LESSON.C, LESSON.H, LESSON.B * LESSON.T}
    return any(n in lesson and n not in known for n in flat)


def _linear(given, weight):
    if given.endswith("C") and weight == "CH":
        return ("projection-transposed",)
    if given.endswith("H") and weight == "HC":
        return ("projections-chained",)
    return ()


def _product(a, b):
    exact = {
        ("BTH", "BTH"): "key-not-transposed",
        ("BqH", "BTH"): "key-not-transposed",
        ("BTH", "BTT"): "factors-in-wrong-order",
        ("BTC", "HC"): "projection-transposed",
        ("CH", "BTC"): "factors-in-wrong-order",
        ("HC", "BTC"): "factors-in-wrong-order",
        ("BTH", "CH"): "projections-chained",
        ("BTH", "BCT"): "projection-skipped",
        ("BTC", "BHT"): "projection-skipped",
        ("BHH", "BTH"): "grid-over-features",
        ("BTT", "BHT"): "wrong-axes-transposed",
    }
    if (a, b) in exact:
        return (exact[a, b],)
    if sorted(a) == sorted(b) == sorted("BTH"):
        return ("wrong-axes-transposed",)
    return ()


def _is_mask(step):
    """Is one of the operands a triangle of zeros and ones?"""
    for tensor in step.tensors:
        if tensor.dim() >= 2 and tensor.shape[-1] > 1:
            values = tensor.detach()
            if bool(((values == 0) | (values == 1) | values.isinf()).all()):
                return True
    return False


def _mask(first, second, step):
    """A mask of another size than what it was laid on."""
    scores, mask = (first, second) if len(first) >= len(second) else (second, first)
    if step.name in MASKING and step.name not in ("where",) and len(step.shapes) > 1:
        scores, mask = first, second
    if scores.endswith("TH") and mask.endswith("TT"):
        return ("values-masked",)
    if not scores.endswith("TT") or len(mask) < 2:
        return ()
    edge = mask[-2:]
    if "n" in edge and set(edge) <= {"n", "T"}:
        return ("mask-not-sliced",)
    if edge[0] == edge[1] and edge[0] in "BHC" or set(edge) <= set("BTHC") and edge != "TT":
        return ("mask-sized-by-wrong-number",)
    if edge == "??" and step.shapes[-1][-1] in LESSON:
        return ("size-hard-coded",)
    return ()


def explained(error: Raised, step: Step | None, sizes: Sizes) -> str:
    """The exception in the course's words, or nothing where its own text is plain enough."""
    met = _operands(step, sizes)
    text = error.text
    mark = re.search(r"size of tensor a \((\d+)\) must match.*tensor b \((\d+)\)", text)
    if mark:
        a, b = (_named(int(n), sizes) for n in mark.groups())
        if step is not None and step.name in PRODUCTS:
            return f"In a product of batches the first axes must agree, and {a} met {b}.{met}"
        return f"Two tensors met entry by entry, with {a} on one side and {b} on the other.{met}"
    if "cannot be multiplied" in text or "batch2" in text or "batch1" in text:
        return f"In a product the last axis on the left meets the last but one on the right.{met}"
    if "shape of the mask" in text:
        return f"A boolean index needs as many axes as the tensor it picks from has.{met}"
    if by_text(error) == ("mask-and-is-causal",):
        return ""
    if by_text(error) == ("mask-not-boolean",):
        return "A boolean mask is needed here, and this one holds numbers."
    for kind, pattern, words in WORDS:
        if kind in ("", error.type) and re.search(pattern, text):
            return words
    return met.strip()


def _named(size, sizes):
    mark = letters((size,), sizes)
    return str(size) if mark in "?1" else f"{_letter(mark, sizes)} = {size}"


def _letter(mark, sizes):
    return "Tk" if mark == "T" and sizes.Tq else LETTERS[mark]


def _operands(step, sizes):
    if step is None or len(step.shapes) < 2:
        return ""
    a, b = (in_words(shape, sizes) for shape in step.shapes[:2])
    if step.name == "linear":
        return f" Here {a} met a weight {b}, which the layer transposes itself."
    if step.name == "scaled_dot_product_attention":
        return f" Here q is {a} and k is {b}, and the call transposes k itself."
    return f" Here {a} met {b}."
