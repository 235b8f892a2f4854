"""Sizes, strides and views against vLLM's own code, where vLLM is installed (0.31.0 to 0.33.0)."""

from __future__ import annotations

import itertools
import warnings
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest

from compatcheck.kv_cache import (
    KV_DTYPES,
    kv_cache_shape,
    nvfp4_full_dim,
    nvfp4_kv_views,
    token_head_bytes,
)

try:
    RELEASE = version("vllm").partition("+")[0]
except PackageNotFoundError:
    pytest.skip("vLLM is not installed", allow_module_level=True)
if RELEASE not in ("0.31.0", "0.32.0", "0.33.0"):
    pytest.skip(f"vLLM {RELEASE} keeps these elsewhere", allow_module_level=True)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torch: Any = pytest.importorskip("torch")
    torch_utils: Any = pytest.importorskip("vllm.utils.torch_utils")
    interface: Any = pytest.importorskip("vllm.v1.kv_cache_interface")
    layouts: Any = pytest.importorskip("vllm.v1.kv_cache_layout")
    cache_config: Any = pytest.importorskip("vllm.config.cache")
    flashinfer: Any = pytest.importorskip("vllm.v1.attention.backends.flashinfer")
    triton: Any = pytest.importorskip("vllm.v1.attention.backends.triton_attn")
    turboquant: Any = pytest.importorskip("vllm.v1.attention.backends.turboquant_attn")

BACKENDS = {
    **dict.fromkeys(("auto", "bfloat16", "fp8", "fp8_e5m2", "nvfp4", "nvfp4_4over6"), "flashinfer"),
    **dict.fromkeys(("int4_per_token_head", "int8_per_token_head", "fp8_per_token_head"), "triton"),
    **dict.fromkeys((name for name in KV_DTYPES if name.startswith("turboquant")), "turboquant"),
}


def spec(name: str, heads: int, tokens: int, head_size: int) -> Any:
    backend = {
        "flashinfer": flashinfer.FlashInferBackend,
        "triton": triton.TritonAttentionBackend,
        "turboquant": turboquant.TurboQuantAttentionBackend,
    }[BACKENDS[name]]
    plain = interface.FullAttentionSpec(
        block_size=tokens,
        num_kv_heads=heads,
        head_size=head_size,
        dtype=torch.bfloat16 if name == "auto" else torch_utils.STR_DTYPE_TO_TORCH_DTYPE[name],
        kv_quant_mode=interface.get_kv_quant_mode(name),
    )
    return backend.customize_spec(plain)


def test_every_dtype_of_this_release_is_known() -> None:
    assert set(cache_config.CacheDType.__args__) <= set(KV_DTYPES)


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("layout", ["NHD", "HND", *layouts.KVCacheLayout.__members__])
def test_shapes_and_strides(name: str, layout: str) -> None:
    theirs = layouts.KVCacheLayout[{"NHD": "LBNHC", "HND": "LBHNC"}.get(layout, layout)]
    for heads, tokens, head_size, layers in itertools.product((1, 2), (1, 16), (64, 128), (1, 3)):
        wanted = spec(name, heads, tokens, head_size)
        shape = interface.compute_layer_kv_cache_shape_bytes(wanted, 5)
        strides = interface.compute_layout_strides(wanted, 5, layers, theirs)
        raw = torch.zeros(layers * 5 * wanted.page_size_bytes, dtype=torch.int8)
        view = raw.as_strided((layers, *shape), strides)[0].view(wanted.dtype)
        found = kv_cache_shape(
            name,
            num_blocks=5,
            block_size=tokens,
            num_kv_heads=heads,
            head_size=head_size,
            layout=layout,
            num_layers=layers,
            vllm_version=RELEASE,
        )
        assert (found.shape, found.strides) == (tuple(view.shape), view.stride())
        assert found.page_bytes == wanted.page_size_bytes
        assert f"torch.{found.storage}" == str(wanted.dtype)
        assert found.page_bytes == heads * tokens * token_head_bytes(name, head_size).total


@pytest.mark.parametrize("head_size", [64, 128, 256])
def test_nvfp4_views(head_size: int) -> None:
    assert nvfp4_full_dim(head_size) == torch_utils.nvfp4_kv_cache_full_dim(head_size)
    cache = torch.randint(0, 256, (3, 4, 16, nvfp4_full_dim(head_size)), dtype=torch.uint8)
    k, v = (torch_utils.nvfp4_split_data_scale(side) for side in cache.split(2, dim=1))
    for found, wanted in zip(nvfp4_kv_views(cache)[:4], (*k, *v), strict=True):
        assert found.dtype == wanted.dtype
        assert found.data_ptr() == wanted.data_ptr()
        assert (found.shape, found.stride()) == (wanted.shape, wanted.stride())
