from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compatcheck.kv_cache import e2m1_decode, e2m1_encode, e4m3_decode, e4m3_encode

ALL_E4M3 = np.arange(256, dtype=np.uint8)
ALL_E2M1 = np.arange(16, dtype=np.uint8)


def e4m3_fields(code: int) -> Fraction:
    """Value from sign, exponent and mantissa, by the OCP 8-bit floating point specification."""
    sign, exponent, mantissa = code >> 7, (code >> 3) & 15, code & 7
    if exponent == 0:
        value = Fraction(mantissa, 8) * Fraction(1, 2**6)
    else:
        value = (1 + Fraction(mantissa, 8)) * Fraction(2) ** (exponent - 7)
    return -value if sign else value


E4M3_POSITIVE = [e4m3_fields(code) for code in range(127)]
E2M1_POSITIVE = [Fraction(x) for x in ("0", "1/2", "1", "3/2", "2", "3", "4", "6")]


def nearest_even(value: Fraction, grid: list[Fraction]) -> int:
    """Index of the nearest grid value; of two equally near ones the even index."""
    return min(range(len(grid)), key=lambda i: (abs(grid[i] - value), i % 2))


def test_e4m3_table() -> None:
    values = e4m3_decode(ALL_E4M3)
    assert values.dtype == np.float32
    for code in range(256):
        if code & 0x7F == 0x7F:
            assert np.isnan(values[code])
        else:
            assert Fraction(float(values[code])) == e4m3_fields(code)
            assert np.signbit(values[code]) == (code >= 128)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (0.0, 0x00),
        (-0.0, 0x80),
        (1.0, 0x38),
        (-2.0, 0xC0),
        (448.0, 0x7E),
        (2.0**-9, 0x01),
        (2.0**-6, 0x08),
        (2.0**-10, 0x00),  # halfway to the smallest subnormal: even is zero
        (3 * 2.0**-10, 0x02),
        (1.0625, 0x38),  # halfway between 1 and 1.125
        (1.1875, 0x3A),
        (464.0, 0x7E),
        (1e30, 0x7E),
        (-1e30, 0xFE),
        (float("inf"), 0x7E),
        (float("-inf"), 0xFE),
        (float("nan"), 0x7F),
        (-float("nan"), 0x7F),
    ],
)
def test_e4m3_known_codes(value: float, code: int) -> None:
    assert e4m3_encode(value) == code


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (0.25, 0),
        (0.75, 2),
        (1.25, 2),
        (1.75, 4),
        (2.5, 4),
        (3.5, 6),
        (5.0, 6),
        (5.0000005, 7),
        (-0.25, 8),
        (-0.0, 8),
        (-6.0, 15),
        (float("inf"), 7),
        (float("-inf"), 15),
        (float("nan"), 0),
        (-float("nan"), 0),
    ],
)
def test_e2m1_known_codes(value: float, code: int) -> None:
    assert e2m1_encode(value) == code


def test_codes_round_trip() -> None:
    finite = ALL_E4M3[(ALL_E4M3 & 0x7F) != 0x7F]
    assert np.array_equal(e4m3_encode(e4m3_decode(finite)), finite)
    assert np.array_equal(e2m1_encode(e2m1_decode(ALL_E2M1)), ALL_E2M1)
    assert np.array_equal(e2m1_decode(ALL_E2M1 | 0xF0), e2m1_decode(ALL_E2M1))


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_e4m3_is_the_nearest(value: float) -> None:
    code = int(e4m3_encode(np.float32(value)))
    assert code & 0x7F == nearest_even(abs(Fraction(value)), E4M3_POSITIVE)
    assert code >> 7 == np.signbit(value)


@given(st.floats(-500, 500, width=32) | st.sampled_from([float(v) for v in E4M3_POSITIVE]))
def test_e4m3_near_and_inside_its_range(value: float) -> None:
    for x in (value, float(np.nextafter(np.float32(value), np.float32(1e9)))):
        assert int(e4m3_encode(x)) & 0x7F == nearest_even(abs(Fraction(x)), E4M3_POSITIVE)


@given(st.floats(-8, 8))
def test_e2m1_is_the_nearest(value: float) -> None:
    code = int(e2m1_encode(value))
    assert code & 7 == nearest_even(abs(Fraction(value)), E2M1_POSITIVE)
    assert code >> 3 == np.signbit(value)


def test_a_signalling_nan_is_a_nan() -> None:
    signalling = np.array([0x7F800001, 0xFFBFFFFF], dtype=np.uint32).view(np.float32)
    assert e4m3_encode(signalling).tolist() == [0x7F, 0x7F]
    assert e2m1_encode(signalling).tolist() == [0, 0]


def test_shapes_are_kept() -> None:
    assert e4m3_encode(np.zeros((2, 0, 3))).shape == (2, 0, 3)
    assert e2m1_decode(np.zeros((2, 3), np.uint8)).shape == (2, 3)


def test_e4m3_agrees_with_torch_bit_for_bit() -> None:
    torch = pytest.importorskip("torch")
    # every bfloat16, every float16, and the neighbourhood of every boundary
    bits = torch.arange(65536, dtype=torch.int32).to(torch.int16)
    grid = e4m3_decode(np.arange(127, dtype=np.uint8)).astype(np.float64)
    middle = ((grid[1:] + grid[:-1]) / 2).astype(np.float32)
    edges = np.concatenate([middle, np.nextafter(middle, np.float32(0)), np.nextafter(middle, np.float32(1e9))])
    values = np.concatenate(
        [bits.view(torch.bfloat16).float().numpy(), bits.view(torch.float16).float().numpy(), edges, -edges]
    )
    # torch does not saturate, and it keeps the sign of NaN
    values = np.clip(values[~np.isnan(values)], -448, 448)
    theirs = torch.from_numpy(values).to(torch.float8_e4m3fn).view(torch.uint8).numpy()
    assert np.array_equal(e4m3_encode(values), theirs)
    decoded = torch.from_numpy(ALL_E4M3).view(torch.float8_e4m3fn).float().numpy()
    assert np.array_equal(e4m3_decode(ALL_E4M3).view(np.uint32)[:127], decoded.view(np.uint32)[:127])
    assert np.array_equal(e4m3_decode(ALL_E4M3), decoded, equal_nan=True)
