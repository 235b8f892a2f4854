"""Exact helpers for vLLM's and FlashInfer's paged KV cache: sizes, shapes, NVFP4 views, reference quantiser.

Names are loaded on first use, so that importing this package imports neither numpy nor torch. Sizes and
shapes need neither; the rest needs numpy, and takes torch tensors where torch is already in use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compatcheck.kv_cache.dtype_table import KV_DTYPES, KvDtype, kv_dtype
    from compatcheck.kv_cache.dtypes import bits_per_element, bytes_per_token_head, capacity_vs_16bit
    from compatcheck.kv_cache.flashinfer_shapes import FlashInferShape, UnknownLayoutError, flashinfer_shape
    from compatcheck.kv_cache.full_dim import NVFP4_BLOCK, nvfp4_full_dim, nvfp4_head_size
    from compatcheck.kv_cache.global_scale import global_scale_full_range, global_scale_quantize_paged
    from compatcheck.kv_cache.minifloat import e2m1_decode, e2m1_encode, e4m3_decode, e4m3_encode
    from compatcheck.kv_cache.nvfp4_check import nvfp4_unexplained
    from compatcheck.kv_cache.nvfp4_quantise import nvfp4_dequantize, nvfp4_quantize
    from compatcheck.kv_cache.scale_interleave import deinterleave_v_scales, interleave_v_scales
    from compatcheck.kv_cache.shapes import CacheShape, kv_cache_shape
    from compatcheck.kv_cache.slot_bytes import (
        DS_MLA_RECORDS,
        TokenHeadBytes,
        UnknownSlotSizeError,
        token_head_bytes,
    )
    from compatcheck.kv_cache.views import (
        Nvfp4Views,
        PageSection,
        nvfp4_kv_views,
        nvfp4_page_sections,
        nvfp4_page_views,
    )

_MODULES = {
    "DS_MLA_RECORDS": "slot_bytes",
    "KV_DTYPES": "dtype_table",
    "NVFP4_BLOCK": "full_dim",
    "CacheShape": "shapes",
    "FlashInferShape": "flashinfer_shapes",
    "KvDtype": "dtype_table",
    "Nvfp4Views": "views",
    "PageSection": "views",
    "TokenHeadBytes": "slot_bytes",
    "UnknownLayoutError": "flashinfer_shapes",
    "UnknownSlotSizeError": "slot_bytes",
    "bits_per_element": "dtypes",
    "bytes_per_token_head": "dtypes",
    "capacity_vs_16bit": "dtypes",
    "deinterleave_v_scales": "scale_interleave",
    "e2m1_decode": "minifloat",
    "e2m1_encode": "minifloat",
    "e4m3_decode": "minifloat",
    "e4m3_encode": "minifloat",
    "flashinfer_shape": "flashinfer_shapes",
    "global_scale_full_range": "global_scale",
    "global_scale_quantize_paged": "global_scale",
    "interleave_v_scales": "scale_interleave",
    "kv_cache_shape": "shapes",
    "kv_dtype": "dtype_table",
    "nvfp4_dequantize": "nvfp4_quantise",
    "nvfp4_full_dim": "full_dim",
    "nvfp4_head_size": "full_dim",
    "nvfp4_kv_views": "views",
    "nvfp4_page_sections": "views",
    "nvfp4_page_views": "views",
    "nvfp4_quantize": "nvfp4_quantise",
    "nvfp4_unexplained": "nvfp4_check",
    "token_head_bytes": "slot_bytes",
}

__all__ = [
    "DS_MLA_RECORDS",
    "KV_DTYPES",
    "NVFP4_BLOCK",
    "CacheShape",
    "FlashInferShape",
    "KvDtype",
    "Nvfp4Views",
    "PageSection",
    "TokenHeadBytes",
    "UnknownLayoutError",
    "UnknownSlotSizeError",
    "bits_per_element",
    "bytes_per_token_head",
    "capacity_vs_16bit",
    "deinterleave_v_scales",
    "e2m1_decode",
    "e2m1_encode",
    "e4m3_decode",
    "e4m3_encode",
    "flashinfer_shape",
    "global_scale_full_range",
    "global_scale_quantize_paged",
    "interleave_v_scales",
    "kv_cache_shape",
    "kv_dtype",
    "nvfp4_dequantize",
    "nvfp4_full_dim",
    "nvfp4_head_size",
    "nvfp4_kv_views",
    "nvfp4_page_sections",
    "nvfp4_page_views",
    "nvfp4_quantize",
    "nvfp4_unexplained",
    "token_head_bytes",
]


def __getattr__(name: str) -> Any:
    try:
        module = _MODULES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
