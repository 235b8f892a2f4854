"""One finding at one place, as every line-oriented report format wants it."""

from __future__ import annotations

from typing import Literal

import msgspec

from compatcheck.resolve.verdict import Verdict

Level = Literal["error", "warning", "note"]

LEVELS: dict[str, Level] = {"unsupported": "error", "degraded": "warning", "note": "note"}
"""Effect of a finding -> level in SARIF and GitHub annotations."""


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """A coded message, with the place where there is one. Lines and columns count from 1."""

    code: str
    level: Level
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    help: str | None = None
    source: str | None = None


def of_verdict(verdict: Verdict, file: str | None = None, line: int | None = None) -> list[Diagnostic]:
    """Return a verdict's findings as diagnostics; a missing fact is a warning of its own."""
    found = [
        Diagnostic(
            code=finding.code,
            level=LEVELS[finding.effect],
            message=finding.message,
            file=file,
            line=line,
            column=1 if line else None,
            help=finding.fix,
            source=finding.sources[0].ref if finding.sources else None,
        )
        for finding in verdict.findings
    ]
    if verdict.verdict == "unknown":
        missing = ", ".join(verdict.missing) or verdict.untested or "nobody has tested it"
        text = f"The verdict is unknown: {missing}."
        found.append(
            Diagnostic(code="unknown", level="warning", message=text, file=file, line=line, column=1 if line else None)
        )
    return found
