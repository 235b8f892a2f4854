"""A selection for people: the release's order, the pick, each refusal, and what would change it."""

from __future__ import annotations

from compatcheck.report.styled import Line, line
from compatcheck.report.verdict_text import option
from compatcheck.resolve.selection import Candidate, ForcedAnswer, SelectionAnswer, WhyAnswer

_WHO = {
    "command": "in the command",
    "engine": "another vLLM",
    "library": "another FlashInfer",
    "gpu": "another GPU",
    "model": "another model",
}


def render(
    answer: SelectionAnswer, why: WhyAnswer | None, title: str, forced: ForcedAnswer | None = None
) -> list[Line]:
    """Return the lines of a selection; `title` says for what."""
    lines = [line(title, "heading")]
    if forced is not None:
        lines += _forced(forced)
    if answer.answered_as:
        lines.append(line(f"  {answer.answered_as}", "note"))
    lines += _list("decode and prefill" if answer.prefill is None else "MLA decode", answer.candidates, answer.selected)
    if answer.missing:
        lines.append(line(f"  to decide, tell: {', '.join(option(name) for name in answer.missing)}", "note"))
    if answer.prefill is not None:
        lines += _list("MLA prefill", answer.prefill, answer.prefill_selected)
    if why is not None:
        lines += [line(), *_why(why)]
    return lines


def _forced(forced: ForcedAnswer) -> list[Line]:
    said = {True: "accepts it", False: "refuses it", None: "cannot be told to accept it"}[forced.accepted]
    more = "; ".join(forced.words) if forced.accepted is False else ", ".join(option(f) for f in forced.missing)
    how = f"is {forced.ground}" if forced.ground else "is forced"
    text = f"{forced.name} {how}, and the engine {said}" + (f": {more}" if more else "")
    style = {True: "supported", False: "unsupported", None: "unknown"}[forced.accepted]
    return [line(f"  {text}", style), line("  nothing is selected then; without it:", "dim")]


def _list(name: str, candidates: tuple[Candidate, ...], selected: str | None) -> list[Line]:
    lines = [line(f"{name}: {selected or 'nothing'}", "heading")]
    for candidate in candidates:
        said = "; ".join(candidate.words)
        if candidate.picked:
            said = "picked"
        elif candidate.accepted:
            said = "accepted, tried later"
        elif candidate.accepted is None:
            said = f"not decided without {', '.join(option(field) for field in candidate.missing)}"
        style = "supported" if candidate.picked else ("" if candidate.accepted else "dim")
        lines.append(Line(((f"  {candidate.rank}. {candidate.name}: {said}", style),)))
    return lines or [line("  this release tries none")]


def _why(why: WhyAnswer) -> list[Line]:
    if why.picked:
        return [line(f"{why.name} is the pick.", "heading")]
    lines = [line(f"why not {why.name}", "heading")]
    if not why.known:
        lines.append(line(f"  this release has no backend {why.name}"))
    elif why.words:
        lines.append(line(f"  refused: {'; '.join(why.words)}"))
    elif not why.in_order:
        lines.append(line("  never tried by itself here; it must be forced with --attention-backend"))
    if why.outranked_by:
        lines.append(line(f"  tried later than {', '.join(why.outranked_by)}, which would do"))
    if why.accepted:
        lines.append(line(f"  --attention-backend {why.name} is accepted"))
    if not why.changes:
        lines.append(line("  no single change makes it the pick"))
    for change in why.changes:
        value = f"{option(change.field)} {change.value}" if change.value is not None else f"no {option(change.field)}"
        if isinstance(change.value, bool):
            value = option(change.field) if change.value else f"--no-{change.field.replace('_', '-')}"
        lines.append(line(f"  picked with {value} ({_WHO[change.of]})"))
    return lines
