"""What a launch adds to a verdict for people: the kinds of layers, and the options that were not understood."""

from __future__ import annotations

from compatcheck.launch.judge import LaunchVerdict, LayerVerdict
from compatcheck.launch.model import Report
from compatcheck.report.styled import Line, line
from compatcheck.report.verdict_text import finding_lines, own_findings
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.verdict import Verdict


def render(verdict: LaunchVerdict) -> list[Line]:
    """Return the lines below the leading verdict."""
    lines: list[Line] = []
    if len(verdict.layers) > 1:
        lines += [line(), line("layers, each kind by itself; the worst leads:", "heading")]
        lines += [_layer(layer) for layer in verdict.layers]
        lines += _of_other_kinds(verdict)
    lines += _linear(verdict)
    reports = verdict.launch.reports
    if reports:
        counts = {status: sum(r.status == status for r in reports) for status in ("understood", "not relevant")}
        known = f"{counts['understood']} understood, {counts['not relevant']} not relevant"
        lines += [line(), line(f"options and variables: {known}", "dim")]
        lines += [line(f"  unknown: {report.name}: {report.why}", "note") for report in unknown(reports)]
    return lines


def _of_other_kinds(verdict: LaunchVerdict) -> list[Line]:
    """Return what is wrong with kinds of layers that do not lead, as far as nothing has said it yet."""
    lines: list[Line] = []
    told = {finding.code for one in (verdict.lead, verdict.attention.verdict) if one for finding in one.findings}
    for layer in verdict.layers:
        if layer.verdict is None or layer.facts is None:
            continue
        own = [f for f in own_findings(layer.verdict, layer.facts) if f.code not in told and f.effect != "note"]
        told |= {finding.code for finding in own}
        lines += [line(), line(f"{layer.kind}:", "heading")] if own else []
        lines += [entry for finding in own for entry in finding_lines(finding)]
    return lines


def _linear(verdict: LaunchVerdict) -> list[Line]:
    """Return the linear layers beside the attention layers; of the side that does not lead, what is wrong with it."""
    if not verdict.linear:
        return []
    lines = [line(), line("NVFP4 linear layers, K and N on one rank:", "heading")]
    for one in verdict.linear:
        size = f"K {one.layers.in_features or '?'}, N {one.layers.out_features or '?'}"
        what = f"  {', '.join(one.layers.names)} ({one.layers.scheme}, {size}): "
        picked = f" ({one.verdict.selected})" if one.verdict.selected else ""
        lines.append(Line(((what, ""), (one.verdict.verdict + picked, one.verdict.verdict))))
    if verdict.leads_linear and verdict.attention.verdict is not None and verdict.attention.facts is not None:
        if len(verdict.layers) == 1:
            lines += [line(), line("attention:", "heading"), _layer(verdict.attention)]
        return lines + _findings(verdict.attention.verdict, verdict.attention.facts)
    return lines + _findings(verdict.linear[0].verdict, verdict.linear[0].facts)


def _findings(verdict: Verdict, facts: Configuration) -> list[Line]:
    return [entry for finding in own_findings(verdict, facts) for entry in finding_lines(finding)]


def unknown(reports: tuple[Report, ...]) -> list[Report]:
    """Return what was not understood."""
    return [report for report in reports if report.status == "unknown"]


def _layer(layer: LayerVerdict) -> Line:
    count = f"{layer.count} x " if layer.count is not None else ""
    if layer.verdict is None:
        return line(f"  {count}{layer.kind}: no paged cache, no attention backend", "dim")
    picked = f" ({layer.verdict.selected})" if layer.verdict.selected else ""
    return Line(((f"  {count}{layer.kind}: ", ""), (layer.verdict.verdict + picked, layer.verdict.verdict)))
