"""What the matrix leaves open for one kind of layers, and a launch of a known model settles itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from compatcheck.matrix.model import Rule, Settling
from compatcheck.resolve.parts import verdict_name
from compatcheck.resolve.verdict import Verdict


def without_settled(verdict: Verdict, rules: Mapping[str, Rule], settled: Collection[Settling]) -> Verdict:
    """Return a verdict without the rules that `windows`, `model_runner` and `page_sizes` answer for the whole model.

    `settled` is what is known of the launch; a rule that something else would settle stays.
    """
    answered = {code for code, rule in rules.items() if rule.settled_by in settled}
    kept = [finding for finding in verdict.findings if finding.code not in answered]
    if len(kept) == len(verdict.findings):
        return verdict
    unsupported = [finding for finding in kept if finding.effect == "unsupported"]
    return msgspec.structs.replace(
        verdict,
        findings=tuple(kept),
        verdict=verdict_name(verdict.engine_accepts, kept, frozenset(verdict.missing), verdict.untested),
        fails_at=unsupported[0].bites if unsupported else None,
    )
