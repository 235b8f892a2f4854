"""Toolkit and packages decide about FlashInfer's FP4 GEMM: who compiles, who is passed over, who fails."""

from __future__ import annotations

from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.verdict import Verdict

FLASHINFER, OWN = "FlashInferCutlassNvFp4LinearKernel", "CutlassNvFp4LinearKernel"


def ask(loaded: LoadedMatrix, **fields: Any) -> Verdict:
    base: dict[str, Any] = {"linear": "nvfp4_w4a4", "engine_version": "0.25.1", "sm": "12.0", "in_features": 4096}
    verdict: Verdict = loaded.resolver.resolve(Configuration(**(base | fields)), alternatives=False)
    return verdict


@pytest.mark.parametrize(
    ("asked", "selected", "code"),
    [
        ({"cuda_version": "12.8"}, FLASHINFER, "linear-fi-sm12x-nvcc"),
        ({"cuda_version": "12.9"}, FLASHINFER, None),
        ({"cuda_version": "12.8", "linear_backend": "cutlass"}, OWN, None),
        ({"cuda_version": "12.8", "flashinfer_version": "0.7.1"}, FLASHINFER, None),
        (
            {"cuda_version": "12.8", "flashinfer_version": "0.7.1", "sm": "12.1"},
            FLASHINFER,
            "linear-fi-sm12x-nvcc-0-7-1",
        ),
        ({"cuda_version": "12.9", "sm": "11.0"}, FLASHINFER, "linear-fi-nvcc-sm110"),
        ({"cuda_version": "12.8", "sm": "10.3"}, "FlashInferCuteDslNvFp4LinearKernel", None),
        (
            {"cuda_version": "12.8", "sm": "10.3", "linear_backend": "flashinfer_cutlass"},
            FLASHINFER,
            "linear-fi-nvcc-too-old",
        ),
        ({"cuda_version": "12.9", "sm": "11.0", "has_jit_cache": True}, FLASHINFER, None),
        ({"can_compile": False}, FLASHINFER, "linear-fi-nvcc-missing"),
        ({"can_compile": False, "cubins_available": False}, OWN, None),
        ({"can_compile": True, "cubins_available": False}, FLASHINFER, None),
        ({"flashinfer_imports": False}, FLASHINFER, "linear-fi-package-mismatch"),
        ({"flashinfer_imports": False, "linear_backend": "cutlass"}, OWN, None),
    ],
)
def test_what_is_installed_decides(
    loaded: LoadedMatrix, asked: dict[str, Any], selected: str, code: str | None
) -> None:
    answer = ask(loaded, **asked)
    refusing = [finding.code for finding in answer.findings if finding.effect == "unsupported"]
    assert (answer.selected, refusing) == (selected, [code] if code else [])
    assert answer.verdict == ("unsupported" if code else "supported")


def test_what_a_release_is_built_with_compiles_for_sm_12(loaded: LoadedMatrix) -> None:
    answer = ask(loaded, engine_version="0.19.1")
    assert {a.field: a.value for a in answer.assumed}["cuda_version"] == "12.9"
    assert answer.verdict == "supported"


@pytest.mark.parametrize(
    ("k", "n", "verdict"),
    [
        (4096, 4096, "degraded"),
        (4096, 160, "unsupported"),  # N is no multiple of 64
        (4096, 192, "degraded"),  # 64 by 128
        (4160, 192, "unsupported"),  # 64 by 64
        (4160, 256, "degraded"),
        (3696, 4096, "unsupported"),  # K is no multiple of 64
        (3696, None, "unsupported"),
        (None, 4096, "degraded"),
    ],
)
def test_marlin_pads_from_0_24_on(loaded: LoadedMatrix, k: int | None, n: int | None, verdict: str) -> None:
    asked = {"sm": "9.0", "in_features": k, "out_features": n}
    old = ask(loaded, engine_version="0.23.0", **asked)
    assert (old.selected, old.verdict) == ("MarlinNvFp4LinearKernel", verdict)
    assert ("linear-marlin-unpadded-unsaid" in {f.code for f in old.findings}) == (None in (k, n))
    assert ask(loaded, engine_version="0.24.0", **asked).verdict == "degraded"


def test_a_size_that_is_not_given_is_told(loaded: LoadedMatrix) -> None:
    unsaid = "linear-unaligned-k-sm12x-unsaid"
    assert unsaid in {f.code for f in ask(loaded, in_features=None).findings}
    assert unsaid not in {f.code for f in ask(loaded).findings}
    assert unsaid not in {f.code for f in ask(loaded, in_features=None, engine_version="0.30.0").findings}
    assert ask(loaded, in_features=3696).verdict == "degraded"
