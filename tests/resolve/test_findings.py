"""Findings in words: who refuses, when, required and actual, the engine's words, what to do, where it is stated."""

from __future__ import annotations

from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.verdict import Finding

from .conftest import Small, judge


def the(loaded: LoadedMatrix, code: str, **fields: Any) -> Finding:
    return next(f for f in judge(loaded, **fields).findings if f.code == code)


def test_the_selector_s(loaded: LoadedMatrix) -> None:
    found = the(loaded, "selector-head-size", sm="9.0", engine_version="0.33.0", backend="FLASHINFER", head_size=80)
    assert (found.refuser, found.bites, found.effect, found.backend) == (
        "engine",
        "selection",
        "unsupported",
        "FLASHINFER",
    )
    assert (found.words, found.required, found.actual) == (
        "head_size not supported",
        "64, 128, 256, 512",
        "head_size=80",
    )
    assert found.message == (
        "vLLM 0.33.0's selector refuses FLASHINFER: head_size not supported."
        " Required: 64, 128, 256, 512; found: head_size=80."
    )
    assert found.history == ("since 0.18.1: 64, 128, 256", "since 0.22.0: 64, 128, 256, 512")
    assert found.line is not None
    assert found.sources


@pytest.mark.parametrize(
    ("code", "fields", "required", "actual"),
    [
        ("selector-sm", {"backend": "FLASHMLA", "sm": "12.0"}, "sm 9.x, 10.x", "sm=12.0"),
        ("selector-dtype", {"backend": "FLASHINFER", "dtype": "float32"}, "float16, bfloat16", "dtype=float32"),
        ("selector-block-size", {"backend": "FLASHINFER", "block_size": 8}, "16, 32, 64", "block_size=8"),
        ("selector-has-sink", {"backend": "FLEX_ATTENTION", "has_sink": True}, "never", "has_sink=True"),
        ("selector-attn-type", {"backend": "FLASHINFER", "attn_type": "encoder"}, "decoder", "attn_type=encoder"),
    ],
)
def test_required_and_actual(
    loaded: LoadedMatrix, code: str, fields: dict[str, Any], required: str, actual: str
) -> None:
    found = the(loaded, code, **{"sm": "9.0", "engine_version": "0.33.0", "head_size": 128} | fields)
    assert (found.required or "").startswith(required)
    assert found.actual == actual


def test_a_joint_rule_s(loaded: LoadedMatrix) -> None:
    nvfp4 = {"sm": "9.0", "engine_version": "0.33.0", "backend": "FLASHINFER", "kv_cache_dtype": "nvfp4"}
    found = the(loaded, "fi-nvfp4-head64", head_size=64, **nvfp4)
    assert found.words == "fa2 prefill misreads an NVFP4 KV cache at head_size 64"
    assert found.actual == "head_size=64, kv_cache_dtype=nvfp4, sm=9.0"


def test_words_are_filled_in_anew_for_each(loaded: LoadedMatrix) -> None:
    """Findings are kept; a kept one must not answer for other values."""
    said = [
        the(
            loaded,
            "vllm-nvfp4-trtllm-forced-off",
            sm="10.0",
            engine_version="0.33.0",
            backend="FLASHINFER",
            kv_cache_dtype=kv,
            head_size=128,
            use_trtllm_attention=False,
        ).words
        for kv in ("nvfp4", "nvfp4_4over6", "nvfp4")
    ]
    assert said == [
        f"--kv-cache-dtype {kv} requires the SM100 trtllm-gen FlashInfer path."
        for kv in ("nvfp4", "nvfp4_4over6", "nvfp4")
    ]
    heads = [
        the(loaded, "selector-head-size", sm="9.0", backend="FLASHINFER", head_size=head).actual
        for head in (80, 96, 80)
    ]
    assert heads == ["head_size=80", "head_size=96", "head_size=80"]


def test_a_rule_s(loaded: LoadedMatrix) -> None:
    found = the(
        loaded, "nvfp4-kv-mla", sm="9.0", engine_version="0.33.0", kv_cache_dtype="nvfp4", use_mla=True, head_size=576
    )
    assert found.required == "engine_version outside >=0.30.0.dev0"
    assert found.exception == "ValueError"
    assert found.words is not None
    assert found.words.startswith("nvfp4 KV cache is not supported with MLA (Multi-head Latent Attention) backends.")
    assert found.history
    assert found.recheck


def test_a_pattern_is_no_text_to_print(loaded: LoadedMatrix) -> None:
    programs = [program for group in loaded.resolver.rules("vllm", "0.33.0").each for program in group]
    patterns = [one for one in programs if one.rule.words and one.rule.words[0].startswith("/")]
    made = [loaded.resolver.make.from_rule(program, Configuration()) for program in patterns]
    assert made
    assert all(finding.words is None for finding in made)


def test_a_kernel_that_the_library_lacks(small: Small) -> None:
    loaded = small()
    found = the(
        loaded,
        "kernel-not-in-library",
        engine_version="0.2.0",
        flashinfer_version="0.6.11",
        sm="9.0",
        backend="FLASH_ATTN",
        head_size=128,
    )
    assert found.message == "flashinfer.fa2.prefill needs FlashInfer >= 0.6.12; found 0.6.11."
    assert (found.refuser, found.bites, found.kernel) == ("package", "init", "flashinfer.fa2.prefill")
    assert found.line == "m.yaml:81" or found.line is not None


def test_a_kernel_s_refusal(loaded: LoadedMatrix) -> None:
    found = the(
        loaded,
        "trtllm-gen-context-sm",
        engine_version="0.24.0",
        sm="9.0",
        backend="FLASHINFER",
        kv_cache_dtype="nvfp4",
        head_size=128,
    )
    assert found.refuser == "library"
    assert found.kernel == "flashinfer.trtllm_gen.context"
    assert "in FlashInfer 0.6.12" in found.message
