"""What compiled conditions say along the axes of the tables, each written once, however many releases state it.

A condition that looks at one axis is a vector: its answer for every value. Others are put together from vectors in
three-valued logic. Equal formulas are one object, so that "these releases say the same" is a comparison by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from compatcheck.docs.formula import All, AnyPart, Choice, Chosen, Constant, Formula, Negation, Vector
from compatcheck.resolve.computed import NO_PREFILL, PrefillChoice
from compatcheck.resolve.conditions import AllOf, AnyOf, DerivedLeaf, Not
from compatcheck.resolve.derived import DecisionList
from compatcheck.resolve.refusals import FeatureRefused, FirstOf, NonCausalDcp, Refused


class Formulas:
    """Makes formulas, each once; `variants` has facts with each value of an axis, `axes` the axis of a field.

    `base` has the facts that no axis decides. Several kinds of facts (configurations, kernel calls) may share what is
    made: they give the same `made`.
    """

    def __init__(
        self,
        base: Any,
        variants: Mapping[str, Sequence[Any]],
        axes: Mapping[str, str],
        made: dict[Any, Formula] | None = None,
    ) -> None:
        self._base = base
        self._variants = variants
        self._axes = axes
        self.made: dict[Any, Formula] = {} if made is None else made
        self._seen: dict[int, tuple[Any, Formula]] = {}

    def of(self, predicate: Any) -> Formula:
        """Return what a compiled condition says. Raises `TypeError` for a kind of condition that is not known here."""
        known = self._seen.get(id(predicate))
        if known is None:
            # The predicate is kept with its formula: an id is only unique among objects that live.
            known = self._seen[id(predicate)] = (predicate, self._read(predicate))
        return known[1]

    # ------------------------------------------------------------------------------------------ made once

    def constant(self, value: bool | None, missing: Iterable[str] = ()) -> Formula:
        """Return a formula that is the same everywhere; an unknown one names what is missing."""
        key = ("constant", value, frozenset(missing))
        return self._once(key, lambda number: Constant(number, value))

    def vector(self, axis: str, values: Sequence[bool | None], missing: Sequence[Any] = ()) -> Formula:
        """Return a formula along one axis; `missing` says for each value what is missing where its answer is None."""
        answers = tuple(values)
        if all(answer is answers[0] for answer in answers) and answers[0] is not None:
            return self.constant(answers[0])
        told = tuple([("missing", missing[at]) if answer is None else answer for at, answer in enumerate(answers)])
        return self._once(("vector", axis, told), lambda number: Vector(number, axis, answers, told))

    def all(self, parts: Iterable[Formula]) -> Formula:
        """Return a formula that holds where every part does."""
        return self._several(All, parts, deciding=False)

    def any(self, parts: Iterable[Formula]) -> Formula:
        """Return a formula that holds where one part does."""
        return self._several(AnyPart, parts, deciding=True)

    def no(self, part: Formula) -> Formula:
        """Return a formula that holds where the part does not."""
        if isinstance(part, Constant) and part.value is not None:
            return self.constant(not part.value)
        if isinstance(part, Negation):
            return part.parts[0]
        return self._once(("not", part), lambda number: Negation(number, (part,)))

    def choice(self, cases: Iterable[tuple[Formula, Any]]) -> Formula:
        """Return a formula with the value of the first case that holds."""
        left: list[tuple[Formula, Any]] = []
        for part, value in cases:
            if isinstance(part, Constant) and part.value is False:
                continue
            left.append((part, value))
            if isinstance(part, Constant) and part.value:
                break
        parts, values = tuple([part for part, _ in left]), tuple([value for _, value in left])
        return self._once(("choice", parts, values), lambda number: Choice(number, parts, values))

    def chosen(self, choice: Formula, matches: Callable[[Any], bool]) -> Formula:
        """Return a formula that holds where a choice falls on a value that matches."""
        assert isinstance(choice, Choice)
        values = frozenset([value for value in {*choice.values, None} if matches(value)])
        if not choice.parts or _is(choice.parts[0], True):
            return self.constant((choice.values[0] if choice.values else None) in values)
        return self._once(("chosen", choice, values), lambda number: Chosen(number, choice, values))

    def restrict(self, formula: Formula, at: Mapping[str, int], known: dict[Formula, Formula]) -> Formula:
        """Return what a formula says at one value of some axes. `known` holds what was restricted so before."""
        if formula.axes.isdisjoint(at):
            return formula
        found = known.get(formula)
        if found is None:
            found = known[formula] = self._restricted(formula, at, known)
        return found

    # ------------------------------------------------------------------------------------------ reading

    def _read(self, predicate: Any) -> Formula:
        axes = {self._axes[field] for field in predicate.fields if field in self._axes}
        if not axes:
            answer = predicate.test(self._base)
            return self.constant(answer, predicate.missing(self._base) if answer is None else ())
        if len(axes) == 1:
            (axis,) = axes
            variants = self._variants[axis]
            answers = [predicate.test(facts) for facts in variants]
            missing = [predicate.missing(f) if said is None else () for f, said in zip(variants, answers, strict=True)]
            return self.vector(axis, answers, missing)
        if isinstance(predicate, AllOf):
            return self.all([self.of(part) for part in predicate.parts])
        if isinstance(predicate, AnyOf):
            return self.any([self.of(part) for part in predicate.parts])
        if isinstance(predicate, Not):
            return self.no(self.of(predicate.part))
        if isinstance(predicate, DerivedLeaf):
            absent = bool(predicate.when_absent)
            choice = self._choice(predicate.fact)
            return self.chosen(choice, lambda value: absent if value is None else predicate.matches(value))
        if isinstance(predicate, FirstOf):
            return self.all([self.of(predicate.own), *[self.no(self.of(earlier)) for earlier in predicate.earlier]])
        if isinstance(predicate, Refused):
            return self._refused(predicate)
        if isinstance(predicate, FeatureRefused):
            unsaid = None if predicate.field != "sliding_window" else False
            asked = self.along(predicate.field, lambda value: unsaid if value is None else bool(value))
            return self.all([asked, self.no(self.of(predicate.flag))])
        if isinstance(predicate, NonCausalDcp):
            asked = self.all([self.along(field, bool) for field in sorted(predicate.ASKS)])
            return self.all([asked, self.no(self.of(predicate.flag))])
        raise TypeError(f"the tables cannot read {type(predicate).__name__} over {', '.join(sorted(axes))}")

    def _refused(self, predicate: Refused) -> Formula:
        given = self.along(predicate.field, lambda value: value is not None)
        absent = self.constant(predicate.when_absent, () if predicate.when_absent is not None else (predicate.field,))
        refused = self.no(self.of(predicate.grants))
        return self.any([self.all([given, refused]), self.all([self.no(given), absent])])

    def along(self, field: str, answer: Callable[[Any], bool | None]) -> Formula:
        """Return what is answered for each value of a field."""
        axis = self._axes.get(field)
        if axis is None:
            said = answer(getattr(self._base, field))
            return self.constant(said, () if said is not None else (field,))
        answers = [answer(getattr(facts, field)) for facts in self._variants[axis]]
        return self.vector(axis, answers, [field] * len(answers))

    def decided(self, fact: DecisionList) -> Formula:
        """Return the choice that a decision list makes."""
        known = self._seen.get(id(fact))
        if known is None:
            choice = self.choice([(self.of(condition), value) for condition, value in fact.cases])
            known = self._seen[id(fact)] = (fact, choice)
        return known[1]

    def _choice(self, fact: Any) -> Formula:
        if isinstance(fact, DecisionList):
            return self.decided(fact)
        if isinstance(fact, PrefillChoice):
            cases: list[tuple[Formula, Any]] = []
            for condition, tried in fact.walks:
                first = self.of(condition)
                for program in tried:
                    passes = [self.no(self.of(check.predicate)) for check in program.checks]
                    cases.append((self.all([first, *passes]), program.name))
                cases.append((first, NO_PREFILL))
            return self.choice([*cases, (self.constant(True), NO_PREFILL)])
        raise TypeError(f"the tables cannot read the derived fact {type(fact).__name__}")

    # ------------------------------------------------------------------------------------------ inside

    def _once(self, key: Any, make: Callable[[int], Formula]) -> Formula:
        known = self.made.get(key)
        if known is None:
            known = self.made[key] = make(len(self.made))
        return known

    def _several(self, kind: type[Formula], parts: Iterable[Formula], *, deciding: bool) -> Formula:
        left: list[Formula] = []
        for part in parts:
            if isinstance(part, Constant) and part.value is not None:
                if part.value is deciding:
                    return part
            elif type(part) is kind:
                left += part.parts
            else:
                left.append(part)
        if not left:
            return self.constant(not deciding)
        unique = tuple(sorted(dict.fromkeys(left), key=lambda part: part.number))
        if len(unique) == 1:
            return unique[0]
        return self._once((kind, unique), lambda number: kind(number, unique))

    def _restricted(self, formula: Formula, at: Mapping[str, int], known: dict[Formula, Formula]) -> Formula:
        if isinstance(formula, Vector):
            place = at[formula.axis]
            answer = formula.values[place]
            return self.constant(answer, (repr(formula.told[place]),) if answer is None else ())
        parts = [self.restrict(part, at, known) for part in formula.parts]
        if isinstance(formula, (All, AnyPart)):
            return self.all(parts) if isinstance(formula, All) else self.any(parts)
        if isinstance(formula, Negation):
            return self.no(parts[0])
        if isinstance(formula, Choice):
            return self.choice(zip(parts, formula.values, strict=True))
        assert isinstance(formula, Chosen)
        return self.chosen(parts[0], formula.values.__contains__)


def _is(formula: Formula, value: bool | None) -> bool:
    return isinstance(formula, Constant) and formula.value is value
