"""From what an attempt was seen to do to the names of what its author did.

In this order: what the exception says, what the class is made of, which switches of the recipe
reproduce the numbers, what the trace tells of twins, and what is left behind. A name is offered
only where the catalogue has it for the exercise; where nothing fits, none is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from . import contracts, errors, heads
from .catalogue import EXERCISES_OF
from .contracts import EQUAL, LESSON, ORDINARY, Case
from .guard import Guard
from .probes import (
    Record,
    as_function,
    expected,
    fresh,
    gap,
    judge,
    run,
)
from .recipes import Option, _scaled, added, filled
from .search import Found, Search, agree
from .trace import DIVISIONS, MASKING, PRODUCTS_BY_ENTRY, Step, Trace

ORDINARY_NUMBERS = ("ordinary", "other sizes", "one sequence", "T = block_size", "one query")
ALL_NUMBERS = (*ORDINARY_NUMBERS, "one token", "zeros", "far below")
NO_GRADIENT_ANYWAY = {
    "scores-ignored",
    "hard-maximum",
    "returned-wrong-stage",
    "floor-division",
    "only-itself",
}


@dataclass
class Diagnosis:
    """`slugs`, most specific first; `traced` of the ordinary case, for the report."""

    slugs: tuple[str, ...] = ()
    traced: Trace | None = None
    faults: tuple[tuple[str, ...], ...] = ()  # one a fault: slugs that the evidence allows


@dataclass
class Doctor:
    """Diagnoses one attempt; may run it again, within the same time limit."""

    record: Record
    attempt: object
    guard: Guard
    trace: Trace | None = None
    live: list[Step] = field(default_factory=list)
    sources: list[tuple[str, ...]] = field(default_factory=list)  # one a fault

    @property
    def exercise(self):
        return self.record.exercise

    def name(self, slugs) -> bool:
        """Add one fault: its slug, or the slugs between which the evidence does not choose."""
        fits = tuple(s for s in dict.fromkeys(slugs) if self.exercise.name in EXERCISES_OF[s])
        if fits and fits not in self.sources:
            self.sources.append(fits)
        return bool(fits)

    # ------------------------------------ the whole
    def examine(self) -> Diagnosis:
        if self.record.late:
            return Diagnosis()
        self._traced()
        self._class()
        ordinary = self.record.runs["ordinary"]
        if self.record.facts is not None and not self.record.facts.ok:
            self._by_error(self.record.facts.error)
        elif ordinary.outcome.error:
            self._raised(ordinary)
        elif ordinary.value is None:
            self.name(("nothing-returned",))
        else:
            self._numbers()
        self._side_effects()
        return Diagnosis(self._ranked(), self.trace, tuple(self.sources))

    def _ranked(self):
        most = 4 if len(self.sources) > 1 else 3
        firsts = [s[0] for s in self.sources]
        rest = [slug for s in self.sources for slug in s[1:]]
        return tuple(dict.fromkeys(firsts + rest))[:most]

    def _traced(self):
        case = self.record.runs["ordinary"].case
        function = as_function(self.exercise, self.attempt, order=self.record.order)
        self.trace = Trace()

        def watched(*args):
            with self.trace:
                return function(case.sizes, *args)

        outcome = self.guard.call(watched, *fresh(case))
        self.live = self.trace.live(outcome.value) if outcome.ok else []
        self.warned = outcome.warned

    # ------------------------------------ exceptions
    def _by_error(self, error):
        return error is not None and self.name(errors.by_text(error))

    def _raised(self, ordinary):
        """The attempt raises at sizes that all differ: read the error, then try equal sizes."""
        if self._by_error(ordinary.outcome.error):
            return
        facts = self.record.facts
        if facts is not None and facts.value.module and not facts.value.loaded:
            if self.sources:
                return
        pointed = errors.by_call(self.trace.failed, ordinary.case.sizes)
        if pointed == ("key-not-transposed",) and self._multiplied_entries(ordinary.case.sizes):
            pointed = ("elementwise-product",)
        searched = self._equal_sizes(pointed)
        if searched:
            return
        self.name(pointed)

    def _multiplied_entries(self, sizes):
        """Did q meet k entry by entry before the product that raised?"""
        features = (sizes.B, sizes.T, sizes.H)
        return any(
            step.name in PRODUCTS_BY_ENTRY and step.shapes[:2] == (features, features)
            for step in self.trace.steps
        )

    def _equal_sizes(self, pointed) -> bool:
        """Where sizes agree the attempt may run; its numbers there say what it did."""
        for label, sizes in (*EQUAL.items(), ("lesson", LESSON)):
            if label == "T = block_size" and self.exercise.name != "Head":
                continue
            case = contracts.case(self.exercise, label, sizes, 50)
            got = self._run(case)
            if self.guard.late:
                return False
            if got.outcome.error or not isinstance(got.value, torch.Tensor | tuple | list):
                continue
            if not gap(self.exercise, case, got.value).text:
                if pointed:
                    return self.name(pointed)
                return self.name(self._right_only_at(label))
            if self._search_equal(case, got.value, label, pointed):
                return True
        return False

    def _right_only_at(self, label):
        return {
            "lesson": ("size-hard-coded",),
            "T = block_size": ("mask-not-sliced",),
            "T = head_size": ("mask-sized-by-wrong-number",),
            "B = T": ("mask-sized-by-wrong-number",),
            "T = C": ("mask-sized-by-wrong-number",),
            "one sequence": ("axis-added-or-lost",),
        }.get(label, ())

    def _search_equal(self, case, value, label, pointed):
        value = _plain(value)
        if self.exercise.name == "project":
            slugs = project_slugs(case, value, True)
            if slugs:
                return self.name(slugs)
            return False
        if not isinstance(value, torch.Tensor):
            return False
        found = self._search(case, value, equal=True)
        if not found:
            return False
        if pointed:
            agreeing = [f for f in found if set(pointed) & set(f.slugs)]
            if not agreeing:
                return False
            found = agreeing
        self._name_found(found)
        if label == "lesson" and not pointed:
            self.name(("size-hard-coded",))
        return bool(self.sources)

    # ------------------------------------ numbers
    def _run(self, case: Case):
        return run(as_function(self.exercise, self.attempt, order=self.record.order), case,
                   self.guard)  # fmt: skip

    def _numbers(self):
        values = {name: r.value for name, r in self.record.runs.items() if r.outcome.ok}
        if self._random():
            values = self._without_dropout()
            if values is None:
                return
        values = self._unpaired(values)
        failing = [
            name
            for name in ALL_NUMBERS
            if name in values and gap(self.exercise, self._case(name), values[name]).text
        ]
        raising = [n for n, r in self.record.runs.items() if r.outcome.error and n in ALL_NUMBERS]
        if self._unloaded():
            return
        if self.exercise.name == "Head" and "ordinary" in failing:
            if "T = block_size" in values and "T = block_size" not in failing:
                self.name(("mask-not-sliced",))
                return
        if not failing:
            if raising:
                self._raises_elsewhere(raising)
            return
        target = failing[0]
        if self.exercise.name == "project":
            self._project(values, target)
        else:
            self._search_numbers(values, target)
        if raising and self.sources:
            self._raises_elsewhere(raising)

    def _case(self, name) -> Case:
        return self.record.runs[name].case

    def _unloaded(self):
        facts = self.record.facts
        return facts is not None and facts.ok and not facts.value.loaded

    def _raises_elsewhere(self, raising):
        """Right, or of one kind, at ordinary sizes, and an exception at others."""
        for name in raising:
            got = self.record.runs[name]
            if self._by_error(got.outcome.error):
                return
        if "other sizes" in raising or "T = block_size" in raising:
            self.name(("size-hard-coded",))
        elif any(step.name in ("squeeze", "squeeze_") for step in self.trace.steps):
            self.name(("axis-added-or-lost",))

    def _random(self):
        again = self.record.again
        if again is None:
            return False
        asked = {f.question for f in judge(self.record)}
        if self.exercise.name != "Head":
            return "repeatable" in asked and again.outcome.drew
        if "as built" in asked:
            return self.record.built.value[2]
        return "repeatable" in asked and not self._unloaded()

    def _without_dropout(self):
        """Numbers of the attempt with every dropout taken out, or None where that is not it."""
        dropped = any(_drops(step) for step in self.trace.steps)
        if not dropped or not self.name(("dropout-always-on",)):
            self.name(("random-on-every-call",))
            return None
        function = as_function(self.exercise, self.attempt, order=self.record.order)

        def calm(*args):
            with _NoDropout():
                return function(*args)

        values = {}
        for name in ORDINARY_NUMBERS:
            if name in self.record.runs:
                got = run(calm, self._case(name), self.guard)
                if got.outcome.ok:
                    values[name] = got.value
        again = run(calm, self._case("ordinary"), self.guard)
        if not again.outcome.ok or not agree_any(again.value, values.get("ordinary")):
            return None
        return values

    def _unpaired(self, values):
        """An output together with the weights: name it, and go on with the output."""
        first = values.get("ordinary")
        if self.exercise.name == "project" or not isinstance(first, tuple | list):
            return values
        tensors = [isinstance(part, torch.Tensor) for part in first]
        if len(first) < 2 or not all(tensors):
            return values
        self.name(("returned-a-pair",))
        shape = tuple(expected(self.exercise, self._case("ordinary")).shape)
        place = next((i for i, part in enumerate(first) if tuple(part.shape) == shape), 0)
        return {
            name: value[place] if isinstance(value, tuple | list) and len(value) > place else value
            for name, value in values.items()
        }

    def _search_numbers(self, values, target):
        value, case = _plain(values[target]), self._case(target)
        if not isinstance(value, torch.Tensor):
            return
        others = {
            name: _plain(values[name])
            for name in ORDINARY_NUMBERS
            if name in values and name != target
        }
        found = self._search(case, value, others, singles_only=self._nothing_to_read(value))
        if found:
            self._name_found(found)
            self._axis_elsewhere(found[0], values)
            return
        if self._axes(case, value, others):
            return
        if target != "ordinary" and self._elsewhere(values, target):
            return
        if self._by_ratio(case, value, others):
            return
        if value.shape == expected(self.exercise, case).shape and self._mixes_batch(case):
            self.name(("batch-mixed",))

    def _nothing_to_read(self, value):
        return bool(value.isnan().all())

    def _elsewhere(self, values, target):
        """Right on the ordinary case and wrong numbers at other sizes."""
        if target in ("one sequence", "one token"):
            return False
        if target in ("other sizes", "T = block_size"):
            return self.name(("size-hard-coded",))
        return False

    def _search(self, case, value, others=None, equal=None, singles_only=False) -> list[Found]:
        if equal is None:
            equal = False
        search = Search(self.exercise, self._extra_options())
        for turned in (1,) if singles_only else (1, 2):
            found = search.run(case, value, turned, equal)
            found = [f for f in found if self._borne_out(f)]
            for name, other in (others or {}).items():
                if isinstance(other, torch.Tensor):
                    found = [f for f in found if self._explains(search, f, name, other)]
            found = [f for f in found if self._valid(f)] or found
            if found:
                return found
        return []

    def _explains(self, search, found, name, value):
        case = self._case(name)
        result, _ = search.result(found, case)
        if result is not None and result.shape != value.shape:
            if result.numel() == value.numel():
                value = value.reshape(result.shape)
        return search.explains(found, case, value)

    def _valid(self, found):
        return any(self.exercise.name in EXERCISES_OF[slug] for slug in found.slugs)

    def _borne_out(self, found):
        """NaN looks like NaN: what makes it must be seen in the trace."""
        if "zero-times-inf" in found.slugs:
            return any(
                step.name in PRODUCTS_BY_ENTRY and _holds(step, "nan") for step in self.trace.steps
            )
        return True

    def _name_found(self, found):
        """One way to the numbers, or several between which nothing chooses."""
        best = found[0]
        if len(best.options) == 1:
            self.name(self._by_trace(dict.fromkeys(slug for f in found for slug in f.slugs)))
            return
        valid = [
            f for f in found if all(self._fitting(option.slugs) for _, option in f.options)
        ] or found
        for one in valid[:3]:
            for _, option in one.options:
                self.name(self._by_trace(option.slugs))

    def _fitting(self, slugs):
        return any(self.exercise.name in EXERCISES_OF[slug] for slug in slugs)

    def _axis_elsewhere(self, found, values):
        """The right numbers in another shape, for a batch of one or a single token."""
        search = Search(self.exercise, self._extra_options())
        for name in ("one sequence", "one token"):
            value = values.get(name)
            if isinstance(value, torch.Tensor) and name in self.record.runs:
                result, _ = search.result(found, self._case(name))
                if result is not None and result.shape != value.shape:
                    if result.numel() == value.numel():
                        self.name(("axis-added-or-lost",))
                        return

    def _axes(self, case, value, others):
        """The right numbers, or those of another fault, in a wrong shape."""
        want = expected(self.exercise, case)
        if value.shape == want.shape:
            return False
        if value.numel() == want.numel():
            same = value.reshape(want.shape)
            if agree(same, want) or agree(_time_first(value, want), want):
                return self.name(("axis-added-or-lost",))
            found = self._search(case, same)
            if found and self._valid(found[0]):
                self._name_found(found)
                return self.name(("axis-added-or-lost",))
        for left in _one_position(want):
            if left.shape == value.shape and agree(value, left):
                return self.name(("axis-added-or-lost",))
        return False

    def _by_ratio(self, case, value, others):
        """Scores that are the right ones times one number that no formula gives."""
        if self.exercise.name != "attention_scores":
            return False
        ratio = _ratio(value, expected(self.exercise, case))
        other = others.get("other sizes")
        if ratio is None or not isinstance(other, torch.Tensor):
            return False
        second = _ratio(other, expected(self.exercise, self._case("other sizes")))
        if second is None or abs(ratio - second) < 1e-3 * abs(ratio):
            return False
        return self.name(("divided-by-another-number",))

    def _mixes_batch(self, case):
        """Does a change in one sequence move what another gets?"""
        if not isinstance(case.args[0], torch.Tensor) or case.sizes.B < 2:
            return False
        args = tuple(
            a if a.dim() < 3 else torch.cat([a[:1], a[1:] + contracts.normal(*a[1:].shape, seed=5)])
            for a in case.args
        )
        first, second = self._run(case), self._run(Case("changed", case.sizes, args))
        if not (first.outcome.ok and second.outcome.ok):
            return False
        a, b = _plain(first.value), _plain(second.value)
        if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
            return False
        if a.isnan().any() or a.dim() < 2:
            return False
        return a.shape == b.shape and not agree(a[0], b[0])

    def _project(self, values, target):
        case, value = self._case(target), _plain(values[target])
        if target in ("one sequence", "one token") and isinstance(value, tuple):
            if any(part.dim() != 3 for part in value if isinstance(part, torch.Tensor)):
                self.name(("axis-added-or-lost",))
                return
        self.name(project_slugs(case, value, False))

    # ------------------------------------ the trace
    def _extra_options(self):
        """Fills and scales that the attempt was seen to use, as further switches."""
        fills, scales = [], []
        for step in self.live:
            for number in _scalars(step):
                if step.name in MASKING or step.name.startswith(
                    ("full", "new_full", "add", "sub", "mul", "__mul", "__rmul")
                ):
                    if -9_999 < number < -1e-3:
                        fills.append(number)
                    elif 1e-3 < number < 9_999:  # it may be subtracted
                        fills.append(-number)
                if step.name in DIVISIONS and abs(number) > 1e-6:
                    scales.append(1 / number)
                if step.name in PRODUCTS_BY_ENTRY and number > 0:
                    scales.append(number)
        fills = [f for f in dict.fromkeys(fills) if f not in (-1.0, -10.0, -100.0)][:3]
        return {
            "fill": tuple(
                Option(f"{f} {how}", ("fill-not-low-enough",), make(f))
                for f in fills
                for how, make in (("filled", filled), ("added", added))
            ),
            "scale": tuple(
                Option(f"times {s}", self._constant(s), _scaled(lambda d, z, s=s: s))
                for s in list(dict.fromkeys(scales))[:4]
                if s != 1.0
            ),
        }

    def _constant(self, scale):
        """A scale that does not follow the sizes: a size of the lessons, or another number."""
        if self.exercise.name in ("sdpa", "sdpa_decode", "raw_scores") or scale >= 1:
            return ()
        lesson = [size**0.5 for size in (4, 8, 16, 64, 384)] + [8.0, 16.0, 64.0, 384.0]
        both = ("size-hard-coded", "divided-by-another-number")
        return both if any(abs(1 / scale - n) < 1e-3 for n in lesson) else both[::-1]

    def _by_trace(self, slugs):
        """Order twins by what the calls show; a twin that they exclude is left out."""
        slugs = tuple(slugs)
        if "sees-the-future" in slugs and "mask-result-thrown-away" in slugs:
            if self._mask_dropped():
                return _first(slugs, "mask-result-thrown-away")
            return _without(slugs, "mask-result-thrown-away")
        if "zero-instead-of-minus-inf" in slugs and "tiny-fill" in slugs:
            tiny = any(
                0 < abs(n) < 1e-3 for s in self.live if s.name not in DIVISIONS for n in _scalars(s)
            )
            return _without(slugs, "zero-instead-of-minus-inf" if tiny else "tiny-fill")
        if "divided-by-d-k" in slugs:
            return _without(slugs, "divided-by-d-k" if self._scalings() > 1 else "scaled-twice")
        if "scores-transposed" in slugs:
            if self.exercise.name in ("attention_scores", "raw_scores"):
                return _without(slugs, "q-k-swapped")
            if self.exercise.name == "sdpa":
                return _without(slugs, "scores-transposed")
        if "softmax-without-dim" in slugs:
            missing = any("Implicit dimension" in text for text in self.warned)
            return _without(slugs, "softmax-over-batch" if missing else "softmax-without-dim")
        if slugs == ("not-scaled",) and self._divided_by_one():
            return ("root-miswritten", "not-scaled")
        if slugs == ("sees-the-future",) and self._filled_with_zero():
            return ("zero-instead-of-minus-inf", "sees-the-future")
        if set(slugs) == {"softmax-over-queries", "columns-normalised"}:
            softmax = any(s.name in ("softmax", "exp") for s in self.live)
            return _without(slugs, "columns-normalised" if softmax else "softmax-over-queries")
        return slugs

    def _mask_dropped(self):
        T = self.record.runs["ordinary"].case.sizes.T
        for step in self.trace.steps:
            if step.live or not step.shapes or step.raised:
                continue
            if step.name in MASKING and step.shapes[0][-2:] == (T, T) and len(step.shapes[0]) > 2:
                return True
            if step.name in ("add", "add_", "__add__", "sub", "__radd__") and _holds(step, "inf"):
                return True
        return False

    def _scalings(self):
        """How many live calls multiply or divide by a number; the fused call is one more."""
        count = 0
        for step in self.live:
            if step.name == "scaled_dot_product_attention" and step.kwargs.get("scale") is None:
                count += 1
            if step.name in DIVISIONS | PRODUCTS_BY_ENTRY and step.shapes and step.shapes[0]:
                count += any(n not in (0.0, 1.0) for n in _scalars(step))
        return count

    def _divided_by_one(self):
        return any(
            1.0 in _scalars(step)
            for step in self.live
            if step.name in DIVISIONS | PRODUCTS_BY_ENTRY
            and step.shapes
            and len(step.shapes[0]) > 2
        )

    def _filled_with_zero(self):
        return self.exercise.name == "averaging_matrix" and any(
            step.name.startswith("masked_fill") and 0.0 in _scalars(step) for step in self.live
        )

    # ------------------------------------ the class
    def _class(self):
        """What a Head consists of."""
        facts = self.record.facts
        if facts is None or not facts.ok:
            return
        f = facts.value
        if not f.module:
            return
        if f.biases:
            self.name(("bias-left-on",))
        if f.hidden and not f.loaded:
            self.name(("layers-not-registered",))
        elif f.shared:
            self.name(("one-projection-for-all",))
        elif not f.loaded and any(s == (ORDINARY.C, ORDINARY.H) for s in f.shapes.values()):
            self.name(("projection-transposed",))
        self._extra_parameters(f)
        if f.tril == "parameter":
            self.name(("constant-as-parameter", "tril-not-a-buffer"))
        elif f.tril != "buffer":
            self.name(("tril-not-a-buffer",))
        elif not self.sources or f.tril_shape:
            self._tril_size(f)

    def _extra_parameters(self, f):
        if not f.loaded:
            return
        for name, shape in f.extra.items():
            if name == "tril":
                continue
            constant = sum(shape) <= 1 or shape[-2:] in (
                (ORDINARY.n, ORDINARY.n),
                (ORDINARY.T, ORDINARY.T),
            )
            self.name(("constant-as-parameter",) if constant else ("extra-step-added",))

    def _tril_size(self, f):
        n = ORDINARY.n
        shape = f.tril_shape
        if shape in ((n, n), (1, n, n)) or len(shape) < 2:
            return
        if shape[-1] in (LESSON.T, LESSON.H, LESSON.C, LESSON.B):
            self.name(("size-hard-coded",))
        else:
            self.name(("mask-sized-by-wrong-number",))

    # ------------------------------------ what is left behind
    def _side_effects(self):
        asked = {f.question for f in judge(self.record)}
        if "arguments" in asked:
            self.name(("input-changed-in-place",))
        named = {slug for source in self.sources for slug in source}
        if "gradient" in asked and self.record.gradient is not None:
            error = self.record.gradient.error
            if error:
                if not self.sources:
                    self._by_error(error)
            elif self._cut(named, self.record.gradient.value):
                self.name(("gradient-cut",))
        if "learning" in asked and self._cut(named, tuple(self._reached())):
            self.name(("gradient-cut",))
        if "later calls" in asked and not (named & {"mask-not-sliced", "random-on-every-call",
                                                    "dropout-always-on"}):  # fmt: skip
            if not self.record.runs["ordinary"].outcome.error:
                if not self._late_for_another_reason(named):
                    self.name(("state-kept-between-calls",))

    def _late_for_another_reason(self, named):
        error = self.record.later.error
        return error is not None and bool(named)

    def _reached(self):
        learned = self.record.learning.value
        return ["reaches" if ok else "none" for name, ok in learned.items() if "bias" not in name]

    def _cut(self, named, gradients):
        """Is a missing gradient a fault of its own, and not what another fault entails?"""
        if "nan" in gradients:
            return False
        right = all(
            run.outcome.ok and not gap(self.exercise, run.case, run.value).text
            for name, run in self.record.runs.items()
            if name in ORDINARY_NUMBERS
        )
        if all(g == "none" for g in gradients):
            return right or bool(named) and not named & NO_GRADIENT_ANYWAY
        return right


# ---------------------------------------- small things
def _first(slugs, slug):
    return (slug, *(s for s in slugs if s != slug))


def _without(slugs, slug):
    return tuple(s for s in slugs if s != slug)


def _plain(value):
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu").to(torch.float32)
    if isinstance(value, tuple | list):
        return tuple(_plain(part) for part in value)
    return value


def _scalars(step: Step):
    """Plain numbers of a call, and tensors without axes, which are numbers too."""
    found = list(step.numbers)
    for tensor in step.tensors:
        if tensor.dim() == 0 and not tensor.is_meta:
            found.append(float(tensor.detach()))
    return found


def _holds(step, what):
    test = torch.isnan if what == "nan" else torch.isinf
    things = [step.out] if what == "nan" else step.tensors
    return any(
        isinstance(t, torch.Tensor) and t.is_floating_point() and bool(test(t.detach()).any())
        for t in things
    )


def _drops(step: Step):
    if step.name in ("scaled_dot_product_attention",):
        return bool(step.kwargs.get("dropout_p")) or any(0 < n < 1 for n in step.numbers[:1])
    if step.name in ("bernoulli", "bernoulli_"):
        return True
    if "dropout" in step.name:
        return step.kwargs.get("training", True)
    return step.name in ("rand", "rand_like")


class _NoDropout(torch.overrides.TorchFunctionMode):
    """Every dropout hands its input through, so that what else is off can be read."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(function, "__name__", "")
        if "dropout" in name and args:
            return args[0]
        if name == "scaled_dot_product_attention":
            kwargs["dropout_p"] = 0.0
            args = (*args[:4], *args[5:]) if len(args) > 4 else args
        return function(*args, **kwargs)


def agree_any(a, b):
    a, b = _plain(a), _plain(b)
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return agree(a, b)
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return all(agree_any(x, y) for x, y in zip(a, b, strict=True))
    return False


def _ratio(value, want):
    """The one number by which `value` is `want`, or None."""
    if value.shape != want.shape:
        return None
    ratio = float((value * want).sum() / (want * want).sum())
    return ratio if ratio and agree(value, want * ratio, rtol=1e-3) else None


def _time_first(value, want):
    """Batch and time merged with time as the outer one, read back."""
    if want.dim() != 3:
        return value
    B, T, width = want.shape
    return value.reshape(T, B, width).transpose(0, 1)


def _one_position(want):
    """What is left of a right answer when an axis is averaged away or one position is taken."""
    for axis in range(1, want.dim()):
        for keep in (False, True):
            yield want.mean(axis, keepdim=keep)
            yield want.sum(axis, keepdim=keep)
    if want.dim() > 2:
        for place in (-1, 0):
            yield want[:, place]
            yield want[:, place, None]


def project_slugs(case: Case, value, equal: bool) -> tuple[str, ...]:
    """What three tensors are, when they are not x @ Wq, x @ Wk and x @ Wv."""
    x, Wq, Wk, Wv = case.args
    want = (x @ Wq, x @ Wk, x @ Wv)
    if isinstance(value, torch.Tensor):
        if value.shape == (3, *want[0].shape) and agree(value, torch.stack(want)):
            return ("axis-added-or-lost",)
        return ()
    if not isinstance(value, tuple) or len(value) != 3:
        return ()
    if not all(isinstance(part, torch.Tensor) for part in value):
        return ()
    slugs: list[str] = []
    which = []
    for part, right in zip(value, want, strict=True):
        which.append(next((i for i, w in enumerate(want) if agree(part, w)), None))
        if which[-1] is None:
            slugs += _projection_slugs(case, part, right, which, equal)
    if None not in which:
        return {
            (1, 0, 2): ("q-k-swapped",),
            (0, 2, 1): ("k-v-swapped",),
        }.get(tuple(which), ("one-projection-for-all",) if len(set(which)) < 3 else ())
    if slugs and which.count(None) == 3 and len({tuple(p.flatten().tolist()) for p in value}) == 1:
        slugs.append("one-projection-for-all")
    return tuple(dict.fromkeys(slugs))


def _projection_slugs(case, part, right, which, equal):
    """One of the three: which other way of projecting gives it."""
    x, *weights = case.args
    for change, slug in _OTHER_PROJECTIONS:
        for W in weights:
            try:
                if agree(part, change(x, W)):
                    return [slug]
            except RuntimeError:
                continue
    if equal:
        for A in weights:
            for B in weights:
                for change, slug in _CHAINS:
                    try:
                        if agree(part, change(x, A, B)):
                            return [slug]
                    except RuntimeError:
                        continue
    p = x @ weights[0]
    if part.numel() == p.numel() and part.shape != p.shape:
        if any(agree(part.reshape(p.shape), x @ W) for W in weights):
            return ["axis-added-or-lost"]
    if part.shape == right.shape:
        for W in weights:
            shift = part - x @ W
            if agree(shift, shift[:1, :1].expand_as(shift)):
                return ["bias-left-on"]
    for W in weights:
        for left in _one_position(x @ W):
            if left.shape == part.shape and agree(part, left):
                return ["axis-added-or-lost"]
    return []


def _layer_norm(t):
    return torch.nn.functional.layer_norm(t, t.shape[-1:])


_OTHER_PROJECTIONS = (
    (lambda x, W: (x @ W).relu(), "extra-step-added"),
    (lambda x, W: (x @ W).tanh(), "extra-step-added"),
    (lambda x, W: (x @ W).sigmoid(), "extra-step-added"),
    (lambda x, W: torch.nn.functional.gelu(x @ W), "extra-step-added"),
    (lambda x, W: (x @ W).softmax(-1), "extra-step-added"),
    (lambda x, W: _layer_norm(x @ W), "extra-step-added"),
    (lambda x, W: _layer_norm(x) @ W, "extra-step-added"),
    (lambda x, W: x @ W / W.shape[1] ** 0.5, "extra-step-added"),
    (lambda x, W: x @ W / W.shape[1] ** 0.25, "extra-step-added"),
    (lambda x, W: torch.nn.functional.normalize(x @ W, dim=-1), "extra-step-added"),
    (lambda x, W: x + x @ W, "extra-step-added"),
    (lambda x, W: x[0] @ W, "first-batch-row-only"),
    (lambda x, W: x[:1] @ W, "first-batch-row-only"),
    (lambda x, W: (x[:1] @ W).expand(x.shape[0], -1, -1), "first-batch-row-only"),
    (lambda x, W: torch.cat([x[:1] @ W, 0 * (x[1:] @ W)]), "first-batch-row-only"),
    (lambda x, W: x @ W.T, "projection-transposed"),
    (lambda x, W: W @ x, "factors-in-wrong-order"),
    (lambda x, W: W.T @ x, "factors-in-wrong-order"),
    (lambda x, W: x * W, "elementwise-product"),
    (lambda x, W: x * W.T, "elementwise-product"),
)
_CHAINS = (
    (lambda x, A, B: x @ A @ B, "projections-chained"),
    (lambda x, A, B: x @ A.T @ B, "projections-chained"),
)


__all__ = ["Diagnosis", "Doctor", "heads"]
