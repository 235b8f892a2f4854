"""Shapes of the paged KV cache in FlashInfer's own calling convention."""

from __future__ import annotations

import msgspec

from compatcheck.kv_cache._checks import positive
from compatcheck.kv_cache.dtype_table import kv_dtype
from compatcheck.kv_cache.full_dim import nvfp4_full_dim

FLASHINFER_DTYPES = ("auto", "float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2", "nvfp4", "nvfp4_4over6")
"""KV-cache dtypes of vLLM's FLASHINFER backend (`FlashInferBackend.supported_kv_cache_dtypes@0.33.0`)."""


class UnknownLayoutError(ValueError):
    """The layout of this release was not read, or the release has no such layout; the message says which."""


class FlashInferShape(msgspec.Struct, frozen=True, kw_only=True):
    """Shape of one side of FlashInfer's (K, V) cache tuple, contiguous, and of its NVFP4 scales.

    `data_storage` and `scales_storage` are torch dtypes; `scales` is None unless the dtype is NVFP4.
    """

    data: tuple[int, int, int, int]
    data_storage: str
    scales: tuple[int, int, int, int] | None = None
    scales_storage: str | None = None


def flashinfer_shape(
    kv_cache_dtype: str,
    *,
    num_pages: int,
    page_size: int,
    num_kv_heads: int,
    head_dim: int,
    layout: str = "HND",
    model_dtype: str = "bfloat16",
) -> FlashInferShape:
    """Shape of one side of FlashInfer's own paged cache, as the (k_cache, v_cache) tuple form takes it.

    NHD: [num_pages, page_size, num_kv_heads, head_dim]; HND swaps the two middle axes. NVFP4 stores
    head_dim/2 bytes of data in uint8 and head_dim/16 scales in float8_e4m3fn
    (`page.py:nvfp4_quantize_append_paged_kv_cache _with_slot_mapping@0.7.2.post1`). ValueError for dtypes
    that FlashInfer's wrappers do not take.
    """
    stores = {"fp8": "float8_e4m3fn", "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2"}
    if kv_cache_dtype not in FLASHINFER_DTYPES:
        raise ValueError(f"FlashInfer's paged cache takes {', '.join(FLASHINFER_DTYPES)}, got {kv_cache_dtype!r}")
    if layout not in ("NHD", "HND"):
        raise UnknownLayoutError(f"FlashInfer's layouts are NHD and HND, got {layout!r}")
    for name, value in (("num_pages", num_pages), ("page_size", page_size), ("num_kv_heads", num_kv_heads)):
        positive(name, value)
    positive("head_dim", head_dim)
    rows = (num_kv_heads, page_size) if layout == "HND" else (page_size, num_kv_heads)
    if kv_dtype(kv_cache_dtype).family == "nvfp4":
        nvfp4_full_dim(head_dim)
        return FlashInferShape(
            data=(num_pages, *rows, head_dim // 2),
            data_storage="uint8",
            scales=(num_pages, *rows, head_dim // 16),
            scales_storage="float8_e4m3fn",
        )
    storage = stores.get(kv_cache_dtype, model_dtype if kv_cache_dtype == "auto" else kv_cache_dtype)
    return FlashInferShape(data=(num_pages, *rows, head_dim), data_storage=storage)
