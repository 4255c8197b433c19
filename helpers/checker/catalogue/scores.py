"""Scores and scale, projections and roles, shapes, side effects."""

from __future__ import annotations

from .entry import ALL, ATTENTION, BATCH, GRID, SCALE, SCORES, entry

SCORES_AND_MORE = {
    # ------------------------------------ scores and scale
    "not-scaled": entry(
        f"{SCALE} sdpa",
        "The scores are not scaled: on `eye` they are √d_k = 2 times too large.",
        "How does the spread of a dot product grow with the number of terms in it?",
    ),
    "divided-by-d-k": entry(
        f"{SCALE} sdpa",
        "Your scores are divided by d_k = 4; the lesson divides by √d_k = 2.",
        "Is it the variance or the standard deviation of the scores that should be 1?",
    ),
    "scaled-twice": entry(
        f"{SCALE} sdpa",
        "The scores are scaled twice by √d_k = 2, which divides them by d_k = 4.",
        "Count the places in which a scale is applied; the fused call has one of its own.",
    ),
    "multiplied-by-sqrt-d-k": entry(
        f"{SCALE} sdpa",
        "The scores are multiplied by √d_k = 2 where the lesson divides by it.",
        "Should the scale make the scores larger or smaller?",
    ),
    "divided-by-sqrt-c": entry(
        ATTENTION,
        "The scores are divided by √C, the root of the width of x; the lesson divides by √d_k, "
        "the root of the width of q and k. On `eye` that is √5 where √4 = 2 belongs.",
        "A score is a sum of how many products?",
    ),
    "divided-by-another-number": entry(
        SCALE,
        "The scores are divided by a number that is not √d_k.",
        "Which axis is summed away in q · k? Its size is the one that matters.",
    ),
    "root-miswritten": entry(
        SCALE,
        "The square root of d_k is not written as you mean it.",
        "Evaluate your scale alone, for d_k = 16. Is it 4?",
    ),
    "scaled-after-softmax": entry(
        ATTENTION,
        "The scale is applied after the softmax, so that each row of weights no longer sums to 1.",
        "What has to be kept small so that the softmax does not harden: scores or weights?",
    ),
    "floor-division": entry(
        f"averaging_matrix {SCORES}",
        "`//` rounds down: every entry is a whole number.",
        "Which operator divides without rounding?",
    ),
    "scores-transposed": entry(
        GRID,
        "The grid is turned over: its rows belong to the keys, and each row should be one query.",
        "Entry (i, j) is what query i asks of key j. Which factor comes first?",
    ),
    "key-not-transposed": entry(
        GRID,
        "k is not transposed: q @ k pairs the features of q with the positions of k.",
        "(T, head_size) times what gives (T, T)?",
    ),
    "reshaped-not-transposed": entry(
        GRID,
        "k is reshaped and not transposed: the shape fits, and the numbers are dealt out in "
        "another order.",
        "Take a (2, 3) matrix by pencil: reshape it to (3, 2), then transpose it. Are they equal?",
    ),
    "wrong-axes-transposed": entry(
        f"{GRID} sdpa",
        "Other axes than the last two are exchanged; on three axes `.T` turns all of them over, "
        "the batch included.",
        "k is (B, T, head_size). Which two axes change places, and which one stays?",
    ),
    "grid-over-features": entry(
        f"{GRID} sdpa",
        "Features are compared with features: the grid is (head_size, head_size), with no place "
        "for positions.",
        "Which of q and k should be transposed so that the features are summed away?",
    ),
    "elementwise-product": entry(
        f"project {GRID}",
        "`*` multiplies entry by entry, and a matrix product is meant.",
        "A dot product multiplies and then adds, for each pair of positions. How many numbers come "
        "out for T positions, and how many do you get?",
    ),
    "compared-with-itself": entry(
        GRID,
        "One tensor is compared with itself: the grid is symmetric and the other one is never "
        "used.",
        "Which of q and k could you change without moving your result?",
    ),
    # ------------------------------------ projections and roles
    "projection-transposed": entry(
        f"project {ATTENTION}",
        "The weight is used the wrong way round: W is (C, head_size), and a layer stores its "
        "transpose.",
        "Write the shapes of the two factors side by side. Which inner sizes have to agree?",
    ),
    "factors-in-wrong-order": entry(
        "project self_attention causal_attention",
        "The factors are in the wrong order.",
        "Write both shapes side by side: the last axis on the left meets the last but one on the "
        "right.",
    ),
    "one-projection-for-all": entry(
        f"project {ATTENTION}",
        "One projection is used for more than one of q, k and v: a weight of yours has no effect.",
        "Which weight could you change without moving your result?",
    ),
    "q-k-swapped": entry(
        f"project raw_scores {SCORES} {ATTENTION} sdpa",
        "Queries and keys are exchanged, so what i asks of j stands where j asks i.",
        "In which order are q and k expected?",
    ),
    "k-v-swapped": entry(
        f"project {ATTENTION} sdpa sdpa_decode",
        "Keys and values are exchanged: queries are matched with values, and keys are averaged.",
        "Which one is matched, which one is handed over?",
    ),
    "projections-chained": entry(
        f"project {ATTENTION}",
        "One projection is made from another, and all three should be made from x.",
        "What goes into each of the three projections?",
    ),
    "projection-skipped": entry(
        ATTENTION,
        "x itself is used where a projection of x belongs: the weights are applied to x, or x is "
        "compared as it is.",
        "Which of the three weights does your result not depend on?",
    ),
    "wrong-tensor-averaged": entry(
        f"{ATTENTION} sdpa",
        "The weights are applied to q or k, and they should average v: a value is what a token "
        "contributes.",
        "Change v alone. Does your output move?",
    ),
    "bias-left-on": entry(
        "project Head",
        "A bias is added: the projections of the course have none, and `nn.Linear` has one by "
        "default.",
        "What comes out of a projection when x is all zeros?",
    ),
    "extra-step-added": entry(
        f"project {ATTENTION}",
        "There is a step more than the recipe has: it may belong to a transformer, and not here.",
        "Read your lines against the steps of the recipe. Which one has no counterpart?",
    ),
    # ------------------------------------ shapes, batch, what is returned
    "first-batch-row-only": entry(
        BATCH,
        "Only sequence 0 is worked on.",
        "Give it two different sequences. Where is the second one's answer?",
    ),
    "batch-mixed": entry(
        GRID,
        "Sequences are mixed: a change in one of them moves the output of another.",
        "Which axis holds the independent sequences? Nothing may be summed over it.",
    ),
    "axis-added-or-lost": entry(
        f"averaging_matrix {BATCH}",
        "The result has an axis too many or too few.",
        "Print the shape of your result beside the one in the exercise, also for a batch of one.",
    ),
    "size-hard-coded": entry(
        f"bow raw_scores {SCORES} causal_mask causal_weights {ATTENTION}",
        "A size is written into the code: it is right at that size and at no other.",
        "Which number in your lines could be read from a shape?",
    ),
    "returned-wrong-stage": entry(
        GRID + " causal_mask causal_weights",
        "Another stage of the recipe is returned: the work stops too early or goes too far.",
        "Which name of the recipe, raw, scores, masked, weights or out, does the exercise ask for?",
    ),
    "returned-a-pair": entry(
        ATTENTION,
        "The output is returned together with the weights, and the output alone is asked for.",
        "How many tensors stand after your `return`?",
    ),
    "nothing-returned": entry(
        ALL,
        "Nothing is returned: the work is done and then forgotten.",
        "What is the last line of your attempt?",
    ),
    # ------------------------------------ side effects and modules
    "input-changed-in-place": entry(
        f"bow raw_scores {SCORES} causal_mask causal_weights",
        "The tensor that was passed in is overwritten, so whoever passed it finds other numbers "
        "in it.",
        "Which of your operations changes a tensor instead of making a new one?",
    ),
    "gradient-cut": entry(
        f"project raw_scores {SCORES} causal_mask causal_weights {ATTENTION}",
        "The numbers are right and no gradient comes back: the link to the arguments is cut, so "
        "nothing could be learned.",
        "Look for what leaves the graph: a detach, `.data`, `no_grad`, a tensor built anew.",
    ),
    "tril-not-a-buffer": entry(
        "Head",
        "`tril` is not a registered buffer: it stays behind when the module moves, and the state "
        "dict does not hold it.",
        "How is a module told of a tensor that moves with it and is not learned?",
    ),
    "constant-as-parameter": entry(
        "Head",
        "A constant is registered as a parameter, and an optimiser would be given it to change.",
        "List the parameters of your head. Which of them should learning leave alone?",
    ),
    "mask-not-sliced": entry(
        "Head",
        "The mask is not cut to its first T rows and columns, so only T = block_size works.",
        "The buffer is (block_size, block_size) and the grid (T, T). Which part of it is needed?",
    ),
    "state-kept-between-calls": entry(
        "Head",
        "A call leaves something behind that changes what later calls give.",
        "What does your forward store on the head?",
    ),
    "layers-not-registered": entry(
        "Head",
        "The layers are kept where the module cannot see them: it has no parameters to learn.",
        "How many parameters does your head list?",
    ),
    "super-init-forgotten": entry(
        "Head",
        "`nn.Module` was not set up before the first layer was stored on it.",
        "What has to be the first line of a module's `__init__`?",
    ),
}
