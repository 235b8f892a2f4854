"""Exact bytes and bits of every vLLM KV-cache dtype, per token and KV head.

Formulas as of vLLM 0.33.0; `compatcheck.kv_cache.dtype_table` names the source of each. Sizes are what a
backend with one slot per KV head allocates. Not counted, because they belong to the page and not to the
token: page alignment (DeepSeek V4 pages are rounded up to 576 bytes, V4.1 pages to 512), layers that vLLM
keeps in 16 bits (`kv_cache_dtype_skip_layers`, TurboQuant's first and last two layers), and `auto` resolving
to another dtype from a checkpoint's quantisation config.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from compatcheck.kv_cache.slot_bytes import token_head_bytes

__all__ = ["bits_per_element", "bytes_per_token_head", "capacity_vs_16bit", "token_head_bytes"]

Side = Literal["k", "v", "kv"]


def bytes_per_token_head(
    kv_cache_dtype: str,
    head_size: int,
    *,
    side: Side | None = None,
    head_size_v: int | None = None,
    model_dtype: str = "bfloat16",
    mla: bool = False,
    rotary_dim: int | None = None,
    ds_mla_record: str | None = None,
) -> int:
    """Bytes of one token and one KV head on one side: NVFP4 takes head_size/2 + head_size/16.

    `side` is "k", "v", or "kv" for both and the slot's padding. Without it, K and V must take the same bytes
    (or there is no V); where they differ, ValueError asks which is meant. Other arguments and errors as in
    `token_head_bytes`.
    """
    parts = token_head_bytes(
        kv_cache_dtype,
        head_size,
        head_size_v=head_size_v,
        model_dtype=model_dtype,
        mla=mla,
        rotary_dim=rotary_dim,
        ds_mla_record=ds_mla_record,
    )
    if side is None:
        if parts.v and (parts.k != parts.v or parts.padding):
            raise ValueError(
                f"{kv_cache_dtype} takes {parts.k} bytes for K, {parts.v} for V, {parts.padding} of padding "
                "per token and head; say which is meant with side='k', 'v' or 'kv'"
            )
        return parts.k
    if side not in ("k", "v", "kv"):
        raise ValueError(f"side must be 'k', 'v' or 'kv', got {side!r}")
    return {"k": parts.k, "v": parts.v, "kv": parts.total}[side]


def bits_per_element(
    kv_cache_dtype: str,
    head_size: int,
    *,
    head_size_v: int | None = None,
    model_dtype: str = "bfloat16",
    mla: bool = False,
    rotary_dim: int | None = None,
    ds_mla_record: str | None = None,
) -> Fraction:
    """Bits that one K or V element takes on average, scales and padding included: 9/2 for NVFP4."""
    parts = token_head_bytes(
        kv_cache_dtype,
        head_size,
        head_size_v=head_size_v,
        model_dtype=model_dtype,
        mla=mla,
        rotary_dim=rotary_dim,
        ds_mla_record=ds_mla_record,
    )
    size_v = head_size if head_size_v is None else head_size_v
    return Fraction(8 * parts.total, head_size + (size_v if parts.v else 0))


def capacity_vs_16bit(
    kv_cache_dtype: str,
    head_size: int,
    *,
    head_size_v: int | None = None,
    model_dtype: str = "bfloat16",
    mla: bool = False,
    rotary_dim: int | None = None,
    ds_mla_record: str | None = None,
) -> Fraction:
    """Tokens that fit into the memory of one token in a 16-bit cache: 32/9 for NVFP4, 2 for fp8."""
    bits = bits_per_element(
        kv_cache_dtype,
        head_size,
        head_size_v=head_size_v,
        model_dtype=model_dtype,
        mla=mla,
        rotary_dim=rotary_dim,
        ds_mla_record=ds_mla_record,
    )
    return Fraction(16) / bits
