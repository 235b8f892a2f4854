"""The features that the tables ask for, each on top of the first configuration that runs."""

from __future__ import annotations

from typing import Any

FEATURES: dict[str, tuple[str, Any]] = {
    "Sinks": ("has_sink", True),
    "Image masks": ("use_mm_prefix", True),
    "Sliding window": ("sliding_window", 4096),
    "Non-causal": ("use_non_causal", True),
    "DCP": ("use_dcp", True),
    "PCP": ("use_pcp", True),
    "Batch invariance": ("use_batch_invariant", True),
    "Per-head scales": ("use_per_head_quant_scales", True),
    "KV connector": ("use_kv_connector", True),
}
"""Column -> the configuration field that asks for the feature, and the value it is asked with."""

LISTS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "Block sizes": ("block_size", (8, 16, 32, 64, 128, 256)),
    "Model dtypes": ("dtype", ("float16", "bfloat16", "float32")),
    "Attention types": ("attn_type", ("decoder", "encoder", "encoder_only", "encoder_decoder")),
}
"""Column -> field, and the values that are asked one by one."""

QUESTIONS: tuple[tuple[str, Any], ...] = (
    *FEATURES.values(),
    *((field, value) for field, values in LISTS.values() for value in values),
)
"""Every field and value that is asked, in the order of the columns."""
