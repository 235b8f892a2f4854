from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from compatcheck.kv_cache import (
    e2m1_decode,
    e4m3_decode,
    global_scale_full_range,
    nvfp4_dequantize,
    nvfp4_quantize,
)

Floats = NDArray[np.float32]
LEVELS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def f16(shape: tuple[int, ...], limit: float = 1000) -> st.SearchStrategy[Floats]:
    """Arrays of float16 values, held in float32."""
    return hnp.arrays(np.float16, shape, elements=st.floats(-limit, limit, width=16)).map(
        lambda a: a.astype(np.float32)
    )


def nibbles(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.stack([data & 0xF, data >> 4], axis=-1).reshape(*data.shape[:-1], -1)


def one_block(values: list[float]) -> Floats:
    return np.array(values + [0.0] * (16 - len(values)), dtype=np.float32)


def test_known_block() -> None:
    # amax 6 under global scale 1: block scale 1, so the values are the levels themselves
    x = one_block([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.5, -6])
    data, scales = nvfp4_quantize(x, 1.0)
    assert scales.tolist() == [0x38]
    assert data.tolist() == [0x10, 0x32, 0x54, 0x76, 0xF9, 0, 0, 0]
    assert np.array_equal(nvfp4_dequantize(data, scales, 1.0), x)


def test_low_nibble_is_the_even_element() -> None:
    data, _ = nvfp4_quantize(one_block([0.0, 6.0]), 1.0)
    assert data[0] == 0x70


def test_ties_go_to_the_even_code() -> None:
    x = one_block([6, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, -0.25, -0.75, -1.25, -1.75, -2.5, -3.5, -5.0])
    data, scales = nvfp4_quantize(x, 1.0)
    assert scales.tolist() == [0x38]
    assert nibbles(data).tolist() == [7, 0, 2, 2, 4, 4, 6, 6, 8, 10, 10, 12, 12, 14, 14, 0]


def test_each_block_has_its_own_scale() -> None:
    x = np.concatenate([one_block([6.0]), one_block([48.0]), one_block([0.75])])
    _, scales = nvfp4_quantize(x, 1.0)
    assert e4m3_decode(scales).tolist() == [1.0, 8.0, 0.125]


def test_global_scale_is_a_decode_scale() -> None:
    x = one_block([3.0, -1.5])
    data, scales = nvfp4_quantize(x, 0.25)
    assert e4m3_decode(scales).tolist() == [2.0]  # 3 / (6 * 0.25)
    assert np.array_equal(nvfp4_dequantize(data, scales, 0.25), x)


def test_scale_saturates_at_448() -> None:
    x = one_block([6 * 448 * 10.0, 6 * 448.0, 100.0])
    data, scales = nvfp4_quantize(x, 1.0)
    assert scales.tolist() == [0x7E]
    assert nvfp4_dequantize(data, scales, 1.0)[:3].tolist() == [2688.0, 2688.0, 0.0]


def test_zero_blocks_keep_signs_only() -> None:
    x = one_block([0.0, -0.0, -0.0, 0.0])
    data, scales = nvfp4_quantize(x, 1.0)
    assert scales.tolist() == [0]
    assert nibbles(data).tolist()[:4] == [0, 8, 8, 0]
    # 6 * 2**-10 has its scale halfway to the smallest one, and the even neighbour is zero
    data, scales = nvfp4_quantize(one_block([-6 * 2.0**-10, 6 * 2.0**-10]), 1.0)
    assert scales.tolist() == [0]
    assert nibbles(data).tolist()[:2] == [8, 0]


def test_nan_is_left_out_and_becomes_zero() -> None:
    x = one_block([float("nan"), -float("nan"), 6.0, -3.0])
    data, scales = nvfp4_quantize(x, 1.0)
    assert scales.tolist() == [0x38]
    assert nibbles(data).tolist()[:4] == [0, 0, 7, 13]
    data, scales = nvfp4_quantize(np.full(16, np.nan, dtype=np.float32), 1.0)
    assert data.tolist() == [0] * 8
    assert scales.tolist() == [0]


def test_infinity_saturates() -> None:
    x = one_block([float("inf"), float("-inf"), 448.0, 1.0])
    data, scales = nvfp4_quantize(x, 1.0)
    assert scales.tolist() == [0x7E]
    assert nibbles(data).tolist()[:4] == [7, 15, 2, 0]


def test_reciprocal_division_differs_where_it_should() -> None:
    # 2.25 / 18 is 0.125 exactly; both ways must agree there. 1/18 is inexact, so elsewhere they may part by an ulp.
    x = np.random.default_rng(0).integers(-255, 256, (20000, 16)).astype(np.float32)
    divide = nvfp4_quantize(x, 3.0)
    reciprocal = nvfp4_quantize(x, 3.0, division="reciprocal")
    assert np.array_equal(nvfp4_quantize(one_block([2.25]), 3.0)[1], [0x20])
    scales = np.abs(divide[1].astype(int) - reciprocal[1].astype(int))
    assert scales.max() <= 1
    quotient = np.abs(x).max(axis=-1) / np.float32(18)
    product = np.abs(x).max(axis=-1) * (np.float32(1) / np.float32(18))
    assert (quotient != product).any()


def reference_block(block: Floats, g: float) -> tuple[int, list[int]]:
    """The definition in exact arithmetic, for values and scales that keep clear of rounding boundaries."""
    grid = [Fraction(float(v)) for v in e4m3_decode(np.arange(127, dtype=np.uint8))]
    amax = max(abs(Fraction(float(v))) for v in block)
    wanted = amax / (6 * Fraction(g))
    sf = min(range(127), key=lambda i: (abs(grid[i] - wanted), i % 2))
    codes = []
    for v in block:
        m = abs(Fraction(float(v))) / (grid[sf] * Fraction(g)) if grid[sf] and amax else Fraction(0)
        code = min(range(8), key=lambda i: (abs(Fraction(LEVELS[i]) - m), i % 2))
        codes.append(code | (8 if np.signbit(v) else 0))
    return sf, codes


@given(f16((16,)), st.integers(-12, 4))
def test_matches_the_definition_under_power_of_two_global_scales(block: Floats, exponent: int) -> None:
    g = 2.0**exponent
    data, scales = nvfp4_quantize(block, g)
    sf, codes = reference_block(block, g)
    # amax / 6 is the only inexact quotient here, and 1 / sf the only inexact factor
    assert abs(int(scales[0]) - sf) <= 1
    if int(scales[0]) == sf:
        found = nibbles(data).tolist()
        for v, code, expected in zip(block, found, codes, strict=True):
            if code != expected:
                assert abs(code - expected) == 1
                step = Fraction(float(e4m3_decode(scales)[0])) * Fraction(g)
                middle = (Fraction(LEVELS[code & 7]) + Fraction(LEVELS[expected & 7])) / 2
                assert abs(abs(Fraction(float(v))) / step - middle) < Fraction(1, 10**6)


@given(f16((3, 32), 60000), st.booleans(), st.sampled_from(["divide", "reciprocal"]))
def test_error_is_at_most_half_a_step(x: Floats, four_over_six: bool, division: Any) -> None:
    g = global_scale_full_range(x)
    data, scales = nvfp4_quantize(x, g, four_over_six=four_over_six, division=division)
    unit = np.repeat(e4m3_decode(scales).astype(np.float64) * float(np.float32(g)), 16, axis=-1)
    magnitude = np.abs(x.astype(np.float64))
    error = np.abs(x - nvfp4_dequantize(data, scales, g).astype(np.float64))
    # spacing is 0.5 up to 2, 1 up to 4, 2 beyond; what lies above 6 is cut to 6
    half = np.where(magnitude <= 2 * unit, 0.25, np.where(magnitude <= 4 * unit, 0.5, 1.0)) * unit
    half = np.maximum(half, magnitude - 6 * unit)
    half = np.where(unit == 0, magnitude, half)
    assert (error <= half * (1 + 1e-5) + 1e-30).all()


@given(f16((2, 16), 60000))
def test_a_normal_block_scale_is_never_overrun_by_more_than_rounding(x: Floats) -> None:
    g = global_scale_full_range(x)
    _, scales = nvfp4_quantize(x, g)
    sf = e4m3_decode(scales)[:, 0].astype(np.float64)
    amax = np.abs(x).max(axis=-1).astype(np.float64)
    normal = sf >= 2.0**-6
    # E4M3 rounds a normal value by at most 1/17 of what it becomes
    assert (np.abs(amax - 6 * sf * float(np.float32(g)))[normal] <= (amax / 16)[normal] * (1 + 1e-5)).all()


@given(f16((2, 32), 60000))
def test_requantising_is_idempotent_for_normal_block_scales(x: Floats) -> None:
    g = global_scale_full_range(x)
    data, scales = nvfp4_quantize(x, g)
    again_data, again_scales = nvfp4_quantize(nvfp4_dequantize(data, scales, g), g)
    normal = e4m3_decode(scales) >= 2.0**-6
    assert np.array_equal(again_scales[normal], scales[normal])
    blocks, again = data.reshape(2, 2, 8), again_data.reshape(2, 2, 8)
    assert np.array_equal(again[normal], blocks[normal])


@given(f16((2, 32), 60000), st.booleans())
def test_signs_are_kept(x: Floats, four_over_six: bool) -> None:
    data, _ = nvfp4_quantize(x, 1.0, four_over_six=four_over_six)
    assert np.array_equal(nibbles(data) >> 3, np.signbit(x).astype(np.uint8))


@given(f16((16,), 60000), st.booleans())
def test_monotone_inside_a_block(x: Floats, four_over_six: bool) -> None:
    x = np.sort(x)
    data, scales = nvfp4_quantize(x, 0.5, four_over_six=four_over_six)
    assert (np.diff(nvfp4_dequantize(data, scales, 0.5)) >= 0).all()


@given(f16((4, 32)), st.integers(-8, 8))
def test_scaling_by_a_power_of_two_changes_no_code(x: Floats, exponent: int) -> None:
    factor = np.float32(2.0**exponent)
    plain, moved = nvfp4_quantize(x, 0.01), nvfp4_quantize(x * factor, 0.01 * float(factor))
    assert np.array_equal(plain[0], moved[0])
    assert np.array_equal(plain[1], moved[1])


def test_four_over_six_known_block() -> None:
    # Under amax/6 the value 5 lies halfway between levels 4 and 6; with amax mapped to 4, 5 and 6 are near 3.33 and 4.
    x = one_block([6.0] + [4.5] * 15)
    data, scales = nvfp4_quantize(x, 1.0, four_over_six=True)
    assert e4m3_decode(scales).tolist() == [1.5]
    assert nibbles(data).tolist() == [6] + [5] * 15
    assert np.array_equal(nvfp4_dequantize(data, scales, 1.0), x)
    # the levels themselves are exact under amax/6, and equal errors keep it
    levels = one_block([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    assert e4m3_decode(nvfp4_quantize(levels, 1.0, four_over_six=True)[1]).tolist() == [1.0]


@given(f16((4, 32)), st.sampled_from([1.0, 0.02, 0.0009]))
def test_four_over_six_never_has_the_larger_squared_error(x: Floats, g: float) -> None:
    def error(four_over_six: bool) -> NDArray[np.float64]:
        data, scales = nvfp4_quantize(x, g, four_over_six=four_over_six)
        difference = x.astype(np.float64) - nvfp4_dequantize(data, scales, g)
        return np.asarray((difference**2).reshape(4, 2, 16).sum(axis=-1))

    best, plain = error(True), error(False)
    assert (best <= plain * (1 + 1e-5) + 1e-12).all()


@given(
    hnp.arrays(np.uint8, (3, 16)),
    hnp.arrays(np.uint8, (3, 2), elements=st.integers(0, 126)),
    st.floats(2.0**-20, 2.0**20, width=32),
)
def test_dequantise_is_one_rounding(data: NDArray[np.uint8], scales: NDArray[np.uint8], g: float) -> None:
    found = nvfp4_dequantize(data, scales, g)
    exact = e2m1_decode(nibbles(data)).astype(np.float64) * np.repeat(e4m3_decode(scales), 16, axis=-1) * g
    assert found.dtype == np.float32
    assert np.array_equal(found, exact.astype(np.float32))


@pytest.mark.parametrize("g", [0.0, -1.0, float("nan"), float("inf"), 1e-60, 1e60])
def test_global_scale_must_be_finite_and_positive(g: float) -> None:
    with pytest.raises(ValueError, match="finite and greater than 0"):
        nvfp4_quantize(np.ones(16, dtype=np.float32), g)
    with pytest.raises(ValueError, match="finite and greater than 0"):
        nvfp4_dequantize(np.zeros(8, dtype=np.uint8), np.zeros(1, dtype=np.uint8), g)


def test_global_scale_may_be_an_array_of_one() -> None:
    x = np.ones(16, dtype=np.float32)
    one: Any = np.array([0.5], dtype=np.float32)
    assert np.array_equal(nvfp4_quantize(x, one)[1], nvfp4_quantize(x, 0.5)[1])
    with pytest.raises(ValueError, match=r"one number, got shape \(2,\)"):
        nvfp4_quantize(x, np.array([1.0, 2.0]))


def test_input_types_and_shapes() -> None:
    x = np.random.default_rng(1).standard_normal((2, 3, 32))
    data, scales = nvfp4_quantize(x.astype(np.float16), 0.01)
    assert (data.shape, scales.shape) == ((2, 3, 16), (2, 3, 2))
    assert data.dtype == scales.dtype == np.uint8
    assert nvfp4_quantize(np.zeros((0, 16), np.float32), 1.0)[0].shape == (0, 8)
    # float64 is rounded to float32 first
    assert np.array_equal(nvfp4_quantize(x, 0.01)[0], nvfp4_quantize(x.astype(np.float32), 0.01)[0])
    # strided and reversed input
    assert np.array_equal(nvfp4_quantize(x[::-1], 0.01)[0], nvfp4_quantize(x, 0.01)[0][::-1])


@pytest.mark.parametrize("shape", [(8,), (24,), (2, 0), ()])
def test_bad_head_dimension(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"multiple of 16|at least one dimension"):
        nvfp4_quantize(np.zeros(shape, dtype=np.float32), 1.0)


def test_bad_types() -> None:
    bad: list[Any] = [np.zeros(16, np.int32), np.zeros(16, np.complex64)]
    for x in bad:
        with pytest.raises(TypeError, match="x must be floating point, got numpy"):
            nvfp4_quantize(x, 1.0)
    listed: Any = [1.0] * 16
    with pytest.raises(TypeError, match="numpy array or torch tensor, got list"):
        nvfp4_quantize(listed, 1.0)
    with pytest.raises(TypeError, match="scales must be uint8 or float8_e4m3fn"):
        nvfp4_dequantize(np.zeros(8, np.uint8), np.zeros(1, np.float32), 1.0)
    with pytest.raises(ValueError, match="division must be"):
        nvfp4_quantize(np.zeros(16, np.float32), 1.0, division="fast")  # type: ignore[call-overload]


def test_dequantise_shapes_must_belong_together() -> None:
    with pytest.raises(ValueError, match=r"needs scales of shape \(2, 2\), got \(2, 1\)"):
        nvfp4_dequantize(np.zeros((2, 16), np.uint8), np.zeros((2, 1), np.uint8), 1.0)
    with pytest.raises(ValueError, match="head_size a multiple of 16"):
        nvfp4_dequantize(np.zeros((2, 12), np.uint8), np.zeros((2, 1), np.uint8), 1.0)
