"""What a resolution returns. Values only: reporters render, nothing here decides."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

VerdictName = Literal["supported", "degraded", "unsupported", "unknown"]

BITES_ORDER = ("config", "selection", "init", "first-request", "silent")
"""When a refusal bites, in the order in which a starting engine meets them."""


class FindingSource(msgspec.Struct, frozen=True):
    """Where the fact behind a finding was seen."""

    ref: str
    kind: str = "source"
    note: str | None = None


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One reason behind a verdict."""

    code: str
    name: str
    refuser: str
    bites: str
    effect: str
    message: str
    words: str | None = None
    required: str | None = None
    actual: str | None = None
    why: str | None = None
    fix: str | None = None
    exception: str | None = None
    history: tuple[str, ...] = ()
    recheck: str | None = None
    confirmed: str | None = None
    sources: tuple[FindingSource, ...] = ()
    line: str | None = None
    backend: str | None = None
    kernel: str | None = None


class RouteAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The kernels a configuration uses, per phase, and the formats between them."""

    id: str
    title: str
    kv_write: str | None = None
    prefill: str | None = None
    decode: str | None = None
    query_dtype: str | None = None
    output_dtype: str | None = None
    scale_layout: str | None = None
    page_layout: str | None = None
    head_sizes: tuple[int, ...] = ()
    note: str | None = None


class Assumption(msgspec.Struct, frozen=True):
    """A fact that was not given: what was taken, and on what ground."""

    field: str
    value: Any
    ground: str


class Alternative(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration near this one that works here, and what to change to get there."""

    changes: dict[str, Any]
    verdict: VerdictName
    selected: str | None = None
    note: str | None = None


class MlaPrefill(msgspec.Struct, frozen=True, kw_only=True):
    """What the engine picks for MLA prefill, which it selects apart from decode."""

    selected: str | None
    candidates: tuple[str, ...]
    rejected: dict[str, tuple[str, ...]]


class LinearAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The kernel that computes a linear layer and what that means; the engine pads K and N to `multiple_of`."""

    kernel: str
    title: str
    scheme: str
    compute: Literal["native", "weight-only", "emulated"]
    speed: str
    accuracy: str
    library_kernel: str | None = None
    multiple_of: int | None = None
    padded_in_features: int | None = None
    padded_out_features: int | None = None
    note: str | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for one configuration."""

    schema: int = 1
    verdict: VerdictName
    engine_accepts: bool | None
    engine_reasons: tuple[str, ...] = ()
    selected: str | None = None
    candidates: tuple[str, ...] | None = None
    rejected: dict[str, tuple[str, ...]] | None = None
    mla_prefill: MlaPrefill | None = None
    route: RouteAnswer | None = None
    fails_at: str | None = None
    findings: tuple[Finding, ...] = ()
    missing: tuple[str, ...] = ()
    untested: str | None = None
    alternatives: tuple[Alternative, ...] = ()
    assumed: tuple[Assumption, ...] = ()
    answered_as: str | None = None
    """The engine release that answers, where it is not the one asked for, and why."""
    linear: LinearAnswer | None = None
    """Where the configuration asks about a linear layer: `selected`, `candidates` and `rejected` are its kernels."""
