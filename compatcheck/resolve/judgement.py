"""What the selector says of one backend, and of which check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.resolve.verdict import Finding

if TYPE_CHECKING:
    from compatcheck.resolve.backend import Check

_NOTHING: frozenset[str] = frozenset()


class Said:
    """A check that refuses, in words, or that cannot tell for want of facts."""

    __slots__ = ("check", "findings", "missing", "words")

    def __init__(self, check: Check, words: str | None, missing: frozenset[str] = _NOTHING) -> None:
        self.check = check
        self.words = words
        self.missing = missing
        self.findings: dict[Any, Finding] = {}
        """What `FindingFactory.from_judgement` made of it, for each engine program and backend that it spoke for."""


class Judgement:
    """What the selector says of one backend. The same facts give the same object."""

    __slots__ = ("backend", "findings", "missing", "refusals", "words")

    def __init__(
        self, backend: str, refusals: list[Said], words: tuple[str, ...], missing: frozenset[str] = _NOTHING
    ) -> None:
        self.backend = backend
        self.refusals = refusals
        self.words = words
        self.missing = missing
        self.findings: dict[Any, list[Finding]] = {}
        """What `FindingFactory.from_judgement` made of it, for each engine program that it spoke for."""

    @property
    def accepted(self) -> bool | None:
        """True, False, or None where a fact is missing."""
        return False if self.words else (None if self.missing else True)
