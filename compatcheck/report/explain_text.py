"""Explained entries for people: the first in full, the others in one line."""

from __future__ import annotations

from compatcheck.explain.match import Match
from compatcheck.report.styled import Line, line


def render(matches: list[Match]) -> list[Line]:
    """Return the lines for the matches, best first."""
    lines = _full(matches[0])
    if len(matches) > 1:
        lines += [line(), line("also fits:", "heading")]
        lines += [
            Line(((f"  {m.entry.id}", "note"), (f"  {m.entry.title} ({m.entry.kind}, {m.how})", "")))
            for m in matches[1:]
        ]
    return lines


def _full(match: Match) -> list[Line]:
    entry = match.entry
    lines = [
        Line(((entry.id, "heading"), (f"  {entry.title}", ""))),
        line(f"  {entry.kind}; found by {match.how}", "dim"),
    ]
    lines += [line(f"  {name}: {value}") for name, value in entry.facts]
    lines += [line(f"  words: {words}") for words in entry.words]
    if entry.why:
        lines.append(line(f"  why: {entry.why}"))
    if entry.fix:
        lines.append(line(f"  fix: {entry.fix}"))
    lines += [line(f"  history: {step}") for step in entry.history]
    if entry.recheck:
        lines.append(line(f"  recheck: {entry.recheck}"))
    lines += [line(f"  source: {source.ref}", "dim") for source in entry.sources]
    if entry.line:
        lines.append(line(f"  matrix: {entry.line}", "dim"))
    return lines
