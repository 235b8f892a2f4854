from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compatcheck.kv_cache import (
    e4m3_decode,
    global_scale_full_range,
    global_scale_quantize_paged,
    nvfp4_quantize,
)


def test_known_values() -> None:
    assert global_scale_full_range(2688.0) == 1.0
    assert global_scale_full_range(np.array([[1.0, -5376.0]])) == 2.0
    assert global_scale_quantize_paged(448.0) == 1.0
    assert global_scale_quantize_paged(np.array([-224.0, 3.0], dtype=np.float16)) == 0.5


def test_zeros() -> None:
    assert global_scale_full_range(np.zeros(3)) == 1.0
    assert global_scale_full_range(np.zeros(0)) == 1.0
    # FlashInfer clamps amax to 1e-12
    assert global_scale_quantize_paged(0.0) == pytest.approx(1e-12 / 448, rel=1e-6)
    assert global_scale_full_range(1e-45) > 0


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_infinite_values_have_no_scale(value: float) -> None:
    for helper in (global_scale_full_range, global_scale_quantize_paged):
        with pytest.raises(ValueError, match="needs finite values"):
            helper(value)
        with pytest.raises(ValueError, match="needs finite values"):
            helper(np.array([1.0, value]))


@given(st.floats(2.0**-10, 60000, width=16))
def test_what_the_block_of_the_maximum_becomes(amax: float) -> None:
    x = np.zeros(16, dtype=np.float32)
    x[3] = -amax
    full = e4m3_decode(nvfp4_quantize(x, global_scale_full_range(x))[1])
    paged = e4m3_decode(nvfp4_quantize(x, global_scale_quantize_paged(x))[1])
    assert full.tolist() == [448.0]
    assert paged.tolist() == [72.0]  # 448 / 6 = 74.67, and E4M3 has 72 and 80 there
    assert np.float32(global_scale_full_range(x)) == global_scale_full_range(x)
