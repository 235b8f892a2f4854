"""Conditions in three-valued logic: true, false, or unknown (None) because a fact is missing.

A condition is a mapping of field to constraint, all of which must hold, with `all_of`, `any_of` and `not` to nest.
It is compiled once to an object that answers `test(facts)` and, where that is None, `missing(facts)`: the names of the
facts that would decide. Nothing is evaluated from text.
"""

from __future__ import annotations

from _thread import RLock  # threading would be imported for nothing else
from collections.abc import Callable, Collection, Hashable, Mapping
from functools import partial
from operator import attrgetter, eq
from typing import Any, NamedTuple, Protocol, TypeVar

from compatcheck.matrix import versions
from compatcheck.matrix.sm import family
from compatcheck.resolve.configuration import NULLABLE, VERSION_FIELDS


class ConditionError(ValueError):
    """A condition that says something impossible; `path` leads to the place inside it."""

    def __init__(self, message: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.path = path


class Predicate(Protocol):
    """A compiled condition."""

    fields: frozenset[str]

    def test(self, facts: Any) -> bool | None:
        """Return True, False, or None where a needed fact is missing."""

    def missing(self, facts: Any) -> frozenset[str]:
        """Return the missing facts that keep `test` from deciding."""


class Derived(Protocol):
    """A fact computed from others."""

    fields: frozenset[str]

    def value(self, facts: Any) -> Any:
        """Return the value, or `UNKNOWN`."""

    def missing(self, facts: Any) -> frozenset[str]:
        """Return the missing facts that keep it unknown."""


T = TypeVar("T")


class Compiled(NamedTuple):
    """Something that was compiled, and what it was compiled from."""

    made: Any
    named: tuple[tuple[str, Derived], ...]
    """The derived facts that it names: what it says holds wherever those names mean these facts."""
    written: tuple[Any, ...]
    """The entries that it was compiled from. They are kept with it: an id is only unique among objects that live."""


CompiledEntries = dict[Hashable, list[Compiled]]
"""What was compiled from each entry: one thing for each meaning of the derived facts that it names."""


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
_NOTHING: frozenset[str] = frozenset()


class Narrows:
    """A condition that knows by itself what is left of it where most fields have their values."""

    fields: frozenset[str]

    def narrow(self, facts: Any, free: Collection[str]) -> Predicate:
        """Return a condition that tests like this one for all facts that differ from these only in `free` fields."""
        raise NotImplementedError


class Constant:
    """Always or never; or unknown, as what is left of a condition."""

    fields: frozenset[str] = _NOTHING

    def __init__(self, value: bool | None) -> None:
        self._value = value

    def test(self, facts: Any) -> bool | None:
        return self._value

    def missing(self, facts: Any) -> frozenset[str]:
        return _NOTHING


class Leaf:
    """One field against one constraint."""

    def __init__(self, field: str, matches: Callable[[Any], bool], when_absent: bool | None) -> None:
        self.fields = frozenset({field})
        self._get = attrgetter(field)
        self._matches = matches
        self._when_absent = when_absent

    def test(self, facts: Any) -> bool | None:
        value = self._get(facts)
        return self._when_absent if value is None else self._matches(value)

    def missing(self, facts: Any) -> frozenset[str]:
        return self.fields if self.test(facts) is None else _NOTHING


class DerivedLeaf:
    """A derived fact against one constraint."""

    def __init__(self, fact: Derived, matches: Callable[[Any], bool], when_absent: bool | None) -> None:
        self.fields = fact.fields
        self._fact = fact
        self._matches = matches
        self._when_absent = when_absent

    @property
    def fact(self) -> Derived:
        """The fact that is asked about."""
        return self._fact

    @property
    def when_absent(self) -> bool | None:
        """What is answered where the fact is absent for good."""
        return self._when_absent

    def matches(self, value: Any) -> bool:
        """Return whether a value of the fact, neither unknown nor None, meets the constraint."""
        return bool(self._matches(value))

    def test(self, facts: Any) -> bool | None:
        value = self._fact.value(facts)
        if value is UNKNOWN:
            return None
        return bool(self._when_absent) if value is None else self._matches(value)

    def missing(self, facts: Any) -> frozenset[str]:
        return self._fact.missing(facts) if self.test(facts) is None else _NOTHING


class _Several:
    """Several parts, joined by what a subclass asks of them."""

    def __init__(self, parts: list[Predicate]) -> None:
        self.parts = parts
        self.fields = frozenset().union(*(p.fields for p in parts)) if parts else _NOTHING

    def test(self, facts: Any) -> bool | None:
        raise NotImplementedError

    def missing(self, facts: Any) -> frozenset[str]:
        if self.test(facts) is not None:
            return _NOTHING
        return frozenset().union(*(p.missing(facts) for p in self.parts))


class AllOf(_Several):
    """Every part holds: false if one is false, else unknown if one is unknown."""

    def test(self, facts: Any) -> bool | None:
        unknown = False
        for part in self.parts:
            value = part.test(facts)
            if value is False:
                return False
            unknown = unknown or value is None
        return None if unknown else True


class AnyOf(_Several):
    """One part holds: true if one is true, else unknown if one is unknown."""

    def test(self, facts: Any) -> bool | None:
        unknown = False
        for part in self.parts:
            value = part.test(facts)
            if value is True:
                return True
            unknown = unknown or value is None
        return None if unknown else False


class Not:
    """The part does not hold."""

    def __init__(self, part: Predicate) -> None:
        self.part = part
        self.fields = part.fields

    def test(self, facts: Any) -> bool | None:
        value = self.part.test(facts)
        return None if value is None else not value

    def missing(self, facts: Any) -> frozenset[str]:
        return self.part.missing(facts)


class Compiler:
    """Turns conditions into predicates for a given vocabulary of fields, SMs and derived facts.

    Compilers that are given the same `compiled` share what they compile from the same entry, where it means the same.
    """

    def __init__(
        self,
        sms: Mapping[str, Any],
        fields: frozenset[str],
        derived: Mapping[str, Derived] | None = None,
        nullable: frozenset[str] = NULLABLE,
        compiled: CompiledEntries | None = None,
    ) -> None:
        self._families: dict[str, list[str]] = {}
        for sm in sms:
            self._families.setdefault(family(sm), []).append(sm)
        self._sms = frozenset(sms)
        self._fields = fields
        self._derived = {} if derived is None else derived
        self._nullable = nullable
        self._compiled = {} if compiled is None else compiled
        self._named: dict[str, Derived] = {}
        self._making = RLock()

    def once(self, what: Hashable, written: tuple[Any, ...], make: Callable[[], T]) -> T:
        """Return what `make` compiles from some entries, or what was compiled from the same ones before.

        `what` tells apart what is made from one entry. Derived facts change with the release: what names one is
        compiled again where the name means another fact.
        """
        key = (what, *map(id, written))
        for known in self._compiled.get(key, ()):
            named = known.named  # most name none
            if not named or all(self._derived.get(name) is fact for name, fact in named):
                self._named.update(named)
                made: T = known.made
                return made
        with self._making:  # another thread would note the names of what it compiles here
            around, self._named = self._named, {}
            try:
                made = make()
                self._compiled.setdefault(key, []).append(Compiled(made, tuple(self._named.items()), written))
            finally:
                around.update(self._named)
                self._named = around
        return made

    def flag(self, flag: bool | dict[str, Any]) -> Predicate:
        """Compile true, false or a condition that stands in the matrix."""
        return Constant(flag) if isinstance(flag, bool) else self.stated(flag)

    def stated(self, condition: dict[str, Any] | None) -> Predicate:
        """Compile a condition that stands in the matrix, once for all who take it over. Raises `ConditionError`."""
        if not condition:
            return Constant(True)
        return self.once("condition", (condition,), lambda: self.condition(condition))

    def condition(self, condition: dict[str, Any] | None) -> Predicate:
        """Compile a condition; None always holds. Raises `ConditionError`."""
        if not condition:
            return Constant(True)
        parts: list[Predicate] = []
        for key, constraint in condition.items():
            if key in ("all_of", "any_of"):
                nested = [self._nested(c, (key, i)) for i, c in enumerate(self._list(key, constraint))]
                parts.append(AllOf(nested) if key == "all_of" else AnyOf(nested))
            elif key == "not":
                parts.append(Not(self._nested(constraint, (key,))))
            else:
                parts.append(self._leaf(key, constraint))
        return parts[0] if len(parts) == 1 else AllOf(parts)

    def _list(self, key: str, value: Any) -> list[Any]:
        if not isinstance(value, list) or not value:
            raise ConditionError(f"{key} needs a list of conditions", (key,))
        return value

    def _nested(self, value: Any, path: tuple[str | int, ...]) -> Predicate:
        if not isinstance(value, dict):
            raise ConditionError(f"expected a condition (a mapping), found {value!r}", path)
        try:
            return self.condition(value)
        except ConditionError as error:
            raise ConditionError(str(error), path + error.path) from error

    def _leaf(self, field: str, constraint: Any) -> Predicate:
        absent = _absent_answer(constraint)
        if field in self._derived:
            self._named[field] = self._derived[field]
            return DerivedLeaf(self._derived[field], self.constraint(constraint), absent)
        if field not in self._fields:
            known = ", ".join(sorted(self._fields | set(self._derived)))
            raise ConditionError(f"unknown field {field!r}; fields are: {known}", (field,))
        matches: Callable[[Any], bool]
        if field in VERSION_FIELDS:
            matches = self._version_range(field, constraint)
        elif field == "sm":
            matches = self.constraint(self._expand(constraint))
        else:
            matches = self.constraint(constraint)
        return Leaf(field, matches, absent if field in self._nullable and not _wants_known(constraint) else None)

    def _version_range(self, field: str, constraint: Any) -> Callable[[Any], bool]:
        if not isinstance(constraint, str):
            raise ConditionError(f"{field} needs a quoted version range such as '>=0.6.15.dev0'", (field,))
        try:
            versions.check_range(constraint)
        except versions.InvalidSpecifier as error:
            raise ConditionError(f"{field}: {constraint!r} is not a PEP 440 range", (field,)) from error
        return lambda version: versions.contains(constraint, version)

    def _expand(self, constraint: Any) -> Any:
        """Replace family names by their members; refuse SMs that the matrix does not list."""
        if isinstance(constraint, dict):
            extra = set(constraint) - {"in", "not"}
            if extra:
                raise ConditionError(f"sm takes a set or a family, never a bound: found {sorted(extra)}", ("sm",))
            return {key: self._expand(value) for key, value in constraint.items()}
        members: list[str] = []
        for item in constraint if isinstance(constraint, list) else [constraint]:
            if item in self._families:
                members += self._families[item]
            elif item in self._sms:
                members.append(item)
            else:
                raise ConditionError(
                    f"sm: {item!r} is neither a compute capability nor a family of the matrix", ("sm",)
                )
        return members

    def constraint(self, constraint: Any) -> Callable[[Any], bool]:
        """Compile a constraint to a test of one (given) value."""
        if isinstance(constraint, list):
            members = frozenset(constraint)
            return members.__contains__
        if not isinstance(constraint, dict):
            return partial(eq, constraint)
        tests: list[Callable[[Any], bool]] = []
        for key, operand in constraint.items():
            build = OPERATORS.get(key)
            if build is None:
                raise ConditionError(f"unknown comparison {key!r}; there are: {', '.join(sorted(OPERATORS))}", (key,))
            tests.append(self._other_than(operand) if key == "not" and isinstance(operand, dict) else build(operand))
        if len(tests) == 1:
            return tests[0]
        return lambda value: all(test(value) for test in tests)

    def _other_than(self, constraint: dict[str, Any]) -> Callable[[Any], bool]:
        matches = self.constraint(constraint)
        return lambda value: not matches(value)


def _absent_answer(constraint: Any) -> bool:
    """What a constraint says of a field that is absent for good."""
    if isinstance(constraint, dict):
        if "absent" in constraint:
            return bool(constraint["absent"])
        if "not" in constraint and len(constraint) == 1:
            excluded = constraint["not"]
            return not (isinstance(excluded, dict) and _absent_answer(excluded))
    return False


def _wants_known(constraint: Any) -> bool:
    """Return whether a constraint asks for the value itself, so that a field without one leaves it open."""
    return isinstance(constraint, dict) and "known" in constraint


def _not(operand: Any) -> Callable[[Any], bool]:
    excluded = frozenset(operand if isinstance(operand, list) else [operand])
    return lambda value: value not in excluded


OPERATORS: dict[str, Callable[[Any], Callable[[Any], bool]]] = {
    "in": lambda operand: frozenset(operand).__contains__,
    "not": _not,
    "prefix": lambda operand: lambda value: str(value).startswith(operand),
    "suffix": lambda operand: lambda value: str(value).endswith(operand),
    "lt": lambda operand: lambda value: value < operand,
    "le": lambda operand: lambda value: value <= operand,
    "gt": lambda operand: lambda value: value > operand,
    "ge": lambda operand: lambda value: value >= operand,
    "multiple_of": lambda operand: lambda value: value % operand == 0,
    "absent": lambda operand: lambda value: not operand,
    "known": lambda operand: lambda value: True,
}
