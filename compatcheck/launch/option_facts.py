"""Options into configuration fields: one entry for each option that changes the verdict, the rest is not relevant."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from compatcheck.launch import findings
from compatcheck.launch.arguments import Parsed
from compatcheck.launch.flag_table import FlagTable
from compatcheck.launch.model import Placed, Report, Setting


class OptionFacts:
    """What the options say: configuration fields, and what else the model's facts depend on."""

    def __init__(self, flags: FlagTable) -> None:
        self.flags = flags
        self.fields: dict[str, Any] = {}
        self.places: dict[str, tuple[int, int]] = {}
        self.tensor_parallel = 1
        self.decode_context_parallel = 1
        self.text_only = False
        self.sliding_window_disabled = False
        self.skip_layers: tuple[str, ...] = ()
        self.backend_per_kind: dict[str, str] = {}
        self.hf_overrides: dict[str, Any] = {}
        self.hf_config_path: str | None = None
        self.findings: list[Placed] = []
        self.reports: list[Report] = []

    def set(self, field: str, value: Any, setting: Setting) -> None:
        """Note a field and the place that decided it."""
        self.fields[field] = value
        self.places[field] = (setting.line, setting.column)


def read_options(parsed: Parsed, flags: FlagTable) -> OptionFacts:
    """Return what a release makes of the options; of a repeated one the last counts."""
    facts = OptionFacts(flags)
    last: dict[str, Setting] = {setting.option: setting for setting in parsed.settings}
    for setting in parsed.settings:
        handler = HANDLERS.get(setting.option)
        if last[setting.option] is not setting:
            _report(facts, setting, "understood", "given again later, which counts")
        elif handler is None:
            _report(facts, setting, "not relevant", "does not decide which attention backend works")
        elif setting.dynamic:
            _report(facts, setting, "unknown", f"its value {setting.value} is known only where it is run")
        else:
            _report(facts, setting, "understood", handler(facts, setting))
        _keys(facts, setting)
        flag = flags.flags.get(setting.option)
        if flag is not None and flag.deprecated:
            finding = findings.make(
                "launch-option-deprecated",
                "The release warns that this option will go",
                f"vLLM {flags.release} calls {setting.option} deprecated.",
                effect="note",
                fix=f"Remove {setting.option} before the next upgrade.",
            )
            facts.findings.append(Placed(finding, setting.line, setting.column))
    _both_backends(facts, last)
    return facts


def _report(facts: OptionFacts, setting: Setting, status: Any, why: str) -> None:
    facts.reports.append(Report(name=setting.written, status=status, why=why, line=setting.line, column=setting.column))


def _keys(facts: OptionFacts, setting: Setting) -> None:
    """Find keys that the release's configuration class does not have: it refuses them."""
    flag = facts.flags.flags.get(setting.option)
    if flag is None or not flag.keys or not isinstance(setting.value, dict):
        return
    for key in setting.value:
        if key in flag.keys:
            continue
        near = difflib.get_close_matches(key, flag.keys, n=1)
        finding = findings.make(
            "launch-config-key",
            "The release's configuration has no such key",
            f"vLLM {facts.flags.release}'s {setting.option} has no key {key!r}.",
            effect="unsupported",
            fix=f"Did you mean {near[0]}?" if near else f"Remove {key!r}.",
            actual=key,
        )
        facts.findings.append(Placed(finding, setting.line, setting.column))


def _both_backends(facts: OptionFacts, last: dict[str, Setting]) -> None:
    backend, config = last.get("--attention-backend"), last.get("--attention-config")
    inner = config.value.get("backend") if config is not None and isinstance(config.value, dict) else None
    if backend is not None and inner is not None and not backend.dynamic:
        finding = findings.make(
            "launch-backend-twice",
            "The attention backend is given twice",
            "--attention-backend and attention_config.backend are mutually exclusive: vLLM refuses the two together.",
            effect="unsupported",
            fix="Keep one of the two.",
        )
        facts.findings.append(Placed(finding, backend.line, backend.column))


# ------------------------------------------------------------------------------------------- options


def _backend(facts: OptionFacts, setting: Setting) -> str:
    value = setting.value
    if value is None or str(value).lower() in ("auto", "none", ""):
        return "automatic selection"
    facts.set("backend", str(value).rsplit(".", 1)[-1].upper(), setting)
    return "forces the attention backend"


def _kv_cache_dtype(facts: OptionFacts, setting: Setting) -> str:
    facts.set("kv_cache_dtype", str(setting.value), setting)
    return "the KV-cache dtype"


def _dtype(facts: OptionFacts, setting: Setting) -> str:
    if str(setting.value) != "auto":
        facts.set("dtype", str(setting.value), setting)
    return "the model's dtype"


def _block_size(facts: OptionFacts, setting: Setting) -> str:
    if isinstance(setting.value, int):
        facts.set("block_size", setting.value, setting)
    return "the KV-cache block size"


def _attention_config(facts: OptionFacts, setting: Setting) -> str:
    if not isinstance(setting.value, dict):
        return "not a mapping, so nothing is taken from it"
    understood: list[str] = []
    for key, value in setting.value.items():
        if key == "backend" and isinstance(value, str):
            if value.lower() != "auto":
                facts.set("backend", value.upper(), setting)
        elif key == "backend_per_kind" and isinstance(value, dict):
            facts.backend_per_kind = {k: v.upper() for k, v in value.items() if isinstance(v, str)}
        elif key == "flash_attn_version" and isinstance(value, int):
            facts.set("flash_attn_version", value, setting)
        elif key in ("use_trtllm_attention", "use_non_causal"):
            truth = _truth(value)
            if truth is not None:
                facts.set(key, truth, setting)
        else:
            continue
        understood.append(key)
    return f"attention settings: {', '.join(understood) or 'none that decides which backend works'}"


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    if text in ("1", "true", "yes", "on", "t", "y"):
        return True
    return False if text in ("0", "false", "no", "off", "f", "n") else None


def _tensor_parallel(facts: OptionFacts, setting: Setting) -> str:
    if isinstance(setting.value, int) and setting.value > 0:
        facts.tensor_parallel = setting.value
        facts.places["tensor_parallel"] = (setting.line, setting.column)
    return "attention heads of one rank"


def _context_parallel(field: str) -> Callable[[OptionFacts, Setting], str]:
    def handle(facts: OptionFacts, setting: Setting) -> str:
        if isinstance(setting.value, int) and setting.value > 1:
            facts.set(field, True, setting)
        if field == "use_dcp" and isinstance(setting.value, int):
            facts.decode_context_parallel = setting.value
        return "context parallelism"

    return handle


def _kv_transfer(facts: OptionFacts, setting: Setting) -> str:
    if isinstance(setting.value, dict) and setting.value.get("kv_connector"):
        facts.set("use_kv_connector", True, setting)
    return "a KV connector"


def _kv_offloading(facts: OptionFacts, setting: Setting) -> str:
    if isinstance(setting.value, (int, float)) and setting.value > 0:
        facts.set("use_kv_connector", True, setting)
    return "KV offloading runs through a KV connector"


def _quantization(facts: OptionFacts, setting: Setting) -> str:
    if setting.value not in (None, "", "None"):
        facts.set("weight_quantization", str(setting.value), setting)
    return "how the weights are quantised"


def _hf_overrides(facts: OptionFacts, setting: Setting) -> str:
    if isinstance(setting.value, dict):
        facts.hf_overrides = setting.value
    return "changes the model's configuration"


def _hf_config_path(facts: OptionFacts, setting: Setting) -> str:
    facts.hf_config_path = str(setting.value)
    return "where the model's configuration is"


def _skip_layers(facts: OptionFacts, setting: Setting) -> str:
    values = setting.value if isinstance(setting.value, list) else [setting.value]
    facts.skip_layers = tuple(str(value) for value in values)
    return "layers that keep the model's dtype in the cache"


def _language_model_only(facts: OptionFacts, setting: Setting) -> str:
    facts.text_only = facts.text_only or bool(setting.value)
    return "no multi-modal inputs"


def _limit_mm(facts: OptionFacts, setting: Setting) -> str:
    if isinstance(setting.value, dict) and setting.value:
        counts = [v.get("count") if isinstance(v, dict) else v for v in setting.value.values()]
        facts.text_only = facts.text_only or (len(counts) > 1 and all(count == 0 for count in counts))
    return "multi-modal inputs"


def _no_sliding_window(facts: OptionFacts, setting: Setting) -> str:
    facts.sliding_window_disabled = bool(setting.value)
    return "no sliding windows"


def _model(facts: OptionFacts, setting: Setting) -> str:
    return "the model"


def _speculative(facts: OptionFacts, setting: Setting) -> str:
    if isinstance(setting.value, dict) and setting.value.get("enable_adaptive_verification"):
        facts.set("use_adaptive_verification", True, setting)
    return "speculative decoding; its draft model's own attention is not looked at"


HANDLERS: dict[str, Callable[[OptionFacts, Setting], str]] = {
    "--attention-backend": _backend,
    "--attention-config": _attention_config,
    "--kv-cache-dtype": _kv_cache_dtype,
    "--kv-cache-dtype-skip-layers": _skip_layers,
    "--block-size": _block_size,
    "--dtype": _dtype,
    "--tensor-parallel-size": _tensor_parallel,
    "--decode-context-parallel-size": _context_parallel("use_dcp"),
    "--prefill-context-parallel-size": _context_parallel("use_pcp"),
    "--kv-transfer-config": _kv_transfer,
    "--kv-offloading-size": _kv_offloading,
    "--quantization": _quantization,
    "--hf-overrides": _hf_overrides,
    "--hf-config-path": _hf_config_path,
    "--language-model-only": _language_model_only,
    "--limit-mm-per-prompt": _limit_mm,
    "--disable-sliding-window": _no_sliding_window,
    "--speculative-config": _speculative,
    "--model": _model,
}
"""Every option that decides, and its reader; adding one is one function and one line."""
