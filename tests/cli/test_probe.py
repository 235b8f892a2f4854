"""`compatcheck probe`: without a GPU, for a saved host, for a GPU that is only named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Cli

RECORDED = Path(__file__).parents[1] / "host" / "recorded" / "h200.json"


def test_this_machine(process: Cli) -> None:
    """The README's first command. Whatever this machine has, it says what, and every problem has a fix."""
    document = json.loads(process("probe", "--format", "json").stdout)
    assert (document["document"], document["schema"]) == ("compatcheck-probe", 1)
    assert all(problem["fix"] for problem in document["problems"])
    sms = {gpu["sm"] for gpu in document["host"]["gpus"]}
    assert {table["sm"] for table in document["support"]} <= sms


def test_a_saved_host(process: Cli) -> None:
    done = process("probe", "--host", str(RECORDED), "--vllm", "0.33.0")
    assert done.returncode == 0
    for part in (
        "H200",
        "SM 9.0, head size 128, vLLM 0.33.0, FlashInfer 0.7.2.post1",
        "SM 9.0, MLA, DeepSeek V3 dimensions, vLLM 0.33.0",
        "nowhere here: ",
    ):
        assert part in done.stdout
    assert "\x1b" not in done.stdout


def test_a_gpu_that_is_only_named(cli: Cli) -> None:
    named = cli(
        "probe", "--host", str(RECORDED), "--gpu", "H200", "--sm", "sm_90", "--vllm", "0.33.0", "--format", "json"
    )
    tables = json.loads(named.stdout)["support"]
    assert [(table["sm"], table["model"]) for table in tables] == [
        ("9.0", "head size 128"),
        ("9.0", "MLA, DeepSeek V3 dimensions"),
    ]
    rows = {row["kv_cache_dtype"]: row for row in tables[0]["rows"]}
    assert rows["auto"]["pick"] == "FLASH_ATTN"
    assert rows["nvfp4"]["pick"] == "FLASHINFER"
    assert rows["fp8_inc"]["pick"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--sm", "99.9"), "compatcheck probe: --sm: '99.9' is neither a compute capability nor a GPU"),
        (("--vllm", "latest"), "compatcheck probe: --engine-version: 'latest' is not a PEP 440 version"),
        (("--head-size", "0"), "--head-size"),
        (("--host", "none.json"), "none.json"),
        (("--python", "no-such-python"), "no-such-python"),
    ],
)
def test_usage(cli: Cli, arguments: tuple[str, ...], said: str) -> None:
    options = arguments if "--host" in arguments or "--python" in arguments else ("--host", str(RECORDED), *arguments)
    if arguments[0] == "--vllm":
        options = (*options, "--sm", "9.0")
    done = cli("probe", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def saved(folder: Path, **changes: Any) -> str:
    host = json.loads(RECORDED.read_text("utf-8")) | changes
    (folder / "h.json").write_text(json.dumps(host), encoding="utf-8")
    return "h.json"


def test_mixed_gpus_one_of_which_the_matrix_lacks(cli: Cli, tmp_path: Path) -> None:
    gpu = json.loads(RECORDED.read_text("utf-8"))["gpus"][0]
    gpus = [
        gpu,
        gpu | {"index": 1, "name": "NVIDIA V100", "sm": "7.0"},
        gpu | {"index": 2, "name": "NVIDIA L4", "sm": "8.9"},
    ]
    done = cli("probe", "--host", saved(tmp_path, gpus=gpus), "--vllm", "0.33.0", "--format", "json")
    tables = json.loads(done.stdout)["support"]
    assert [table["sm"] for table in tables] == ["9.0", "9.0", "8.9", "8.9"]
    assert done.stderr == "compatcheck probe: the matrix has nothing on SM 7.0; no table for it\n"
    done = cli("check", "--host", "h.json", "--vllm", "0.33.0", "--head-size", "128")
    assert [line.split()[0] for line in done.stdout.splitlines() if " on SM " in line] == ["supported", "supported"]


def test_no_gpu(cli: Cli, tmp_path: Path) -> None:
    name = saved(tmp_path, gpus=[])
    document = json.loads(cli("probe", "--host", name, "--format", "json").stdout)
    assert document["support"] == []
    assert "SM 9.0, head size 128" in cli("probe", "--host", name, "--sm", "9.0").stdout


def installed(*names: str) -> dict[str, Any]:
    packages: dict[str, Any] = json.loads(RECORDED.read_text("utf-8"))["packages"]
    versions = {"vllm": "0.33.0", "flashinfer-python": "0.7.2.post1"}
    return packages | {name: {"name": name, "version": versions.get(name, "1.0")} for name in names}


def test_linear_kernels_are_those_of_each_distinct_gpu(cli: Cli, tmp_path: Path) -> None:
    gpu = json.loads(RECORDED.read_text("utf-8"))["gpus"][0]
    gpus = [gpu, gpu | {"index": 1}, gpu | {"index": 2, "name": "NVIDIA GeForce RTX 5090", "sm": "12.0"}]
    asked = ("probe", "--host", saved(tmp_path, gpus=gpus), "--vllm", "0.33.0")
    picks = json.loads(cli(*asked, "--format", "json").stdout)["linear"]
    assert [(p["sm"], p["scheme"], p["kernel"], p["compute"], p["verdict"]) for p in picks] == [
        ("9.0", "nvfp4_w4a4", "HummingNvFp4LinearKernel", "weight-only", "degraded"),
        ("9.0", "nvfp4_w4a16", "HummingNvFp4LinearKernel", "weight-only", "supported"),
        ("12.0", "nvfp4_w4a4", "FlashInferCutlassNvFp4LinearKernel", "native", "supported"),
        ("12.0", "nvfp4_w4a16", "MarlinNvFp4LinearKernel", "weight-only", "supported"),
    ]
    text = cli(*asked).stdout
    assert text.count("NVFP4 linear layers") == 2
    assert "  W4A4    HummingNvFp4LinearKernel (weight-only): linear-humming-weight-only\n" in text
    assert "  W4A4    FlashInferCutlassNvFp4LinearKernel (native)\n" in text


def test_linear_kernels_whose_package_is_missing_are_not_picked(cli: Cli, tmp_path: Path) -> None:
    vllm = ("vllm", "flashinfer-python")
    for packages, kernel in ((vllm, "Marlin"), ((*vllm, "humming-kernels"), "Humming")):
        name = saved(tmp_path, packages=installed(*packages))
        picks = json.loads(cli("probe", "--host", name, "--format", "json").stdout)["linear"]
        assert {pick["kernel"] for pick in picks} == {f"{kernel}NvFp4LinearKernel"}, packages
        checked = json.loads(cli("check", "--host", name, "--linear", "w4a4", "--format", "json").stdout)
        assert checked["selected"] == f"{kernel}NvFp4LinearKernel"
    elsewhere = json.loads(cli("probe", "--host", name, "--vllm", "0.33.0", "--format", "json").stdout)["linear"]
    assert {pick["kernel"] for pick in elsewhere} == {"HummingNvFp4LinearKernel"}


@pytest.mark.parametrize(("option", "package"), [("b12x", "b12x"), ("fbgemm", "fbgemm-gpu-genai")])
def test_an_extra_lets_its_kernel_through(cli: Cli, tmp_path: Path, option: str, package: str) -> None:
    asked = (
        "--linear",
        "w4a4",
        "--linear-backend",
        option,
        "--sm",
        "12.0",
        "--flashinfer",
        "0.7.0",
        "--format",
        "json",
    )
    accepted = []
    for packages in ((), (package,)):
        name = saved(tmp_path, packages=installed("vllm", "flashinfer-python", *packages))
        accepted.append(json.loads(cli("check", "--host", name, *asked).stdout)["engine_accepts"])
    assert accepted == [False, True]
