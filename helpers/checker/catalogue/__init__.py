"""Each misconception in one plain sentence, a nudge, and the exercises it can occur in.

The sentences speak of the hand-sized example: d_k = 4, so √d_k = 2; T = 3; C = 5. A nudge points
at the place and leaves the line to the student.
"""

from __future__ import annotations

from .closer import CLOSER, IN_EXERCISE
from .entry import Misconception
from .scores import SCORES_AND_MORE
from .weights import WEIGHTS

__all__ = ["CLOSER", "EXERCISES_OF", "IN_EXERCISE", "MISCONCEPTIONS", "REMARKS", "Misconception"]

MISCONCEPTIONS = {**WEIGHTS, **SCORES_AND_MORE}
EXERCISES_OF = {slug: m.exercises for slug, m in MISCONCEPTIONS.items()}

REMARKS = {
    "remark-finfo-min-fill": "Your fill is the lowest finite number. The weights are the same; the "
    "masked scores stay finite, and a second mask added to them can overflow.",
    "remark-1e9-fill": "Your fill is a very low number. The weights are the same in float32; "
    "float16 cannot hold −1e9.",
    "remark-scores-shifted": "Your allowed scores are shifted by a constant. The weights are the "
    "same, since softmax sees differences only; the scores are other numbers.",
    "remark-unstable-softmax": "Your softmax does not subtract the row's own "
    "maximum first: right on "
    "ordinary scores, NaN on very large or far-apart ones.",
    "remark-renormalised-after-softmax": "You mask after the softmax and divide "
    "each row by its sum: "
    "equal algebra, and 0 / 0 where a masked score dominates the row.",
    "remark-float16-softmax": "Your softmax is taken in half precision: right to about 1e-3.",
    "remark-tril-not-persistent": "Your buffer is not persistent: it moves with the module and is "
    "absent from the state dict.",
    "remark-dropout-member": "Your head has dropout: right in eval mode, random in train mode.",
    "remark-fused-projection": "You make one wide projection and split it in three: right maths, "
    "without layers named key, query and value.",
    "remark-tril-extra-axis": "Your `tril` has a leading axis of size 1: right outputs, another "
    "shape than (block_size, block_size).",
}
