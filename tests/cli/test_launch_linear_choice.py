"""How a launch asks for a kernel of its NVFP4 linear layers, through the real command: spelling, keys, variables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Cli
from .test_launch_linear import HERE, MODELOPT, ask, compressed, write

MARLIN = "MarlinNvFp4LinearKernel"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "m").mkdir()
    return tmp_path / "m"


def picked(document: dict[str, Any]) -> set[str | None]:
    return {entry["selected"] for entry in document["linear_layers"]}


def codes(document: dict[str, Any]) -> set[str]:
    return {f["code"] for f in document["findings"]}


@pytest.mark.parametrize("release", ["0.22.0", "0.28.0", "0.33.0"])
def test_spelling_of_linear_backend(cli: Cli, model: Path, release: str) -> None:
    write(model, MODELOPT)
    for text, kernel in (("flashinfer-cudnn", "FlashInferCudnnNvFp4LinearKernel"), ("MARLIN", MARLIN)):
        document = ask(cli, "12.0", release, "vllm", "serve", "m", "--linear-backend", text)[1]
        assert picked(document) == {kernel}
        assert "launch-bad-choice" not in codes(document)
    bad = ask(cli, "12.0", release, "vllm", "serve", "m", "--linear-backend", "marlinn")
    assert (bad[0], "launch-bad-choice" in codes(bad[1])) == (1, True)
    moe = ask(cli, "12.0", release, "vllm", "serve", "m", "--moe-backend", "FlashInfer-Cutlass")
    assert "launch-bad-choice" not in codes(moe[1])


def test_kernel_config(cli: Cli, model: Path) -> None:
    write(model, MODELOPT)
    for words in (
        ("--kernel-config", '{"linear_backend":"marlin"}'),
        ("--kernel-config", '{"linear_backend":"MARLIN"}'),
        ("--kernel-config.linear_backend", "marlin"),
        ("--kernel-config", '{"linear_backend_per_quant":{"nvfp4_w4a4":"marlin"}}'),
        ("--kernel-config", '{"linear_backend":"cutlass","linear_backend_per_quant":{"nvfp4_w4a4":"marlin"}}'),
        ("--linear-backend", "marlin", "--kernel-config", '{"linear_backend":"cutlass"}'),
        ("--kernel-config", '{"linear_backend":"cutlass"}', "--linear-backend", "marlin"),
        ("--linear-backend", "cutlass", "--kernel-config", '{"linear_backend_per_quant":{"nvfp4_w4a4":"marlin"}}'),
    ):
        assert picked(ask(cli, "12.0", "0.33.0", "vllm", "serve", "m", *words)[1]) == {MARLIN}, words
    other = '{"linear_backend_per_quant":{"nvfp4_w4a16":"marlin"}}'
    document = ask(cli, "12.0", "0.33.0", "vllm", "serve", "m", "--kernel-config", other)[1]
    assert picked(document) == {"FlashInferCutlassNvFp4LinearKernel"}
    auto = '{"linear_backend":"marlin","linear_backend_per_quant":{"nvfp4_w4a4":"auto"}}'
    document = ask(cli, "12.0", "0.33.0", "vllm", "serve", "m", "--kernel-config", auto)[1]
    assert picked(document) == {"FlashInferCutlassNvFp4LinearKernel"}
    given = ask(
        cli,
        "12.0",
        "0.33.0",
        *("vllm", "serve", "m", "--kernel-config", '{"linear_backend_per_quant":{"nvfp4_w4a4":"marlin"}}'),
        before=("--linear-backend", "cutlass"),
    )[1]
    assert picked(given) == {"CutlassNvFp4LinearKernel"}


def test_kernel_config_by_release(cli: Cli, model: Path) -> None:
    write(model, MODELOPT)
    one, each = '{"linear_backend":"marlin"}', '{"linear_backend_per_quant":{"nvfp4_w4a4":"marlin"}}'
    assert picked(ask(cli, "12.0", "0.22.0", "vllm", "serve", "m", "--kernel-config", one)[1]) == {MARLIN}
    for release, text in (("0.21.0", one), ("0.29.0", each)):
        code, document = ask(cli, "12.0", release, "vllm", "serve", "m", "--kernel-config", text)
        assert (code, "launch-config-key" in codes(document)) == (1, True)
    for text in ('{"linear_backend":"marlinn"}', '{"linear_backend_per_quant":{"nvfp4_w4a4":"MARLIN"}}'):
        code, document = ask(cli, "12.0", "0.33.0", "vllm", "serve", "m", "--kernel-config", text)
        assert (code, "launch-config-value" in codes(document)) == (1, True)
    code, document = ask(
        cli, "12.0", "0.33.0", "vllm", "serve", "m", "--kernel-config", '{"linear_backend_per_quant":{}}'
    )
    assert (code, "launch-config-value" in codes(document)) == (1, True)
    old = ask(cli, "12.0", "0.24.0", "vllm", "serve", "m", "--kernel-config", '{"linear_backend":"humming"}')
    assert (old[0], "launch-config-value" in codes(old[1])) == (1, True)


def test_kernel_config_that_only_the_shell_knows(cli: Cli, model: Path) -> None:
    write(model, MODELOPT)
    code, document = ask(cli, "12.0", "0.33.0", "vllm serve m --kernel-config $K")
    assert (code, document["missing"]) == (3, ["--kernel-config"])
    write(model, None)
    assert ask(cli, "12.0", "0.33.0", "vllm serve m --kernel-config $K")[0] == 0


def test_kernel_config_from_python(cli: Cli, model: Path) -> None:
    write(model, MODELOPT)
    lines = ("from vllm import LLM", "llm = LLM(model='m', kernel_config={'linear_backend': 'flashinfer-trtllm'})", "")
    (model.parent / "a.py").write_text("\n".join(lines), "utf-8")
    done = cli("scan", "a.py", "--sm", "12.0", "--vllm", "0.33.0", "--format", "json", **HERE)
    document = json.loads(done.stdout)
    assert set(document["launches"][0]["linear"].values()) == {"unsupported"}
    assert [(d["code"], d["line"]) for d in document["diagnostics"]] == [("linear-trtllm-sm", 2)]


def test_gemm_values_by_release(cli: Cli, model: Path) -> None:
    write(model, MODELOPT)
    older = "['flashinfer-cudnn', 'flashinfer-trtllm', 'flashinfer-cutlass', 'cutlass', 'marlin']"
    for release, value in (
        ("0.19.1", "emulation"),
        ("0.21.0", "flashinfer-b12x"),
        ("0.21.0", "MARLIN"),
        ("0.23.0", "fbgemm"),
    ):
        code, document = ask(cli, "12.0", release, f"VLLM_NVFP4_GEMM_BACKEND={value}", "vllm", "serve", "m")
        found = [f for f in document["findings"] if f["code"] == "launch-bad-variable"]
        assert (code, document["verdict"], len(found)) == (1, "unsupported", 1)
        assert found[0]["words"].startswith(f"Invalid value '{value}' for VLLM_NVFP4_GEMM_BACKEND. Valid options: [")
        if release == "0.19.1":
            assert found[0]["words"].endswith(f"{older}.")
        if value != value.upper() and value != "fbgemm":
            at = ("check", "--no-host", "--linear", "nvfp4_w4a4", "--sm", "12.0", "--vllm", release)
            said = cli(*at, "--nvfp4-gemm-backend", value, "--engine-words")
            assert said.stdout == f"ValueError: {found[0]['words']}\n"
            assert said.returncode == 1
    for release, value in (("0.20.0", "emulation"), ("0.22.0", "flashinfer-b12x")):
        document = ask(cli, "12.0", release, f"VLLM_NVFP4_GEMM_BACKEND={value}", "vllm", "serve", "m")[1]
        assert "launch-bad-variable" not in codes(document)


def test_explain_of_a_refused_gemm_value(cli: Cli) -> None:
    text = (
        "ValueError: Invalid value 'foo' for VLLM_NVFP4_GEMM_BACKEND. Valid options: ['flashinfer-cudnn', 'cutlass']."
    )
    done = cli("explain", text)
    assert done.returncode == 0
    assert "linear-gemm-env-not-in-release" in done.stdout.partition("\n\n")[0]


def test_per_scheme_counts_for_its_scheme_only(cli: Cli, model: Path) -> None:
    write(model, compressed(None, ["lm_head"]))
    text = '{"linear_backend_per_quant":{"nvfp4_w4a16":"humming"}}'
    document = ask(cli, "12.0", "0.33.0", "vllm", "serve", "m", "--kernel-config", text)[1]
    assert picked(document) == {"HummingNvFp4LinearKernel"}


def test_variables_that_force_a_kernel(cli: Cli, model: Path) -> None:
    write(model, MODELOPT)
    emulation = {"EmulationNvFp4LinearKernel"}
    for release in ("0.18.1", "0.20.0", "0.22.1", "0.23.0"):
        words = ("VLLM_USE_NVFP4_CT_EMULATIONS=1", "VLLM_NVFP4_GEMM_BACKEND=marlin", "vllm", "serve", "m")
        assert picked(ask(cli, "12.0", release, *words)[1]) == emulation
        off = ("VLLM_USE_NVFP4_CT_EMULATIONS=0", "vllm", "serve", "m")
        assert picked(ask(cli, "12.0", release, *off)[1]) == {"FlashInferCutlassNvFp4LinearKernel"}
        both = ("VLLM_USE_FBGEMM=1", "VLLM_USE_NVFP4_CT_EMULATIONS=1", "vllm", "serve", "m")
        code, document = ask(cli, "12.0", release, *both)
        refused = next(f for f in document["findings"] if f["code"] == "no-linear-kernel")
        assert (code, picked(document)) == (1, {None})
        assert refused["exception"] == ("ImportError" if release == "0.18.1" else "ValueError")
        there = ask(cli, "10.0", release, *both, before=("--has-fbgemm",))[1]
        assert picked(there) == {"FbgemmNvFp4LinearKernel"}
    option = ("VLLM_USE_NVFP4_CT_EMULATIONS=1", "vllm", "serve", "m", "--linear-backend", "marlin")
    assert picked(ask(cli, "12.0", "0.23.0", *option)[1]) == {MARLIN}
    gone = ask(cli, "12.0", "0.24.0", "VLLM_USE_NVFP4_CT_EMULATIONS=1", "vllm", "serve", "m")[1]
    assert picked(gone) == {"FlashInferCutlassNvFp4LinearKernel"}
    write(model, compressed(None, ["lm_head"]))
    weights = ask(cli, "12.0", "0.23.0", "VLLM_USE_NVFP4_CT_EMULATIONS=1", "vllm", "serve", "m")[1]
    assert picked(weights) == {MARLIN}
