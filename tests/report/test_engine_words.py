"""The exact text that the engine would log or raise."""

from __future__ import annotations

from typing import Any

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.report.engine_words import render
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import normalise


def words(loaded: LoadedMatrix, **fields: Any) -> str:
    normal = normalise(loaded.matrix, Configuration(engine_version="0.33.0", **fields))
    return render(loaded.matrix, loaded.resolver.judge(normal), normal.facts)


def test_a_pick(loaded: LoadedMatrix) -> None:
    assert words(loaded, sm="8.0", head_size=128).splitlines()[0] == (
        "Using FLASH_ATTN attention backend out of potential backends: "
        "['FLASH_ATTN', 'FLASHINFER', 'TRITON_ATTN', 'FLEX_ATTENTION']."
    )


def test_a_forced_one(loaded: LoadedMatrix) -> None:
    asked: dict[str, Any] = {"sm": "9.0", "backend": "FLASHINFER"}
    assert words(loaded, head_size=128, **asked).splitlines()[0] == "Using AttentionBackendEnum.FLASHINFER backend."
    assert words(loaded, head_size=80, **asked) == (
        "ValueError: Selected backend AttentionBackendEnum.FLASHINFER is not valid for this configuration. "
        "Reason: ['head_size not supported']"
    )


def test_none(loaded: LoadedMatrix) -> None:
    text = words(loaded, sm="9.0", head_size=128, kv_cache_dtype="fp8_inc")
    assert text.startswith(
        "ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=128, "
        "dtype=torch.bfloat16, kv_cache_dtype=fp8_inc, block_size=None, use_mla=False,"
    )
    assert "attn_type=AttentionType.DECODER" in text
    assert "FLASHINFER: [kv_cache_dtype not supported]" in text


def test_a_configuration_error_comes_first(loaded: LoadedMatrix) -> None:
    text = words(loaded, sm="9.0", kv_cache_dtype="nvfp4", use_mla=True, head_size=576)
    assert text.startswith(
        "ValueError: nvfp4 KV cache is not supported with MLA (Multi-head Latent Attention) backends."
    )


def test_an_advisory_s_words_are_not_the_engine_s(loaded: LoadedMatrix) -> None:
    normal = normalise(
        loaded.matrix,
        Configuration(engine_version="0.25.1", sm="12.0", backend="FLASHINFER", kv_cache_dtype="nvfp4", head_size=128),
    )
    assert render(loaded.matrix, loaded.resolver.judge(normal), normal.facts).endswith(
        "is not valid for this configuration. Reason: ['kv_cache_dtype not supported']"
    )
