"""What the matrix leaves open for one kind of layers, and a launch of a known model decides itself."""

from __future__ import annotations

import msgspec

from compatcheck.resolve.parts import verdict_name
from compatcheck.resolve.verdict import Verdict

DECIDED = frozenset({"vllm-flashinfer-mixed-windows", "vllm-turboquant-v1-runner"})
"""Codes of rules for whoever knows one kind of layers only: of windows, and of the model runner."""
PAGES = frozenset({"vllm-per-token-head-padded-pages", "vllm-per-token-head-pages-not-divisible"})
"""The same, of pages."""


def without_decided(verdict: Verdict, *, pages: bool) -> Verdict:
    """Return a verdict without what `windows`, `model_runner` and `page_sizes` say of the whole model.

    `pages`: whether it is known how layers share pages, which a KV connector may leave open.
    """
    decided = DECIDED | PAGES if pages else DECIDED
    kept = [finding for finding in verdict.findings if finding.code not in decided]
    if len(kept) == len(verdict.findings):
        return verdict
    unsupported = [finding for finding in kept if finding.effect == "unsupported"]
    return msgspec.structs.replace(
        verdict,
        findings=tuple(kept),
        verdict=verdict_name(verdict.engine_accepts, kept, frozenset(verdict.missing), verdict.untested),
        fails_at=unsupported[0].bites if unsupported else None,
    )
