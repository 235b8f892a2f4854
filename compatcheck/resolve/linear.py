"""The engine's choice of a kernel for a quantised linear layer, at one release."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, NamedTuple

from compatcheck.matrix.linear_model import Compute, Linear, LinearKernel, LinearWords
from compatcheck.matrix.model import FactCase, JointRule, PriorityCase
from compatcheck.matrix.versions import parse
from compatcheck.resolve.backend import Check, in_release, of_release
from compatcheck.resolve.conditions import UNKNOWN, Compiler, Predicate
from compatcheck.resolve.derived import DecisionList
from compatcheck.resolve.refusals import FirstOf
from compatcheck.resolve.words import asked_fields, fill, placeholders

_CACHE_LIMIT = 65536


class LinearJudgement(NamedTuple):
    """What the engine says of one kernel: the gate that refuses it and its words, or what is missing to tell."""

    kernel: str
    rule: JointRule | None
    words: str | None
    missing: frozenset[str]

    @property
    def accepted(self) -> bool | None:
        """True, False, or None where a fact is missing."""
        return False if self.words is not None else (None if self.missing else True)


class LinearSelection(NamedTuple):
    """What the engine picks. `error` is its exception and text where it picks nothing."""

    selected: str | None
    judgements: list[LinearJudgement]
    missing: frozenset[str]
    error: tuple[str, str] | None = None
    forced: bool = False
    unmatched: bool = False
    """--linear-backend names no kernel for this layer, and the release picks as if it were not given."""

    @property
    def candidates(self) -> tuple[str, ...]:
        """Kernels that no gate refuses, in the engine's order."""
        return tuple(j.kernel for j in self.judgements if j.accepted)

    @property
    def rejected(self) -> dict[str, tuple[str, ...]]:
        """Kernels that it passes over, with its words."""
        return {j.kernel: (j.words,) for j in self.judgements if j.words is not None}


class LinearProgram:
    """The selector of NVFP4 linear kernels of one engine release."""

    def __init__(self, linear: Linear, release: str, compiler: Compiler) -> None:
        self.linear = linear
        self.release = release
        self.kernels = [name for name, k in linear.kernels.items() if in_release(k.since, k.until, release)]
        self.options = {
            name: option.kernels
            for name, option in linear.options.items()
            if in_release(option.since or "0", option.until, release)
        }
        self._words: dict[int, LinearWords | None] = {}
        self._selected: dict[Any, LinearSelection] = {}
        self._equal: dict[tuple[Any, ...], LinearSelection] = {}
        self._forced = self._decisions(of_release(linear.forced, release), compiler)
        self._cases = self._order_cases()
        numbered = [FactCase(value=i, when=case.when) for i, case in enumerate(self._cases)]
        self._order = compiler.once("order", tuple(self._cases), partial(DecisionList, numbered, compiler))
        self._gates = {name: self._checks(name, compiler) for name in self.kernels}
        self._compute = {
            name: self._decisions(of_release(linear.kernels[name].compute_where, release), compiler)
            for name in self.kernels
        }

    @staticmethod
    def _decisions(cases: list[FactCase], compiler: Compiler) -> DecisionList:
        return compiler.once("fact", tuple(cases), partial(DecisionList, cases, compiler))

    def _order_cases(self) -> list[PriorityCase]:
        at = parse(self.release)
        lists = [entry for entry in self.linear.orders if parse(entry.since) <= at]
        return of_release(max(lists, key=lambda e: parse(e.since)).cases, self.release) if lists else []

    def _checks(self, name: str, compiler: Compiler) -> list[Check]:
        kernel: LinearKernel = self.linear.kernels[name]
        parent = self.linear.kernels[kernel.extends].gates if kernel.extends else []
        rules = of_release([*kernel.gates, *parent], self.release)
        return compiler.once("gates", tuple(rules), partial(self._compiled, rules, compiler))

    @staticmethod
    def _compiled(rules: list[JointRule], compiler: Compiler) -> list[Check]:
        checks: list[Check] = []
        earlier: list[Predicate] = []
        for rule in rules:
            own = compiler.stated(rule.when)
            checks.append(Check(rule.code, rule.words, FirstOf(list(earlier), own), rule))
            earlier.append(own)
        return checks

    def compute(self, name: str, facts: Any) -> Compute:
        """Return how a kernel computes a layer: native, weight-only or emulated."""
        elsewhere: Any = self._compute[name].value(facts)
        return self.linear.kernels[name].compute if elsewhere in (None, UNKNOWN) else elsewhere

    def sure_of_compute(self, name: str, facts: Any) -> bool:
        """Return whether no missing fact could change how a kernel computes a layer."""
        return self._compute[name].value(facts) is not UNKNOWN

    def named_by(self, option: str) -> list[str]:
        """Return the kernels that a value of --linear-backend names and that some order of this release holds."""
        in_order: set[str] = set()
        for case in self._cases:
            in_order.update(case.order)
            if case.when is None:
                break  # nothing after a line without a condition is ever read
        return [name for name in self.options.get(option, ()) if name in in_order and name in self.kernels]

    def words(self, lines: list[LinearWords]) -> LinearWords | None:
        """Return what this release says, or None where it says nothing; `lines` are those of an entry of `linear`."""
        try:
            return self._words[id(lines)]
        except KeyError:
            said = self._words[id(lines)] = next(iter(of_release(lines, self.release)), None)
            return said

    @property
    def stated(self) -> tuple[int, ...]:
        """What tells releases apart that decide by other entries: what the same entries compile to is one object."""
        compiled = (self._forced, self._order, *self._gates.values(), *self._compute.values())
        return tuple([id(one) for one in compiled])

    # ----------------------------------------------------------------------------------------- asking

    def gates(self, name: str) -> list[Check]:
        """Return a kernel's gates in the order in which they are asked."""
        return self._gates[name]

    def judge(self, name: str, facts: Any) -> LinearJudgement:
        """Return what the engine says of one kernel; gates are asked in its order and the first that holds speaks."""
        missing: frozenset[str] = frozenset()
        for check in self._gates[name]:
            refuses = check.refuses(facts)
            if refuses:
                return LinearJudgement(name, check.rule, check.say(facts), frozenset())
            if refuses is None:
                missing |= check.missing(facts)
        return LinearJudgement(name, None, None, missing)

    def order(self, facts: Any) -> list[str] | None:
        """Return the order in which kernels are tried where none is forced, or None where a fact is missing."""
        index = self._order.value(facts)
        if index is UNKNOWN:
            return None
        return [name for name in self._cases[index].order if name in self.kernels] if index is not None else []

    def select(self, facts: Any) -> LinearSelection:
        """Return what the engine picks for a layer: the kernel, every refusal, and what is missing to be sure.

        Equal selections are one object.
        """
        key = self._key(facts)
        selection = self._selected.get(key)
        if selection is None:
            if len(self._selected) > _CACHE_LIMIT:
                self._selected.clear()
                self._equal.clear()
            made = self._select(facts)
            judged = tuple([(j.kernel, id(j.rule), j.words, j.missing) for j in made.judgements])
            value = (made.selected, judged, made.missing, made.error, made.forced, made.unmatched)
            selection = self._selected[key] = self._equal.setdefault(value, made)
        return selection

    @cached_property
    def _key(self) -> Callable[[Any], Any]:
        """Gives the values of all fields that a selection, and the words that it is told in, depend on."""
        linear = self.linear
        texts = [linear.none_words, linear.forced_words, linear.scheme_words, linear.disabled_words]
        words = [text.words for lines in (*texts, linear.unmatched_words) for text in lines]
        fields = {"linear", "linear_backend", "disabled_kernels"} | self._forced.fields | self._order.fields
        fields = fields.union(*[asked_fields(placeholders(text)) for text in words])
        fields = fields.union(*[check.told for checks in self._gates.values() for check in checks])
        return attrgetter(*sorted(fields))

    @cached_property
    def shown(self) -> Callable[[Any], Any]:
        """Gives the values of the fields that findings about a selection name beside its own words."""
        words = [text.words for lines in (self.linear.ignored_words, self.linear.overridden_words) for text in lines]
        fields = {"engine", "linear", "sm", "linear_backend", "nvfp4_gemm_backend", "use_batch_invariant"}
        return attrgetter(*sorted(fields.union(*[asked_fields(placeholders(text)) for text in words])))

    def _select(self, facts: Any) -> LinearSelection:
        forced = self._forced.value(facts)
        if forced is UNKNOWN:
            return LinearSelection(None, [], self._forced.missing(facts))
        if forced is not None:
            return self._force(str(forced), facts)
        index = self._order.value(facts)
        if index is UNKNOWN:
            return LinearSelection(None, [], self._order.missing(facts))
        order = [name for name in self._cases[index].order if name in self.kernels] if index is not None else []
        unmatched = False
        if facts.linear_backend is not None:
            wanted = [name for name in order if name in self.options.get(facts.linear_backend, ())]
            if not wanted:
                refusal = self.words(self.linear.unmatched_words)
                if refusal is not None:
                    return LinearSelection(None, [], frozenset(), (refusal.exception, fill(refusal.words, facts)))
            unmatched = not wanted
            order = wanted or order
        return self._walk(order, facts, unmatched)

    def _force(self, name: str, facts: Any) -> LinearSelection:
        wrong_scheme = self.words(self.linear.scheme_words)
        if wrong_scheme is not None and facts.linear not in self.linear.kernels[name].serves:
            text = fill(wrong_scheme.words, facts, {"kernel": name})
            return LinearSelection(None, [], frozenset(), (wrong_scheme.exception, text), forced=True)
        judgement = self.judge(name, facts)
        if judgement.accepted is None:
            return LinearSelection(None, [judgement], judgement.missing, forced=True)
        if judgement.accepted:
            return LinearSelection(name, [judgement], frozenset(), forced=True)
        said = self.words(self.linear.forced_words)
        assert said is not None
        text = fill(said.words, facts, {"kernel": name, "reason": judgement.words})
        exception = said.exceptions.get(name, said.exception)
        return LinearSelection(None, [judgement], frozenset(), (exception, text), forced=True)

    def _walk(self, order: list[str], facts: Any, unmatched: bool) -> LinearSelection:
        disabled = self.words(self.linear.disabled_words)
        judgements: list[LinearJudgement] = []
        for name in order:
            if disabled is not None and name in (facts.disabled_kernels or ()):
                text = fill(disabled.words, facts, {"kernel": name})
                judgements.append(LinearJudgement(name, None, text, frozenset()))
            else:
                judgements.append(self.judge(name, facts))
        for judgement in judgements:
            if judgement.accepted is None:
                return LinearSelection(None, judgements, judgement.missing, unmatched=unmatched)
            if judgement.accepted:
                return LinearSelection(judgement.kernel, judgements, frozenset(), unmatched=unmatched)
        said = self.words(self.linear.none_words)
        assert said is not None
        text = fill(said.words, facts, {"reasons": self._reasons(judgements)})
        return LinearSelection(None, judgements, frozenset(), (said.exception, text), unmatched=unmatched)

    @staticmethod
    def _reasons(judgements: list[LinearJudgement]) -> str:
        """Return the reasons one a line, as the engine joins them; a disabled kernel's line names the kernel itself."""
        return "\n".join(
            f"{j.kernel}: {j.words}" if j.rule is not None else str(j.words) for j in judgements if j.words is not None
        )
