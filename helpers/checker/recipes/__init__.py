"""The recipe of attention with a switch at every step, and the same for the plain average.

`search.py` looks for the fewest switches that reproduce an attempt's numbers.

switch   what a step is             softmax  and what stands in its place; the weighted sum
compare  projecting, roles, axes    finish   what is done to the result
scale    what scores are divided by mean     the plain average
mask     who may be seen, and how
"""

from __future__ import annotations

from .compare import (
    COMPARE,
    GIVEN_ROLES,
    GRID,
    GRID_ALONE,
    LAYOUT,
    PROJECT,
    ROLES,
)
from .finish import (
    FINISH_ATTENTION,
    FINISH_GIVEN,
    FINISH_MASKED,
    FINISH_SCORES,
    FINISH_WEIGHTS,
)
from .mask import (
    ALLOWED,
    ALLOWED_DECODE,
    ALLOWED_NO_MASK,
    FILL_OUT,
    FILL_SCORES,
    FILL_WEIGHTS,
    GIVEN_SCORES,
    NO_FILL,
    added,
    filled,
)
from .mean import (
    AXIS,
    DIVIDE,
    DIVIDE_MATRIX,
    FINISH_BOW,
    FINISH_MATRIX,
    MATRIX_START,
    MATRIX_WINDOW,
    RESULT_MATRIX,
    WINDOW,
)
from .scale import (
    SCALE_BEFORE_SOFTMAX,
    SCALE_OF_SCORES,
    UNSCALED,
    scaled,
)
from .softmax import (
    AVERAGE,
    SOFTMAX_OUT,
    SOFTMAX_WEIGHTS,
)
from .switch import Option, Step

__all__ = ["RECIPES", "Option", "Step", "added", "filled", "scaled", "start"]

_SCORED = (GRID, SCALE_BEFORE_SOFTMAX)
_WEIGHED = (FILL_OUT, SOFTMAX_OUT, AVERAGE)
RECIPES = {
    "bow": (AXIS, WINDOW, DIVIDE, FINISH_BOW),
    "averaging_matrix": (MATRIX_START, MATRIX_WINDOW, DIVIDE_MATRIX, FINISH_MATRIX, RESULT_MATRIX),
    "raw_scores": (COMPARE, LAYOUT, GRID_ALONE, UNSCALED, FINISH_SCORES),
    "attention_scores": (COMPARE, LAYOUT, GRID_ALONE, SCALE_OF_SCORES, FINISH_SCORES),
    "causal_mask": (GIVEN_SCORES, ALLOWED, FILL_SCORES, FINISH_MASKED),
    "causal_weights": (GIVEN_SCORES, ALLOWED, FILL_WEIGHTS, SOFTMAX_WEIGHTS, FINISH_WEIGHTS),
    "self_attention": (
        PROJECT,
        ROLES,
        LAYOUT,
        GRID,
        SCALE_BEFORE_SOFTMAX,
        ALLOWED_NO_MASK,
        NO_FILL,
        SOFTMAX_OUT,
        AVERAGE,
        FINISH_ATTENTION,
    ),
    "causal_attention": (PROJECT, ROLES, LAYOUT, *_SCORED, ALLOWED, *_WEIGHED, FINISH_ATTENTION),
    "sdpa": (GIVEN_ROLES, LAYOUT, *_SCORED, ALLOWED, *_WEIGHED, FINISH_GIVEN),
    "sdpa_decode": (GIVEN_ROLES, *_SCORED, ALLOWED_DECODE, *_WEIGHED, FINISH_GIVEN),
}
RECIPES["Head"] = RECIPES["causal_attention"]


def start(exercise, case):
    """The state a recipe begins with."""
    if exercise.name == "averaging_matrix":
        return {"sizes": case.sizes}
    names = [name.strip() for name in exercise.arguments.split(",")]
    if exercise.name == "Head":
        names = ["x", "Wq", "Wk", "Wv"]
    return {"sizes": case.sizes, **dict(zip(names, case.args, strict=True))}
