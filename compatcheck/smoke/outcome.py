"""What a cell did (outcome), what the matrix said (expectation) and whether the two agree (judgement)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Outcome = Literal[
    "correct", "wrong", "refused", "compile-error", "crashed", "timeout", "unavailable", "passed", "skipped"
]
"""`passed`: no failure up to a level below `correct`, which proves only what that level proves. `skipped`: not run."""

Judgement = Literal["confirmed", "contradicted", "unproven"]
ExpectationKind = Literal["supported", "refused", "compile-error", "wrong", "varies", "absent", "unknown"]
"""`varies`: an advisory says wrong, depending on something that the cell does not fix."""
Missing = Literal["package", "symbol", "artifact", "header", "library", "network", "source", "compiler", "driver"]

"""`driver`: the smoke test itself cannot express the cell. `library`: the linker found none."""


class Expectation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the matrix says of a cell.

    `exception` is a class name, `match` a regular expression searched in the exception's text. `code` names the refusal
    or advisory, `path` leads to its entry in the matrix. `any_shape` marks an advisory that need not show in every
    shape of one configuration: one wrong shape confirms it.
    """

    kind: ExpectationKind
    code: str | None = None
    exception: str | None = None
    match: str | None = None
    path: tuple[str | int, ...] = ()
    any_shape: bool = False
    reason: str | None = None


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one cell did. Texts hold neither paths nor host names; times are seconds.

    `errors` maps an output to ||out - ref|| / ||ref||, `tolerance` bounds each that `bounds` does not.
    `level` is the highest level that passed. `exception` is the class, `bases` its base classes,
    `missing` what was not there.
    """

    id: str
    outcome: Outcome
    level: str | None = None
    exception: str | None = None
    bases: tuple[str, ...] = ()
    text: str | None = None
    missing: str | None = None
    missing_what: str | None = None
    stage: str | None = None
    errors: dict[str, float] = {}
    tolerance: float | None = None
    bounds: dict[str, float] = {}
    notes: dict[str, Any] = {}
    timings: dict[str, float] = {}
    reruns: int = 0


class Judged(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A result beside what the matrix said of it."""

    result: Result
    expected: Expectation
    judgement: Judgement
    why: str
