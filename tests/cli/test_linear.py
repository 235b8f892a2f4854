"""`compatcheck check --linear`: a quantised linear layer instead of attention, in every way it may be asked."""

from __future__ import annotations

import json
from typing import Any

from .conftest import Cli, documents, lines

ASKED = ("check", "--no-host", "--linear", "nvfp4_w4a4", "--vllm", "0.33.0")


def test_text(cli: Cli) -> None:
    done = cli(*ASKED, "--sm", "9.0")
    assert done.returncode == 1
    assert done.stdout.startswith(
        "degraded  linear layer nvfp4_w4a4, HummingNvFp4LinearKernel on SM 9.0 with vLLM 0.33.0"
    )
    assert "selection: HummingNvFp4LinearKernel\n" in done.stdout
    assert "  CutlassNvFp4LinearKernel: CUTLASS FP4 kernels not available\n" in done.stdout
    assert "kernel: Humming (weight-only)\n" in done.stdout
    assert "warning[linear-humming-weight-only]" in done.stdout
    assert "KV cache" not in done.stdout


def test_forced_and_refused(cli: Cli) -> None:
    done = cli(*ASKED, "--sm", "12.0", "--linear-backend", "flashinfer_trtllm")
    assert done.returncode == 1
    assert "fails while the engine starts" in done.stdout
    assert "without --linear-backend -> FlashInferCutlassNvFp4LinearKernel" in done.stdout


def test_engine_words(cli: Cli) -> None:
    assert (
        cli(*ASKED, "--sm", "12.0", "--engine-words").stdout
        == "Using FlashInferCutlassNvFp4LinearKernel for NVFP4 GEMM\n"
    )
    refused = cli(*ASKED, "--sm", "9.0", "--linear-backend", "torch", "--engine-words").stdout
    assert refused == (
        "ValueError: Failed to find a kernel that can implement the NVFP4 linear layer. Reasons: \n"
        "TorchNvFp4LinearKernel: Torch NVFP4 requires sm_10x (Blackwell)\n"
    )


def test_json_and_disabled_kernels(cli: Cli) -> None:
    off = "FlashInferCutlassNvFp4LinearKernel,FlashInferB12xNvFp4LinearKernel"
    done = cli(*ASKED, "--sm", "RTX 5090", "--disabled-kernels", off, "--in-features", "3712", "--format", "json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["verdict"], answer["selected"]) == (0, "supported", "CutlassNvFp4LinearKernel")
    assert answer["linear"]["compute"] == "native"
    assert answer["linear"]["padded_in_features"] == 3712


def test_batch_mixes_attention_and_linear_layers(cli: Cli) -> None:
    rows: list[dict[str, Any]] = [
        {"linear": "nvfp4_w4a16", "sm": "12.0"},
        {"sm": "9.0", "head_size": 128},
        {"linear": "nvfp4_w4a4", "sm": "10.0", "linear_backend": "flashinfer_cutlass"},
    ]
    answers = documents(cli("check", "--batch", "-", "--vllm", "0.33.0", stdin=lines(*rows)).stdout)
    assert [answer["selected"] for answer in answers] == [
        "MarlinNvFp4LinearKernel",
        "FLASH_ATTN",
        "FlashInferCutlassNvFp4LinearKernel",
    ]
    assert [answer["linear"] is None for answer in answers] == [False, True, False]


def test_bad_names_have_their_place(cli: Cli) -> None:
    done = cli("check", "--batch", "-", stdin=lines({"linear": "nvfp4_w4a4", "linear_backend": "marlinn"}))
    assert done.returncode == 2
    assert "<stdin>:1:26: linear_backend: 'marlinn' is not known. Did you mean marlin?" in done.stderr
    alone = cli("check", "--no-host", "--linear-backend", "marlin", "--sm", "9.0")
    assert alone.returncode == 2
    assert "--linear-backend: means something only for a linear layer" in alone.stderr


def test_a_missing_gpu_is_asked_for(cli: Cli) -> None:
    done = cli(*ASKED)
    assert done.returncode == 3
    assert "to decide, tell: --sm" in done.stdout


def test_engine_words_in_other_formats(cli: Cli) -> None:
    document = json.loads(cli(*ASKED, "--sm", "12.0", "--engine-words", "--format", "json").stdout)
    assert (document["schema"], document["words"]) == (1, "Using FlashInferCutlassNvFp4LinearKernel for NVFP4 GEMM")
    refused = cli(*ASKED, "--sm", "12.0", "--engine-words", "--format", "github")
    assert (refused.returncode, refused.stdout) == (2, "")


def test_trtllm_alignment(cli: Cli) -> None:
    """The shuffle of the scales asserts N % 128 == 0, and gives K / 16 scales a row back only in fours."""
    forced = {"0.33.0": "--linear-backend=flashinfer_trtllm", "0.19.1": "--nvfp4-gemm-backend=flashinfer-trtllm"}
    for release, option in forced.items():
        at = ("check", "--no-host", "--linear", "nvfp4_w4a4", "--sm", "10.0", "--vllm", release, option)
        for k, n, refused in ((4096, 4096, False), (4096, 4160, True), (4128, 4096, True), (4160, 128, False)):
            done = cli(*at, "--in-features", str(k), "--out-features", str(n), "--format", "json")
            answer = json.loads(done.stdout)
            found = {f["code"]: f["effect"] for f in answer["findings"]}
            assert found.get("linear-trtllm-unpadded") == ("unsupported" if refused else None), (release, k, n)
            assert (answer["fails_at"] == "init") is refused


def test_bfloat16_on_turing(cli: Cli) -> None:
    asked = json.loads(cli(*ASKED, "--sm", "7.5", "--dtype", "bfloat16", "--format", "json").stdout)
    assert (asked["verdict"], asked["fails_at"]) == ("unsupported", "init")
    assert "linear-bf16-sm75" in {f["code"] for f in asked["findings"]}
    assumed = cli(*ASKED, "--sm", "7.5", "--format", "json")
    answer = json.loads(assumed.stdout)
    assert "linear-bf16-sm75" not in {f["code"] for f in answer["findings"]}
    assert {a["field"]: a["value"] for a in answer["assumed"]}["dtype"] == "float16"


def test_forced_cutlass_before_classes(cli: Cli) -> None:
    at = ("check", "--no-host", "--linear", "nvfp4_w4a4", "--sm", "9.0", "--nvfp4-gemm-backend", "cutlass")
    old = cli(*at, "--vllm", "0.19.1", "--engine-words").stdout
    assert old == "AssertionError: Cutlass is required for NvFp4LinearBackend.VLLM_CUTLASS\n"
    new = cli(*at, "--vllm", "0.20.0", "--engine-words").stdout
    assert new == (
        "ValueError: Forced NVFP4 kernel CutlassNvFp4LinearKernel is not supported: CUTLASS FP4 kernels not available\n"
    )
