"""How the grid keeps its answers: cells, sheets of cells, blocks of sheets, runs of releases."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from compatcheck.resolve.resolver import Resolver
from compatcheck.resolve.rules import RuleGroups, RuleProgram, group_rules

INNER = ("shape", "sink", "fi")


class Cell(NamedTuple):
    """What the resolver says of one class of configurations. `reasons` are numbers in `Grid.reasons`."""

    verdict: str
    accepts: bool | None
    route: str | None
    fails_at: str | None
    reasons: tuple[int, ...]
    missing: tuple[str, ...]
    untested: str | None


class Strip(msgspec.Struct, frozen=True):
    """A backend with one KV-cache dtype on one SM: per inner axis each value's class, and a cell per class."""

    classes: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]
    cells: tuple[int, ...]

    def at(self, places: tuple[int, ...]) -> int:
        """Return the cell number for positions on the inner axes."""
        index = 0
        for classes, size, place in zip(self.classes, self.sizes, places, strict=True):
            index = index * size + classes[place]
        return self.cells[index]


class Sheet(msgspec.Struct, frozen=True):
    """A backend with one class of KV-cache dtypes: each SM's strip."""

    strips: tuple[int, ...]


class Block(msgspec.Struct, frozen=True):
    """A backend over a run of releases: each KV-cache dtype's sheet (None: no release of the run accepts it)."""

    kv: tuple[int | None, ...]


class Run(msgspec.Struct, kw_only=True):
    """Releases that differ in nothing a backend depends on, and the one that answers for them."""

    leader: str
    rules: list[RuleProgram]
    kvs: list[str]
    sms: list[str]


class Narrowed(Resolver):
    """The resolver, asking only the rules that can hold for a backend: the others answer false anyway."""

    def __init__(self, resolver: Resolver, rules: list[RuleProgram]) -> None:
        self.__dict__.update(resolver.__dict__)
        self._narrow_rules = group_rules(rules)

    def rules(self, name: str, release: str) -> RuleGroups:
        return self._narrow_rules


class Refusals(msgspec.Struct, kw_only=True):
    """What selector and earlier rules refuse for one KV-cache dtype: each value's class on SM and inner axes, cells."""

    classes: list[list[int]]
    cells: dict[tuple[int, ...], int]
    through: set[int]
    """Classes of SMs on which not everything is refused."""
