"""Environment variables of a launch: which ones the release reads, and which change the verdict."""

from __future__ import annotations

from typing import Any

from compatcheck.launch import findings
from compatcheck.launch.engine_release import EngineRelease
from compatcheck.launch.flag_table import FlagTable, reads_variable
from compatcheck.launch.model import Placed, Report, Word
from compatcheck.matrix.versions import parse
from compatcheck.resolve.verdict import Finding, FindingSource

RUNNER = "VLLM_USE_V2_MODEL_RUNNER"
RELEVANT = {
    "VLLM_BATCH_INVARIANT": "batch invariance is asked of the backend",
    "VLLM_MLA_DISABLE": "the model is served without MLA",
    RUNNER: "which model runner serves the model",
}
LINEAR = {
    "VLLM_DISABLED_KERNELS": "kernels of quantised linear layers that are passed over",
    "VLLM_NVFP4_GEMM_BACKEND": "the kernel of NVFP4 linear layers",
    "VLLM_USE_FBGEMM": "may force the kernel of NVFP4 linear layers",
    "VLLM_USE_NVFP4_CT_EMULATIONS": "may force the kernel of NVFP4 linear layers",
}
"""Variables that decide nothing but kernels of quantised linear layers."""
_FORGIVING = ("VLLM_BATCH_INVARIANT", "0.19.0")
"""The one variable of RELEVANT that took any text for 0, and the first release that does not."""
_PREFIX = "VLLM_"
OLD_UNTIL = "0.15.0"
OLD: dict[str, str | None] = {
    "VLLM_ATTENTION_BACKEND": "backend",
    "VLLM_USE_TRTLLM_ATTENTION": "use_trtllm_attention",
    "VLLM_FLASH_ATTN_VERSION": "flash_attn_version",
    "VLLM_FLASHINFER_DISABLE_Q_QUANTIZATION": None,
    "VLLM_USE_CUDNN_PREFILL": None,
    "VLLM_USE_TRTLLM_RAGGED_DEEPSEEK_PREFILL": None,
    "VLLM_DISABLE_FLASHINFER_PREFILL": None,
}
"""Variables that no covered release reads and older ones did -> the configuration field that they set.

Source: vllm/config/attention.py:AttentionConfig._set_from_env_if_set@0.14.1; nothing in the wheel of 0.15.0 or 0.16.0
names any of them.
"""


class EnvironmentFacts:
    """What the variables say: configuration fields, findings, and a line for each variable."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.places: dict[str, tuple[int, int]] = {}
        self.mla_disabled = False
        self.v2_runner: bool | None = None
        """What VLLM_USE_V2_MODEL_RUNNER says, where it is set."""
        self.runner_open = False
        """Whether only whoever runs it knows what it says."""
        self.linear: dict[str, Word] = {}
        """Variables that this release reads for quantised linear layers."""
        self.findings: list[Placed] = []
        self.reports: list[Report] = []


def read_environment(
    environment: dict[str, Word], flags: FlagTable, release: EngineRelease | None = None
) -> EnvironmentFacts:
    """Return what a release makes of these variables. `release`: the table's by default."""
    facts = EnvironmentFacts()
    asked = release or EngineRelease(release=flags.release, version=flags.release)
    for name, word in environment.items():
        _read(facts, name, word, flags, asked)
    return facts


def _read(facts: EnvironmentFacts, name: str, word: Word, flags: FlagTable, release: EngineRelease) -> None:
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
        _report(facts, name, "not relevant", "read by nothing that is judged here", word)
        return
    version = release.version
    if name in OLD and version is not None and parse(version) < parse(OLD_UNTIL):
        _old(facts, name, word)
        return
    if not reads_variable(name, flags.release) and release.outside is not None and name not in OLD:
        why = f"vLLM {version} is not covered; nothing is known of what it reads"
        _report(facts, name, "unknown", why, word)
        return
    if not reads_variable(name, flags.release):
        finding = findings.ignored_variable(name, value, flags, assumed=release.version is None)
        facts.findings.append(Placed(finding, word.line, word.column))
        _report(facts, name, "unknown", f"vLLM {flags.release} does not read it", word)
        return
    if name in LINEAR:
        facts.linear[name] = word
        _report(facts, name, "unknown" if value is None else "understood", LINEAR[name], word)
        return
    if name not in RELEVANT:
        _report(facts, name, "not relevant", "read by this release, not for what is judged here", word)
        return
    if value is None:
        facts.runner_open = facts.runner_open or name == RUNNER
        lacking = None if name == RUNNER else name
        _report(facts, name, "unknown", "its value is known only where it is run", word, lacking)
        return
    number = _whole(value)
    if number is None and (name != _FORGIVING[0] or parse(flags.release) >= parse(_FORGIVING[1])):
        facts.findings.append(Placed(_no_number(name, value, flags.release, release), word.line, word.column))
        known = release.version is not None and release.outside is None
        lacking = None if known else f"what {name}={value} means"
        _report(facts, name, "unknown", "the release takes a whole number", word, lacking)
        return
    _report(facts, name, "understood", RELEVANT[name], word)
    on = bool(number)
    if name == "VLLM_BATCH_INVARIANT":
        facts.fields["use_batch_invariant"] = on
        facts.places["use_batch_invariant"] = (word.line, word.column)
    elif name == RUNNER:
        facts.v2_runner = on
        facts.fields["use_v2_model_runner"] = on
        facts.places["use_v2_model_runner"] = (word.line, word.column)
    else:
        facts.mla_disabled = on
        facts.places["use_mla"] = (word.line, word.column)


def _whole(value: str) -> int | None:
    try:
        return int(value)
    except ValueError:
        return None


def _no_number(name: str, value: str, table: str, release: EngineRelease) -> Finding:
    """Return the finding for a variable that the release hands to int()."""
    known = release.version is not None and release.outside is None
    return findings.make(
        "launch-bad-variable",
        "A variable with a value that the release refuses",
        f"vLLM {table} reads {name} as a whole number, and {value!r} is none: the engine stops when it reads it.",
        effect="unsupported" if known else "note",
        bites="init",
        fix=f"Write {name}=1 or {name}=0, or unset it.",
        required=f"{name} is a whole number",
        actual=f"{name}={value}",
        words=f"invalid literal for int() with base 10: {value!r}" if known else None,
        exception="ValueError" if known else None,
        source=FindingSource(ref=f"vllm/envs.py:{name}@{table}"),
    )


def _old(facts: EnvironmentFacts, name: str, word: Word) -> None:
    """Read a variable as releases before 0.15 did: each was the same as a key of --attention-config."""
    field = OLD[name]
    why = f"read up to vLLM 0.14.1; {OLD_UNTIL} was the first without it"
    if word.dynamic:
        _report(facts, name, "unknown", "its value is known only where it is run", word, field or name)
        return
    if field is None:
        _report(facts, name, "not relevant", why, word)
        return
    _report(facts, name, "understood", why, word)
    value: Any = word.text.upper()
    if field == "flash_attn_version":
        value = int(word.text) if word.text.isdigit() else None
    elif field == "use_trtllm_attention":
        value = word.text not in ("0", "")
    if value not in (None, ""):
        facts.fields[field] = value
        facts.places[field] = (word.line, word.column)


def _report(facts: EnvironmentFacts, name: str, status: Any, why: str, word: Word, missing: str | None = None) -> None:
    facts.reports.append(Report(name=name, status=status, why=why, line=word.line, column=word.column, missing=missing))
