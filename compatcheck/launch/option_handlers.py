"""Options into configuration fields: one entry for each option that changes the verdict, the rest is not relevant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compatcheck.launch import findings, refusals
from compatcheck.launch.acceptance import with_keyword
from compatcheck.launch.flag_table import takes_keyword
from compatcheck.launch.kernel_config import read_kernel_config
from compatcheck.launch.kv_connector import connector_problem, unregistered
from compatcheck.launch.model import Placed, Setting
from compatcheck.launch.option_facts import OptionFacts
from compatcheck.launch.value_kinds import misfit
from compatcheck.resolve.normalise import CUDAGRAPH_MODES, KV_SPELLINGS
from compatcheck.resolve.verdict import FindingSource


def _backend(facts: OptionFacts, setting: Setting) -> str:
    value = setting.value
    if value is None or str(value).lower() in ("auto", "none", ""):
        return "automatic selection"
    facts.set("backend", str(value).rsplit(".", 1)[-1].upper(), setting)
    return "forces the attention backend"


def _kv_cache_dtype(facts: OptionFacts, setting: Setting) -> str:
    text = str(setting.value)
    facts.set("kv_cache_dtype", text, setting)
    flag = facts.flags.flags.get(setting.option)
    spelled = KV_SPELLINGS.get(text.lower(), text.lower())
    if spelled != text and flag is not None and flag.kind != "choices":
        finding = findings.make(
            "launch-cache-dtype-spelling",
            "The engine compares KV-cache dtypes letter by letter",
            f"vLLM {facts.flags.release} knows no KV-cache dtype {text!r}.",
            effect="unsupported",
            fix=f"Write {spelled}.",
            actual=text,
            words=f"Invalid kv_cache_dtype: {text!r}.",
            exception="ValueError",
            source=FindingSource(ref="vllm/config/cache.py:CacheConfig._validate_cache_dtype@0.33.0"),
        )
        facts.findings.append(Placed(finding, setting.line, setting.column))
    return "the KV-cache dtype"


def _dtype(facts: OptionFacts, setting: Setting) -> str:
    if str(setting.value) != "auto":
        facts.set("dtype", str(setting.value), setting)
    return "the model's dtype"


def _block_size(facts: OptionFacts, setting: Setting) -> str:
    if isinstance(setting.value, int) and _positive(facts, setting):
        facts.set("block_size", setting.value, setting)
    return "the KV-cache block size"


_TRUTHS = ("use_trtllm_attention", "use_non_causal", "use_prefill_query_quantization")
_DECIDING = ("backend", "backend_per_kind", "mla_prefill_backend", "flash_attn_version", *_TRUTHS)
"""Keys of --attention-config of which no value may be passed over."""


def _attention_config(facts: OptionFacts, setting: Setting) -> str:
    if not isinstance(setting.value, dict):
        return "not a mapping, so nothing is taken from it"
    understood: list[str] = []
    types = facts.flags.flags[setting.option].types
    for key, value in setting.value.items():
        if key in types and misfit(types[key], value) is not None:
            continue  # refused
        if key == "backend" and isinstance(value, str):
            if value.lower() != "auto":
                facts.set("backend", value.upper(), setting)
        elif key == "mla_prefill_backend" and isinstance(value, str):
            facts.set("mla_prefill_backend", value.upper(), setting)
        elif key == "backend_per_kind" and isinstance(value, dict) and _per_kind(value):
            facts.backend_per_kind = {kind: name.upper() for kind, name in value.items()}
            facts.places.setdefault("backend", (setting.line, setting.column))
        elif key == "flash_attn_version" and isinstance(value, int):
            facts.set("flash_attn_version", value, setting)
        elif key in _TRUTHS and (truth := _truth(value)) is not None:
            facts.set(key, truth, setting)
        else:
            if key in _DECIDING and value is not None:
                facts.report(setting, "unknown", f"{key} is {value!r:.40}", f"what {key} {value!r:.40} means")
            continue
        understood.append(key)
    return f"attention settings: {', '.join(understood) or 'none that decides which backend works'}"


_KINDS = frozenset(
    [
        "full_attention",
        "mla_attention",
        "sliding_window",
        "sliding_window_mla",
        "mamba",
        "chunked_local_attention",
        "sink_full_attention",
        "encoder_only_attention",
        "cross_attention",
        "unknown",
        "sparse",
        "indexer",
    ]
)
"""Kinds that the engine knows; it refuses others (vllm/v1/kv_cache_interface.py:KVCacheSpecKind@0.33.0)."""


def _per_kind(value: dict[str, Any]) -> bool:
    """Return whether a mapping gives names of backends to kinds that the engine knows."""
    return all(kind in _KINDS and isinstance(name, str) for kind, name in value.items())


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    if text in ("1", "true", "yes", "on", "t", "y"):
        return True
    return False if text in ("0", "false", "no", "off", "f", "n") else None


def _positive(facts: OptionFacts, setting: Setting) -> bool:
    """Return whether a number is positive; one that is not, and that no bound refuses, leaves the answer open."""
    flag = facts.flags.flags.get(setting.option)
    if setting.value <= 0 and flag is not None and misfit(flag, setting.value) is None:
        what = f"what {setting.option} {setting.value} means"
        facts.report(setting, "unknown", f"vLLM {facts.flags.release} sets no bound for it", what)
    return bool(setting.value > 0)


def _tensor_parallel(facts: OptionFacts, setting: Setting) -> str:
    if isinstance(setting.value, int) and _positive(facts, setting):
        facts.tensor_parallel = setting.value
        facts.places["tensor_parallel"] = (setting.line, setting.column)
    return "attention heads of one rank"


def _context_parallel(field: str) -> Callable[[OptionFacts, Setting], str]:
    def handle(facts: OptionFacts, setting: Setting) -> str:
        if isinstance(setting.value, int) and setting.value > 1:
            facts.set(field, True, setting)
        if field == "use_dcp" and isinstance(setting.value, int):
            facts.decode_context_parallel = max(1, setting.value)
        if field == "use_pcp" and isinstance(setting.value, int):
            facts.prefill_context_parallel = max(1, setting.value)
        return "context parallelism"

    return handle


def _kv_transfer(facts: OptionFacts, setting: Setting) -> str:
    config = setting.value if isinstance(setting.value, dict) else {}
    problem = connector_problem(config)
    unknown = unregistered(config, facts.flags.release)
    if problem is not None:
        outside = facts.release.outside
        finding = refusals.of_config_value(setting.option, problem, str(config)[:60], facts.flags, None, outside)
        facts.findings.append(Placed(finding, setting.line, setting.column))
    elif unknown is not None:
        why = f"vLLM {facts.flags.release} registers no such connector itself"
        facts.report(setting, "unknown", why, f"whether anything registers the KV connector {unknown}")
    if config.get("kv_connector"):
        facts.set("use_kv_connector", True, setting)
        facts.connector = str(config["kv_connector"])
    return "a KV connector"


def _kv_offloading(facts: OptionFacts, setting: Setting) -> str:
    if isinstance(setting.value, (int, float)) and setting.value > 0:
        facts.set("use_kv_connector", True, setting)
        facts.connector = "of --kv-offloading-size"
    return "KV offloading runs through a KV connector"


def _own_class(facts: OptionFacts, setting: Setting) -> str:
    """Leave open what a class of somebody else's does that stands in for one of the engine's."""
    names = setting.value.values() if isinstance(setting.value, dict) else [setting.value]
    if any(name not in (None, "", "auto") for name in names):
        own = ", ".join(map(str, names))
        facts.report(setting, "unknown", "it is no part of the release", f"what {setting.option} {own:.60} does")
    return "a class that stands in for one of the engine's"


def _quantization(facts: OptionFacts, setting: Setting) -> str:
    if setting.value not in (None, "", "None"):
        facts.set("weight_quantization", str(setting.value), setting)
        _known_method(facts, str(setting.value), setting)
    return "how the weights are quantised"


PLUGINS = {"bitsandbytes": "vllm-bnb-plugin"}
"""Methods that left the engine for a plugin of its project (docs/features/quantization/bnb.md@0.33.0)."""


def _known_method(facts: OptionFacts, method: str, setting: Setting) -> None:
    """Find a method that the release does not have."""
    name, release = method.lower(), facts.release
    if takes_keyword("QuantizationMethods", name, facts.flags.release):
        return
    if name in PLUGINS:
        plugin = PLUGINS[name]
        facts.report(setting, "unknown", f"{name} comes with {plugin} only", f"whether {plugin} is installed")
        return
    accepted = with_keyword("QuantizationMethods", name) if release.version is None else None
    finding = refusals.of_quantization(name, facts.flags, accepted, release.outside)
    facts.findings.append(Placed(finding, setting.line, setting.column))
    if finding.effect == "note":
        lacking = "engine_version" if accepted else f"the quantisation methods of vLLM {release.outside}"
        facts.report(setting, "unknown", finding.message, lacking)


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
    facts.places["skip_layers"] = (setting.line, setting.column)
    return "layers that keep the model's dtype in the cache"


def _language_model_only(facts: OptionFacts, setting: Setting) -> str:
    facts.text_only = facts.text_only or bool(setting.value)
    return "no multi-modal inputs"


def _limit_mm(facts: OptionFacts, setting: Setting) -> str:
    if isinstance(setting.value, dict):
        facts.mm_limits = setting.value
    return "multi-modal inputs"


def _no_sliding_window(facts: OptionFacts, setting: Setting) -> str:
    facts.sliding_window_disabled = bool(setting.value)
    return "no sliding windows"


def _linear_backend(facts: OptionFacts, setting: Setting) -> str:
    if str(setting.value) not in ("auto", "None"):
        facts.linear["linear_backend"] = str(setting.value)
        facts.places["linear_backend"] = (setting.line, setting.column)
    return "which kernel computes quantised linear layers"


def _hybrid_manager(facts: OptionFacts, setting: Setting) -> str:
    facts.hybrid_off = bool(setting.value)
    return "whether layers with and without a window are planned apart"


def _kv_events(facts: OptionFacts, setting: Setting) -> str:
    facts.kv_events = bool(setting.value)
    return "KV events"


def _optimization_level(facts: OptionFacts, setting: Setting) -> str:
    """Find `-O.key=value`, which configured compilation before the levels came, and other values that are no level."""
    if str(setting.value).removeprefix("O") not in ("0", "1", "2", "3"):
        compiles = str(setting.value).startswith(".")
        finding = findings.make(
            "launch-optimization-level",
            "No level of optimisation",
            f"-O takes a level from 0 to 3, found {setting.value!r}.",
            effect="unsupported",
            fix=f"Write -cc{setting.value}." if compiles else "Write -O0 to -O3.",
            actual=str(setting.value),
            source=FindingSource(ref="vllm/config/vllm.py:OptimizationLevel@0.33.0"),
        )
        facts.findings.append(Placed(finding, setting.line, setting.column))
    mode = {"0": "NONE", "1": "PIECEWISE"}.get(str(setting.value).removeprefix("O"))
    if mode is not None and "cudagraph_mode" not in facts.fields:
        facts.set("cudagraph_mode", mode, setting)
    return "how much is compiled"


def _enforce_eager(facts: OptionFacts, setting: Setting) -> str:
    if setting.value is True:
        facts.eager = True
        facts.set("cudagraph_mode", "NONE", setting)
    return "whether CUDA graphs are captured"


def _compilation_config(facts: OptionFacts, setting: Setting) -> str:
    """Take cudagraph_mode, which wins over the level of -O and gives way to --enforce-eager.

    Source: vllm/config/vllm.py:VllmConfig.__post_init__@0.33.0.
    """
    mode = setting.value.get("cudagraph_mode") if isinstance(setting.value, dict) else None
    if isinstance(mode, str) and mode.upper() in CUDAGRAPH_MODES and not facts.eager:
        facts.set("cudagraph_mode", mode.upper(), setting)
    return "how much is compiled, and which CUDA graphs are captured"


def _model(facts: OptionFacts, setting: Setting) -> str:
    return "the model"


def _speculative(facts: OptionFacts, setting: Setting) -> str:
    if isinstance(setting.value, dict):
        _draft(facts, setting, {str(key).replace("-", "_"): value for key, value in setting.value.items()})
        if facts.speculative.get("enable_adaptive_verification"):
            facts.set("use_adaptive_verification", True, setting)
    return "speculative decoding; its draft model's own attention is not looked at"


def _speculative_key(key: str) -> Callable[[OptionFacts, Setting], str]:
    """Read an option that the engine writes into the speculative configuration.

    Source: vllm/engine/arg_utils.py:EngineArgs.create_speculative_config@0.33.0.
    """

    def handle(facts: OptionFacts, setting: Setting) -> str:
        if setting.value is not None:
            _draft(facts, setting, {key: setting.value})
        return "speculative decoding; its draft model's own attention is not looked at"

    return handle


def _draft(facts: OptionFacts, setting: Setting, said: dict[str, Any]) -> None:
    facts.speculative = {**facts.speculative, **said}
    facts.places["speculative"] = (setting.line, setting.column)
    facts.set("use_spec_decode", True, setting)


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
    "--model-class-overrides": _own_class,
    "--worker-cls": _own_class,
    "--hf-overrides": _hf_overrides,
    "--hf-config-path": _hf_config_path,
    "--language-model-only": _language_model_only,
    "--limit-mm-per-prompt": _limit_mm,
    "--disable-sliding-window": _no_sliding_window,
    "--kv-events-config": _kv_events,
    "--optimization-level": _optimization_level,
    "--enforce-eager": _enforce_eager,
    "--compilation-config": _compilation_config,
    "--linear-backend": _linear_backend,
    "--kernel-config": read_kernel_config,
    "--disable-hybrid-kv-cache-manager": _hybrid_manager,
    "--speculative-config": _speculative,
    "--spec-method": _speculative_key("method"),
    "--spec-model": _speculative_key("model"),
    "--spec-tokens": _speculative_key("num_speculative_tokens"),
    "--model": _model,
}
"""Every option that decides, and its reader; adding one is one function and one line."""

MAPPINGS = frozenset(
    {
        "--attention-config",
        "--kv-transfer-config",
        "--kv-events-config",
        "--kernel-config",
        "--hf-overrides",
        "--limit-mm-per-prompt",
        "--speculative-config",
    }
)
"""Those of them that take a JSON object."""

LACKING: dict[str, str | None] = {
    "--attention-backend": "backend",
    "--kv-cache-dtype": "kv_cache_dtype",
    "--block-size": "block_size",
    "--dtype": "dtype",
    "--model": None,
    "--optimization-level": None,
    "--linear-backend": None,
    "--kernel-config": None,
    "--kv-events-config": None,
    "--enforce-eager": None,
    "--compilation-config": None,
}
"""Option -> the configuration field that is missing without its value; None where the model's own facts say it."""
