"""How answers are kept: cells, strips of cells, sheets of strips, blocks of sheets; a backend's answers in whole."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import msgspec

from compatcheck.docs.reasons import Reason

INNER = ("shape", "sink", "fi")


class Cell(NamedTuple):
    """What the resolver says of one class of configurations. `reasons` are numbers in a list of reasons beside it."""

    verdict: str
    accepts: bool | None
    route: str | None
    fails_at: str | None
    reasons: tuple[int, ...]
    missing: tuple[str, ...]
    untested: str | None


class Strip(msgspec.Struct, frozen=True, array_like=True):
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


class Sheet(msgspec.Struct, frozen=True, array_like=True):
    """A backend with one class of KV-cache dtypes: each SM's strip."""

    strips: tuple[int, ...]


class Block(msgspec.Struct, frozen=True):
    """A backend over a run of releases: each KV-cache dtype's sheet (None: no release of the run accepts it)."""

    kv: tuple[int | None, ...]


class Part(msgspec.Struct, frozen=True, array_like=True):
    """A block in one backend's own numbers, and the cells that were answered for it, in the order of asking."""

    kv: tuple[int | None, ...]
    asked: tuple[int, ...]


class Featured(msgspec.Struct, frozen=True, array_like=True):
    """What a backend says on one SM where a feature is asked for on top of the first configuration that runs.

    `shape` is the position of its shape, `cells` one cell for each of `features.QUESTIONS`.
    """

    kv: str
    shape: int
    cells: tuple[Cell, ...]


class Answers(Protocol):
    """What is known of one backend, in numbers of its own. A reason's `line` is the path of the entry it is about."""

    @property
    def reasons(self) -> list[Reason]:
        """What the cells' numbers stand for."""

    @property
    def cells(self) -> list[Cell]:
        """What the strips' numbers stand for."""

    @property
    def strips(self) -> list[Strip]:
        """What the sheets' numbers stand for."""

    @property
    def sheets(self) -> list[Sheet]:
        """What the blocks' numbers stand for."""

    def part(self, release: str) -> Part:
        """Return the block of a release; releases that differ in nothing have the same one."""

    def featured(self, sm: str) -> Featured | None:
        """Return what is said of features under the newest release; None where nothing runs on the SM."""


class Answered(msgspec.Struct, array_like=True):
    """Everything that is known of one backend, so that it can be kept or handed from process to process."""

    reasons: list[Reason]
    cells: list[Cell]
    strips: list[Strip]
    sheets: list[Sheet]
    parts: list[Part]
    places: dict[str, int]
    """Release -> number of its part."""
    features: dict[str, Featured]
    """SM -> what is said of features under the newest release."""

    def part(self, release: str) -> Part:
        """Return the block of a release."""
        return self.parts[self.places[release]]

    def featured(self, sm: str) -> Featured | None:
        """Return what is said of features on an SM."""
        return self.features.get(sm)
