from __future__ import annotations

from typing import Any

import pytest

from compatcheck.kv_cache import FlashInferShape, UnknownLayoutError, flashinfer_shape


def shape(name: str, **changes: Any) -> FlashInferShape:
    given: dict[str, Any] = {"num_pages": 7, "page_size": 16, "num_kv_heads": 2, "head_dim": 128}
    return flashinfer_shape(name, **{**given, **changes})


@pytest.mark.parametrize(
    ("name", "options", "storage"),
    [
        ("auto", {}, "bfloat16"),
        ("auto", {"model_dtype": "float16"}, "float16"),
        ("float16", {}, "float16"),
        ("fp8", {}, "float8_e4m3fn"),
        ("fp8_e5m2", {}, "float8_e5m2"),
    ],
)
def test_plain(name: str, options: dict[str, Any], storage: str) -> None:
    assert shape(name, **options) == FlashInferShape(data=(7, 2, 16, 128), data_storage=storage)
    assert shape(name, layout="NHD", **options).data == (7, 16, 2, 128)


def test_nvfp4() -> None:
    assert shape("nvfp4") == FlashInferShape(
        data=(7, 2, 16, 64), data_storage="uint8", scales=(7, 2, 16, 8), scales_storage="float8_e4m3fn"
    )
    assert shape("nvfp4_4over6", layout="NHD").scales == (7, 16, 2, 8)


def test_errors() -> None:
    with pytest.raises(ValueError, match="takes auto, float16"):
        shape("int8_per_token_head")
    with pytest.raises(UnknownLayoutError, match="NHD and HND"):
        shape("fp8", layout="LBHNC")
    with pytest.raises(ValueError, match="multiple of 16"):
        shape("nvfp4", head_dim=72)
    with pytest.raises(ValueError, match="page_size must be a positive integer"):
        shape("fp8", page_size=0)
