from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compatcheck.kv_cache import KV_DTYPES, CacheShape, UnknownLayoutError, kv_cache_shape, token_head_bytes

FLASHINFER = ("auto", "float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2", "nvfp4")
NAMED = ("NHD", "HND", "LBHNC", "LBNHC", "LHBNC", "BLHNC", "BLNHC", "BHLNC")


def shape(name: str, **changes: Any) -> CacheShape:
    given: dict[str, Any] = {"num_blocks": 5, "block_size": 16, "num_kv_heads": 2, "head_size": 128}
    return kv_cache_shape(name, **{**given, **changes})


@pytest.mark.parametrize("release", ["0.19.1", "0.21.0", "0.25.1", "0.25.1+cu130", "0.22.1.post1"])
@pytest.mark.parametrize(
    ("layout", "strides"), [("NHD", (8192, 4096, 256, 128, 1)), ("HND", (8192, 4096, 128, 2048, 1))]
)
def test_split_generation(release: str, layout: str, strides: tuple[int, ...]) -> None:
    found = shape("bfloat16", layout=layout, vllm_version=release)
    assert found.generation == "split"
    assert found.shape == (5, 2, 16, 2, 128)
    assert found.strides == strides
    assert found.strides_bytes == tuple(2 * s for s in strides)
    assert found.page_bytes == 2 * 16 * 2 * 128 * 2
    assert found.flashinfer_layout == layout


def test_split_generation_nvfp4() -> None:
    found = shape("nvfp4", layout="HND", vllm_version="0.25.1")
    assert found.shape == (5, 2, 16, 2, 72)
    assert found.strides == found.strides_bytes == (4608, 2304, 72, 1152, 1)
    assert found.physical == ("num_blocks", "kv", "num_kv_heads", "block_size", "last")
    assert found.storage == "uint8"


@pytest.mark.parametrize("release", ["0.26.0", "0.28.0", "0.29.0", "0.33.0"])
@pytest.mark.parametrize(("layout", "strides"), [("HND", (8192, 4096, 256, 1)), ("NHD", (8192, 256, 512, 1))])
def test_packed_generation(release: str, layout: str, strides: tuple[int, ...]) -> None:
    found = shape("fp8", layout=layout, vllm_version=release)
    assert found.generation == "packed"
    assert found.shape == (5, 2, 16, 256)
    assert found.strides == strides
    assert found.layer_stride_bytes is None


def test_packed_generation_nvfp4_has_a_slot_per_head_and_side() -> None:
    found = shape("nvfp4", layout="NHD")
    assert found.shape == (5, 4, 16, 72)
    assert found.strides == (4608, 72, 288, 1)
    assert found.physical == ("num_blocks", "block_size", "heads", "content")
    assert found.page_bytes == 2 * 16 * 2 * 72


@pytest.mark.parametrize(
    ("name", "options", "content", "itemsize", "storage"),
    [
        ("int4_per_token_head", {}, 136, 1, "uint8"),
        ("int8_per_token_head", {}, 264, 1, "int8"),
        ("turboquant_3bit_nc", {}, 102, 1, "uint8"),
        ("octave_k3v4", {"rotary_dim": 64}, 128, 1, "uint8"),
        ("auto", {"model_dtype": "float32"}, 256, 4, "float32"),
        ("fp8_ds_mla", {"num_kv_heads": 1, "head_size": 576, "mla": True}, 656, 1, "uint8"),
        ("auto", {"num_kv_heads": 1, "head_size": 576, "mla": True}, 576, 2, "bfloat16"),
    ],
)
def test_other_dtypes(name: str, options: dict[str, Any], content: int, itemsize: int, storage: str) -> None:
    found = shape(name, layout="HND", **options)
    assert found.shape[3] == content
    assert (found.itemsize, found.storage) == (itemsize, storage)


def test_layers_in_one_buffer() -> None:
    page = shape("nvfp4").page_bytes
    outer = shape("nvfp4", layout="BLHNC", num_layers=3)
    assert outer.strides_bytes[0] == 3 * page
    assert outer.layer_stride_bytes == page
    assert outer.flashinfer_layout == "HND"
    compact = shape("nvfp4", layout="LBHNC", num_layers=3)
    assert compact.strides_bytes[0] == page
    assert compact.layer_stride_bytes == 5 * page
    assert shape("nvfp4", layout="LHBNC").flashinfer_layout is None


def addresses(found: CacheShape, layers: int) -> list[int]:
    """First byte of every element of every layer."""
    axes = [range(0, n * s, s) for n, s in zip(found.shape, found.strides_bytes, strict=True)]
    axes.append(range(0, layers * (found.layer_stride_bytes or 0), found.layer_stride_bytes or 1))
    return (
        [sum(parts) for parts in itertools.product(*axes)]
        if layers > 1
        else [sum(parts) for parts in itertools.product(*axes[:-1])]
    )


@given(
    name=st.sampled_from([n for n in KV_DTYPES if not n.startswith("octave") and not n.endswith("ds_mla")]),
    layout=st.sampled_from(NAMED),
    blocks=st.integers(1, 3),
    tokens=st.integers(1, 4),
    heads=st.integers(1, 3),
    layers=st.integers(1, 3),
)
def test_strides_reach_every_byte_exactly_once(
    name: str, layout: str, blocks: int, tokens: int, heads: int, layers: int
) -> None:
    found = kv_cache_shape(
        name,
        num_blocks=blocks,
        block_size=tokens,
        num_kv_heads=heads,
        head_size=32,
        layout=layout,
        num_layers=layers,
    )
    assert found.page_bytes == tokens * heads * token_head_bytes(name, 32).total
    total = layers * blocks * found.page_bytes
    assert sorted(addresses(found, layers)) == list(range(0, total, found.itemsize))


@given(
    name=st.sampled_from(FLASHINFER),
    layout=st.sampled_from(["NHD", "HND"]),
    tokens=st.integers(1, 4),
    heads=st.integers(1, 3),
)
def test_both_generations_take_the_same_memory(name: str, layout: str, tokens: int, heads: int) -> None:
    old, new = (
        kv_cache_shape(
            name,
            num_blocks=2,
            block_size=tokens,
            num_kv_heads=heads,
            head_size=32,
            layout=layout,
            vllm_version=release,
        )
        for release in ("0.25.1", "0.26.0")
    )
    assert (old.page_bytes, old.storage, old.itemsize) == (new.page_bytes, new.storage, new.itemsize)
    assert sorted(addresses(old, 1)) == sorted(addresses(new, 1))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"vllm_version": "0.34.0"}, "read in the releases 0.19.1 to 0.33.0"),
        ({"vllm_version": "0.18.1"}, "read in the releases"),
        ({"vllm_version": "0.26.0.dev3"}, "read in the releases"),
        ({"vllm_version": "0.26.0rc1"}, "read in the releases"),
        ({"layout": "DHN"}, "layout must be NHD, HND or one of"),
        ({"layout": "BLHNC", "vllm_version": "0.28.0"}, "needs 0.29.0 or later"),
        ({"num_layers": 2, "vllm_version": "0.25.1"}, r"2 layer\(s\) needs 0.29.0"),
        ({"vllm_version": "0.19.1", "name": "nvfp4"}, "no KV-cache dtype nvfp4; it came with 0.20.0"),
        ({"vllm_version": "0.27.0", "name": "nvfp4_4over6"}, "came with 0.28.0"),
        ({"vllm_version": "0.29.0", "name": "int8_per_token_head"}, "only FLASHINFER's shapes are described"),
        ({"vllm_version": "0.25.1", "mla": True}, "with MLA"),
    ],
)
def test_layouts_that_were_not_read(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UnknownLayoutError, match=words):
        shape(changes.pop("name", "fp8"), **changes)


@pytest.mark.parametrize("field", ["num_blocks", "block_size", "num_kv_heads", "num_layers", "head_size"])
def test_counts_must_be_positive_integers(field: str) -> None:
    for value in (0, -1, 2.0, True):
        with pytest.raises(ValueError, match=f"{field} must be a positive integer"):
            shape("fp8", **{field: value})


def test_a_version_must_be_a_version() -> None:
    with pytest.raises(ValueError, match="PEP 440"):
        shape("fp8", vllm_version="latest")
