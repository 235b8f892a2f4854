"""Speculative decoding: what is known of the draft model's own attention, which is selected apart from the target's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compatcheck.launch import findings
from compatcheck.launch.layer_kinds import NO_CACHE
from compatcheck.launch.model import Layer
from compatcheck.launch.model_config import read_model
from compatcheck.launch.model_source import ModelError, ModelSource, find_model
from compatcheck.matrix.model import Matrix
from compatcheck.matrix.versions import parse
from compatcheck.resolve.configuration import DEFAULTS, FIELDS
from compatcheck.resolve.verdict import Finding, FindingSource

DRAFT = "draft_attention"
_WITHOUT_LAYERS = frozenset({"ngram", "ngram_gpu", "suffix", "custom_class"})
"""Methods whose drafts come from no model."""
_SOURCE = FindingSource("vllm/config/speculative.py:SpeculativeConfig.__post_init__@0.33.0")


SELECTS_ALONE_SINCE = "0.21.0"
"""First release whose drafts never take over the target's forced backend in V1, and have `attention_backend`."""
OWN_CACHE_SINCE = "0.26.0"
"""First release in which a draft may have a cache dtype of its own."""
_OF_A_MODEL = (
    "head_size use_mla use_sparse has_sink num_qo_heads num_kv_heads kv_lora_rank qk_nope_head_dim qk_rope_head_dim "
    "v_head_dim index_topk compress_ratios sliding_window use_mm_prefix use_non_causal use_per_head_quant_scales "
    "attn_type use_rswa model_type weight_quantization"
)
"""Facts that a draft has of its own, none of which are the target's."""


def known_draft(
    speculative: Mapping[str, Any],
    dtype: object,
    forced: object,
    matrix: Matrix,
    release: str,
    ranks: int,
    directory: str | None,
) -> tuple[Layer, ...]:
    """Return the kinds of layers of a draft whose configuration is at hand; none where its selection is not known.

    `dtype` is the target's cache dtype, `forced` its forced backend: unless the draft has a backend of its own, it
    depends on the model runner whether it takes that over.
    """
    source = _source(speculative.get("model"), directory)
    own_backend = speculative.get("attention_backend")
    if source is None or parse(release) < parse(SELECTS_ALONE_SINCE) or (forced is not None and own_backend is None):
        return ()
    cache = speculative.get("kv_cache_dtype") if parse(release) >= parse(OWN_CACHE_SINCE) else None
    facts = read_model(matrix, release, source.config)
    if facts.facts.get("head_size") is None or str(cache or dtype).startswith(("turboquant_", "ultraquant_")):
        return ()
    non_causal = method_of(speculative) == "dflash" and not _says_causal(source.config)
    common: dict[str, Any] = {
        **{name: DEFAULTS[name][0] if name in DEFAULTS else None for name in _OF_A_MODEL.split()},
        **{name: value for name, value in facts.facts.items() if name in FIELDS and name != "dtype"},
        "use_non_causal": non_causal,
        "kv_cache_dtype": cache or dtype or "auto",
        "backend": str(own_backend).rsplit(".", 1)[-1].upper() if own_backend is not None else None,
    }
    own_ranks = speculative.get("draft_tensor_parallel_size")
    divided = own_ranks if isinstance(own_ranks, int) and own_ranks > 0 else ranks
    return tuple(
        Layer(kind=DRAFT, count=layer.count, facts=_on_a_rank({**common, **layer.facts}, divided))
        for layer in facts.layers
        if layer.kind not in NO_CACHE
    )


def _on_a_rank(facts: dict[str, Any], ranks: int) -> dict[str, Any]:
    heads = ("num_qo_heads", "num_kv_heads")
    return facts | {n: max(1, facts[n] // ranks) for n in heads if isinstance(facts.get(n), int)}


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


def _source(model: object, directory: str | None) -> ModelSource | None:
    try:
        return find_model(model, directory) if isinstance(model, str) else None
    except ModelError:
        return None


def _is_causal(model: object, directory: str | None) -> bool:
    """Return whether a draft whose configuration is at hand says that all its layers are causal."""
    source = _source(model, directory)
    return source is not None and _says_causal(source.config)


def _says_causal(config: Mapping[str, Any]) -> bool:
    nested = config.get("dflash_config")
    for said in (config.get("is_causal"), nested.get("causal") if isinstance(nested, Mapping) else None):
        if said is not None:
            return bool(said)
    types = config.get("layer_types")
    return isinstance(types, list) and bool(types) and all(kind == "sliding_attention" for kind in types)
