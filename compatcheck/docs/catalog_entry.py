"""One code that a finding can carry, with what its page says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from compatcheck.matrix.model import Source


class Entry(msgspec.Struct, kw_only=True):
    """One code. `kind` is rule, advisory, selector, combination, gate, library or built-in."""

    code: str
    title: str
    kind: str
    refuser: str
    bites: str
    effect: str
    when: list[str] = []
    why: str | None = None
    fix: str | None = None
    words: list[str] = []
    exception: str | None = None
    versions: list[str] = []
    """Ranges, each with the axis that it is on: 'vLLM >=0.28'."""
    subject: str | None = None
    backends: list[str] = []
    kernels: list[str] = []
    sources: list[Source] = []
    history: list[str] = []
    recheck: str | None = None
    confirmed: str = "reading"
    varies: str | None = None
    symptom: bool = False
    conditions: list[Any] = []
    linear: bool = False
    """Whether it speaks of linear layers."""


def add(items: list[Any], item: Any) -> None:
    """Add an item that is not there yet."""
    if item not in items:
        items.append(item)
