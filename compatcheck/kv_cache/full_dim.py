"""Bytes of one NVFP4 head row: packed FP4 data and its block scales."""

from __future__ import annotations

from typing import Any

NVFP4_BLOCK = 16
"""Elements of the head dimension that share one E4M3 block scale."""


def nvfp4_full_dim(head_size: int) -> int:
    """Bytes of one token and one KV head on one side (K or V): head_size/2 of data + head_size/16 of scales.

    The data bytes hold two FP4 values each; each scale byte is the E4M3 scale of 16 consecutive elements.
    This is the last dimension of vLLM's NVFP4 cache (`utils/torch_utils.py:nvfp4_kv_cache_full_dim@0.33.0`).

    Raises ValueError unless head_size is a positive multiple of 16. vLLM's own helper divides with truncation
    and its split back (8/9 of the full dimension is data, `nvfp4_split_data_scale@0.33.0`) then cuts in the
    wrong place: head size 24 gives 13 bytes, split 11 + 2 instead of 12 + 1. The store kernel requires the
    multiple too.
    """
    if not _is_multiple(head_size, NVFP4_BLOCK):
        raise ValueError(
            f"NVFP4 needs a head size that is a positive multiple of {NVFP4_BLOCK} (one E4M3 scale per "
            f"{NVFP4_BLOCK} elements), got {head_size!r}"
        )
    return head_size // 2 + head_size // NVFP4_BLOCK


def nvfp4_head_size(full_dim: int) -> int:
    """Head size whose NVFP4 row has full_dim bytes; ValueError unless that is a positive multiple of 9."""
    if not _is_multiple(full_dim, 9):
        raise ValueError(
            f"an NVFP4 row has head_size * 9/16 bytes, so a multiple of 9 (72 for head size 128); got {full_dim!r}"
        )
    return full_dim * 16 // 9


def _is_multiple(value: Any, of: int) -> bool:
    return type(value) is int and value > 0 and value % of == 0
