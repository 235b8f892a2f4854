"""A verdict for people: the answer first, then each reason with its fix, then what works instead."""

from __future__ import annotations

from compatcheck.report.styled import Line, line
from compatcheck.resolve.configuration import DEFAULTS, FIELDS, QUIET_DEFAULTS, Configuration
from compatcheck.resolve.verdict import Finding, MlaPrefill, RouteAnswer, Verdict

_KEPT = frozenset({"no-valid-backend", "no-linear-kernel", "linear-backend-not-for-layer", "linear-backend-overridden"})
"""Findings of the selector that the list of its refusals does not already say."""
_LEVEL = {"unsupported": "error", "degraded": "warning", "note": "note"}
_BITES = {
    "config": "when the configuration is read",
    "selection": "when the backend is selected",
    "init": "while the engine starts",
    "first-request": "at the first request",
    "silent": "silently: nothing is raised",
}


def render(verdict: Verdict, facts: Configuration) -> list[Line]:
    """Return the lines of one verdict. `facts` are the normalised ones."""
    lines = [Line(((verdict.verdict, verdict.verdict), ("  " + headline(verdict, facts), "heading")))]
    if verdict.answered_as:
        lines.append(line(f"  {verdict.answered_as}", "note"))
    if verdict.fails_at:
        lines.append(line(f"  fails {_BITES[verdict.fails_at]}"))
    if verdict.missing:
        lines.append(line(f"  to decide, tell: {', '.join(option(name) for name in verdict.missing)}", "note"))
    if verdict.untested:
        lines.append(line(f"  untested: {verdict.untested}", "note"))
    lines += _selection(verdict)
    for finding in own_findings(verdict, facts):
        lines += finding_lines(finding)
    lines += _alternatives(verdict)
    lines += _assumed(verdict)
    return lines


def option(field: str) -> str:
    """Return the command-line option of a field: head_size -> --head-size; other words stay as they are."""
    return "--" + field.replace("_", "-") if field in FIELDS else field


def headline(verdict: Verdict, facts: Configuration) -> str:
    """Return the configuration in one line."""
    if facts.linear is not None:
        from compatcheck.report import linear_text

        return linear_text.headline(verdict, facts)
    what = [str(facts.backend or verdict.selected or "automatic selection"), f"KV cache {facts.kv_cache_dtype}"]
    if facts.head_size is not None:
        what.append(f"head size {facts.head_size}")
    if facts.use_mla:
        what.append("sparse MLA" if facts.use_sparse else "MLA")
    where = f"SM {facts.sm}" if facts.sm else "an unknown GPU"
    library = f"FlashInfer {facts.flashinfer_version or 'not installed'}"
    return f"{', '.join(what)} on {where} with vLLM {facts.engine_version}, {library}"


def own_findings(verdict: Verdict, facts: Configuration) -> list[Finding]:
    """Return the findings to print: with nothing selected, the list of refusals already says the selector's."""
    if facts.backend is None and verdict.rejected is not None:
        return [f for f in verdict.findings if f.bites != "selection" or f.code in _KEPT or _of_a_rule(f, facts)]
    return list(verdict.findings)


def _of_a_rule(finding: Finding, facts: Configuration) -> bool:
    """Return whether a finding on selection is no backend's refusal: then no list of refusals says it."""
    return finding.backend is None and facts.linear is None


def _selection(verdict: Verdict) -> list[Line]:
    lines: list[Line] = []
    if verdict.candidates is not None:
        lines.append(line())
        lines.append(line(f"selection: {verdict.selected or 'nothing'}", "heading"))
        lines += [
            line(f"  {name}: accepted" + (", picked" if name == verdict.selected else ""))
            for name in verdict.candidates
        ]
        lines += [line(f"  {name}: {'; '.join(words)}", "dim") for name, words in (verdict.rejected or {}).items()]
    if verdict.mla_prefill is not None:
        lines += _prefill(verdict.mla_prefill)
    if verdict.route is not None:
        lines += _route(verdict.route)
    if verdict.linear is not None:
        from compatcheck.report import linear_text

        lines += linear_text.answer(verdict.linear)
    return lines


def _prefill(prefill: MlaPrefill) -> list[Line]:
    lines = [line(f"MLA prefill: {prefill.selected or 'nothing'}", "heading")]
    lines += [line(f"  {name}: accepted") for name in prefill.candidates if name != prefill.selected]
    lines += [line(f"  {name}: {'; '.join(words)}", "dim") for name, words in prefill.rejected.items()]
    return lines


def _route(route: RouteAnswer) -> list[Line]:
    lines = [line(f"route: {route.title}", "heading")]
    phases = (("write", route.kv_write), ("prefill", route.prefill), ("decode", route.decode))
    lines.append(line("  " + ", ".join(f"{phase} {kernel}" for phase, kernel in phases if kernel)))
    formats = (
        ("query", route.query_dtype),
        ("output", route.output_dtype),
        ("scales", route.scale_layout),
        ("pages", route.page_layout),
    )
    said = "; ".join(f"{name}: {value}" for name, value in formats if value)
    if said:
        lines.append(line(f"  {said}"))
    if route.note:
        lines.append(line(f"  {route.note}", "dim"))
    return lines


def finding_lines(finding: Finding) -> list[Line]:
    """Return one finding: its message, when it bites, what to do, and where it comes from."""
    level = _LEVEL[finding.effect]
    lines = [line(), Line(((f"{level}[{finding.code}]", level), (f" {finding.message}", "")))]
    if finding.words and finding.words not in finding.message:
        lines.append(line(f"  words: {finding.words}"))
    if finding.why and finding.why not in finding.message:
        lines.append(line(f"  why: {finding.why}"))
    who = "advisory: nobody refuses" if finding.refuser == "advisory" else f"refused by: {finding.refuser}"
    lines.append(line(f"  when: {_BITES[finding.bites]} ({who})"))
    if finding.fix:
        lines.append(line(f"  fix: {finding.fix}"))
    lines += [line(f"  history: {entry}") for entry in finding.history]
    if finding.recheck:
        lines.append(line(f"  recheck: {finding.recheck}"))
    if finding.confirmed:
        lines.append(line(f"  known by: {finding.confirmed}", "dim"))
    lines += [line(f"  source: {source.ref}", "dim") for source in finding.sources]
    if finding.line:
        lines.append(line(f"  matrix: {finding.line}", "dim"))
    return lines


def _alternatives(verdict: Verdict) -> list[Line]:
    if not verdict.alternatives:
        return []
    lines = [line(), line("works here instead:", "heading")]
    for alternative in verdict.alternatives:
        changes = " ".join(
            f"{option(field)} {value}" if value is not None else f"without {option(field)}"
            for field, value in alternative.changes.items()
        )
        note = f" ({alternative.note})" if alternative.note else ""
        lines.append(line(f"  {changes} -> {alternative.selected}{note}"))
    return lines


def _assumed(verdict: Verdict) -> list[Line]:
    told = [a for a in verdict.assumed if a.field not in QUIET_DEFAULTS or a.ground != DEFAULTS[a.field][1]]
    if not told:
        return []
    text = "; ".join(
        f"{a.field}={str(a.value).lower() if isinstance(a.value, bool) else a.value} ({a.ground})" for a in told
    )
    return [line(), line(f"assumed: {text}", "dim")]
