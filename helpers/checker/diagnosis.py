"""From what an attempt was seen to do to the names of what its author did.

In this order: what the exception says, what the class is made of, which switches of the recipe
reproduce the numbers, what the trace tells of twins, and what is left behind. A name is offered
only where the catalogue has it for the exercise; where nothing fits, none is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from . import contracts, errors
from .catalogue import EXERCISES_OF
from .contracts import EQUAL, LECTURED, LESSON, Case
from .evidence import Evidence, NoDropout, drops
from .experiments import affine, mixes_batch
from .gaps import LOW_ENOUGH, alike, expected, gap, plain
from .guard import Guard
from .head_faults import head_faults
from .judging import judge
from .left_behind import left_behind
from .noticed import ratio_to
from .probes import ALL_NUMBERS, ORDINARY_NUMBERS, Record, as_function, fresh, run
from .projections import one_position, project_slugs, time_first
from .reading import Reader
from .search import agree
from .trace import Trace


def _faults(found) -> int:
    """How many of the switches are mistakes: some are another way to write the same."""
    return sum(bool(option.slugs) for _, option in found.options)


def _more_than_needed(found, others) -> bool:
    """Does another way give the same numbers with some of these names only?"""
    return any(set(other.slugs) < set(found.slugs) for other in others)


# A name that says nothing beside one of these: the way in which it comes about has that name.
ENTAILED_BY = {
    "factors-in-wrong-order": {"grid-over-features"},  # v @ grid is all that fits
    "divided-by-another-number": {"factors-in-wrong-order"},  # W @ x has another width
    "scaled-after-softmax": {"softmax-missing"},
}

TIME_FIRST = "time first"  # a label that no switch of the recipes has


@dataclass
class Diagnosis:
    """`slugs`, most specific first; `traced` of the ordinary case, for the report."""

    slugs: tuple[str, ...] = ()
    traced: Trace | None = None
    faults: tuple[tuple[str, ...], ...] = ()  # one a fault: slugs that the evidence allows
    labels: dict[str, str] = field(default_factory=dict)  # slug -> which way of doing it


@dataclass
class Doctor:
    """Diagnoses one attempt; may run it again, within the same time limit."""

    record: Record
    attempt: object
    guard: Guard
    trace: Trace | None = None
    evidence: Evidence | None = None
    reader: Reader | None = None
    sources: list[tuple[str, ...]] = field(default_factory=list)  # one a fault
    labels: dict[str, str] = field(default_factory=dict)

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
        facts = self.record.facts
        if facts is not None and facts.ok and facts.value.module:
            for slugs in head_faults(facts.value):
                self.name(slugs)
        ordinary = self.record.runs["ordinary"]
        if facts is not None and not facts.ok:
            self._by_error(facts.error)
        elif ordinary.outcome.error:
            self._raised(ordinary)
        elif ordinary.value is None:
            self.name(("nothing-returned",))
        else:
            self._numbers()
        for slugs in left_behind(self.record, {slug for source in self.sources for slug in source}):
            self.name(slugs)
        return Diagnosis(self._ranked(), self.trace, tuple(self.sources), self.labels)

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
        live = self.trace.live(outcome.value) if outcome.ok else []
        self.evidence = Evidence(
            self.exercise.name, case.sizes, self.trace.steps, live, outcome.warned
        )
        self.reader = Reader(self.exercise, self.record.runs, self.evidence)

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
        if pointed == ("key-not-transposed",) and self.evidence.multiplied_entries():
            pointed = ("elementwise-product",)
        if self.evidence.averaged_another_axis():
            pointed = ("mean-over-wrong-axis",)
        searched = self._equal_sizes(pointed)
        if searched:
            return
        self.name(pointed)

    def _equal_sizes(self, pointed) -> bool:
        """Where sizes agree the attempt may run; its numbers there say what it did."""
        lessons = (("lesson", sizes) for sizes in (LESSON, *LECTURED))
        for label, sizes in (*EQUAL.items(), *lessons):
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
        value = plain(value)
        if self.exercise.name == "project":
            slugs = project_slugs(case, value, True)
            if slugs:
                return self.name(slugs)
            return False
        if not isinstance(value, torch.Tensor):
            return False
        found = self.reader.read(case, value, equal=True)
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

    def _again(self, case: Case):
        got = self._run(case)
        return plain(got.value) if got.outcome.ok else None

    def _numbers(self):
        values = {name: r.value for name, r in self.record.runs.items() if r.outcome.ok}
        if self._random() or self._drops_everything():
            values = self._without_dropout()
            if values is None:
                self._fresh_layers()
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
            if raising and not self._sized_wrongly():
                self._raises_elsewhere(raising)
            return
        target = failing[0]
        if self.exercise.name == "project":
            self._project(values, target)
        else:
            self._search_numbers(values, target)
        if "other sizes" in raising and self.sources and not self._sized_wrongly():
            self._raises_elsewhere(raising)

    def _case(self, name) -> Case:
        return self.record.runs[name].case

    def _unloaded(self):
        facts = self.record.facts
        return facts is not None and facts.ok and not facts.value.loaded

    def _sized_wrongly(self):
        """A triangle of another size, which has been named, is why it raises at other sizes."""
        return any("mask-sized-by-wrong-number" in slugs for slugs in self.sources)

    def _raises_elsewhere(self, raising):
        """Right, or of one kind, at ordinary sizes, and an exception at others."""
        for name in raising:
            got = self.record.runs[name]
            if self._by_error(got.outcome.error):
                return
        if "other sizes" in raising or "T = block_size" in raising:
            self.name(("size-hard-coded",))
        elif any(step.name in ("squeeze", "squeeze_") for step in self.evidence.steps):
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

    def _drops_everything(self):
        """Dropout of all there is gives zeros, which are the same at each call."""
        value = self.record.runs["ordinary"].value
        zeros = isinstance(value, torch.Tensor) and not value.any()
        return zeros and any(drops(step) for step in self.evidence.live)

    def _without_dropout(self):
        """Numbers of the attempt with every dropout taken out, or None where that is not it."""
        dropped = any(drops(step) for step in self.evidence.steps)
        if not dropped or not self.name(("dropout-always-on",)):
            self.name(("random-on-every-call",))
            return None
        function = as_function(self.exercise, self.attempt, order=self.record.order)

        def calm(*args):
            with NoDropout():
                return function(*args)

        values = {}
        for name in ORDINARY_NUMBERS:
            if name in self.record.runs:
                got = run(calm, self._case(name), self.guard)
                if got.outcome.ok:
                    values[name] = got.value
        again = run(calm, self._case("ordinary"), self.guard)
        if not again.outcome.ok or not alike(plain(again.value), plain(values.get("ordinary"))):
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
        case = self._case(target)
        values = {name: self._read_off(value) for name, value in values.items()}
        value = values[target]
        if not isinstance(value, torch.Tensor):
            return
        others = {n: values[n] for n in ORDINARY_NUMBERS if n in values and n != target}
        if "one query" in others and not gap(self.exercise, self._case("one query"),
                                             others["one query"]).text:  # fmt: skip
            del others["one query"]  # that it is right may be a case of its own in the attempt
        found = self.reader.read(case, value, others, singles_only=bool(value.isnan().all()))
        if found and target == "ordinary":
            found = self._also_far_below(found, values, others)
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
        if value.shape == expected(self.exercise, case).shape and mixes_batch(case, self._again):
            self.name(("batch-mixed",))

    def _read_off(self, value):
        """Numbers to compare; a fill that is low enough is as good as -inf."""
        value = plain(value)
        if self.exercise.name == "causal_mask" and isinstance(value, torch.Tensor):
            return value.masked_fill(value <= LOW_ENOUGH, -contracts.INF)
        return value

    def _also_far_below(self, found, values, others):
        """One switch that is not the whole of it: a leak shows where all else is low."""
        far = values.get("far below")
        if not isinstance(far, torch.Tensor) or not far.isfinite().all():
            return found
        if len(found[0].options) > 1 or any(
            self.reader.explains(f, "far below", far) for f in found
        ):
            return found
        every = {**others, "far below": far}
        return self.reader.read(self._case("ordinary"), values["ordinary"], every) or found

    def _elsewhere(self, values, target):
        """Right on the ordinary case and wrong numbers at other sizes."""
        if target in ("one sequence", "one token"):
            return False
        if target in ("other sizes", "T = block_size"):
            return self.name(("size-hard-coded",))
        return False

    def _name_found(self, found):
        """One way to the numbers, or several between which nothing chooses."""
        best = found[0]
        for _, option in (pair for one in found for pair in one.options):
            for slug in option.slugs:
                told = self.labels.setdefault(slug, option.label)
                if told != option.label:
                    self.labels[slug] = ""  # two ways of doing it: the general sentence is true
        if len(best.options) == 1:
            slugs = dict.fromkeys(slug for f in found for slug in f.slugs)
            self.name(self.evidence.order_twins(slugs))
            return
        valid = [
            f
            for f in found
            if all(not option.slugs or self.reader.fits(option.slugs) for _, option in f.options)
        ] or found
        valid = self.evidence.borne_out(valid)
        fewest = min(_faults(f) for f in valid)
        shortest = [f for f in valid if _faults(f) == fewest]
        for one in [f for f in shortest if not _more_than_needed(f, shortest)][:3]:
            named = set(one.slugs)
            for _, option in one.options:
                if not any(ENTAILED_BY.get(slug, set()) & named for slug in option.slugs):
                    self.name(self.evidence.order_twins(option.slugs))

    def _axis_elsewhere(self, found, values):
        """The right numbers in another shape, for a batch of one or a single token."""
        for name in ("one sequence", "one token"):
            value = values.get(name)
            if isinstance(value, torch.Tensor) and name in self.record.runs:
                if self.reader.in_another_shape(found, name, value):
                    self.name(("axis-added-or-lost",))
                    return

    def _axes(self, case, value, others):
        """The right numbers, or those of another fault, in a wrong shape."""
        want = expected(self.exercise, case)
        if value.shape == want.shape:
            return False
        if value.numel() == want.numel():
            same = value.reshape(want.shape)
            if agree(time_first(value, want), want):
                self.labels["axis-added-or-lost"] = TIME_FIRST
                return self.name(("axis-added-or-lost",))
            if agree(same, want):
                return self.name(("axis-added-or-lost",))
            found = self.reader.read(case, same)
            if found and self.reader.fits(found[0].slugs):
                self._name_found(found)
                return self.name(("axis-added-or-lost",))
        for left in one_position(want):
            if left.shape == value.shape and agree(value, left):
                return self.name(("axis-added-or-lost",))
        return False

    def _by_ratio(self, case, value, others):
        """Scores that are the right ones times one number that no formula gives."""
        if self.exercise.name != "attention_scores":
            return False
        ratio = ratio_to(value, expected(self.exercise, case))
        other = others.get("other sizes")
        if ratio is None or not isinstance(other, torch.Tensor):
            return False
        second = ratio_to(other, expected(self.exercise, self._case("other sizes")))
        if second is None or abs(ratio - second) < 1e-3 * abs(ratio):
            return False
        return self.name(("divided-by-another-number",))

    def _project(self, values, target):
        case, value = self._case(target), plain(values[target])
        if target in ("one sequence", "one token") and isinstance(value, tuple):
            if any(part.dim() != 3 for part in value if isinstance(part, torch.Tensor)):
                self.name(("axis-added-or-lost",))
                return
        if not self.name(project_slugs(case, value, False)) and affine(case, self._again):
            self.name(("bias-left-on",))

    def _fresh_layers(self):
        """Layers made at each call, with the bias that they have by default."""
        if self.exercise.name == "project" and affine(self._case("ordinary"), self._again):
            self.name(("bias-left-on",))
