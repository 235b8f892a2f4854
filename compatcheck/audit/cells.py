"""The configurations that an executed selector is asked about, each backend with the shapes it is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.audit.points import base

if TYPE_CHECKING:
    from compatcheck.resolve.engine import EngineProgram

_MLA = {
    "num_qo_heads": 128,
    "num_kv_heads": 1,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
}
_DSV4 = {
    **_MLA,
    "num_qo_heads": 64,
    "qk_nope_head_dim": 448,
    "v_head_dim": 512,
    "index_topk": 512,
    "compress_ratios": (4, 128),
}
_NOPE = {**_MLA, "num_qo_heads": 64, "qk_nope_head_dim": 256, "qk_rope_head_dim": 0, "v_head_dim": 256}
ARGUMENTS = (
    "head_size",
    "dtype",
    "kv_cache_dtype",
    "block_size",
    "use_mla",
    "has_sink",
    "use_sparse",
    "use_mm_prefix",
    "use_per_head_quant_scales",
    "attn_type",
    "use_non_causal",
    "use_batch_invariant",
    "use_kv_connector",
    "use_pcp",
    "use_adaptive_verification",
    "use_dcp",
    "use_rswa",
)
SWITCHES = (
    {"has_sink": True},
    {"dtype": "float16"},
    {"dtype": "float32"},
    {"use_mm_prefix": True},
    {"use_non_causal": True},
    {"use_kv_connector": True},
    {"use_rswa": True},
    {"use_per_head_quant_scales": True},
    {"sliding_window": True},
    {"attn_type": "encoder_only"},
    {"use_adaptive_verification": True},
)


def cells(engine: EngineProgram, backend: str, facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Return facts for one backend: every KV dtype and head size with several blocks, then one switch at a time."""
    own = engine.program(backend).facts
    models: list[tuple[dict[str, Any], int]] = [
        ({"num_qo_heads": 32, "num_kv_heads": 8}, size) for size in (64, 96, 128, 192, 256, 512)
    ]
    if own["mla"]:
        topk = {"index_topk": 2048} if own["sparse"] else {}
        models = [({**_MLA, **topk}, 576), ({**_NOPE, **topk}, 512)]
        if "DSV4" in backend:
            models = [(_DSV4, 512)]
    found: list[dict[str, Any]] = []
    for shape, head_size in models:
        usual = base(**facts, **dict(shape.items()), use_mla=own["mla"], use_sparse=own["sparse"], backend=backend)
        usual["head_size"] = head_size
        for kv in engine.kv_cache_dtypes:
            found += [{**usual, "kv_cache_dtype": kv, "block_size": block} for block in (None, 16, 64, 128)]
            if kv in ("auto", "fp8", "nvfp4"):
                found += [{**usual, "kv_cache_dtype": kv, **switch} for switch in SWITCHES]
    return found


def arguments(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the selector's arguments for these facts."""
    given = {name: facts[name] for name in ARGUMENTS}
    given["has_sliding_window"] = bool(facts["sliding_window"])
    return given
