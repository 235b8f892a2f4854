from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compatcheck.kv_cache import NVFP4_BLOCK, nvfp4_full_dim, nvfp4_head_size


@pytest.mark.parametrize(("head_size", "full"), [(16, 9), (64, 36), (128, 72), (256, 144), (512, 288)])
def test_known_sizes(head_size: int, full: int) -> None:
    assert nvfp4_full_dim(head_size) == full


@given(st.integers(1, 4096))
def test_counts_nibbles_and_scales(blocks: int) -> None:
    head_size = blocks * NVFP4_BLOCK
    assert 8 * nvfp4_full_dim(head_size) == 4 * head_size + 8 * blocks
    assert nvfp4_head_size(nvfp4_full_dim(head_size)) == head_size


@pytest.mark.parametrize("head_size", [0, -16, 8, 24, 100, 128.0, "128", True, None])
def test_refuses_what_has_no_whole_number_of_scales(head_size: Any) -> None:
    with pytest.raises(ValueError, match="positive multiple of 16"):
        nvfp4_full_dim(head_size)


@pytest.mark.parametrize("full", [0, -9, 71, 72.0, True])
def test_refuses_a_row_that_no_head_size_has(full: Any) -> None:
    with pytest.raises(ValueError, match="multiple of 9"):
        nvfp4_head_size(full)


@given(st.integers(1, 4096).filter(lambda d: d % 16 != 0))
def test_truncating_division_would_split_wrongly(head_size: int) -> None:
    """The reason for the error: vLLM takes 8/9 of the row as data, which is not head_size/2 without the multiple."""
    row = head_size // 2 + head_size // 16
    assert row * 8 // 9 != head_size / 2 or row - row * 8 // 9 != head_size / 16
