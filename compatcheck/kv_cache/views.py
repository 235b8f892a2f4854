"""K data, K scales, V data and V scales of packed NVFP4 pages, as strided views of the buffer itself.

One page holds, for all KV heads of one layer, [K data | K scales | V data | V scales]. Each section is dense:
NHD orders it [block_size, num_kv_heads, last], HND [num_kv_heads, block_size, last], with last = head_size/2
bytes for data and head_size/16 for scales. Sources: vLLM
`utils/torch_utils.py:nvfp4_split_data_scale@0.33.0`,
`v1/attention/backends/flashinfer.py:_nvfp4_kv_views@0.33.0`, and up to 0.25.1 `nvfp4_kv_cache_split_views`.
FlashInfer's append and fa2 kernels take such views from 0.6.15 (strides of the scales are honoured from
there).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from compatcheck.kv_cache._arrays import byte_strides, is_torch, require_uint8, shape_of, strided_view
from compatcheck.kv_cache._checks import positive
from compatcheck.kv_cache.full_dim import nvfp4_full_dim, nvfp4_head_size

Layout = Literal["HND", "NHD"]


class Nvfp4Views(NamedTuple):
    """Four views: [num_blocks, num_kv_heads, block_size, last], or NHD with the middle axes swapped.

    Data are uint8. Scales are E4M3 codes in uint8 for numpy, float8_e4m3fn for torch. All four share the
    buffer.
    """

    k_data: Any
    k_scales: Any
    v_data: Any
    v_scales: Any
    layout: Layout


class PageSection(NamedTuple):
    """Where one section lies in a page: first byte and number of bytes."""

    offset: int
    size: int


def nvfp4_page_sections(num_kv_heads: int, block_size: int, head_size: int) -> dict[str, PageSection]:
    """Sections of one page in memory order: k_data, k_scales, v_data, v_scales (errors: `nvfp4_full_dim`)."""
    positive("num_kv_heads", num_kv_heads)
    positive("block_size", block_size)
    rows = num_kv_heads * block_size
    side = rows * nvfp4_full_dim(head_size)
    data, scales = rows * head_size // 2, rows * head_size // 16
    return {
        "k_data": PageSection(0, data),
        "k_scales": PageSection(data, scales),
        "v_data": PageSection(side, data),
        "v_scales": PageSection(side + data, scales),
    }


def nvfp4_page_views(
    pages: Any, *, num_kv_heads: int, block_size: int, head_size: int, layout: Layout = "HND"
) -> Nvfp4Views:
    """Cut a raw buffer: uint8 [num_blocks, page_bytes], each page contiguous, pages any stride apart.

    page_bytes must be 2 * num_kv_heads * block_size * (head_size/2 + head_size/16). Raises ValueError where a
    shape or stride does not fit and TypeError for another dtype or type. Nothing is copied.
    """
    require_uint8(pages, "pages")
    if layout not in ("HND", "NHD"):
        raise ValueError(f"layout must be 'HND' or 'NHD', got {layout!r}")
    sections = nvfp4_page_sections(num_kv_heads, block_size, head_size)
    page_bytes = sum(section.size for section in sections.values())
    shape, strides = shape_of(pages), byte_strides(pages)
    if len(shape) != 2 or shape[1] != page_bytes:
        raise ValueError(
            f"pages must be [num_blocks, {page_bytes}] for {num_kv_heads} KV heads, {block_size} tokens per "
            f"block and head size {head_size}, got {shape}"
        )
    if shape[0] > 0 and (strides[1] != 1 or (shape[0] > 1 and strides[0] < page_bytes)):
        raise ValueError(f"the bytes of each page must be contiguous and pages must not overlap, got strides {strides}")
    return _cut(pages, shape[0], strides[0], sections, (num_kv_heads, block_size, head_size), layout)


def nvfp4_kv_views(kv_cache: Any, *, layout: Layout | None = None) -> Nvfp4Views:
    """Cut a uint8 cache tensor in the shape that vLLM gives its backends, axes in logical order.

    4 dimensions (0.26.0 and later): [num_blocks, 2 * num_kv_heads, block_size, full_dim]. 5 dimensions (up to
    0.25.1): [num_blocks, 2, block_size, num_kv_heads, full_dim]. full_dim is head_size/2 + head_size/16. The
    layout is read off the strides; where a dimension of size 1 makes NHD and HND the same memory, `layout`
    decides, by default HND.

    Raises ValueError where the shape is neither, the pages are not dense, or `layout` contradicts the
    strides.
    """
    require_uint8(kv_cache, "kv_cache")
    shape, strides = shape_of(kv_cache), byte_strides(kv_cache)
    if len(shape) == 4 and shape[1] > 0 and shape[1] % 2 == 0:
        heads, tokens, last = shape[1] // 2, shape[2], shape[3]
        dense: dict[Layout, tuple[int, ...]] = {
            "HND": (tokens * last, last, 1),
            "NHD": (last, 2 * heads * last, 1),
        }
    elif len(shape) == 5 and shape[1] == 2:
        tokens, heads, last = shape[2:]
        side = heads * tokens * last
        dense = {"HND": (side, last, tokens * last, 1), "NHD": (side, heads * last, last, 1)}
    else:
        raise ValueError(
            "kv_cache must be [num_blocks, 2 * num_kv_heads, block_size, full_dim] or "
            f"[num_blocks, 2, block_size, num_kv_heads, full_dim], got shape {shape}"
        )
    head_size = nvfp4_head_size(last)
    # The stride of a dimension of size 1 is never used, and may be anything.
    fits = [
        name
        for name, wanted in dense.items()
        if all(n == 1 or s == w for n, s, w in zip(shape[1:], strides[1:], wanted, strict=True))
    ]
    page_bytes = 2 * heads * tokens * last
    if not fits or (shape[0] > 1 and strides[0] < page_bytes):
        raise ValueError(f"NVFP4 pages must be dense in NHD or HND order, got shape {shape} with strides {strides}")
    if layout is not None and layout not in fits:
        raise ValueError(f"the strides {strides} of shape {shape} are {' or '.join(fits)}, not {layout}")
    sections = nvfp4_page_sections(heads, tokens, head_size)
    chosen: Layout = layout or ("HND" if "HND" in fits else "NHD")
    return _cut(kv_cache, shape[0], strides[0], sections, (heads, tokens, head_size), chosen)


def _cut(
    buffer: Any,
    num_blocks: int,
    page_stride: int,
    sections: dict[str, PageSection],
    sizes: tuple[int, int, int],
    layout: Layout,
) -> Nvfp4Views:
    heads, tokens, head_size = sizes
    outer, inner = (heads, tokens) if layout == "HND" else (tokens, heads)
    views = {}
    for name, section in sections.items():
        last = head_size // (16 if name.endswith("scales") else 2)
        view = strided_view(
            buffer, (num_blocks, outer, inner, last), (page_stride, inner * last, last, 1), section.offset
        )
        if name.endswith("scales") and is_torch(view):
            import torch

            view = view.view(torch.float8_e4m3fn)
        views[name] = view
    return Nvfp4Views(views["k_data"], views["k_scales"], views["v_data"], views["v_scales"], layout)
