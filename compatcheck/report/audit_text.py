"""An audit as text: three columns (matrix, library, evidence from GPUs), then the gates that were not understood."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO

from compatcheck.audit.difference import Audit, Difference, NotUnderstood

_NONE = "none"


def write(audit: Audit, out: IO[str]) -> None:
    """Write an audit."""
    from rich.box import ASCII, SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    out.write(headline(audit) + "\n")
    if audit.differences:
        console = Console(file=out, highlight=False, width=None if out.isatty() else 160)
        table = Table(box=SIMPLE if out.isatty() else ASCII, show_lines=not out.isatty())
        for name in ("", "matrix", "library", "evidence from GPUs"):
            table.add_column(name, overflow="fold")
        for difference in audit.differences:
            cells = (_subject(difference), difference.matrix, _library(difference), difference.evidence or _NONE)
            table.add_row(*(Text(cell) for cell in cells))
        console.print(table)
    for line in _unclear(audit):
        out.write(line + "\n")
    for note in audit.notes:
        out.write(f"note: {note}\n")


def headline(audit: Audit) -> str:
    """Return the line that says what was audited, and the result."""
    what = ", ".join(
        f"{name} {version}" for name, version in (("vLLM", audit.vllm), ("FlashInfer", audit.flashinfer)) if version
    )
    unknown, known = len(audit.unknown()), len(audit.not_understood) - len(audit.unknown())
    quiet = audit.guards - sum(item.subject.startswith("guard: ") for item in audit.unknown())
    drift = f"{len(audit.differences)} differences" if audit.differences else "no drift"
    way = "" if audit.way == "read" else " (executed)"
    parts = [
        f"{drift} in {audit.compared} answers",
        f"{unknown} gates not understood" if unknown else "",
        f"{known} known gates unchanged" if known else "",
        f"{quiet} guards unchanged" if quiet > 0 else "",
    ]
    return f"{what}{way}: {', '.join(part for part in parts if part)}"


def _subject(difference: Difference) -> str:
    lines = [f"{difference.kind}: {difference.subject}" + (f" {difference.aspect}" if difference.aspect else "")]
    if difference.where:
        lines.append(f"where {difference.where}")
    return "\n".join(lines)


def _library(difference: Difference) -> str:
    return f"{difference.library}\n{difference.place}" if difference.place else difference.library


def _unclear(audit: Audit) -> Iterator[str]:
    for item in audit.unknown():
        yield from _gate(item)


def _gate(item: NotUnderstood) -> Iterator[str]:
    name = f"{item.subject}.{item.aspect}" if item.aspect else item.subject
    yield f"not understood: {item.place}: {name}: {item.why}"
    if item.expression:
        yield f"    {item.expression}"
    if item.where:
        yield f"    where {item.where}"
    yield f"    fingerprint {item.digest}"


def warn(text: str) -> None:
    """Write a line to standard error."""
    sys.stderr.write(f"compatcheck audit: {text}\n")
