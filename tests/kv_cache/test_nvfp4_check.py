from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from compatcheck.kv_cache import (
    e2m1_encode,
    e4m3_decode,
    e4m3_encode,
    global_scale_full_range,
    nvfp4_quantize,
    nvfp4_unexplained,
)


@functools.cache
def samples(kind: str, n: int = 2000) -> NDArray[np.float32]:
    rng = np.random.default_rng(7)
    if kind == "normal":
        return rng.standard_normal((n, 32)).astype(np.float16).astype(np.float32)
    return (rng.integers(-64, 65, (n, 32)) / 8).astype(np.float32)


def skewed(x: NDArray[np.float32], g: float, ulps: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """A quantiser whose two quotients are off by so many ulps, as fast division may be."""
    off = np.float64(1 + ulps * 2.0**-23)
    blocks = x.reshape(len(x), -1, 16)
    scales = e4m3_encode(np.abs(blocks).max(axis=-1) / (6 * np.float64(np.float32(g))) * off)
    decoded = e4m3_decode(scales).astype(np.float64)
    inverse = np.where(decoded > 0, off / np.where(decoded > 0, decoded * np.float32(g), 1), 0)
    codes = e2m1_encode(blocks * inverse[..., None]).reshape(x.shape)
    return (codes[..., 0::2] | (codes[..., 1::2] << 4)).astype(np.uint8), scales


@pytest.mark.parametrize("kind", ["normal", "eighths"])
@pytest.mark.parametrize("four_over_six", [False, True])
@pytest.mark.parametrize("division", ["divide", "reciprocal"])
@pytest.mark.parametrize("g", [None, 1.0, 0.0123457])
def test_the_reference_is_explained(kind: str, four_over_six: bool, division: Any, g: float | None) -> None:
    x = samples(kind)
    scale = g or global_scale_full_range(x)
    data, scales = nvfp4_quantize(x, scale, four_over_six=four_over_six, division=division)
    assert not nvfp4_unexplained(x, scale, data, scales, four_over_six=four_over_six).any()


@pytest.mark.parametrize("ulps", [-2, 2])
def test_fast_division_is_explained_although_bits_differ(ulps: int) -> None:
    x = samples("eighths")
    data, scales = skewed(x, 1.0, ulps)
    exact = nvfp4_quantize(x, 1.0)
    assert (data != exact[0]).any()
    assert not nvfp4_unexplained(x, 1.0, data, scales).any()


@given(st.integers(0, 1999), st.integers(0, 15), st.integers(0, 7))
def test_any_flipped_bit_of_ordinary_data_is_found(row: int, byte: int, bit: int) -> None:
    x = samples("normal")[row : row + 1]
    g = 0.0123457
    data, scales = nvfp4_quantize(x, g)
    data[0, byte] ^= np.uint8(1 << bit)
    found = nvfp4_unexplained(x, g, data, scales)
    assert found.tolist() == [[byte < 8, byte >= 8]]


def test_wrong_scales_and_zeroed_output_are_found() -> None:
    x = samples("normal")
    g = global_scale_full_range(x)
    data, scales = nvfp4_quantize(x, g)
    assert nvfp4_unexplained(x, g, data, scales + np.uint8(1)).all()
    assert nvfp4_unexplained(x, g, np.zeros_like(data), scales).all()
    assert nvfp4_unexplained(x, g, data, np.zeros_like(scales)).all()
    assert nvfp4_unexplained(x, g * 1.5, data, scales).all()


def test_the_worse_of_four_and_six_is_found() -> None:
    x = np.array([6.0] + [4.5] * 15, dtype=np.float32)
    plain = nvfp4_quantize(x, 1.0)
    assert nvfp4_unexplained(x, 1.0, *plain, four_over_six=True).tolist() == [True]
    searched = nvfp4_quantize(x, 1.0, four_over_six=True)
    assert nvfp4_unexplained(x, 1.0, *searched, four_over_six=True).tolist() == [False]
    assert nvfp4_unexplained(x, 1.0, *searched).tolist() == [True]


def test_special_values() -> None:
    x = np.zeros((4, 16), dtype=np.float32)
    x[1] = np.nan
    x[2, :3] = (np.inf, -np.inf, 3.0)
    x[3, :2] = (-0.0, 1.0)
    for four_over_six in (False, True):
        quantised = nvfp4_quantize(x, 1.0, four_over_six=four_over_six)
        assert not nvfp4_unexplained(x, 1.0, *quantised, four_over_six=four_over_six).any()


def test_bad_arguments() -> None:
    x = np.zeros((2, 32), dtype=np.float32)
    data, scales = nvfp4_quantize(x, 1.0)
    with pytest.raises(ValueError, match=r"data \(2, 16\) and scales \(2, 2\), got \(1, 16\)"):
        nvfp4_unexplained(x, 1.0, data[:1], scales)
    with pytest.raises(ValueError, match="ulps must be at least 1"):
        nvfp4_unexplained(x, 1.0, data, scales, ulps=0)
    with pytest.raises(ValueError, match="finite and greater than 0"):
        nvfp4_unexplained(x, 0.0, data, scales)
    with pytest.raises(ValueError, match="at least one dimension"):
        nvfp4_unexplained(np.zeros((), np.float32), 1.0, data, scales)
