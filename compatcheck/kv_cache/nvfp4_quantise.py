"""Reference NVFP4 quantiser and dequantiser, in the arithmetic of FlashInfer's KV-cache append kernel.

Source: `nvfp4_append_quantize_block` in FlashInfer's `include/flashinfer/page.cuh` (0.7.2.post1; the
four-over-six search 0.7.4), and `csrc/fp4_kv_dequantization.cu` for the way back. Every step is one IEEE
float32 operation, in the kernel's order. Compiled without -use_fast_math (CUDA 13.0, H200), that function
gave the same bits as this one in 3.8 million blocks of bfloat16 and float16, NaN, infinities and subnormals
included, for each of its four forms. FlashInfer itself compiles with -use_fast_math, whose approximate
division changes bits where a quotient lies on a rounding boundary: `compatcheck.kv_cache.nvfp4_unexplained`
tells these from faults.

vLLM's native writer (`csrc/libtorch_stable/nvfp4_kv_cache_kernels.cu`, SM 10.x) follows the same rules for `nvfp4`
and `nvfp4_4over6`, through approximate reciprocals in another order; its bits were not compared.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, overload

from compatcheck.kv_cache._arrays import as_codes, as_float32, is_torch, like
from compatcheck.kv_cache._numpy import np
from compatcheck.kv_cache.full_dim import NVFP4_BLOCK, nvfp4_full_dim
from compatcheck.kv_cache.minifloat import e2m1_decode, e2m1_encode, e4m3_decode, e4m3_encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

Division = Literal["divide", "reciprocal"]


@overload
def nvfp4_quantize(
    x: NDArray[Any], global_scale: float, *, four_over_six: bool = ..., division: Division = ...
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]: ...
@overload
def nvfp4_quantize(
    x: Any, global_scale: Any, *, four_over_six: bool = ..., division: Division = ...
) -> tuple[Any, Any]: ...
def nvfp4_quantize(
    x: Any, global_scale: Any, *, four_over_six: bool = False, division: Division = "divide"
) -> tuple[Any, Any]:
    """Quantise x [..., D] to NVFP4: (data [..., D/2] uint8, scales [..., D/16]).

    x is a floating numpy array or torch tensor; results come back in the same kind, scales as E4M3 codes in
    uint8 (numpy) or as float8_e4m3fn (torch). Byte i of data holds element 2i in its low nibble and 2i+1 in
    its high one, a nibble being sign << 3 | code of {0, 0.5, 1, 1.5, 2, 3, 4, 6}. Each 16 elements of D share
    the scale E4M3(amax / (6 * global_scale)), saturated at 448, linear in memory.

    `global_scale` is a decode scale (one float, or an array or tensor of one element): a value is read back
    as e2m1 * scale * global_scale. It is rounded to float32, and must be finite and positive there
    (ValueError).

    `four_over_six` also tries the scale that maps amax to 4 (1.5 times the other) and keeps it where its
    squared error is strictly lower. `division` is how the kernel forms quotients: "divide" (K/V append) or
    "reciprocal" (its precise_rounding form, used by the MLA append, multiplies by 1 / (6 * global_scale)).

    Special values: a block of zeros gets scale 0 and zero codes that keep their signs, as does a block whose
    scale rounds to 0. NaN elements do not count in amax and become +0. An infinity saturates its block's
    scale at 448 and itself to 6.

    Raises ValueError unless D is a positive multiple of 16, TypeError unless x is floating point.
    """
    g = decode_scale(global_scale)
    if division not in ("divide", "reciprocal"):
        raise ValueError(f"division must be 'divide' or 'reciprocal', got {division!r}")
    values = as_float32(x, "x")
    if values.ndim == 0:
        raise ValueError("x must have at least one dimension: the last one is the head dimension")
    head_size = values.shape[-1]
    nvfp4_full_dim(head_size)
    blocks = values.reshape(*values.shape[:-1], head_size // NVFP4_BLOCK, NVFP4_BLOCK)
    with np.errstate(all="ignore"):
        amax = np.fmax.reduce(np.abs(blocks), axis=-1, initial=np.float32(0))
        divisor = np.float32(6) * g
        ratio = amax * (np.float32(1) / divisor) if division == "reciprocal" else amax / divisor
        ratio = np.where(amax > 0, ratio, np.float32(0))
        scales = e4m3_encode(ratio)
        if four_over_six:
            wider = e4m3_encode(ratio * np.float32(1.5))
            better = squared_error(blocks, wider, g) < squared_error(blocks, scales, g)
            scales = np.where(better, wider, scales)
        rounded = e4m3_decode(scales)
        usable = (amax > 0) & (rounded > 0)
        inverse = np.where(usable, np.float32(1) / (rounded * g), np.float32(0))
        nibbles = e2m1_encode(blocks * inverse[..., None]).reshape(values.shape)
    data = nibbles[..., 0::2] | (nibbles[..., 1::2] << 4)
    return like(data, x), like(scales, x, "float8_e4m3fn")


@overload
def nvfp4_dequantize(data: NDArray[np.uint8], scales: NDArray[Any], global_scale: float) -> NDArray[np.float32]: ...
@overload
def nvfp4_dequantize(data: Any, scales: Any, global_scale: Any) -> Any: ...
def nvfp4_dequantize(data: Any, scales: Any, global_scale: Any) -> Any:
    """Values [..., D] in float32 of NVFP4 data [..., D/2] (uint8) and linear scales [..., D/16].

    scales are E4M3 codes in uint8, or float8_e4m3fn. Each value is (e2m1 * scale) * global_scale: the product
    in brackets is exact, so there is one rounding. De-interleave trtllm-gen's V scales first
    (`compatcheck.kv_cache.deinterleave_v_scales`). Returns a torch tensor for torch data, else a numpy array.

    Raises ValueError where the shapes do not belong together or global_scale is not finite and positive.
    """
    g = decode_scale(global_scale)
    packed, codes = as_codes(data, "data"), as_codes(scales, "scales")
    if packed.ndim == 0 or packed.shape[-1] == 0 or packed.shape[-1] % 8:
        raise ValueError(f"data must be [..., head_size/2] with head_size a multiple of 16, got {packed.shape}")
    expected = (*packed.shape[:-1], packed.shape[-1] // 8)
    if codes.shape != expected:
        raise ValueError(f"data of shape {packed.shape} needs scales of shape {expected}, got {codes.shape}")
    values = np.stack([e2m1_decode(packed & 0xF), e2m1_decode(packed >> 4)], axis=-1)
    with np.errstate(all="ignore"):
        scaled = values.reshape(*codes.shape, NVFP4_BLOCK) * e4m3_decode(codes)[..., None] * g
    return like(scaled.reshape(*packed.shape[:-1], packed.shape[-1] * 2), data)


def decode_scale(global_scale: Any) -> np.float32:
    """The global scale in float32; ValueError unless it is one number, finite and positive there."""
    if is_torch(global_scale) or isinstance(global_scale, np.ndarray):
        if math.prod(global_scale.shape) != 1:
            raise ValueError(f"global_scale must be one number, got shape {tuple(global_scale.shape)}")
        global_scale = global_scale.item()
    with np.errstate(over="ignore"):
        g = np.float32(global_scale)
    if not (np.isfinite(g) and g > 0):
        raise ValueError(f"global_scale must be finite and greater than 0 in float32, got {global_scale!r}")
    return g


def squared_error(blocks: NDArray[np.float32], scales: NDArray[np.uint8], g: np.float32) -> NDArray[np.float32]:
    """Sum of squared errors per block, in element order and with fused multiply-adds, as nvcc emits them."""
    decoded = e4m3_decode(scales)
    levels = np.abs(e2m1_decode(e2m1_encode(blocks * (np.float32(1) / (decoded * g))[..., None])))
    magnitudes = np.abs(blocks).astype(np.float64)
    # A product of two float32 is exact in float64; the one rounding to float32 follows the addition.
    difference = ((levels * decoded[..., None]).astype(np.float64) * np.float64(g) - magnitudes).astype(np.float32)
    total = np.zeros(decoded.shape, dtype=np.float32)
    for i in range(NVFP4_BLOCK):
        wide = difference[..., i].astype(np.float64)
        total = (wide * wide + total).astype(np.float32)
    return total
