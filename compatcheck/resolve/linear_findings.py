"""Findings about the engine's choice of a linear kernel, in words."""

from __future__ import annotations

from typing import Any

from compatcheck.matrix.linear_model import LinearWords
from compatcheck.matrix.versions import parse
from compatcheck.resolve.findings import sources
from compatcheck.resolve.linear import LinearProgram, LinearSelection
from compatcheck.resolve.verdict import Finding
from compatcheck.resolve.words import fill


def speaks(selection: LinearSelection) -> bool:
    """Return whether a finding may be about a selection: there is none where a kernel is taken as it was asked for."""
    return selection.selected is None or selection.unmatched or selection.forced


def from_selection(
    program: LinearProgram, title: str, selection: LinearSelection, facts: Any, line: str | None
) -> list[Finding]:
    """Return what follows from a selection: that nothing was picked and why, or that an option had no effect."""
    found: list[Finding] = []
    if selection.unmatched:
        found.append(_option_ignored(program, title, facts, line))
    invariant = selection.forced and facts.use_batch_invariant
    if (
        invariant
        and facts.linear_backend is not None
        and selection.selected not in program.options[facts.linear_backend]
    ):
        found.append(_option_overridden(program, title, facts, line))
    if selection.error is not None:
        found.append(_nothing_picked(program, title, selection, facts, line))
    return found


def _nothing_picked(
    program: LinearProgram, title: str, selection: LinearSelection, facts: Any, line: str | None
) -> Finding:
    assert selection.error is not None
    exception, words = selection.error
    reasons = "; ".join(f"{j.kernel}: {j.words}" for j in selection.judgements if j.words is not None)
    fixes = dict.fromkeys(j.rule.fix for j in selection.judgements if j.rule is not None and j.rule.fix)
    asked = []
    if facts.linear_backend is not None:
        asked.append(f"--linear-backend {facts.linear_backend}")
    if facts.use_batch_invariant:
        asked.append("batch invariance")
    under = f" under {' and '.join(asked)}" if asked else ""
    return Finding(
        code="no-linear-kernel",
        name="No kernel for the linear layer",
        refuser="engine",
        bites="selection",
        effect="unsupported",
        message=f"{title} {program.release} has no kernel for a {facts.linear} layer on SM {facts.sm}{under}: "
        f"{reasons or words}",
        words=words,
        exception=exception,
        fix=" ".join(fixes) or "Drop what was asked for, or see the alternatives.",
        sources=sources(program.linear.sources),
        line=line,
    )


def _option_ignored(program: LinearProgram, title: str, facts: Any, line: str | None) -> Finding:
    return Finding(
        code="linear-backend-not-for-layer",
        name="--linear-backend has no kernel for this layer",
        refuser="engine",
        bites="selection",
        effect="note",
        message=f"--linear-backend {facts.linear_backend} names no kernel for {facts.linear} layers; "
        f"{title} {program.release} warns and picks as if it were not given.",
        words=_warning(program, program.linear.ignored_words, facts),
        actual=f"linear_backend={facts.linear_backend}",
        fix="Leave it out, or name one of: " + ", ".join(name for name, kernels in program.options.items() if kernels),
        sources=sources(program.linear.sources),
        line=line,
    )


def _option_overridden(program: LinearProgram, title: str, facts: Any, line: str | None) -> Finding:
    return Finding(
        code="linear-backend-overridden",
        name="Batch invariance overrides --linear-backend",
        refuser="engine",
        bites="selection",
        effect="note",
        message=f"VLLM_BATCH_INVARIANT overrides --linear-backend {facts.linear_backend} in {title} {program.release}.",
        words=_warning(program, program.linear.overridden_words, facts),
        actual=f"linear_backend={facts.linear_backend}",
        fix="Leave one of them out.",
        sources=sources(program.linear.sources),
        line=line,
    )


def _warning(program: LinearProgram, lines: list[LinearWords], facts: Any) -> str | None:
    """Return what the release logs, where the matrix has its words."""
    said = program.words(lines)
    return fill(said.words, facts) if said is not None else None


def option_not_in_release(program: LinearProgram, title: str, facts: Any, line: str | None) -> Finding:
    """Return the finding for a --linear-backend value that this release's command line does not accept."""
    option = program.linear.options[facts.linear_backend]
    first = min((o.since or "0" for o in program.linear.options.values()), key=parse)
    value = f"does not accept --linear-backend {facts.linear_backend}"
    said = value if program.options else f"has no --linear-backend (first in {first})"
    return Finding(
        code="linear-backend-not-in-release",
        name="--linear-backend value unknown to this release",
        refuser="engine",
        bites="config",
        effect="unsupported",
        message=f"{title} {program.release} {said}; the matrix knows {facts.linear_backend} since {option.since}.",
        required=", ".join(program.options) or f"{title} >= {first}",
        actual=f"linear_backend={facts.linear_backend}",
        fix=f"Use {title} >= {option.since}, or another way to choose the kernel.",
        sources=sources(program.linear.sources),
        line=line,
    )
