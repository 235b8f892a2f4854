"""The part of a verdict that is about a linear layer, for people."""

from __future__ import annotations

from compatcheck.report.styled import Line, line
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.verdict import LinearAnswer, Verdict


def headline(verdict: Verdict, facts: Configuration) -> str:
    """Return the configuration in one line."""
    what = [f"linear layer {facts.linear}"]
    if facts.in_features is not None or facts.out_features is not None:
        what.append(f"K {facts.in_features or '?'}, N {facts.out_features or '?'}")
    if facts.linear_backend is not None:
        what.append(f"--linear-backend {facts.linear_backend}")
    if facts.use_batch_invariant:
        what.append("batch-invariant")
    what.append(verdict.selected or "no kernel")
    where = f"SM {facts.sm}" if facts.sm else "an unknown GPU"
    library = f"FlashInfer {facts.flashinfer_version or 'not installed'}"
    return f"{', '.join(what)} on {where} with vLLM {facts.engine_version}, {library}"


def answer(linear: LinearAnswer) -> list[Line]:
    """Return what the picked kernel is and means."""
    library = f", {linear.library_kernel}" if linear.library_kernel else ""
    lines = [
        line(f"kernel: {linear.title} ({linear.compute}{library})", "heading"),
        line(f"  speed: {linear.speed}"),
        line(f"  accuracy: {linear.accuracy}"),
    ]
    if linear.multiple_of is not None:
        lines.append(line(f"  K and N are padded to multiples of {linear.multiple_of}"))
    if linear.note:
        lines.append(line(f"  {linear.note}", "dim"))
    return lines
