"""What a compiled condition depends on: its leaves, and which values of an axis they can tell apart.

Walks the resolver's compiled objects, whatever they are made of: a predicate's answer is a function of its leaves'
answers and of the fields it reads itself. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compatcheck.resolve.conditions import Constant, DerivedLeaf, Leaf
from compatcheck.resolve.derived import DecisionList

Vector = tuple[Any, ...]
"""An answer per value of an axis."""

_PLAIN = (str, int, bool, type(None))
_NOT_PARTS = frozenset(
    {"fields", "asks", "words", "code", "rule", "values", "_key", "_engine", "_cache", "_asked", "_get", "_matches"}
)


class Looked:
    """A number that is equal for predicates that answer alike, and the vectors that tell an axis's values apart."""

    __slots__ = ("number", "vectors")

    def __init__(self, number: int, vectors: frozenset[tuple[str, Vector]]) -> None:
        self.number = number
        self.vectors = vectors


_NONE: frozenset[tuple[str, Vector]] = frozenset()


class Walker:
    """Looks into predicates. `variants` holds facts with each value of an axis; `axes` maps a field to its axis."""

    def __init__(
        self, base: Any, variants: Mapping[str, Sequence[Any]], axes: Mapping[str, str], numbers: dict[Any, int]
    ) -> None:
        self._base = base
        self._variants = variants
        self._axes = axes
        self._numbers = numbers
        self._seen: dict[int, tuple[Any, Looked]] = {}

    def look(self, node: Any) -> Looked:
        """Return what a compiled check, rule, condition or decision list depends on."""
        known = self._seen.get(id(node))
        if known is None:
            # The node is kept with its answer: an id is only unique among objects that live.
            known = self._seen[id(node)] = (node, self._look(node))
        return known[1]

    def along(self, axis: str, values: Sequence[Any]) -> Looked:
        """Return a plain vector along an axis as something looked at."""
        return self._done(("vector", axis, tuple(values)), frozenset({(axis, tuple(values))}))

    def together(self, parts: Sequence[Looked]) -> Looked:
        """Return several as one."""
        vectors = _NONE.union(*[part.vectors for part in parts]) if parts else _NONE
        return self._done(("together", *[part.number for part in parts]), vectors)

    def _done(self, structure: Any, vectors: frozenset[tuple[str, Vector]]) -> Looked:
        return Looked(self._numbers.setdefault(structure, len(self._numbers)), vectors)

    def _look(self, node: Any) -> Looked:
        if isinstance(node, Constant):
            return self._done(("constant", node.test(None)), _NONE)
        if isinstance(node, Leaf):
            return self._leaf(node)
        if isinstance(node, DecisionList):
            parts = [(self.look(condition), value) for condition, value in node.cases]
            vectors = _NONE.union(*[part.vectors for part, _ in parts]) if parts else _NONE
            return self._done(("decide", *[(part.number, repr(value)) for part, value in parts]), vectors)
        if isinstance(node, DerivedLeaf):
            return self._derived(node)
        return self._composite(node)

    def _leaf(self, leaf: Leaf) -> Looked:
        (field,) = leaf.fields
        axis = self._axes.get(field)
        if axis is None:
            return self._done(("fixed", field, leaf.test(self._base)), _NONE)
        vector = tuple([leaf.test(facts) for facts in self._variants[axis]])
        return self._done(("leaf", field, vector), frozenset({(axis, vector)}))

    def _derived(self, leaf: DerivedLeaf) -> Looked:
        fact: Any = leaf.fact
        inner = self.look(fact)
        possible = [value for _, value in fact.cases] if isinstance(fact, DecisionList) else fact.values
        values = sorted({value for value in possible if value is not None}, key=repr)
        answers = tuple([(value, leaf.matches(value)) for value in values])
        return self._done(("derived", inner.number, answers, leaf.when_absent), inner.vectors)

    def _composite(self, node: Any) -> Looked:
        structure: list[Any] = [type(node).__name__]
        vectors = set[tuple[str, Vector]]()
        below = set[str]()
        for name, value in vars(node).items():
            if name in _NOT_PARTS:
                continue
            for item in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(item, _PLAIN):
                    structure.append((name, item))
                elif hasattr(item, "fields"):
                    part = self.look(item)
                    structure.append((name, part.number))
                    vectors |= part.vectors
                    below |= set(item.fields)
        for field in sorted(set(node.fields) - below):
            axis = self._axes.get(field)
            if axis is None:
                structure.append((field, getattr(self._base, field)))
            elif type(node).__name__ == "_Refused":
                # It only asks whether the value is given; its grants, the parts below, look at the value.
                structure.append((field, tuple([getattr(f, field) is None for f in self._variants[axis]])))
            else:
                own = tuple([getattr(facts, field) for facts in self._variants[axis]])
                structure.append((field, own))
                vectors.add((axis, own))
        return self._done(tuple(structure), frozenset(vectors))
