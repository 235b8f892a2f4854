"""E4M3 and E2M1, the two small floats of NVFP4: exact decode tables and round-to-nearest-even encoders.

E4M3 (`float8_e4m3fn`): sign, 4 exponent bits (bias 7), 3 mantissa bits; subnormals down to 2**-9, largest
value 448, no infinity, 0x7F and 0xFF are NaN. E2M1: sign, 2 exponent bits (bias 1), 1 mantissa bit;
magnitudes 0, 0.5, 1, 1.5, 2, 3, 4, 6. The encoders saturate, as `__nv_fp8_e4m3(float)` and PTX
`cvt.rn.satfinite` do (torch's cast to float8_e4m3fn does not: it gives NaN beyond 464).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.kv_cache._numpy import np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

E4M3_MAX = 448.0
E2M1_MAX = 6.0
E4M3_NAN = 0x7F


def _e4m3_value(code: int) -> float:
    exponent, mantissa = (code >> 3) & 0xF, code & 0x7
    if code & 0x7F == E4M3_NAN:
        return float("nan")
    magnitude = mantissa * 2.0**-9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10)
    return -magnitude if code & 0x80 else magnitude


E4M3_VALUES: NDArray[np.float32] = np.array([_e4m3_value(code) for code in range(256)], dtype=np.float32)
"""Value of each of the 256 codes; code 0x80 is -0.0."""

_E2M1_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
E2M1_VALUES: NDArray[np.float32] = np.array([*_E2M1_MAGNITUDES, *(-m for m in _E2M1_MAGNITUDES)], dtype=np.float32)
"""Value of each of the 16 codes, sign << 3 | magnitude code; code 8 is -0.0."""


def _midpoints(values: NDArray[np.float32]) -> NDArray[np.float64]:
    wide = values.astype(np.float64)
    return (wide[:-1] + wide[1:]) / 2


# Both are exact: neighbouring values differ by a power of two times at most one more significant bit.
_E4M3_MIDPOINTS = _midpoints(E4M3_VALUES[:E4M3_NAN])
_E2M1_MIDPOINTS = _midpoints(E2M1_VALUES[:8])


def _nearest(magnitude: NDArray[np.float64], midpoints: NDArray[np.float64]) -> NDArray[np.uint8]:
    below = np.searchsorted(midpoints, magnitude, side="left")
    # Exactly on midpoint i the candidates are codes i and i + 1, and the even one wins.
    above = np.searchsorted(midpoints, magnitude, side="right")
    return np.where(below % 2 == 0, below, above).astype(np.uint8)


def _as_float64(x: ArrayLike) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # widening a signalling NaN
        return np.asarray(x, dtype=np.float64)


def e4m3_encode(x: ArrayLike) -> NDArray[np.uint8]:
    """E4M3 codes (uint8, shape of x) of real values: nearest, ties to the even code, saturating at 448.

    Infinity becomes +-448, NaN becomes 0x7F whatever its sign, values under half of the smallest subnormal
    (2**-10) become a zero that keeps its sign.
    """
    wide = _as_float64(x)
    nan = np.isnan(wide)
    codes = _nearest(np.where(nan, 0.0, np.abs(wide)), _E4M3_MIDPOINTS)
    return np.where(nan, np.uint8(E4M3_NAN), codes | (np.signbit(wide).astype(np.uint8) << 7)).astype(np.uint8)


def e4m3_decode(codes: NDArray[Any]) -> NDArray[np.float32]:
    """float32 values (shape of codes) of E4M3 codes given as uint8."""
    values: NDArray[np.float32] = E4M3_VALUES[np.asarray(codes, dtype=np.uint8)]
    return values


def e2m1_encode(x: ArrayLike) -> NDArray[np.uint8]:
    """E2M1 codes 0 to 15 (uint8, shape of x) of real values: nearest, ties to the even code, saturating at 6.

    Infinity becomes +-6. NaN becomes +0: FlashInfer's kernel sends every value that does not compare greater
    than 0.25 to code 0, and CUDA arithmetic yields NaNs with a clear sign bit.
    """
    wide = _as_float64(x)
    nan = np.isnan(wide)
    codes = _nearest(np.where(nan, 0.0, np.abs(wide)), _E2M1_MIDPOINTS)
    return np.where(nan, np.uint8(0), codes | (np.signbit(wide).astype(np.uint8) << 3)).astype(np.uint8)


def e2m1_decode(codes: NDArray[Any]) -> NDArray[np.float32]:
    """float32 values (shape of codes) of E2M1 codes 0 to 15 given as uint8; higher bits are ignored."""
    values: NDArray[np.float32] = E2M1_VALUES[np.asarray(codes, dtype=np.uint8) & 0xF]
    return values
