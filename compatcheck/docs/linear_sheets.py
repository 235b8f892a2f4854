"""What the tables keep of linear layers: cells, and sheets of them."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from compatcheck.docs.reasons import Reason


class Tried(NamedTuple):
    """A kernel that the engine looked at: its words and the gate's code where it was passed over."""

    kernel: str
    words: str | None = None
    code: str | None = None


class LinearCell(NamedTuple):
    """What the resolver says. `reasons` are numbers in `LinearGrid.reasons`."""

    verdict: str
    accepts: bool | None
    selected: str | None
    fails_at: str | None
    reasons: tuple[int, ...]
    missing: tuple[str, ...]
    untested: str | None
    tried: tuple[Tried, ...]
    compute: str | None = None


class Sheet(msgspec.Struct, frozen=True, array_like=True):
    """One way to ask, one scheme, one release: per class of SMs a cell, or one per class of FlashInfer versions."""

    strips: tuple[tuple[int, ...], ...]

    def at(self, sm: int, fi: int) -> int:
        """Return the number of the cell of an SM class and a FlashInfer class."""
        strip = self.strips[sm]
        return strip[fi if len(strip) > 1 else 0]


class LinearAnswers(msgspec.Struct, array_like=True):
    """Answers that are kept: the digest of what they were made from, and sheets by `_name`. Reasons are not placed."""

    digest: str
    reasons: list[Reason]
    cells: list[LinearCell]
    sheets: dict[str, Sheet]


def sheet_name(key: tuple[int, str, str]) -> str:
    """Return a sheet's key, of release class, scheme and way to ask, as text."""
    return "/".join(map(str, key))
