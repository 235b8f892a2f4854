"""The 4-token interleave of V block scales that trtllm-gen reads, and its inverse.

Inside each tile of one page and one KV head, [page, S] with S = head_size / 16, the scale of token t and
block s moves to flat position (t // 4) * 4 * S + s * 4 + t % 4: four consecutive tokens of one block lie side
by side. K scales are linear everywhere, and so are V scales for fa2, XQA and FlashInfer's append kernels.

Sources: FlashInfer `quantization/fp4_quantization.py:nvfp4_quantize_paged_kv_cache@0.7.2.post1`, and vLLM
`csrc/libtorch_stable/nvfp4_kv_cache_kernels.cu:swizzle_scale_offset` (the native writer), which agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar

from compatcheck.kv_cache._arrays import is_torch, shape_of
from compatcheck.kv_cache._numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Layout = Literal["HND", "NHD"]
_Array = TypeVar("_Array")


def interleave_v_scales(scales: _Array, *, layout: Layout = "HND") -> _Array:
    """Linear V scales to trtllm-gen's order, as a new array of the same shape, dtype and kind.

    HND: [..., page, S]; NHD: [..., page, num_kv_heads, S]. numpy arrays and torch tensors of any dtype are
    moved bit for bit. Raises ValueError unless page is a multiple of 4 and S of 4 (head size of 64), which
    the kernel needs.
    """
    result: _Array = _permute(scales, layout, inverse=False)
    return result


def deinterleave_v_scales(scales: _Array, *, layout: Layout = "HND") -> _Array:
    """trtllm-gen's V scales back to linear order: inverse of `interleave_v_scales`, with its arguments."""
    result: _Array = _permute(scales, layout, inverse=True)
    return result


def _permute(scales: Any, layout: str, *, inverse: bool) -> Any:
    if not (is_torch(scales) or isinstance(scales, np.ndarray)):
        raise TypeError(f"scales must be a numpy array or torch tensor, got {type(scales).__name__}")
    if layout not in ("HND", "NHD"):
        raise ValueError(f"layout must be 'HND' or 'NHD', got {layout!r}")
    shape = shape_of(scales)
    needed = 2 if layout == "HND" else 3
    if len(shape) < needed:
        raise ValueError(f"{layout} scales need at least {needed} dimensions, got shape {shape}")
    page, blocks = shape[-needed], shape[-1]
    if page % 4 or blocks % 4:
        raise ValueError(
            "the V-scale interleave needs page_size % 4 == 0 and head_size % 64 == 0, "
            f"got page_size {page} and head_size {blocks * 16}"
        )
    index = _source_index(page, blocks, inverse=inverse)
    # Tiles become rows so that one gather moves every scale.
    rows = scales if layout == "HND" else _swap(scales, -3, -2)
    flat = rows.reshape(*shape_of(rows)[:-2], page * blocks)
    if is_torch(flat):
        # torch has no gather for float8; bytes of any one-byte dtype can be moved as uint8.
        import torch

        raw = flat.view(torch.uint8) if flat.element_size() == 1 else flat
        moved = raw[..., torch.from_numpy(index).to(raw.device)].view(flat.dtype)
    else:
        moved = flat[..., index]
    moved = moved.reshape(shape_of(rows))
    if layout == "HND":
        return moved
    back = _swap(moved, -3, -2)
    return back.contiguous() if is_torch(back) else np.ascontiguousarray(back)


def _source_index(page: int, blocks: int, *, inverse: bool) -> NDArray[np.int64]:
    token, block = np.divmod(np.arange(page * blocks, dtype=np.int64), blocks)
    target = (token // 4) * 4 * blocks + block * 4 + token % 4
    return target if inverse else np.argsort(target)


def _swap(array: Any, a: int, b: int) -> Any:
    return array.transpose(a, b) if is_torch(array) else np.swapaxes(array, a, b)
