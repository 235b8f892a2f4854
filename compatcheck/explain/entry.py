"""The shape of everything that can be explained."""

from __future__ import annotations

import msgspec

from compatcheck.resolve.verdict import FindingSource


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to explain. `words` are what a user sees, as in `compatcheck.resolve.words.as_regex`."""

    id: str
    kind: str
    title: str
    words: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    why: str | None = None
    fix: str | None = None
    history: tuple[str, ...] = ()
    recheck: str | None = None
    sources: tuple[FindingSource, ...] = ()
    line: str | None = None
    narrow: bool = False
    """Whether it speaks of one backend only; of entries with the same words, those of several go first."""
    symptom: bool = False
    """Whether its words are printed for several causes, which it names; entries with one cause go first."""
