"""What a launch adds to a verdict for people: the kinds of layers, and the options that were not understood."""

from __future__ import annotations

from compatcheck.launch.judge import LaunchVerdict, LayerVerdict
from compatcheck.launch.model import Report
from compatcheck.report.styled import Line, line


def render(verdict: LaunchVerdict) -> list[Line]:
    """Return the lines below the leading verdict."""
    lines: list[Line] = []
    if len(verdict.layers) > 1:
        lines += [line(), line("layers, each kind by itself; the worst leads:", "heading")]
        lines += [_layer(layer) for layer in verdict.layers]
    reports = verdict.launch.reports
    if reports:
        counts = {status: sum(r.status == status for r in reports) for status in ("understood", "not relevant")}
        known = f"{counts['understood']} understood, {counts['not relevant']} not relevant"
        lines += [line(), line(f"options and variables: {known}", "dim")]
        lines += [line(f"  unknown: {report.name}: {report.why}", "note") for report in unknown(reports)]
    return lines


def unknown(reports: tuple[Report, ...]) -> list[Report]:
    """Return what was not understood."""
    return [report for report in reports if report.status == "unknown"]


def _layer(layer: LayerVerdict) -> Line:
    count = f"{layer.count} x " if layer.count is not None else ""
    if layer.verdict is None:
        return line(f"  {count}{layer.kind}: no paged cache, no attention backend", "dim")
    picked = f" ({layer.verdict.selected})" if layer.verdict.selected else ""
    return Line(((f"  {count}{layer.kind}: ", ""), (layer.verdict.verdict + picked, layer.verdict.verdict)))
