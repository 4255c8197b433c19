"""Each misconception in one plain sentence, a nudge, and the exercises it can occur in.

The sentences speak of the hand-sized example: d_k = 4, so √d_k = 2; T = 3; C = 5. A nudge points
at the place and leaves the line to the student.
"""

from __future__ import annotations

from typing import NamedTuple


class Misconception(NamedTuple):
    exercises: tuple[str, ...]
    sentence: str
    nudge: str


_SCORES = "attention_scores"
_ATTENTION = "self_attention causal_attention Head"
_CAUSAL = "causal_attention Head"
_MASKED = f"causal_mask causal_weights {_CAUSAL}"
_WEIGHTED = f"causal_weights {_CAUSAL}"
_SOFTMAX = f"causal_weights {_ATTENTION}"
_PAST = f"bow averaging_matrix {_MASKED} sdpa sdpa_decode"
_GRID = f"raw_scores {_SCORES} {_ATTENTION}"
_SCALE = f"{_SCORES} {_ATTENTION}"
_BATCH = f"bow project raw_scores {_SCORES} causal_mask causal_weights {_ATTENTION}"
ALL = (
    f"bow averaging_matrix project raw_scores {_SCORES} causal_mask causal_weights {_ATTENTION} "
    "sdpa sdpa_decode"
)


def _m(exercises, sentence, nudge):
    return Misconception(tuple(exercises.split()), sentence, nudge)


MISCONCEPTIONS = {
    # ------------------------------------ which positions are seen
    "sees-the-future": _m(
        _PAST,
        "Every position sees the whole sequence: nothing keeps the later ones out.",
        "Position 0 may hear only itself. What in your attempt would stop it from hearing 2?",
    ),
    "one-future-token": _m(
        _PAST,
        "Each position also sees the one after it: the edge of the window is one too far right.",
        "Write down which columns row 0 may use, then count those that yours uses.",
    ),
    "diagonal-masked": _m(
        _PAST,
        "Each position leaves itself out: the window ends one too early, and row 0 has "
        "nothing left.",
        "A token may attend to itself. Is the diagonal inside or outside your window?",
    ),
    "future-instead-of-past": _m(
        _PAST,
        "The wrong triangle: each position keeps itself and what comes after it, not "
        "what came before.",
        "Row 0 should have one entry and the last row all of them. Count yours.",
    ),
    "mask-polarity-flipped": _m(
        f"{_MASKED} sdpa sdpa_decode",
        "The mask is turned over: it blocks exactly the entries that may be seen.",
        "Does True mean keep or block in the function you call? Print your mask and read row 0.",
    ),
    "only-itself": _m(
        f"averaging_matrix {_WEIGHTED} sdpa",
        "Each position sees itself alone: the weights are an identity, so nothing is gathered.",
        "The last row should use every position before it as well. Which entries does yours have?",
    ),
    "weights-transposed": _m(
        f"averaging_matrix causal_weights {_ATTENTION}",
        "The weights are right and used across: their columns stand where their rows belong.",
        "Which axis of the weights sums to 1, and which one do you sum over?",
    ),
    "scores-ignored": _m(
        _WEIGHTED,
        "The scores are never used: the past is averaged evenly, whatever the tokens say.",
        "Double one score. Which of your weights should move?",
    ),
    "aligned-top-left": _m(
        "sdpa_decode",
        "The triangle starts at the first key, so the new queries are treated as the first ones.",
        "The queries are the last positions. Where is the last query's own key?",
    ),
    # ------------------------------------ how the mask is applied
    "mask-result-thrown-away": _m(
        _MASKED,
        "The mask is made and its result is not kept: `masked_fill` returns a new "
        "tensor and leaves "
        "the old one as it was.",
        "Follow the masked tensor from the line that makes it. Who uses it?",
    ),
    "mask-after-softmax": _m(
        _WEIGHTED,
        "The mask comes after the softmax: the future has already taken its share, so "
        "the rows that "
        "are left sum to less than 1.",
        "What does row 0 of your weights sum to? Which step makes a row sum to 1?",
    ),
    "zero-instead-of-minus-inf": _m(
        f"averaging_matrix {_MASKED}",
        "Forbidden scores are set to 0, not to −∞: exp(0) = 1, so each of them keeps weight.",
        "Which number has an exponential of exactly 0?",
    ),
    "tiny-fill": _m(
        _MASKED,
        "Forbidden scores are filled with a number close to 0 (a very small one is not a very low "
        "one), and exp of it is 1.",
        "Read the sign of the exponent in your fill. Is the number far below zero?",
    ),
    "fill-not-low-enough": _m(
        _MASKED,
        "The fill is finite and not low enough: a little weight leaks to the future, "
        "and much of it "
        "where the allowed scores are low too.",
        "What if every allowed score of a row were lower than your fill?",
    ),
    "plus-inf-fill": _m(
        _MASKED,
        "Forbidden scores are +∞: they take all the weight, and ∞ / ∞ is NaN.",
        "Count the minus signs in your fill.",
    ),
    "zero-times-inf": _m(
        _MASKED,
        "The additive mask is a product with −∞: where the mask is 0 this is 0 · ∞, which is NaN.",
        "Look at an allowed entry of your mask alone, before it is added.",
    ),
    "mask-added-as-ones": _m(
        f"{_MASKED} sdpa sdpa_decode",
        "The triangle of zeros and ones is added to the scores as numbers: some scores "
        "grow by 1 and "
        "nothing is blocked.",
        "What would have to be added to a score so that its weight becomes 0?",
    ),
    "zeros-used-as-mask": _m(
        _MASKED,
        "Every score that is exactly 0 becomes −∞. On `eye`, real zeros stand among the allowed "
        "scores, and they are hit as well.",
        "Can an allowed score be 0? Let the mask say what is forbidden, not the scores.",
    ),
    "mask-not-boolean": _m(
        f"{_MASKED} sdpa sdpa_decode",
        "The mask holds numbers where True and False are needed.",
        "Print the dtype of your mask. Which comparison turns it into a boolean?",
    ),
    "mask-sized-by-wrong-number": _m(
        _MASKED,
        "The triangle has the size of another axis: it fits only where that size happens to agree.",
        "The grid has one row a query and one column a key. Which size is that?",
    ),
    "values-masked": _m(
        _CAUSAL,
        "The mask is laid on v and not on the scores: the weights still use every position.",
        "Which tensor holds one number for each pair of positions?",
    ),
    "masked-though-not-asked": _m(
        "self_attention",
        "A causal mask is applied, and this exercise has none: every position may see all.",
        "Read the exercise again: is anything said about the future?",
    ),
    "mask-and-is-causal": _m(
        "sdpa sdpa_decode",
        "Both `attn_mask` and `is_causal=True` are passed, and the call takes one of the two.",
        "Which of the two says what you mean here?",
    ),
    # ------------------------------------ averages
    "mean-over-wrong-axis": _m(
        "bow",
        "The mean runs along another axis: over channels or over the batch, and not "
        "over time alone.",
        "x is (B, T, C). Which number is the axis of time?",
    ),
    "never-normalised": _m(
        "bow averaging_matrix causal_weights",
        "The entries are added up and never divided: these are totals, not averages.",
        "What does a row of weights have to sum to?",
    ),
    "divided-by-length": _m(
        "bow averaging_matrix",
        "Each row is divided by T, not by how many entries it has: only the last row "
        "comes out right.",
        "How many tokens has row 0 seen?",
    ),
    "count-off-by-one": _m(
        "bow averaging_matrix",
        "The count is off by one: position t has t + 1 tokens to average, itself included.",
        "At position 0, how many tokens are added, and what do you divide by?",
    ),
    "totals-not-a-column": _m(
        "bow averaging_matrix causal_weights",
        "The totals are not kept as a column, so they run along the other axis: column "
        "j is divided "
        "by the total of row j.",
        "Compare the shape of your totals with the shape you divide. Which axis was lost?",
    ),
    "columns-normalised": _m(
        "averaging_matrix causal_weights",
        "Columns are divided by their totals: the columns sum to 1 and the rows do not.",
        "Each row is one position's average. Over which axis does its total run?",
    ),
    "hard-maximum": _m(
        "bow causal_weights",
        "The largest is taken and nothing is blended: each position copies a single one.",
        "Should a position hear one voice, or all of them with different loudness?",
    ),
    "random-on-every-call": _m(
        "averaging_matrix Head",
        "New random numbers are drawn at each call, so two calls with the same input differ.",
        "Which line draws, and how often does it run?",
    ),
    # ------------------------------------ softmax
    "softmax-over-queries": _m(
        f"averaging_matrix {_SOFTMAX}",
        "The softmax runs over the queries: the columns sum to 1, and each row should.",
        "Rows are queries, columns are keys. A query shares its attention among which of them?",
    ),
    "softmax-over-batch": _m(
        _SOFTMAX,
        "The softmax runs over the batch, so that independent sequences share one total.",
        "With a single sequence each of your weights is 1. Which axis is axis 0?",
    ),
    "softmax-without-dim": _m(
        _SOFTMAX,
        "The softmax was not told its axis: on three axes the old default is the batch.",
        "Say which axis should sum to 1.",
    ),
    "softmax-over-grid": _m(
        _SOFTMAX,
        "One softmax runs over the whole grid: all entries together sum to 1, and each row should.",
        "How many sums of 1 does a grid of T queries need?",
    ),
    "softmax-twice": _m(
        _SOFTMAX,
        "The softmax is applied twice: what was 0 counts as exp(0) = 1 again, and all weights are "
        "pushed together.",
        "How often do your scores meet an exponential?",
    ),
    "softmax-missing": _m(
        _ATTENTION,
        "There is no softmax: the scores themselves multiply the values.",
        "What do your weights sum to along a row? Can a weight be negative?",
    ),
    "softmax-on-values": _m(
        f"{_ATTENTION} sdpa",
        "The softmax is on the values or on the output, where nothing has to sum to 1.",
        "Which tensor holds the shares that a query gives to the keys?",
    ),
    "not-a-softmax": _m(
        _SOFTMAX,
        "Something close to a softmax stands in its place: the entries of a row do not follow "
        "exp(score) over the row's total.",
        "Take the scores 0 and 1 by pencil: exp, then divide by the sum. What does yours give?",
    ),
    "dropout-always-on": _m(
        f"{_SOFTMAX} sdpa",
        "Dropout is on at every call, in eval mode too: two calls with the same input differ.",
        "Who tells your dropout whether the model is being trained?",
    ),
    # ------------------------------------ scores and scale
    "not-scaled": _m(
        f"{_SCALE} sdpa",
        "The scores are not scaled: on `eye` they are √d_k = 2 times too large.",
        "How does the spread of a dot product grow with the number of terms in it?",
    ),
    "divided-by-d-k": _m(
        f"{_SCALE} sdpa",
        "Your scores are divided by d_k = 4; the lesson divides by √d_k = 2.",
        "Is it the variance or the standard deviation of the scores that should be 1?",
    ),
    "scaled-twice": _m(
        f"{_SCALE} sdpa",
        "The scores are scaled twice by √d_k = 2, which divides them by d_k = 4.",
        "Count the places in which a scale is applied; the fused call has one of its own.",
    ),
    "multiplied-by-sqrt-d-k": _m(
        f"{_SCALE} sdpa",
        "The scores are multiplied by √d_k = 2 where the lesson divides by it.",
        "Should the scale make the scores larger or smaller?",
    ),
    "divided-by-sqrt-c": _m(
        _ATTENTION,
        "The scores are divided by √C = √5, the width of x; the lesson divides by √d_k = 2, the "
        "width of q and k.",
        "A score is a sum of how many products?",
    ),
    "divided-by-another-number": _m(
        _SCALE,
        "The scores are divided by a number that is not √d_k: the size of another axis, or a "
        "measured spread.",
        "Which axis is summed away in q · k? Its size is the one that matters.",
    ),
    "root-miswritten": _m(
        _SCALE,
        "The square root of d_k is not written as you mean it.",
        "Evaluate your scale alone, for d_k = 16. Is it 4?",
    ),
    "scaled-after-softmax": _m(
        _ATTENTION,
        "The scale is applied after the softmax, so that each row of weights no longer sums to 1.",
        "What has to be kept small so that the softmax does not harden: scores or weights?",
    ),
    "floor-division": _m(
        f"averaging_matrix {_SCORES}",
        "`//` rounds down: every entry is a whole number.",
        "Which operator divides without rounding?",
    ),
    "scores-transposed": _m(
        _GRID,
        "The grid is turned over: its rows belong to the keys, and each row should be one query.",
        "Entry (i, j) is what query i asks of key j. Which factor comes first?",
    ),
    "key-not-transposed": _m(
        _GRID,
        "k is not transposed: q @ k pairs the features of q with the positions of k.",
        "(T, head_size) times what gives (T, T)?",
    ),
    "reshaped-not-transposed": _m(
        _GRID,
        "k is reshaped and not transposed: the shape fits, and the numbers are dealt "
        "out in another "
        "order.",
        "Take a (2, 3) matrix by pencil: reshape it to (3, 2), then transpose it. Are they equal?",
    ),
    "wrong-axes-transposed": _m(
        f"{_GRID} sdpa",
        "Other axes are exchanged: on three axes `.T` turns all of them over, the batch included.",
        "k is (B, T, head_size). Which two axes change places, and which one stays?",
    ),
    "grid-over-features": _m(
        f"{_GRID} sdpa",
        "Features are compared with features: the grid is (head_size, head_size), with "
        "no place for "
        "positions.",
        "Which of q and k should be transposed so that the features are summed away?",
    ),
    "elementwise-product": _m(
        f"project {_GRID}",
        "`*` multiplies entry by entry, and a matrix product is meant.",
        "A dot product multiplies and then adds. Where do you add?",
    ),
    "compared-with-itself": _m(
        _GRID,
        "One tensor is compared with itself: the grid is symmetric and the other one "
        "is never used.",
        "Which of q and k could you change without moving your result?",
    ),
    # ------------------------------------ projections and roles
    "projection-transposed": _m(
        f"project {_ATTENTION}",
        "The weight is used the wrong way round: W is (C, head_size), and a layer stores its "
        "transpose.",
        "Write the shapes of the two factors side by side. Which inner sizes have to agree?",
    ),
    "factors-in-wrong-order": _m(
        "project self_attention causal_attention",
        "The factors are in the wrong order.",
        "Write both shapes side by side: the last axis on the left meets the last but one on the "
        "right.",
    ),
    "one-projection-for-all": _m(
        f"project {_ATTENTION}",
        "One projection is used for more than one of q, k and v: a weight of yours has no effect.",
        "Which weight could you change without moving your result?",
    ),
    "q-k-swapped": _m(
        f"project raw_scores {_SCORES} {_ATTENTION} sdpa",
        "Queries and keys are exchanged, so what i asks of j stands where j asks i.",
        "In which order are q and k expected?",
    ),
    "k-v-swapped": _m(
        f"project {_ATTENTION} sdpa sdpa_decode",
        "Keys and values are exchanged: queries are matched with values, and keys are averaged.",
        "Which one is matched, which one is handed over?",
    ),
    "projections-chained": _m(
        f"project {_ATTENTION}",
        "One projection is made from another, and all three should be made from x.",
        "What goes into each of the three projections?",
    ),
    "projection-skipped": _m(
        _ATTENTION,
        "x itself is used where a projection of x belongs: the weights are applied to x, or x is "
        "compared as it is.",
        "Which of the three weights does your result not depend on?",
    ),
    "wrong-tensor-averaged": _m(
        f"{_ATTENTION} sdpa",
        "The weights are applied to q or k, and they should average v: a value is what a token "
        "contributes.",
        "Change v alone. Does your output move?",
    ),
    "bias-left-on": _m(
        "project Head",
        "A bias is added: the projections of the course have none, and `nn.Linear` has one by "
        "default.",
        "What comes out of a projection when x is all zeros?",
    ),
    "extra-step-added": _m(
        f"project {_ATTENTION}",
        "There is a step more than the recipe has: it may belong to a transformer, and not here.",
        "Read your lines against the steps of the recipe. Which one has no counterpart?",
    ),
    # ------------------------------------ shapes, batch, what is returned
    "first-batch-row-only": _m(
        _BATCH,
        "Only sequence 0 is worked on.",
        "Give it two different sequences. Where is the second one's answer?",
    ),
    "batch-mixed": _m(
        _GRID,
        "Sequences are mixed: a change in one of them moves the output of another.",
        "Which axis holds the independent sequences? Nothing may be summed over it.",
    ),
    "axis-added-or-lost": _m(
        f"averaging_matrix {_BATCH}",
        "The result has an axis too many or too few.",
        "Print the shape of your result beside the one in the exercise, also for a batch of one.",
    ),
    "size-hard-coded": _m(
        f"bow raw_scores {_SCORES} causal_mask causal_weights {_ATTENTION}",
        "A size is written into the code: it is right at that size and at no other.",
        "Which number in your lines could be read from a shape?",
    ),
    "returned-wrong-stage": _m(
        _GRID + " causal_mask causal_weights",
        "Another stage of the recipe is returned: the work stops too early or goes too far.",
        "Which name of the recipe, raw, scores, masked, weights or out, does the exercise ask for?",
    ),
    "returned-a-pair": _m(
        _ATTENTION,
        "The output is returned together with the weights, and the output alone is asked for.",
        "How many tensors stand after your `return`?",
    ),
    "nothing-returned": _m(
        ALL,
        "Nothing is returned: the work is done and then forgotten.",
        "What is the last line of your attempt?",
    ),
    # ------------------------------------ side effects and modules
    "input-changed-in-place": _m(
        f"bow raw_scores {_SCORES} causal_mask causal_weights",
        "The tensor that was passed in is overwritten, so whoever passed it finds other numbers in "
        "it.",
        "Which of your operations changes a tensor instead of making a new one?",
    ),
    "gradient-cut": _m(
        f"project raw_scores {_SCORES} causal_mask causal_weights {_ATTENTION}",
        "The numbers are right and no gradient comes back: the link to the arguments is cut, so "
        "nothing could be learned.",
        "Look for what leaves the graph: a detach, `.data`, `no_grad`, a tensor built anew.",
    ),
    "tril-not-a-buffer": _m(
        "Head",
        "`tril` is not a registered buffer: it stays behind when the module moves, and the state "
        "dict does not hold it.",
        "How is a module told of a tensor that moves with it and is not learned?",
    ),
    "constant-as-parameter": _m(
        "Head",
        "A constant is registered as a parameter, and an optimiser would be given it to change.",
        "List the parameters of your head. Which of them should learning leave alone?",
    ),
    "mask-not-sliced": _m(
        "Head",
        "The mask is not cut to the T positions at hand, so only T = block_size works.",
        "The buffer is (block_size, block_size) and the grid (T, T). Which part of it is needed?",
    ),
    "state-kept-between-calls": _m(
        "Head",
        "A call leaves something behind that changes what later calls give.",
        "What does your forward store on the head?",
    ),
    "layers-not-registered": _m(
        "Head",
        "The layers are kept where the module cannot see them: it has no parameters to learn.",
        "How many parameters does your head list?",
    ),
    "super-init-forgotten": _m(
        "Head",
        "`nn.Module` was not set up before the first layer was stored on it.",
        "What has to be the first line of a module's `__init__`?",
    ),
}

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
