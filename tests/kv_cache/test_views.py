from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from compatcheck.kv_cache import (
    Nvfp4Views,
    kv_cache_shape,
    nvfp4_dequantize,
    nvfp4_kv_views,
    nvfp4_page_sections,
    nvfp4_page_views,
    nvfp4_quantize,
)

Layout = Literal["HND", "NHD"]
LAYOUTS = ("HND", "NHD")


def vllm_cache(
    layout: Layout, release: str, *, blocks: int = 3, tokens: int = 4, heads: int = 2, head_size: int = 32
) -> NDArray[np.uint8]:
    """A cache as vLLM allocates it, filled with its own byte addresses modulo 251."""
    shape = kv_cache_shape(
        "nvfp4",
        num_blocks=blocks,
        block_size=tokens,
        num_kv_heads=heads,
        head_size=head_size,
        layout=layout,
        vllm_version=release,
    )
    flat = (np.arange(blocks * shape.page_bytes) % 251).astype(np.uint8)
    return np.lib.stride_tricks.as_strided(flat, shape.shape, shape.strides)


def test_sections() -> None:
    # 2 heads x 4 tokens: 8 rows of 16 data bytes and 2 scale bytes
    assert nvfp4_page_sections(2, 4, 32) == {
        "k_data": (0, 128),
        "k_scales": (128, 16),
        "v_data": (144, 128),
        "v_scales": (272, 16),
    }


@pytest.mark.parametrize("layout", LAYOUTS)
def test_addresses_in_a_page(layout: Layout) -> None:
    pages = (np.arange(3 * 288) % 251).astype(np.uint8).reshape(3, 288)
    views = nvfp4_page_views(pages, num_kv_heads=2, block_size=4, head_size=32, layout=layout)
    assert views.layout == layout
    for page, head, token in np.ndindex(3, 2, 4):
        row = head * 4 + token if layout == "HND" else token * 2 + head
        index = (page, head, token) if layout == "HND" else (page, token, head)
        first = page * 288
        for name, start, width in (
            ("k_data", 0, 16),
            ("k_scales", 128, 2),
            ("v_data", 144, 16),
            ("v_scales", 272, 2),
        ):
            expected = (first + start + row * width + np.arange(width)) % 251
            assert np.array_equal(getattr(views, name)[index], expected)


@given(st.sampled_from(LAYOUTS), st.integers(1, 3), st.integers(1, 5), st.integers(1, 3), st.integers(1, 4))
def test_views_cover_every_byte_once(layout: Layout, blocks: int, tokens: int, heads: int, units: int) -> None:
    page = 2 * heads * tokens * units * 9
    pages = np.zeros((blocks, page), dtype=np.uint8)
    views = nvfp4_page_views(pages, num_kv_heads=heads, block_size=tokens, head_size=16 * units, layout=layout)
    for view in views[:4]:
        assert np.shares_memory(view, pages)
        view += 1
    assert (pages == 1).all()


@pytest.mark.parametrize("release", ["0.25.1", "0.33.0"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_vllm_shapes_give_the_same_views(layout: Layout, release: str) -> None:
    cache = vllm_cache(layout, release)
    views = nvfp4_kv_views(cache)
    pages = (np.arange(3 * 288) % 251).astype(np.uint8).reshape(3, 288)
    expected = nvfp4_page_views(pages, num_kv_heads=2, block_size=4, head_size=32, layout=layout)
    assert views.layout == layout
    for found, wanted in zip(views[:4], expected[:4], strict=True):
        assert np.shares_memory(found, cache)
        assert found.strides == wanted.strides
        assert np.array_equal(found, wanted)


def test_pages_of_several_layers_in_one_buffer() -> None:
    buffer = np.arange(3 * 2 * 288, dtype=np.uint16).astype(np.uint8).reshape(3, 2, 288)
    views = nvfp4_page_views(buffer[:, 1], num_kv_heads=2, block_size=4, head_size=32)
    assert views.k_data.strides[0] == 2 * 288
    assert views.v_scales[2, 1, 3, 1] == buffer[2, 1, -1]
    shape = (3, 4, 4, 18)
    layer = np.lib.stride_tricks.as_strided(buffer[:, 1], shape, (576, 72, 18, 1))
    assert np.array_equal(nvfp4_kv_views(layer).v_data, views.v_data)


@given(st.sampled_from(LAYOUTS), st.sampled_from(["0.25.1", "0.26.0"]), st.integers(1, 3), st.integers(1, 3))
def test_a_dimension_of_one_never_misleads(layout: Layout, release: str, tokens: int, heads: int) -> None:
    cache = vllm_cache(layout, release, tokens=tokens, heads=heads)
    views = nvfp4_kv_views(cache, layout=layout)
    assert views.layout == layout
    assert views.k_data.shape[1:3] == ((heads, tokens) if layout == "HND" else (tokens, heads))


def test_quantise_into_the_page_and_read_back() -> None:
    rng = np.random.default_rng(0)
    cache = vllm_cache("HND", "0.33.0", tokens=8, heads=2, head_size=64)
    views = nvfp4_kv_views(cache)
    k, v = (rng.standard_normal((3, 2, 8, 64)).astype(np.float16) for _ in range(2))
    for side, data, scales in ((k, views.k_data, views.k_scales), (v, views.v_data, views.v_scales)):
        data[...], scales[...] = nvfp4_quantize(side, 0.002)
    again = nvfp4_kv_views(cache)
    assert np.abs(nvfp4_dequantize(again.k_data, again.k_scales, 0.002) - k).max() < 0.6
    assert np.array_equal(again.v_data, nvfp4_quantize(v, 0.002)[0])


def test_a_read_only_buffer_gives_read_only_views() -> None:
    pages = np.zeros((1, 288), dtype=np.uint8)
    pages.flags.writeable = False
    views = nvfp4_page_views(pages, num_kv_heads=2, block_size=4, head_size=32)
    assert not any(view.flags.writeable for view in views[:4])


def test_no_pages() -> None:
    views = nvfp4_page_views(np.zeros((0, 288), np.uint8), num_kv_heads=2, block_size=4, head_size=32)
    assert [view.shape for view in views[:4]] == [(0, 2, 4, 16), (0, 2, 4, 2)] * 2


@pytest.mark.parametrize(
    ("pages", "error", "words"),
    [
        (np.zeros((2, 287), np.uint8), ValueError, r"must be \[num_blocks, 288\] for 2 KV heads, 4 tokens"),
        (np.zeros(288, np.uint8), ValueError, r"must be \[num_blocks, 288\]"),
        (np.zeros((2, 576), np.uint8)[:, ::2], ValueError, "must be contiguous"),
        (
            np.lib.stride_tricks.as_strided(np.zeros(600, np.uint8), (2, 288), (100, 1)),
            ValueError,
            "must not overlap",
        ),
        (np.zeros((2, 288), np.int8), TypeError, "dtype uint8, got numpy int8"),
        ([[0] * 288], TypeError, "got list"),
    ],
)
def test_bad_pages(pages: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        nvfp4_page_views(pages, num_kv_heads=2, block_size=4, head_size=32)


def test_bad_sizes() -> None:
    pages = np.zeros((1, 288), np.uint8)
    layout: Any = "LBHNC"
    with pytest.raises(ValueError, match="multiple of 16"):
        nvfp4_page_views(pages, num_kv_heads=2, block_size=4, head_size=40)
    with pytest.raises(ValueError, match="block_size must be a positive integer"):
        nvfp4_page_views(pages, num_kv_heads=2, block_size=0, head_size=32)
    with pytest.raises(ValueError, match="layout must be"):
        nvfp4_page_views(pages, num_kv_heads=2, block_size=4, head_size=32, layout=layout)


@pytest.mark.parametrize(
    ("cache", "words"),
    [
        (np.zeros((2, 3, 4, 18), np.uint8), "kv_cache must be"),
        (np.zeros((2, 4, 18), np.uint8), "kv_cache must be"),
        (np.zeros((2, 3, 4, 2, 18), np.uint8), "kv_cache must be"),
        (np.zeros((2, 4, 4, 17), np.uint8), "multiple of 9"),
        (np.zeros((2, 4, 4, 36), np.uint8)[..., :18], "must be dense"),
        (np.zeros((2, 4, 8, 18), np.uint8)[:, :, ::2], "must be dense"),
        # head-outermost memory, as the LHBNC layout has it
        (np.zeros((4, 2, 4, 18), np.uint8).transpose(1, 0, 2, 3), "must be dense"),
    ],
)
def test_bad_caches(cache: NDArray[np.uint8], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        nvfp4_kv_views(cache)


def test_a_layout_that_the_strides_deny() -> None:
    with pytest.raises(ValueError, match="are HND, not NHD"):
        nvfp4_kv_views(vllm_cache("HND", "0.33.0"), layout="NHD")


def test_views_are_named() -> None:
    assert Nvfp4Views._fields == ("k_data", "k_scales", "v_data", "v_scales", "layout")
