"""Diagnostics as lines: file:line:column: level[code] message, and the fix below."""

from __future__ import annotations

from compatcheck.report.diagnostic import Diagnostic
from compatcheck.report.styled import Line, line


def render(diagnostics: list[Diagnostic]) -> list[Line]:
    """Return the lines of these diagnostics."""
    lines: list[Line] = []
    for diagnostic in diagnostics:
        place = ":".join(str(p) for p in (diagnostic.file, diagnostic.line, diagnostic.column) if p is not None)
        lead = (f"{place}: ", "") if place else ("", "")
        label = f"{diagnostic.level}[{diagnostic.code}]"
        lines.append(Line((lead, (label, diagnostic.level), (f" {diagnostic.message}", ""))))
        if diagnostic.help:
            lines.append(line(f"  fix: {diagnostic.help}"))
    return lines
