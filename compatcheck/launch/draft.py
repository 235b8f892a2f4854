"""Speculative decoding: what is known of the draft model's own attention, which is selected apart from the target's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compatcheck.launch import findings
from compatcheck.launch.layer_kinds import NO_CACHE
from compatcheck.launch.model import Layer
from compatcheck.launch.model_source import ModelError, find_model
from compatcheck.resolve.verdict import Finding, FindingSource

DRAFT = "draft_attention"
_WITHOUT_LAYERS = frozenset({"ngram", "ngram_gpu", "suffix", "custom_class"})
"""Methods whose drafts come from no model."""
_SOURCE = FindingSource("vllm/config/speculative.py:SpeculativeConfig.__post_init__@0.33.0")


def has_layers(speculative: Mapping[str, Any]) -> bool:
    """Return whether the drafts come from layers with attention of their own."""
    return bool(speculative) and method_of(speculative) not in _WITHOUT_LAYERS


def method_of(speculative: Mapping[str, Any]) -> str:
    """Return the method, which the engine takes from the draft model's name where it is not given."""
    method, model = speculative.get("method"), speculative.get("model")
    if isinstance(method, str):
        return method
    if isinstance(model, str):
        return "dflash" if "dflash" in model.lower() else model if model in _WITHOUT_LAYERS else "draft_model"
    return ""


def draft_layer(
    speculative: Mapping[str, Any], dtype: object, layers: tuple[Layer, ...], directory: str | None
) -> Layer | None:
    """Return the layers of a DFlash draft over an NVFP4 cache, with the target's head size; else None.

    Its queries see each other, so attention is not causal, and its cache has the target's dtype where it asks for none
    (vllm/model_executor/models/qwen3_dflash.py:_dflash_layer_causal@0.33.0).
    """
    own = speculative.get("kv_cache_dtype") or dtype
    target = next((layer for layer in layers if layer.kind not in NO_CACHE), None)
    if method_of(speculative) != "dflash" or not str(own).startswith("nvfp4") or target is None:
        return None
    if _is_causal(speculative.get("model"), directory):
        return None
    kept = {name: value for name, value in target.facts.items() if name in ("head_size", "num_kv_heads")}
    return Layer(kind=DRAFT, facts={**kept, "use_non_causal": True, "kv_cache_dtype": own})


def not_looked_at(speculative: Mapping[str, Any]) -> Finding:
    """Return the note that a draft's attention is not part of the answer."""
    name = speculative.get("model") or method_of(speculative) or "the draft"
    return findings.make(
        "launch-draft-not-judged",
        "The draft model's attention is not judged",
        f"Speculative decoding with {name}: its layers select a backend of their own, which this answer leaves out.",
        effect="note",
        bites="selection",
        fix="Check the draft model by itself.",
        source=_SOURCE,
    )


def _is_causal(model: object, directory: str | None) -> bool:
    """Return whether a draft whose configuration is at hand says that all its layers are causal."""
    try:
        source = find_model(model, directory) if isinstance(model, str) else None
    except ModelError:
        return False
    if source is None:
        return False
    config = source.config
    nested = config.get("dflash_config")
    for said in (config.get("is_causal"), nested.get("causal") if isinstance(nested, Mapping) else None):
        if said is not None:
            return bool(said)
    types = config.get("layer_types")
    return isinstance(types, list) and bool(types) and all(kind == "sliding_attention" for kind in types)
