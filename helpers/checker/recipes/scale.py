"""What the raw products are divided by."""

from __future__ import annotations

import torch

from .switch import Option, Step, with_


# ---------------------------------------- the scale
def scaled(factor):
    """Multiply the grid by a number that depends on the sizes."""

    def scores(s):
        return s["raw"] * factor(s.get("width", s["left"].shape[-1]), s["sizes"])

    return with_(scores=scores)


def _spread(spread):
    return with_(scores=lambda s: s["raw"] / spread(s["raw"]))


OTHER_NUMBER = ("divided-by-another-number",)
ROOT = ("root-miswritten",)

RIGHT_SCALE = Option("", (), scaled(lambda d, z: d**-0.5))
SCALES = (
    Option("not scaled", ("not-scaled",), scaled(lambda d, z: 1.0)),
    Option("/ d_k", ("divided-by-d-k", "scaled-twice"), scaled(lambda d, z: 1 / d)),
    Option("* sqrt(d_k)", ("multiplied-by-sqrt-d-k",), scaled(lambda d, z: d**0.5)),
    Option("/ sqrt(C)", ("divided-by-sqrt-c",), scaled(lambda d, z: z.C**-0.5)),
    Option("/ sqrt(T)", OTHER_NUMBER, scaled(lambda d, z: z.T**-0.5)),
    Option("/ sqrt(B)", OTHER_NUMBER, scaled(lambda d, z: z.B**-0.5)),
    Option("/ sqrt(block_size)", OTHER_NUMBER, scaled(lambda d, z: z.n**-0.5)),
    Option("/ T", OTHER_NUMBER, scaled(lambda d, z: 1 / z.T)),
    Option("/ B", OTHER_NUMBER, scaled(lambda d, z: 1 / z.B)),
    Option("/ C", OTHER_NUMBER, scaled(lambda d, z: 1 / z.C)),
    Option("/ block_size", OTHER_NUMBER, scaled(lambda d, z: 1 / z.n)),
    Option("/ sqrt(2 d_k)", OTHER_NUMBER, scaled(lambda d, z: (2 * d) ** -0.5)),
    Option("/ sqrt(3 d_k)", OTHER_NUMBER, scaled(lambda d, z: (3 * d) ** -0.5)),
    Option("/ d_k ** 1/4", ROOT, scaled(lambda d, z: d**-0.25)),
    Option("/ d_k ** 1 / 2", ROOT, scaled(lambda d, z: 1 / d / 2)),
    Option("/ (d_k ** 1 / 2)", ROOT, scaled(lambda d, z: 2 / d)),
    Option("/ d_k ** 2", ROOT, scaled(lambda d, z: d**-2)),
    Option("/ d_k ** 1/3", ROOT, scaled(lambda d, z: d ** (-1 / 3))),
    Option("/ d_k ** 1.5", ROOT, scaled(lambda d, z: d**-1.5)),
    Option("* d_k ** 1/4", ROOT, scaled(lambda d, z: d**0.25)),
    Option("/ int(sqrt(d_k))", ROOT, scaled(lambda d, z: 1 / int(d**0.5))),
    Option("/ spread of the grid", OTHER_NUMBER, _spread(lambda r: r.std())),
    Option("/ spread of a row", OTHER_NUMBER, _spread(lambda r: r.std(-1, keepdim=True))),
    Option("/ spread of a sequence", OTHER_NUMBER,
           _spread(lambda r: r.std((-2, -1), keepdim=True))),
    Option("/ variance of the grid", OTHER_NUMBER, _spread(lambda r: r.var())),
    Option("/ root of the variance, biased", OTHER_NUMBER,
           _spread(lambda r: r.std(correction=0))),
    Option("/ spread of a row, biased", OTHER_NUMBER,
           _spread(lambda r: r.std(-1, keepdim=True, correction=0))),
    Option("/ largest of the grid", OTHER_NUMBER, _spread(lambda r: r.abs().max())),
)  # fmt: skip
FLOOR = Option(
    "//",
    ("floor-division",),
    with_(scores=lambda s: torch.floor(s["raw"] / s["left"].shape[-1] ** 0.5)),
)
FLOORED = tuple(
    Option(f"// of {name}", ("floor-division", slug), with_(scores=change))
    for name, slug, change in (
        ("d_k", "divided-by-d-k", lambda s: torch.floor(s["raw"] / s["left"].shape[-1])),
        (
            "the other root",
            "divided-by-another-number",
            lambda s: torch.floor(s["raw"] / s["sizes"].T ** 0.5),
        ),
    )
)
SCALE = Step("scale", (RIGHT_SCALE, *SCALES))
SCALE_OF_SCORES = Step("scale", (RIGHT_SCALE, *SCALES, FLOOR, *FLOORED))
UNSCALED = Step(
    "scale",
    (
        Option("", (), scaled(lambda d, z: 1.0)),
        Option("scaled", ("returned-wrong-stage",), scaled(lambda d, z: d**-0.5)),
    ),
)
AFTERWARDS = Option(
    "scaled after the softmax instead",
    ("scaled-after-softmax",),
    with_(scores=lambda s: s["raw"], after=lambda s: s["left"].shape[-1] ** -0.5),
)
SCALE_BEFORE_SOFTMAX = Step("scale", (RIGHT_SCALE, *SCALES, AFTERWARDS))
