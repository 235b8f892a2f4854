"""Lines of a batch by kind: those that differ only in sizes share all that sizes do not change.

A batch is a sweep: some hundred combinations of GPU, backend and flags, each with many head sizes, block sizes and
cache dtypes. A line is therefore read as its kind and its sizes; a verdict is worked out once for each kind and each
set of answers that tells its sizes apart.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import msgspec

from compatcheck.resolve.clusters import SIZES
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import Normalised
from compatcheck.resolve.normaliser import Normaliser
from compatcheck.resolve.questions import Questions, Stages
from compatcheck.resolve.resolver import Resolver
from compatcheck.resolve.tell import Sizes, Tell
from compatcheck.resolve.verdict import Verdict

FEW = 3
"""Lines of a kind that are judged one by one rather than by what tells their sizes apart, which takes time to know."""
_MANY = 65536


class Kinds:
    """Reads and judges configurations one after the other; `defaults` fills the fields that one leaves out."""

    def __init__(self, resolver: Resolver, defaults: Configuration | None = None) -> None:
        self._normaliser = Normaliser(resolver.matrix, defaults)
        self._judge = resolver.judge
        self._questions = Questions(resolver)
        self._shapes: dict[tuple[Any, ...], _Shape] = {}
        # Of all shapes together: a kind may be given sizes that were read with one of another shape.
        self._spelled: dict[str, str | None] = {}

    def read(self, given: dict[str, Any]) -> Row:
        """Return what a line says. `given` has its fields, none of them None.

        Raises `ConfigurationError`, and `msgspec.ValidationError` for an unknown field or a value of the wrong type.
        """
        given = self._normaliser.with_defaults(given)
        # True == 1 == 1.0 as keys, but only one of them is a head size: types are part of what is known.
        key = (*given, *map(type, given.values()))
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = _Shape(given, self._spelled)
        kind = shape.kinds.get(shape.rest(given))
        sizes = shape.sizes(given)
        if kind is None or sizes not in shape.good:
            return self._learn(shape, sizes, given)
        return kind, sizes

    @staticmethod
    def expect(rows: list[Row]) -> None:
        """Make ready for lines that will be judged: it matters how many there are of each kind."""
        for row in rows:
            if isinstance(row, tuple):
                row[0].expected += 1

    def judge(self, row: Row) -> Verdict:
        """Return the verdict on a line that `read` gave, without alternatives."""
        return row[0].judge(row[1]) if isinstance(row, tuple) else self._judge(row)

    def normalised(self, row: Row) -> Normalised:
        """Return the facts of a line that `read` gave."""
        return row[0].normalised(row[1]) if isinstance(row, tuple) else row

    def _learn(self, shape: _Shape, sizes: Sizes, given: dict[str, Any]) -> Row:
        normal = self._normaliser.fields(given)
        if not self._normaliser.sizes_stand(given):
            return normal
        if len(shape.good) > _MANY:
            shape.good.clear()
        shape.good.add(sizes)
        rest = shape.rest(given)
        kind = shape.kinds.get(rest)
        if kind is None:
            if len(shape.kinds) > _MANY:
                shape.kinds.clear()
            kind = shape.kinds[rest] = Kind(normal, shape, self._questions, self._judge)
        if shape.kv is not None:
            shape.spelled[sizes[shape.kv]] = normal.facts.kv_cache_dtype
        return kind, sizes


class _Shape:
    """Lines with the same fields in the same order, and values of the same types."""

    def __init__(self, given: dict[str, Any], spelled: dict[str, str | None]) -> None:
        self.names = tuple(name for name in given if name in SIZES)
        self.sizes = _values(self.names)
        others = [name for name in given if name not in SIZES]
        self.rest = _values(others, [name for name in others if isinstance(given[name], (list, dict))])
        self.good: set[Sizes] = set()
        """Sizes that `normalise` lets pass as they are."""
        self.kinds: dict[Sizes, Kind] = {}
        self.kv = self.names.index("kv_cache_dtype") if "kv_cache_dtype" in self.names else None
        self.spelled = spelled
        """KV-cache dtypes as they are written -> as the matrix spells them."""


def _values(names: list[str] | tuple[str, ...], unhashable: list[str] | None = None) -> Callable[[Any], Sizes]:
    """Return what gives the values of some fields as a tuple, those that have no hash as text."""
    if unhashable:
        return lambda given: tuple([repr(given[name]) if name in unhashable else given[name] for name in names])
    if len(names) > 1:
        return itemgetter(*names)
    return lambda given: tuple([given[name] for name in names])


class _View:
    """The fields of a configuration, open to change."""

    def __init__(self, facts: Configuration) -> None:
        self.__dict__.update(msgspec.structs.asdict(facts))


class Kind:
    """Configurations that are alike in all but their sizes."""

    def __init__(
        self, normal: Normalised, shape: _Shape, questions: Questions, judge: Callable[[Normalised], Verdict]
    ) -> None:
        self.names = shape.names
        """The sizes that are given, in their order."""
        self._normal = normal
        self._shape = shape
        self._questions = questions
        self._judge = judge
        self.expected = 0
        """Lines of the kind that will be judged, or have been."""
        self._last: Sizes | None = None
        # A configuration with other sizes is made ten times faster by changing one than by making one. Where no backend
        # is forced, the one that is selected has to be put in its place, which takes a real one.
        self._view: Any = None if normal.facts.backend is None else _View(normal.facts)
        self._stages: Stages | None = None
        self._after: dict[str, Tell] = {}

    def judge(self, sizes: Sizes) -> Verdict:
        """Return the verdict for these sizes."""
        stages = self._stages
        if stages is None:
            if self.expected <= FEW or not self._questions.apply(self._normal):
                return self._judge(self.normalised(sizes))
            stages = self._stages = self._questions.stages(self._normal, self._shape.names)
        told = stages.selector(sizes, self._facts)
        asked = stages.asked.get(told)
        if asked is None:
            asked = stages.ask(told, self._facts(sizes))
        key: tuple[Any, ...]
        if not asked.reached:
            early = stages.early(sizes, self._facts)
            key = (asked, stages.frame, early)
            verdict = stages.verdicts.get(key)
            if verdict is None:
                verdict = stages.refuse(key, asked, early, self._facts(sizes), self._normal)
            return verdict
        used = str(asked.used)
        after = self._after.get(used) or self._look(stages, used)
        later = after(sizes, self._facts)
        key = (asked, stages.frame, told, later)
        verdict = stages.verdicts.get(key)
        return stages.judge(key, asked, after, later, self.normalised(sizes)) if verdict is None else verdict

    def _look(self, stages: Stages, used: str) -> Tell:
        tell = self._after[used] = stages.after(used, self._normal)
        return tell

    def normalised(self, sizes: Sizes) -> Normalised:
        """Return the facts with these sizes."""
        normal = self._normal
        return Normalised(
            facts=self._configuration(sizes),
            release=normal.release,
            answered_as=normal.answered_as,
            assumed=normal.assumed,
            beyond=normal.beyond,
        )

    def _facts(self, sizes: Sizes) -> Any:
        """Return facts with these sizes to ask questions of, good until the next call."""
        if self._view is None:
            return self._configuration(sizes)
        if self._last is not sizes:
            self._last = sizes
            fields, kv = self._view.__dict__, self._shape.kv
            fields.update(zip(self._shape.names, sizes, strict=True))
            if kv is not None:
                fields["kv_cache_dtype"] = self._shape.spelled[sizes[kv]]
        return self._view

    def _configuration(self, sizes: Sizes) -> Configuration:
        given = dict(zip(self._shape.names, sizes, strict=True))
        if self._shape.kv is not None:
            given["kv_cache_dtype"] = self._shape.spelled[sizes[self._shape.kv]]
        return msgspec.structs.replace(self._normal.facts, **given)


Row = tuple[Kind, Sizes] | Normalised
"""A line that was read: its kind and sizes, or its facts where its sizes change more than themselves."""
