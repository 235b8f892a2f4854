"""Shape and strides of the paged KV cache that vLLM gives its backends, per dtype, layout and release.

Two generations, as read in 0.19.1, 0.20.0, 0.21.0, 0.22.1, 0.24.0, 0.25.1, 0.26.0 to 0.27.0 and 0.28.0 to
0.33.0 (releases between two that agree are taken to agree):

- up to 0.25.1 (`FlashInferBackend.get_kv_cache_shape`): (num_blocks, 2, block_size, num_kv_heads, last), K at
  index 0 and V at index 1 of the second axis, last = head_size, or head_size/2 + head_size/16 for NVFP4. NHD
  is that order in memory; HND swaps the block_size and num_kv_heads axes.
- from 0.26.0: (num_blocks, heads, block_size, content). K and V share the content axis (K's head_size
  elements, then V's); only NVFP4 keeps them apart as 2 * num_kv_heads head slots, all K heads before all V
  heads. HND is that order in memory; NHD swaps heads and block_size. From 0.29.0 the layouts have names over
  [L, B, H, N, C] (layer, block, head, token, content; `v1/kv_cache_layout.py:KVCacheLayout`), NHD and HND
  being aliases of LBNHC and LBHNC, and several layers may share one buffer. Strides are those of
  `v1/kv_cache_interface.py:compute_layout_strides` without padded pages.

An NVFP4 page is dense, but its bytes are sectioned [K data | K scales | V data | V scales], so the strides of
the logical shape do not address its values: take `compatcheck.kv_cache.nvfp4_kv_views` for that.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import msgspec

from compatcheck.kv_cache._checks import positive
from compatcheck.kv_cache.dtype_table import kv_dtype
from compatcheck.kv_cache.flashinfer_shapes import FLASHINFER_DTYPES, UnknownLayoutError
from compatcheck.kv_cache.slot_bytes import itemsize, token_head_bytes

if TYPE_CHECKING:
    from packaging.version import Version

_ALIASES = {"NHD": "LBNHC", "HND": "LBHNC"}
_FLASHINFER_NAMES = {"LBNHC": "NHD", "LBHNC": "HND", "BLHNC": "HND", "BLNHC": "NHD", "BHLNC": "HND"}
_LAYOUTS = ("LBHNC", "LBNHC", "LHBNC", "BLHNC", "BLNHC", "BHLNC")
_AXES = {"B": "num_blocks", "H": "heads", "N": "block_size", "C": "content"}
_FIRST_READ, _PACKED_FROM, _NAMED_FROM, _ALL_DTYPES_FROM, _LAST_READ = (
    "0.19.1",
    "0.26.0",
    "0.29.0",
    "0.31.0",
    "0.33.0",
)


class CacheShape(msgspec.Struct, frozen=True, kw_only=True):
    """One layer's cache tensor.

    `axes` names the logical axes of `shape`; `strides` are in elements of `itemsize` bytes, `strides_bytes`
    in bytes. `physical` lists the axes from outermost to innermost in memory. `page_bytes` is one block of
    one layer. `storage` is the torch dtype of the tensor. `layer_stride_bytes` leads from one layer to the
    next in a shared buffer, and is None with one layer. `flashinfer_layout` is the name FlashInfer's kernels
    know (None: no such name).
    """

    axes: tuple[str, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    physical: tuple[str, ...]
    storage: str
    itemsize: int
    page_bytes: int
    layout: str
    flashinfer_layout: str | None
    generation: Literal["split", "packed"]
    layer_stride_bytes: int | None = None


def kv_cache_shape(
    kv_cache_dtype: str,
    *,
    num_blocks: int,
    block_size: int,
    num_kv_heads: int,
    head_size: int,
    layout: str = "HND",
    vllm_version: str = "0.33.0",
    num_layers: int = 1,
    model_dtype: str = "bfloat16",
    mla: bool = False,
    rotary_dim: int | None = None,
    ds_mla_record: str | None = None,
) -> CacheShape:
    """Shape and strides of one layer's cache under one vLLM release.

    Sizes count blocks, tokens per block, KV heads of this rank, and elements of one head. `layout` is NHD or
    HND, or one of the six names of 0.29.0 and later; with num_layers > 1 the layers share one buffer (0.29.0
    and later). FLASHINFER's dtypes are described throughout, the others and MLA from 0.31.0. Backends that
    reshape the page themselves (B12X, some ROCm ones) are not described.

    Raises UnknownLayoutError for a release outside 0.19.1 to 0.33.0, a layout or dtype that the release does
    not have, and the errors of `token_head_bytes`.
    """
    for name, value in (
        ("num_blocks", num_blocks),
        ("block_size", block_size),
        ("num_kv_heads", num_kv_heads),
        ("num_layers", num_layers),
    ):
        positive(name, value)
    release = _release(vllm_version)
    order = _ALIASES.get(layout, layout)
    if order not in _LAYOUTS:
        raise UnknownLayoutError(f"KV-cache layout must be NHD, HND or one of {', '.join(_LAYOUTS)}, got {layout!r}")
    if (layout not in _ALIASES or num_layers > 1) and release < _release(_NAMED_FROM):
        raise UnknownLayoutError(
            f"vLLM {vllm_version} lays out one layer at a time as NHD or HND; {layout} with {num_layers} "
            f"layer(s) needs {_NAMED_FROM} or later"
        )
    dtype = kv_dtype(kv_cache_dtype)
    if release < _release(dtype.since):
        raise UnknownLayoutError(f"vLLM {vllm_version} has no KV-cache dtype {dtype.name}; it came with {dtype.since}")
    if release < _release(_ALL_DTYPES_FROM) and (dtype.name not in FLASHINFER_DTYPES or mla):
        raise UnknownLayoutError(
            f"before vLLM {_ALL_DTYPES_FROM} only FLASHINFER's shapes are described, not {dtype.name}"
            f"{' with MLA' if mla else ''}"
        )
    item = itemsize(dtype, model_dtype)
    sizes = token_head_bytes(
        kv_cache_dtype,
        head_size,
        model_dtype=model_dtype,
        mla=mla,
        rotary_dim=rotary_dim,
        ds_mla_record=ds_mla_record,
    )
    if release < _release(_PACKED_FROM):
        axes: tuple[str, ...] = ("num_blocks", "kv", "block_size", "num_kv_heads", "last")
        shape: tuple[int, ...] = (num_blocks, 2, block_size, num_kv_heads, sizes.k // item)
        permutation = (0, 1, 2, 3, 4) if order == "LBNHC" else (0, 1, 3, 2, 4)
        strides = _strides(shape, permutation)
        physical = tuple(axes[i] for i in permutation)
        layer_stride = None
    else:
        slots = 2 * num_kv_heads if dtype.family == "nvfp4" else num_kv_heads
        content = num_kv_heads * sizes.total // slots // item
        full = (num_layers, num_blocks, slots, block_size, content)
        layer_stride, *rest = _strides(full, tuple("LBHNC".index(axis) for axis in order))
        axes, shape, strides = tuple(_AXES.values()), full[1:], tuple(rest)
        physical = tuple(_AXES[axis] for axis in order if axis != "L")
    return CacheShape(
        axes=axes,
        shape=shape,
        strides=strides,
        strides_bytes=tuple(s * item for s in strides),
        physical=physical,
        storage=model_dtype if dtype.storage == "model" else dtype.storage,
        itemsize=item,
        page_bytes=block_size * num_kv_heads * sizes.total,
        layout=layout,
        flashinfer_layout=_FLASHINFER_NAMES.get(order),
        generation="split" if len(shape) == 5 else "packed",
        layer_stride_bytes=None if layer_stride is None or num_layers == 1 else layer_stride * item,
    )


def _release(version: str) -> Version:
    from packaging.version import InvalidVersion, Version

    try:
        found = Version(version)
    except InvalidVersion:
        raise ValueError(f"vllm_version must be a PEP 440 version such as '0.33.0', got {version!r}") from None
    # A development build lies between two releases, on either side of a change.
    if found.is_prerelease or not Version(_FIRST_READ) <= Version(found.public) <= Version(_LAST_READ):
        raise UnknownLayoutError(
            f"cache layouts were read in the releases {_FIRST_READ} to {_LAST_READ} of vLLM, not in {version}"
        )
    return found


def _strides(shape: tuple[int, ...], permutation: tuple[int, ...]) -> tuple[int, ...]:
    strides = [0] * len(shape)
    for position, axis in enumerate(permutation):
        strides[axis] = math.prod(shape[i] for i in permutation[position + 1 :])
    return tuple(strides)
