from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from compatcheck.kv_cache import deinterleave_v_scales, interleave_v_scales

Layout = Literal["HND", "NHD"]


def by_formula(tile: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """One [page, S] tile, written out from the definition."""
    page, size = tile.shape
    out = np.zeros(page * size, dtype=tile.dtype)
    for t in range(page):
        for s in range(size):
            out[(t // 4) * 4 * size + s * 4 + t % 4] = tile[t, s]
    return out.reshape(page, size)


def test_known_tile() -> None:
    tile = np.array([[10 * t + s for s in range(4)] for t in range(4)], dtype=np.uint8)
    expected = [[0, 10, 20, 30], [1, 11, 21, 31], [2, 12, 22, 32], [3, 13, 23, 33]]
    assert interleave_v_scales(tile).tolist() == expected


def test_vllm_kernel_addresses() -> None:
    """Row (t//4)*4 + s//g and column (s%g)*4 + t%4 with g = S/4: how vLLM's store kernel writes the same thing."""
    page, size = 16, 8
    tile = np.arange(page * size, dtype=np.uint8).reshape(page, size)
    out = interleave_v_scales(tile)
    group = size // 4
    for t in range(page):
        for s in range(size):
            assert out[(t // 4) * 4 + s // group, (s % group) * 4 + t % 4] == tile[t, s]


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 8), st.integers(1, 8))
def test_formula_and_inverse_in_both_layouts(pages: int, heads: int, quads: int, groups: int) -> None:
    shape = (pages, heads, 4 * quads, 4 * groups)
    linear = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    moved = interleave_v_scales(linear)
    for p in range(pages):
        for h in range(heads):
            assert np.array_equal(moved[p, h], by_formula(linear[p, h]))
    assert np.array_equal(deinterleave_v_scales(moved), linear)
    assert np.array_equal(interleave_v_scales(deinterleave_v_scales(linear)), linear)
    nhd = interleave_v_scales(np.swapaxes(linear, 1, 2), layout="NHD")
    assert nhd.flags.c_contiguous
    assert np.array_equal(nhd, np.swapaxes(moved, 1, 2))
    assert np.array_equal(deinterleave_v_scales(nhd, layout="NHD"), np.swapaxes(linear, 1, 2))


def test_input_is_left_alone() -> None:
    linear = np.arange(16, dtype=np.uint8).reshape(4, 4)
    before = linear.copy()
    moved = interleave_v_scales(linear)
    assert np.array_equal(linear, before)
    assert not np.shares_memory(moved, linear)


@pytest.mark.parametrize("layout", ["HND", "NHD"])
@pytest.mark.parametrize(("page", "size"), [(2, 4), (6, 8), (16, 2), (16, 6)])
def test_tiles_that_do_not_divide(layout: Layout, page: int, size: int) -> None:
    shape = (1, 2, page, size) if layout == "HND" else (1, page, 2, size)
    for helper in (interleave_v_scales, deinterleave_v_scales):
        with pytest.raises(ValueError, match=rf"got page_size {page} and head_size {size * 16}"):
            helper(np.zeros(shape, dtype=np.uint8), layout=layout)


def test_bad_arguments() -> None:
    layout: Any = "LBHNC"
    with pytest.raises(ValueError, match="layout must be 'HND' or 'NHD'"):
        interleave_v_scales(np.zeros((4, 4), np.uint8), layout=layout)
    with pytest.raises(ValueError, match="NHD scales need at least 3 dimensions"):
        interleave_v_scales(np.zeros((4, 4), np.uint8), layout="NHD")
    with pytest.raises(TypeError, match="got list"):
        interleave_v_scales([[0] * 4] * 4)
