"""Sentences for one way of making a mistake, where the numbers say which way it was."""

from __future__ import annotations

# In one exercise a misconception reads otherwise: sentence and nudge, None where the general one
# is right there too.
_LAST = "The queries are the last positions."
IN_EXERCISE = {
    ("sees-the-future", "sdpa_decode"): (
        None,
        f"{_LAST} Which keys come after the first query's own, and what keeps them out?",
    ),
    ("one-future-token", "sdpa_decode"): (
        None,
        f"{_LAST} Count the keys that the first one may use, then those that yours uses.",
    ),
    ("diagonal-masked", "sdpa_decode"): (
        "Each query leaves its own token out: the window ends one key too early.",
        "A token may attend to itself. Where is a query's own key: inside your window or outside?",
    ),
    ("future-instead-of-past", "sdpa_decode"): (
        "The wrong triangle: each query keeps its own key and what comes after it, not what came "
        "before.",
        f"{_LAST} How many keys may the very last one use, and how many does yours use?",
    ),
    ("never-normalised", "averaging_matrix"): (
        "A row is never divided by the number of its entries: it adds up, and does not average.",
        None,
    ),
    ("never-normalised", "causal_weights"): (
        "A row is never divided by its total: these are exponentials, and not yet shares.",
        None,
    ),
}

# The same, closer: where it is known which way of doing it gives the attempt's numbers. The second
# part of a key is the label of that switch in the recipe.
CLOSER = {
    ("wrong-tensor-averaged", "k averaged"): "The weights are applied to k, and they should "
    "average v: a key is what a token is found by, a value is what it hands over.",
    ("wrong-tensor-averaged", "q averaged"): "The weights are applied to q, and they should "
    "average v: a query is what a token looks for, a value is what it hands over.",
    ("projection-skipped", "x averaged"): "The weights are applied to x itself, and they should "
    "average v, the projection of x that is made for it.",
    **{
        ("projection-skipped", f"x with x{over}, {averaged} averaged"): sentence
        for over in ("", " over the root of d_k")
        for averaged, sentence in (
            ("v", "x is compared with x: queries and keys are never used."),
            ("x", "x is compared with x and then averaged: nothing is projected."),
        )
    },
    ("compared-with-itself", "q with q"): "q is compared with q: the grid is symmetric, and k is "
    "never used.",
    ("compared-with-itself", "k with k"): "k is compared with k: the grid is symmetric, and q is "
    "never used.",
    **{
        ("divided-by-another-number", label): f"The scores are divided by {number}; the lesson "
        "divides by √d_k, the root of how many products a score adds up."
        for label, number in (
            ("/ sqrt(T)", "√T, the root of the number of positions"),
            ("/ T", "T, the number of positions"),
            ("/ sqrt(B)", "√B, the root of the number of sequences"),
            ("/ B", "B, the number of sequences"),
            ("/ sqrt(block_size)", "√block_size"),
            ("/ block_size", "block_size"),
            ("/ C", "C, the width of x"),
            ("/ spread of the grid", "their own measured spread"),
            ("/ spread of a row", "the measured spread of each row"),
            ("/ spread of a sequence", "the measured spread of each sequence"),
            ("/ variance of the grid", "their own measured variance"),
            ("/ largest of the grid", "the largest of them"),
        )
    },
    ("root-miswritten", "/ d_k ** 1 / 2"): "The scores are divided by d_k and then by 2, or by "
    "both at once: `**` binds tighter than `/`, so `d_k ** 1 / 2` is half of d_k.",
    ("root-miswritten", "/ (d_k ** 1 / 2)"): "The scores are divided by half of d_k: `**` binds "
    "tighter than `/`, so `d_k ** 1 / 2` is `(d_k ** 1) / 2`.",
    ("root-miswritten", "/ d_k ** 1/4"): "The scores are divided by the fourth root of d_k, once: "
    "that is the square root only where it is applied to q and to k.",
    ("root-miswritten", "/ d_k ** 2"): "The scores are divided by the square of d_k, not by its "
    "square root.",
    ("axis-added-or-lost", "time first"): "The numbers are right and the axes are in another "
    "order: time comes first, and the batch should.",
    ("softmax-over-grid", "over everything"): "One softmax runs over all sequences at once: all "
    "entries together sum to 1, and each row should.",
    ("mean-over-wrong-axis", "over channels"): "The mean runs over the channels, and not over "
    "time.",
    ("mean-over-wrong-axis", "over channels too"): "The mean runs over the channels as well: all "
    "channels of a position come out the same.",
    ("mean-over-wrong-axis", "over the batch"): "The mean runs over the batch, and not over time: "
    "the sequences are averaged with one another.",
    ("mean-over-wrong-axis", "over the batch too"): "The mean runs over the batch as well: all "
    "sequences come out the same.",
    ("one-projection-for-all", "only q"): "Wq serves for all three: q, k and v are the same.",
    ("one-projection-for-all", "only k"): "Wk serves for all three: q, k and v are the same.",
    ("one-projection-for-all", "only v"): "Wv serves for all three: q, k and v are the same.",
    ("extra-step-added", "values added back"): "v is added to the result: a residual belongs to "
    "the block around the head, and not here.",
    ("extra-step-added", "x added back"): "x is added to the result: a residual belongs to the "
    "block around the head, and not here.",
    **{
        ("returned-wrong-stage", label): f"{what} returned, and the exercise asks for another "
        "stage of the recipe."
        for label, what in (
            ("the weights", "The weights, after the softmax, are"),
            ("the scores", "The scores, before mask and softmax, are"),
            ("the masked", "The masked scores are"),
            ("the masked scores", "Masked scores are"),
            ("the raw", "The raw scores, before the scale, are"),
            ("scaled", "The scaled scores are"),
            ("the causal weights", "Causal weights are"),
            ("the mask", "The mask itself is"),
            ("the mask, turned over", "The mask itself is"),
            ("the mask for each sequence", "The mask itself is"),
            ("the mask to add", "The mask itself is"),
        )
    },
    ("not-a-softmax", "no exp"): "The scores are divided by their total without an exponential: "
    "with negative scores the total can be anything, 0 included.",
    ("not-a-softmax", "exp(-score)"): "The sign of the scores is turned: the lowest score gets "
    "the most weight.",
    ("not-a-softmax", "log-softmax"): "These are the logarithms of the weights: none is above 0, "
    "and a row does not sum to 1.",
    ("not-a-softmax", "sigmoid"): "A sigmoid stands in the place of the softmax: each score is "
    "squashed alone, and nothing is shared along a row.",
}
