"""Whether NVFP4 bits from a GPU are ones that the reference quantiser explains.

FlashInfer builds its append kernels with -use_fast_math: quotients are approximate and may be a few float32
ulps off. That changes bits only where a quotient lies on a rounding boundary, so comparing bits fails on
healthy kernels (small integers as input hit boundaries in one block of eight), and comparing dequantised
values with a tolerance hides real faults. Here every scale and every nibble must be what exact rounding gives
for some quotient within the allowed ulps. On an H200 (CUDA 13.0) the kernel function with fast math differed
from the reference in 44,473 of 3.36 million blocks, and this explained all but the 42 whose reciprocal is
subnormal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.kv_cache._arrays import as_codes, as_float32
from compatcheck.kv_cache._numpy import np
from compatcheck.kv_cache.full_dim import NVFP4_BLOCK, nvfp4_full_dim
from compatcheck.kv_cache.minifloat import e2m1_encode, e4m3_decode, e4m3_encode
from compatcheck.kv_cache.nvfp4_quantise import decode_scale, squared_error

if TYPE_CHECKING:
    from numpy.typing import NDArray


def nvfp4_unexplained(
    x: Any, global_scale: Any, data: Any, scales: Any, *, four_over_six: bool = False, ulps: int = 4
) -> NDArray[np.bool_]:
    """Blocks [..., D/16] of x [..., D] whose quantised bits no rounding within `ulps` explains: all False is a pass.

    data [..., D/2] and scales [..., D/16] are linear, as `nvfp4_quantize` returns them; each argument may be
    numpy or torch. `ulps`, at least 1, is how far the quotients amax / (6 * global_scale) and 1 / (scale *
    global_scale) may be off, in units of 2**-23 of their value; compare bits with `nvfp4_quantize` to demand
    exact division. With `four_over_six` either block scale is allowed where the squared errors of both agree
    to 2**-16.

    Flushing of float32 subnormals (also part of -use_fast_math) is not allowed for: keep |x|, the products of
    global_scale and their reciprocals clear of them. Raises ValueError for shapes that do not belong
    together, and the errors of `nvfp4_quantize`.
    """
    if ulps < 1:
        raise ValueError(f"ulps must be at least 1, got {ulps}; for exact bits compare with nvfp4_quantize")
    g = decode_scale(global_scale)
    values, packed, codes = as_float32(x, "x"), as_codes(data, "data"), as_codes(scales, "scales")
    if values.ndim == 0:
        raise ValueError("x must have at least one dimension: the last one is the head dimension")
    head_size = values.shape[-1]
    nvfp4_full_dim(head_size)
    lead = values.shape[:-1]
    expected = (*lead, head_size // 2), (*lead, head_size // NVFP4_BLOCK)
    if (packed.shape, codes.shape) != expected:
        raise ValueError(
            f"x of shape {values.shape} quantises to data {expected[0]} and scales {expected[1]}, "
            f"got {packed.shape} and {codes.shape}"
        )
    slack = ulps * 2.0**-23
    blocks = values.reshape(*codes.shape, NVFP4_BLOCK)
    with np.errstate(all="ignore"):
        amax = np.fmax.reduce(np.abs(blocks), axis=-1, initial=np.float32(0))
        ratio = np.where(amax > 0, amax / (np.float32(6) * g), np.float32(0)).astype(np.float64)
        good = _within(codes, ratio, slack)
        if four_over_six:
            chosen = squared_error(blocks, codes, g) / np.float32(1 + 2.0**-16)
            six, four = (
                np.fmax(*(squared_error(blocks, e4m3_encode(r * end), g) for end in (1 - slack, 1 + slack)))
                for r in (ratio, ratio * 1.5)
            )
            # The kernel keeps six unless four is strictly lower, which no comparison with NaN is.
            good = (good & ~(chosen > four)) | (_within(codes, ratio * 1.5, slack) & (chosen < six))
        decoded = e4m3_decode(codes)
        usable = (amax > 0) & (decoded > 0)
        inverse = np.where(usable, np.float32(1) / (decoded * g), np.float32(0)).astype(np.float64)
        # Signs do not depend on the quotient, so the two ends differ in magnitude alone.
        exact = blocks * inverse[..., None]
        low, high = e2m1_encode(exact * (1 - slack)), e2m1_encode(exact * (1 + slack))
    nibbles = np.stack([packed & 0xF, packed >> 4], axis=-1).reshape(blocks.shape)
    explained: NDArray[np.bool_] = good & ((low <= nibbles) & (nibbles <= high)).all(axis=-1)
    return ~explained


def _within(codes: NDArray[np.uint8], value: NDArray[np.float64], slack: float) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (e4m3_encode(value * (1 - slack)) <= codes) & (
        codes <= e4m3_encode(value * (1 + slack))
    )
    return inside
