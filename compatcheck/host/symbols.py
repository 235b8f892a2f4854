"""The FlashInfer functions that are looked for by default."""

from __future__ import annotations

from collections.abc import Mapping

SLOT_MAPPING_APPEND = "nvfp4_quantize_append_paged_kv_cache_with_slot_mapping"
"""Writes NVFP4 pages by slot mapping; in releases since 0.6.15 (flashinfer/page.py@0.6.15, not @0.6.14)."""

PAGED_DEQUANTIZE = "nvfp4_kv_dequantize_paged"
"""Reads NVFP4 pages back; since 0.6.15 (flashinfer/quantization/fp4_quantization.py@0.6.15, not @0.6.14)."""

SYMBOLS: Mapping[str, tuple[str, ...]] = {
    SLOT_MAPPING_APPEND: ("flashinfer.page",),
    PAGED_DEQUANTIZE: ("flashinfer.quantization.fp4_quantization",),
    "nvfp4_quantize_append_paged_kv_cache": ("flashinfer.page",),
    "nvfp4_quantize_append_paged_mla_kv_cache": ("flashinfer.page",),
    "nvfp4_kv_quantize": ("flashinfer.quantization.fp4_quantization",),
    "nvfp4_kv_dequantize": ("flashinfer.quantization.fp4_quantization",),
    "nvfp4_quantize_paged_kv_cache": ("flashinfer.quantization.fp4_quantization",),
    "append_paged_kv_cache": ("flashinfer.page",),
    "append_paged_mla_kv_cache": ("flashinfer.page",),
    "xqa": ("flashinfer.xqa",),
    "xqa_mla": ("flashinfer.xqa",),
}
"""Function name -> modules that may define it beside `flashinfer` itself."""
