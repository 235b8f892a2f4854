"""A Hugging Face configuration into the facts a verdict needs, per kind of attention layer, as one release reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from compatcheck.launch import modalities
from compatcheck.launch.attention_direction import encoder_only
from compatcheck.launch.checkpoint import (
    cache_dtype_of_checkpoint,
    per_head_scales,
    quantization_of,
    weight_quantization,
)
from compatcheck.launch.heads import head_size, kv_heads, query_heads, with_defaults
from compatcheck.launch.layer_kinds import NO_CACHE, SPARSE, layer_kinds, not_known
from compatcheck.launch.model import Layer
from compatcheck.matrix.model import Matrix
from compatcheck.matrix.versions import parse
from compatcheck.models import is_mla

NESTED = ("text_config", "language_config", "llm_config", "thinker_config", "decoder")
"""Where multi-modal configurations keep the language model (transformers: PretrainedConfig.get_text_config)."""
_MM_PREFIX = frozenset({"bagel", "gemma3", "molmo2", "paligemma"})
_MM_PREFIX_SINCE = {"moondream3": ("0.21.0", None), "umm": ("0.20.0", "0.29.0")}
_GEMMA4_PREFIX_SINCE = "0.20.0"
_DIFFUSION_PREFIX_SINCE = "0.31.0"
_TEXT_ONLY_CLEARS_PREFIX = "0.27.0"
"""First release in which a deployment without multi-modal inputs is not treated as a prefix language model.

Source: model_arch_config_convertor.py:is_mm_prefix_lm, parameter `supports_multimodal`, compared over the wheels.
"""
_DTYPES = frozenset({"bfloat16", "float16"})


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a model's configuration says: common facts, one entry per kind of layer, and what is open."""

    facts: dict[str, Any]
    layers: tuple[Layer, ...]
    checkpoint_cache_dtype: str | None = None
    """What `--kv-cache-dtype auto` becomes because of the checkpoint."""
    missing: tuple[str, ...] = ()
    """What the configuration leaves open and the verdict depends on, in words."""


def text_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the language model's part of a configuration; the whole of it where nothing is nested."""
    for name in NESTED:
        inner = config.get(name)
        if isinstance(inner, Mapping) and inner:
            deeper = text_config(inner)
            if any(key in deeper for key in ("num_attention_heads", "hidden_size", "head_dim", "model_type")):
                return deeper
    return dict(config)


def read_model(
    matrix: Matrix,
    release: str,
    config: Mapping[str, Any],
    *,
    mla_disabled: bool = False,
    text_only: bool = False,
    mm_limits: Mapping[str, Any] | None = None,
    sliding_window_disabled: bool = False,
) -> ModelFacts:
    """Return what a release makes of a configuration. What the configuration does not state stays out."""
    text = with_defaults(_with_compress_ratios(text_config(config)))
    missing: list[str] = []
    facts: dict[str, Any] = {}
    model_type = config.get("model_type") or text.get("model_type")
    if isinstance(model_type, str):
        facts["model_type"] = model_type
    dtype = config.get("dtype") or config.get("torch_dtype") or text.get("dtype") or text.get("torch_dtype")
    if isinstance(dtype, str) and dtype.removeprefix("torch.") in _DTYPES:
        facts["dtype"] = dtype.removeprefix("torch.")
    quantization = quantization_of(config, text)
    if isinstance(quantization, Mapping):
        method = weight_quantization(quantization)
        if method:
            facts["weight_quantization"] = method
        if per_head_scales(quantization):
            facts["use_per_head_quant_scales"] = True
    limited = text_only or modalities.text_only(config, mm_limits or {})
    if _mm_prefix(config, text, release, bool(limited)):
        facts["use_mm_prefix"] = True
        if limited is None and parse(release) >= parse(_TEXT_ONLY_CLEARS_PREFIX):
            missing.append("whether --limit-mm-per-prompt leaves text only (use_mm_prefix)")
    encoder = encoder_only(config, text)
    if encoder:
        facts["attn_type"] = "encoder_only"
    if config.get("rswa_window") is not None:
        facts["use_rswa"] = True
    answer = is_mla(matrix, release, _single(text))
    if answer.is_mla and not mla_disabled and text.get("is_causal", True):
        facts |= _mla_facts(text)
    elif answer.is_mla:
        facts["use_mla"] = False
        facts["head_size"] = _count(text, "qk_nope_head_dim") + _count(text, "qk_rope_head_dim")
    else:
        facts["use_mla"] = False
        size = head_size(text, answer.head_size)
        if size:
            facts["head_size"] = size
    heads = query_heads(text)
    if heads:
        facts["num_qo_heads"] = heads
        if not facts["use_mla"]:
            facts["num_kv_heads"] = kv_heads(text, heads)
    dtype_of_checkpoint = (
        cache_dtype_of_checkpoint(quantization, release) if isinstance(quantization, Mapping) else None
    )
    layers = _layers(text, facts, sliding_window_disabled=sliding_window_disabled)
    missing += [] if facts["use_mla"] else not_known(text, [layer.kind for layer in layers])
    missing += ["whether attention is causal (attn_type)"] if encoder is None else []
    return ModelFacts(facts=facts, layers=layers, checkpoint_cache_dtype=dtype_of_checkpoint, missing=tuple(missing))


def _single(text: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration without head counts that are lists: they give no head size."""
    return {name: value for name, value in text.items() if name != "num_attention_heads" or isinstance(value, int)}


def _mla_facts(text: Mapping[str, Any]) -> dict[str, Any]:
    ratios = text.get("compress_ratios")
    facts: dict[str, Any] = {"use_mla": True, "use_sparse": text.get("index_topk") is not None}
    for name in ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "index_topk"):
        value = _number(text, name)
        if value is not None:
            facts[name] = value
    if ratios:
        facts["head_size"] = _number(text, "head_dim")
        facts["compress_ratios"] = tuple(sorted({r for r in ratios if isinstance(r, int) and r > 0}))
    else:
        facts["head_size"] = facts["kv_lora_rank"] + facts.get("qk_rope_head_dim", 0)
    return facts


def _layers(text: Mapping[str, Any], facts: dict[str, Any], *, sliding_window_disabled: bool) -> tuple[Layer, ...]:
    kinds = layer_kinds(text)
    window = None if sliding_window_disabled else _number(text, "sliding_window")
    if facts["use_mla"]:
        cached = [n for kind, n in kinds.items() if kind not in NO_CACHE]
        others = [Layer(kind=kind, count=n, facts={}) for kind, n in kinds.items() if kind in NO_CACHE]
        total = sum(n for n in cached if n is not None) if all(n is not None for n in cached) else None
        return (Layer(kind="mla", count=total or None, facts={}), *others)
    layers: list[Layer] = []
    for kind, count in kinds.items():
        own: dict[str, Any] = {}
        sliding = kind == "sliding_attention"
        if sliding and window and 0 < window < 2**31:
            own["sliding_window"] = window
        own |= _own_heads(text, sliding)
        if kind == SPARSE:
            own["use_sparse"] = True
        if _sinks(text, sliding):
            own["has_sink"] = True
        layers.append(Layer(kind=kind, count=count, facts=own if kind not in NO_CACHE else {}))
    return tuple(layers) or (Layer(kind="full_attention"),)


def _own_heads(text: Mapping[str, Any], sliding: bool) -> dict[str, Any]:
    """Return the head size and KV heads of one kind of layers, where they differ from the model's.

    Gemma 4 names those of its full layers `global_head_dim` and `num_global_key_value_heads` (newer transformers:
    `per_layer_config`), MiMo-V2 those of its sliding layers `swa_*`.
    """
    own: dict[str, Any] = {}
    prefix = "swa_" if sliding else "global_"
    size = _number(text, f"{prefix}head_dim")
    heads = _number(text, f"{prefix}num_key_value_heads", "num_global_key_value_heads" if not sliding else "-")
    per_layer = text.get("per_layer_config")
    types = text.get("layer_types")
    if size is None and isinstance(per_layer, Mapping) and isinstance(types, list):
        for key, entry in per_layer.items():
            index = int(key) if str(key).isdigit() else -1
            known = isinstance(entry, Mapping) and 0 <= index < len(types)
            if known and ("sliding" in str(types[index])) is sliding:
                size = _number(entry, "head_dim") or size
                heads = _number(entry, "num_key_value_heads") or heads
    if size:
        own["head_size"] = size
    if heads:
        own["num_kv_heads"] = heads
    return own


def _sinks(text: Mapping[str, Any], sliding: bool) -> bool:
    """Return whether attention sinks are given to these layers (vllm/model_executor/models/gpt_oss.py, mimo_v2.py)."""
    if text.get("model_type") == "gpt_oss" or text.get("attention_sinks"):
        return True
    return bool(text.get("add_swa_attention_sink_bias" if sliding else "add_full_attention_sink_bias"))


def _mm_prefix(config: Mapping[str, Any], text: Mapping[str, Any], release: str, text_only: bool) -> bool:
    if text_only and parse(release) >= parse(_TEXT_ONLY_CLEARS_PREFIX):
        return False
    stated = config.get("is_mm_prefix_lm")
    if isinstance(stated, bool):
        return stated
    model_type = str(config.get("model_type"))
    if model_type.startswith(("gemma4", "diffusion_gemma")):
        since = _GEMMA4_PREFIX_SINCE if model_type.startswith("gemma4") else _DIFFUSION_PREFIX_SINCE
        known = parse(release) >= parse(since)
        return known and text.get("use_bidirectional_attention") == "vision"
    first, until = _MM_PREFIX_SINCE.get(model_type, (None, None))
    if first is not None:
        at = parse(release)
        return parse(first) <= at and (until is None or at < parse(until))
    return model_type in _MM_PREFIX


def _with_compress_ratios(text: dict[str, Any]) -> dict[str, Any]:
    """Give DeepSeek-V4's newer spelling (`compress_rates` by layer type) as the older one, a ratio for each layer."""
    rates, types = text.get("compress_rates"), text.get("layer_types")
    if "compress_ratios" not in text and isinstance(rates, Mapping) and isinstance(types, list):
        return text | {"compress_ratios": [rates.get(kind, 0) for kind in types]}
    return text


def _number(config: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = config.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _count(config: Mapping[str, Any], name: str) -> int:
    return _number(config, name) or 0
