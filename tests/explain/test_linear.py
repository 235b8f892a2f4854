"""Pasted lines about linear kernels find their entry."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compatcheck.docs.catalog import catalog
from compatcheck.explain.entries import entries
from compatcheck.explain.match import find
from compatcheck.matrix.load import LoadedMatrix, load


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        ("BackendSupportedError: mm_fp4 does not support backend 'trtllm' with capability 120", "linear-trtllm-sm"),
        (
            "WARNING Your GPU does not have native support for FP4 computation but FP4 quantization is being used.",
            "linear-no-native-fp4-words",
        ),
        (
            "ValueError: Failed to find a kernel that can implement the NVFP4 linear layer. Reasons: ",
            "no-linear-kernel",
        ),
        ("FlashInferCutlassNvFp4LinearKernel: FlashInfer + >=sm_100 required", "linear-flashinfer-cutlass"),
        ("--linear-backend=aiter was requested but no 'aiter' kernel exists", "linear-backend-not-for-layer"),
        (
            "--linear-backend=aiter was requested, but no aiter kernel exists for NVFP4 layers; falling back to normal",
            "linear-backend-not-for-layer",
        ),
        (
            "VLLM_BATCH_INVARIANT overrides --linear-backend=marlin; using the CUTLASS backend",
            "linear-backend-overridden",
        ),
        (
            "VLLM_BATCH_INVARIANT is set but the batch-invariant NVFP4 kernel is not supported on this platform;",
            "linear-emulated",
        ),
        (
            "vllm serve: error: argument --linear-backend: invalid choice: 'humming' (choose from 'auto', 'cutlass')",
            "linear-backend-not-in-release",
        ),
        ("ValueError: CutlassNvFp4LinearKernel does not support W4A16", "no-linear-kernel"),
        (" MarlinNvFp4LinearKernel disabled by environment variable", "no-linear-kernel"),
        ("marlinnvfp4linearkernel", "MarlinNvFp4LinearKernel"),
        ("Using HummingNvFp4LinearKernel for NVFP4 GEMM", "HummingNvFp4LinearKernel"),
    ],
)
def test_pasted_text(loaded: LoadedMatrix, text: str, id_: str) -> None:
    assert find(entries(loaded), text)[0].entry.id == id_


def test_a_kernel_says_what_it_means(loaded: LoadedMatrix) -> None:
    entry = find(entries(loaded), "MarlinNvFp4LinearKernel")[0].entry
    facts = dict(entry.facts)
    assert facts["computes"].startswith("weight-only")
    assert facts["asked for by"] == "--linear-backend marlin"
    assert facts["before 0.24"] == "VLLM_NVFP4_GEMM_BACKEND=marlin"
    assert entry.sources
    assert entry.line


LOADED = load()
LINEAR = {code: entry for code, entry in catalog(LOADED.matrix).items() if entry.linear}
INDEX = entries(LOADED)
VALUES = {
    "kernel": "CutlassNvFp4LinearKernel",
    "reason": "CUTLASS FP4 kernels not available",
    "reasons": "CutlassNvFp4LinearKernel: CUTLASS FP4 kernels not available",
    "linear_backend": "machete",
}


def test_every_code_about_linear_layers_can_be_explained() -> None:
    known = {entry.id for entry in INDEX}
    assert len(LINEAR) > 40
    assert sorted(LINEAR.keys() - known) == []


def logged(words: str) -> st.SearchStrategy[str]:
    """Return texts in which an engine would print these words."""
    if words.startswith("/"):
        said = st.from_regex(re.compile(words[1:-1], re.ASCII), fullmatch=True)
    else:
        said = st.just(re.sub(r"\{([a-z_.]+)\}", lambda place: VALUES[place[1]], words))
    return said.map(lambda text: f"(EngineCore_0 pid=7) ERROR 11-29 12:00:00 [core.py:99] ValueError: {text}")


@pytest.mark.parametrize("code", LINEAR)
def test_its_words_in_a_log_find_it(code: str) -> None:
    """Where two codes share words, such as those of engine and library, both are among the first."""

    @settings(max_examples=5, deadline=None, database=None, derandomize=True)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        for words in LINEAR[code].words:
            text = data.draw(logged(words))
            found = [match.entry.id for match in find(INDEX, text)][:2]
            assert code in found or (code == "no-linear-kernel" and "linear-backend-not-for-layer" in found), text

    check()
