"""Environment variables of a launch: which ones the release reads, and which change the verdict."""

from __future__ import annotations

from typing import Any

from compatcheck.launch import findings
from compatcheck.launch.flag_table import FlagTable, reads_variable
from compatcheck.launch.model import Placed, Report, Word
from compatcheck.resolve.verdict import FindingSource

RELEVANT = {
    "VLLM_BATCH_INVARIANT": "batch invariance is asked of the backend",
    "VLLM_MLA_DISABLE": "the model is served without MLA",
}
_PREFIX = "VLLM_"


class EnvironmentFacts:
    """What the variables say: configuration fields, findings, and a line for each variable."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.places: dict[str, tuple[int, int]] = {}
        self.mla_disabled = False
        self.findings: list[Placed] = []
        self.reports: list[Report] = []


def read_environment(environment: dict[str, Word], flags: FlagTable) -> EnvironmentFacts:
    """Return what a release makes of these variables."""
    facts = EnvironmentFacts()
    for name, word in environment.items():
        _read(facts, name, word, flags)
    return facts


def _read(facts: EnvironmentFacts, name: str, word: Word, flags: FlagTable) -> None:
    value = None if word.dynamic else word.text
    if name == "FLASHINFER_DISABLE_VERSION_CHECK" and value not in (None, "", "0"):
        finding = findings.make(
            "launch-flashinfer-version-check-disabled",
            "FlashInfer's version check is switched off",
            "FLASHINFER_DISABLE_VERSION_CHECK is set: flashinfer-python starts with a flashinfer-cubin or "
            "flashinfer-jit-cache of another version, whose kernels may not fit.",
            effect="note",
            bites="init",
            refuser="package",
            fix="Install one version of the three packages and unset the variable.",
            source=FindingSource(ref="flashinfer/jit/cubin_loader.py and flashinfer/jit/env.py"),
        )
        facts.findings.append(Placed(finding, word.line, word.column))
        _report(facts, name, "understood", "no version check between FlashInfer's packages", word)
        return
    if not name.startswith(_PREFIX):
        _report(facts, name, "not relevant", "not read by the selection of attention backends", word)
        return
    if not reads_variable(name, flags.release):
        finding = findings.ignored_variable(name, value, flags)
        facts.findings.append(Placed(finding, word.line, word.column))
        _report(facts, name, "unknown", f"vLLM {flags.release} does not read it", word)
        return
    if name not in RELEVANT:
        _report(facts, name, "not relevant", "read by this release, not for attention backends", word)
        return
    _report(facts, name, "understood", RELEVANT[name], word)
    if value is None:
        return
    on = value.strip() not in ("", "0")
    if name == "VLLM_BATCH_INVARIANT":
        facts.fields["use_batch_invariant"] = on
        facts.places["use_batch_invariant"] = (word.line, word.column)
    else:
        facts.mla_disabled = on
        facts.places["use_mla"] = (word.line, word.column)


def _report(facts: EnvironmentFacts, name: str, status: Any, why: str, word: Word) -> None:
    facts.reports.append(Report(name=name, status=status, why=why, line=word.line, column=word.column))
