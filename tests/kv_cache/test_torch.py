"""torch tensors in, torch tensors out, the same bits as numpy."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

from compatcheck.kv_cache import (
    deinterleave_v_scales,
    global_scale_full_range,
    global_scale_quantize_paged,
    interleave_v_scales,
    nvfp4_dequantize,
    nvfp4_kv_views,
    nvfp4_page_views,
    nvfp4_quantize,
    nvfp4_unexplained,
)

torch: Any = pytest.importorskip("torch")
Layout = Literal["HND", "NHD"]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("four_over_six", [False, True])
def test_quantise(dtype: str, four_over_six: bool) -> None:
    x = torch.randn(3, 5, 64, generator=torch.Generator().manual_seed(0)).to(getattr(torch, dtype))
    g = torch.tensor([global_scale_full_range(x)])
    data, scales = nvfp4_quantize(x, g, four_over_six=four_over_six)
    assert (data.dtype, scales.dtype) == (torch.uint8, torch.float8_e4m3fn)
    wanted: Any = nvfp4_quantize(x.float().numpy(), float(g), four_over_six=four_over_six)
    assert np.array_equal(data.numpy(), wanted[0])
    assert np.array_equal(scales.view(torch.uint8).numpy(), wanted[1])
    back = nvfp4_dequantize(data, scales, g)
    assert back.dtype == torch.float32
    assert np.array_equal(back.numpy(), nvfp4_dequantize(wanted[0], wanted[1], float(g)))
    assert not nvfp4_unexplained(x, g, data, scales, four_over_six=four_over_six).any()


def test_global_scales() -> None:
    x = torch.tensor([1.0, -448.0], dtype=torch.bfloat16)
    assert global_scale_quantize_paged(x) == 1.0
    assert global_scale_full_range(x) == pytest.approx(1 / 6)


def test_integer_tensors_are_refused() -> None:
    with pytest.raises(TypeError, match=r"x must be floating point, got torch.int32"):
        nvfp4_quantize(torch.zeros(16, dtype=torch.int32), 1.0)
    with pytest.raises(TypeError, match=r"dtype uint8, got torch\.float32"):
        nvfp4_kv_views(torch.zeros(1, 2, 4, 18))


@pytest.mark.parametrize("layout", ["HND", "NHD"])
def test_page_views(layout: Layout) -> None:
    whole = torch.randint(0, 256, (3, 300), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    pages = whole[:, 7:295]
    views = nvfp4_page_views(pages, num_kv_heads=2, block_size=4, head_size=32, layout=layout)
    wanted = nvfp4_page_views(pages.numpy(), num_kv_heads=2, block_size=4, head_size=32, layout=layout)
    assert views.k_scales.dtype == views.v_scales.dtype == torch.float8_e4m3fn
    for found, array in zip(views[:4], wanted[:4], strict=True):
        assert np.array_equal(found.view(torch.uint8).numpy(), array)
        assert found.stride() == array.strides
        assert found.untyped_storage().data_ptr() == whole.untyped_storage().data_ptr()


def test_cache_views() -> None:
    cache = torch.randint(0, 256, (3, 4, 8, 36), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    views = nvfp4_kv_views(cache)
    wanted = nvfp4_kv_views(cache.numpy())
    assert views.layout == wanted.layout == "HND"
    for found, array in zip(views[:4], wanted[:4], strict=True):
        assert np.array_equal(found.view(torch.uint8).numpy(), array)


@pytest.mark.parametrize("dtype", ["uint8", "float8_e4m3fn", "float32"])
@pytest.mark.parametrize("layout", ["HND", "NHD"])
def test_interleave(dtype: str, layout: Layout) -> None:
    raw = torch.randint(0, 120, (2, 4, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    scales = raw.view(torch.float8_e4m3fn) if dtype == "float8_e4m3fn" else raw.to(getattr(torch, dtype))
    moved = interleave_v_scales(scales, layout=layout)
    assert moved.dtype == scales.dtype
    assert moved.is_contiguous()
    bits = moved.view(torch.uint8) if dtype == "float8_e4m3fn" else moved.to(torch.uint8)
    assert np.array_equal(bits.numpy(), interleave_v_scales(raw.numpy(), layout=layout))
    back = deinterleave_v_scales(moved, layout=layout)
    assert torch.equal(back.float(), scales.float())
