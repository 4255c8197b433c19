"""Which positions are seen, how the mask is applied, averages, softmax."""

from __future__ import annotations

from .entry import ATTENTION, CAUSAL, MASKED, PAST, SOFTMAX, WEIGHTED, entry

WEIGHTS = {
    # ------------------------------------ which positions are seen
    "sees-the-future": entry(
        PAST,
        "Every position sees the whole sequence: nothing keeps the later ones out.",
        "Position 0 may hear only itself. What in your attempt would stop it from hearing 2?",
    ),
    "one-future-token": entry(
        PAST,
        "Each position also sees the one after it: the edge of the window is one too far right.",
        "Write down which columns row 0 may use, then count those that yours uses.",
    ),
    "diagonal-masked": entry(
        PAST,
        "Each position leaves itself out: the window ends one too early, and row 0 has nothing "
        "left.",
        "A token may attend to itself. Is the diagonal inside or outside your window?",
    ),
    "future-instead-of-past": entry(
        PAST,
        "The wrong triangle: each position keeps itself and what comes after it, not what came "
        "before.",
        "Row 0 should have one entry and the last row all of them. Count yours.",
    ),
    "mask-polarity-flipped": entry(
        f"{MASKED} sdpa sdpa_decode",
        "The mask is turned over: it blocks exactly the entries that may be seen.",
        "Does True mean keep or block in the function you call? Print your mask and read row 0.",
    ),
    "only-itself": entry(
        f"averaging_matrix {WEIGHTED} sdpa",
        "Each position sees itself alone: the weights are an identity, so nothing is gathered.",
        "The last row should use every position before it as well. Which entries does yours have?",
    ),
    "weights-transposed": entry(
        f"averaging_matrix causal_weights {ATTENTION}",
        "The weights are right and used across: their columns stand where their rows belong.",
        "Which axis of the weights sums to 1, and which one do you sum over?",
    ),
    "scores-ignored": entry(
        WEIGHTED,
        "The scores are never used: the past is averaged evenly, whatever the tokens say.",
        "Double one score. Which of your weights should move?",
    ),
    "aligned-top-left": entry(
        "sdpa_decode",
        "The triangle starts at the first key, so the new queries are treated as the first ones.",
        "The queries are the last positions. Where is the last query's own key?",
    ),
    # ------------------------------------ how the mask is applied
    "mask-result-thrown-away": entry(
        MASKED,
        "The mask is made and its result is not kept: `masked_fill`, `where` and `+` give back a "
        "new tensor and leave the old one as it was.",
        "Follow the masked tensor from the line that makes it. Who uses it?",
    ),
    "mask-after-softmax": entry(
        WEIGHTED,
        "The mask comes after the softmax: the future has already taken its share, so the rows "
        "that are left sum to less than 1.",
        "What does row 0 of your weights sum to? Which step makes a row sum to 1?",
    ),
    "zero-instead-of-minus-inf": entry(
        f"averaging_matrix {MASKED}",
        "Forbidden scores are set to 0, not to −∞: exp(0) = 1, so each of them keeps weight.",
        "Which number has an exponential of exactly 0?",
    ),
    "tiny-fill": entry(
        MASKED,
        "Forbidden scores are filled with a number close to 0 (a very small one is not a very low "
        "one), and exp of it is 1.",
        "Read the sign of the exponent in your fill. Is the number far below zero?",
    ),
    "fill-not-low-enough": entry(
        MASKED,
        "The fill is finite and not low enough: a little weight leaks to the future, and much of "
        "it where the allowed scores are low too.",
        "What if every allowed score of a row were lower than your fill?",
    ),
    "plus-inf-fill": entry(
        MASKED,
        "Forbidden scores are +∞: they take all the weight, and ∞ / ∞ is NaN.",
        "Count the minus signs in your fill.",
    ),
    "zero-times-inf": entry(
        MASKED,
        "The additive mask is a product with −∞: where the mask is 0 this is 0 · ∞, which is NaN.",
        "Look at an allowed entry of your mask alone, before it is added.",
    ),
    "mask-added-as-ones": entry(
        f"{MASKED} sdpa sdpa_decode",
        "The triangle of zeros and ones is added to the scores as numbers: some scores grow by 1 "
        "and nothing is blocked.",
        "What would have to be added to a score so that its weight becomes 0?",
    ),
    "zeros-used-as-mask": entry(
        MASKED,
        "Every score that is exactly 0 becomes −∞. On `eye`, real zeros stand among the allowed "
        "scores, and they are hit as well.",
        "Can an allowed score be 0? Let the mask say what is forbidden, not the scores.",
    ),
    "mask-not-boolean": entry(
        f"{MASKED} sdpa sdpa_decode",
        "The mask holds numbers where True and False are needed.",
        "Print the dtype of your mask. Which comparison turns it into a boolean?",
    ),
    "mask-sized-by-wrong-number": entry(
        MASKED,
        "The triangle has the size of another axis: it fits only where that size happens to agree.",
        "The grid has one row a query and one column a key. Which size is that?",
    ),
    "values-masked": entry(
        CAUSAL,
        "The mask is laid on v and not on the scores: the weights still use every position.",
        "Which tensor holds one number for each pair of positions?",
    ),
    "masked-though-not-asked": entry(
        "self_attention",
        "A causal mask is applied, and this exercise has none: every position may see all.",
        "Read the exercise again: is anything said about the future?",
    ),
    "mask-and-is-causal": entry(
        "sdpa sdpa_decode",
        "Both `attn_mask` and `is_causal=True` are passed, and the call takes one of the two.",
        "Which of the two says what you mean here?",
    ),
    # ------------------------------------ averages
    "mean-over-wrong-axis": entry(
        "bow",
        "The mean runs along another axis: over channels or over the batch, and not over time "
        "alone.",
        "x is (B, T, C). Which number is the axis of time?",
    ),
    "never-normalised": entry(
        "bow averaging_matrix causal_weights",
        "The entries are added up and never divided: these are totals, not averages.",
        "What does a row of weights have to sum to?",
    ),
    "divided-by-length": entry(
        "bow averaging_matrix",
        "Each row is divided by T, not by how many entries it has: only the last row comes out "
        "right.",
        "How many tokens has row 0 seen?",
    ),
    "count-off-by-one": entry(
        "bow averaging_matrix",
        "The count is off by one: position t has t + 1 tokens to average, itself included.",
        "At position 0, how many tokens are added, and what do you divide by?",
    ),
    "totals-not-a-column": entry(
        "bow averaging_matrix causal_weights",
        "The totals are not kept as a column, so they run along the other axis: column j is "
        "divided by the total of row j.",
        "Compare the shape of your totals with the shape you divide. Which axis was lost?",
    ),
    "columns-normalised": entry(
        "averaging_matrix causal_weights",
        "Columns are divided by their totals: the columns sum to 1 and the rows do not.",
        "Each row is one position's average. Over which axis does its total run?",
    ),
    "hard-maximum": entry(
        "bow causal_weights",
        "The largest is taken and nothing is blended: each position copies a single one.",
        "Should a position hear one voice, or all of them with different loudness?",
    ),
    "random-on-every-call": entry(
        "averaging_matrix Head",
        "New random numbers are drawn at each call, so two calls with the same input differ.",
        "Which line draws, and how often does it run?",
    ),
    # ------------------------------------ softmax
    "softmax-over-queries": entry(
        f"averaging_matrix {SOFTMAX}",
        "The softmax runs over the queries: the columns sum to 1, and each row should.",
        "Rows are queries, columns are keys. A query shares its attention among which of them?",
    ),
    "softmax-over-batch": entry(
        SOFTMAX,
        "The softmax runs over the batch, so that independent sequences share one total.",
        "With a single sequence each of your weights is 1. Which axis is axis 0?",
    ),
    "softmax-without-dim": entry(
        SOFTMAX,
        "The softmax was not told its axis: on three axes the old default is the batch.",
        "Say which axis should sum to 1.",
    ),
    "softmax-over-grid": entry(
        SOFTMAX,
        "One softmax runs over the whole grid: all entries together sum to 1, and each row should.",
        "How many sums of 1 does a grid of T queries need?",
    ),
    "softmax-twice": entry(
        SOFTMAX,
        "The softmax is applied twice: what was 0 counts as exp(0) = 1 again, and all weights are "
        "pushed together.",
        "How often do your scores meet an exponential?",
    ),
    "softmax-missing": entry(
        ATTENTION,
        "There is no softmax: the scores themselves multiply the values.",
        "What do your weights sum to along a row? Can a weight be negative?",
    ),
    "softmax-on-values": entry(
        f"{ATTENTION} sdpa",
        "The softmax is on the values or on the output, where nothing has to sum to 1.",
        "Which tensor holds the shares that a query gives to the keys?",
    ),
    "not-a-softmax": entry(
        SOFTMAX,
        "Something close to a softmax stands in its place: the entries of a row do not follow "
        "exp(score) over the row's total.",
        "Take the scores 0 and 1 by pencil: exp, then divide by the sum. What does yours give?",
    ),
    "dropout-always-on": entry(
        f"{SOFTMAX} sdpa",
        "Dropout is on at every call, in eval mode too: two calls with the same input differ.",
        "Who tells your dropout whether the model is being trained?",
    ),
}
