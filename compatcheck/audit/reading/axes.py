"""The inputs of an engine's gates and the values that each may have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

BOOLEANS = [
    "use_mla",
    "has_sink",
    "use_sparse",
    "use_mm_prefix",
    "use_dcp",
    "use_pcp",
    "use_batch_invariant",
    "use_non_causal",
    "cubins_available",
    "has_flashinfer",
    "has_humming",
    "has_fbgemm",
]
HEAD_SIZES = (8, 16, 32, 40, 64, 80, 96, 128, 192, 256, 288, 320, 512, 576)
BLOCK_SIZES = (None, 8, 16, 32, 48, 64, 96, 128, 256, 512, 1024)


def domains(sms: Iterable[str], kv_cache_dtypes: Iterable[str]) -> dict[str, tuple[Any, ...]]:
    """Return input -> its values. Numbers that a gate names come on top."""
    return {
        "sm": tuple(sms),
        "kv_cache_dtype": tuple(kv_cache_dtypes),
        "dtype": ("float16", "bfloat16", "float32"),
        "attn_type": ("decoder", "encoder", "encoder_only", "encoder_decoder"),
        "head_size": HEAD_SIZES,
        "block_size": BLOCK_SIZES,
        "num_qo_heads": (8, 16, 32, 64, 128),
        "num_kv_heads": (1, 8, 32),
        "index_topk": (None, 512, 2048),
        "qk_nope_head_dim": (None, 64, 128, 192, 256),
        "qk_rope_head_dim": (None, 0, 64),
        "kv_lora_rank": (None, 256, 512),
        "v_head_dim": (None, 128, 256, 512),
        "flash_attn_version": (None, 2, 3, 4),
        "use_trtllm_attention": (None, True, False),
        **dict.fromkeys(BOOLEANS, (False, True)),
    }
