"""What a release sets by itself for some model families, before any backend is asked."""

from __future__ import annotations

from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import normalise
from compatcheck.resolve.normaliser import Normaliser

from .conftest import judge

GLM: dict[str, Any] = {
    "model_type": "glm_moe_dsa",
    "use_mla": True,
    "use_sparse": True,
    "index_topk": 2048,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 192,
    "qk_rope_head_dim": 64,
    "v_head_dim": 256,
    "num_qo_heads": 64,
}


@pytest.mark.parametrize(
    ("release", "sm", "kv", "becomes", "picked"),
    [
        ("0.31.0", "10.0", "auto", "auto", "FLASHMLA_SPARSE"),
        ("0.32.0", "10.0", "auto", "fp8_e4m3", "FLASHINFER_MLA_SPARSE"),
        ("0.33.0", "10.3", "auto", "fp8_e4m3", "FLASHINFER_MLA_SPARSE"),
        ("0.33.0", "10.0", "bfloat16", "bfloat16", "FLASHMLA_SPARSE"),
        ("0.33.0", "9.0", "auto", "auto", "FLASH_ATTN_MLA_SPARSE"),
    ],
)
def test_glm5_on_sm10x(loaded: LoadedMatrix, release: str, sm: str, kv: str, becomes: str, picked: str) -> None:
    answer = judge(loaded, **GLM, engine_version=release, sm=sm, kv_cache_dtype=kv)
    assert answer.selected == picked
    taken = {assumption.field: assumption.value for assumption in answer.assumed}
    assert taken.get("kv_cache_dtype", kv) == becomes


@pytest.mark.parametrize(
    ("release", "sm", "kv", "backend", "version"),
    [
        ("0.18.1", "9.0", "auto", None, None),
        ("0.19.0", "9.0", "auto", "TRITON_ATTN", None),
        ("0.23.0", "9.0", "auto", "TRITON_ATTN", None),
        ("0.24.0", "9.0", "auto", None, 4),
        ("0.30.0", "9.0", "fp8", None, 4),
        ("0.31.0", "9.0", "fp8", None, None),
        ("0.33.0", "12.0", "auto", "TRITON_ATTN", None),
    ],
)
def test_gemma4(loaded: LoadedMatrix, release: str, sm: str, kv: str, backend: str | None, version: int | None) -> None:
    given = Configuration(model_type="gemma4", engine_version=release, sm=sm, kv_cache_dtype=kv, head_size=256)
    facts = normalise(loaded.matrix, given).facts
    assert (facts.backend, facts.flash_attn_version) == (backend, version)


def test_a_batch_sets_the_same(loaded: LoadedMatrix) -> None:
    many = Normaliser(loaded.matrix)
    for family in ("llama", "glm_moe_dsa", "llama", "gemma4", "glm_moe_dsa"):
        given = Configuration(model_type=family, sm="10.0", head_size=256)
        assert many(given).facts == normalise(loaded.matrix, given).facts
