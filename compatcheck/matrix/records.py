"""The records that several sections of the matrix are made of: sources, lines of lists, conditions.

Conditions are plain mappings (see `compatcheck.resolve.conditions`): no expression is ever evaluated.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Condition = dict[str, Any]
"""Field or derived fact -> constraint; all entries must hold. `all_of`, `any_of` and `not` nest."""

Flag = bool | Condition
"""Supported always (true), never (false), or where the condition holds."""

Constraint = Any
"""A scalar (equals), a list (one of), or a mapping: in, not, prefix, suffix, lt, le, gt, ge, multiple_of, absent."""


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Base of every record: unknown keys are refused."""


class Source(Strict, frozen=True, kw_only=True):
    """Where a fact was seen: a `file:symbol@version`, a thread, or a live run."""

    ref: str
    kind: Literal["source", "thread", "run", "docs"] = "source"
    note: str | None = None


class Limited(Strict, frozen=True, kw_only=True):
    """A line of a list that only some releases have: from `since` on, up to but not including `until`."""

    since: str | None = None
    until: str | None = None


class JointRule(Limited, frozen=True, kw_only=True):
    """A refusal by the selector that looks at several facts together. The first that holds speaks."""

    code: str
    when: Condition
    words: str
    title: str | None = None
    """What it is, where the words do not say it."""
    more_words: list[str] = []
    """Other texts in which it is met; `explain` finds it by them too."""
    why: str | None = None
    fix: str | None = None
    sources: list[Source] = []


class ModelSetting(Limited, frozen=True, kw_only=True):
    """What the engine sets for a model family where `when` holds, before it selects anything."""

    types: list[str]
    """`model_type` of the checkpoint's configuration."""
    when: Condition | None = None
    set: dict[str, str | int | bool]
    """Configuration field -> what it becomes."""
    words: str | None = None
    """What the log says."""
    sources: list[Source] = []


class PriorityCase(Limited, frozen=True, kw_only=True):
    """The order in which backends are tried where `when` holds; names that the release lacks are passed over."""

    order: list[str]
    when: Condition | None = None


class PriorityList(Strict, frozen=True, kw_only=True):
    """The selection order since a release."""

    since: str
    cases: list[PriorityCase]
    sources: list[Source] = []


class FactCase(Limited, frozen=True, kw_only=True):
    """One line of a decision list."""

    value: str | int | bool | None = None
    when: Condition | None = None
