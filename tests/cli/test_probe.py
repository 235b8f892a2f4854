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


def with_flashinfer(
    folder: Path, *, vllm: str, flashinfer: str, sm: str, kit: dict[str, Any] | None = None, **packages: str
) -> str:
    """A saved host with these packages (underscores for dashes) on one GPU, its toolkit changed by `kit`."""
    recorded = json.loads(RECORDED.read_text("utf-8"))
    versions = {"vllm": vllm, "flashinfer-python": flashinfer, "torch": "2.11.0+cu130"}
    versions |= {name.replace("_", "-"): version for name, version in packages.items()}
    made = {name: {"name": name, "version": version} for name, version in versions.items()}
    made["torch"]["cuda"] = "13.0"
    gpus = [recorded["gpus"][0] | {"sm": sm}]
    return saved(folder, packages=made, gpus=gpus, toolkit=recorded["toolkit"] | (kit or {}))


@pytest.mark.parametrize(
    ("flashinfer", "nvcc", "code"),
    [
        ("0.6.13", "12.8", "fi-sm12x-nvcc"),
        ("0.7.0.post1", "12.8", "fi-sm12x-nvcc"),
        ("0.7.1", "12.8", None),
        ("0.7.1", "12.6", "fi-sm12x-nvcc-0-7-1"),
        ("0.6.13", "12.9", None),
    ],
)
def test_check_goes_by_the_nvcc_of_the_host_not_by_the_cuda_of_torch(
    cli: Cli, tmp_path: Path, flashinfer: str, nvcc: str, code: str | None
) -> None:
    host = with_flashinfer(tmp_path, vllm="0.25.1", flashinfer=flashinfer, sm="12.0", kit={"cuda_version": nvcc})
    asked = ("check", "--host", host, "--backend", "FLASHINFER", "--head-size", "128", "--kv-cache-dtype", "fp8")
    done = cli(*asked, "--format", "json")
    document = json.loads(done.stdout)
    refusals = [finding["code"] for finding in document["findings"] if finding["effect"] != "note"]
    assert (refusals, done.returncode) == (([code], 1) if code else ([], 0))
    assert {"field": "cuda_version", "value": nvcc, "ground": "from the saved host"} in document["assumed"]
    problems = json.loads(cli("probe", "--host", host, "--format", "json").stdout)["problems"]
    assert any(problem["code"] == "nvcc-too-old" for problem in problems) is (code is not None)


def test_a_pick_that_cannot_be_built_is_said_to_fail(cli: Cli, tmp_path: Path) -> None:
    host = with_flashinfer(tmp_path, vllm="0.25.1", flashinfer="0.6.13", sm="12.0", kit={"cuda_version": "12.8"})
    assert "  fp8: FLASHINFER is picked and fails: fi-sm12x-nvcc\n" in cli("probe", "--host", host).stdout


@pytest.mark.parametrize(
    ("kit", "packages", "builds"),
    [
        ({"source": "none", "nvcc": False, "cuda_version": None}, {}, False),
        ({"ninja": False}, {}, False),
        ({"source": "none", "nvcc": False, "cuda_version": None}, {"flashinfer_jit_cache": "0.7.2+cu130"}, True),
        ({}, {}, True),
    ],
)
def test_what_cannot_be_compiled_on_the_host_is_not_supported_there(
    cli: Cli, tmp_path: Path, kit: dict[str, Any], packages: dict[str, str], builds: bool
) -> None:
    host = with_flashinfer(tmp_path, vllm="0.33.0", flashinfer="0.7.2", sm="9.0", kit=kit, **packages)
    asked = ("check", "--host", host, "--head-size", "128", "--format", "json")
    forced = json.loads(cli(*asked, "--backend", "FLASHINFER").stdout)
    assert forced["verdict"] == ("supported" if builds else "unsupported")
    assert ("fi-nvcc-missing" in [finding["code"] for finding in forced["findings"]]) is not builds
    assert json.loads(cli(*asked).stdout)["selected"] == "FLASH_ATTN"
    assert cli(*asked).returncode == 0
    assert json.loads(cli(*asked, "--vllm", "0.33.0", "--backend", "FLASHINFER").stdout)["verdict"] == "supported"


@pytest.mark.parametrize(
    ("sm", "cached", "code"),
    [
        ("10.0", False, "fi-nvcc-sm10x-sm11x"),
        ("10.0", True, None),
        ("12.0", False, "fi-sm12x-nvcc-0-7-1"),
        ("12.0", True, "fi-sm12x-nvcc-0-7-1"),  # its list of SMs is looked at before the prebuilt modules are
    ],
)
def test_kernels_built_ahead_need_no_nvcc_that_knows_the_gpu(
    cli: Cli, tmp_path: Path, sm: str, cached: bool, code: str | None
) -> None:
    packages = {"flashinfer_jit_cache": "0.7.2+cu130"} if cached else {}
    host = with_flashinfer(tmp_path, vllm="0.33.0", flashinfer="0.7.2", sm=sm, kit={"cuda_version": "12.6"}, **packages)
    asked = ("check", "--host", host, "--head-size", "128", "--backend", "FLASHINFER", "--format", "json")
    findings = json.loads(cli(*asked).stdout)["findings"]
    assert [finding["code"] for finding in findings if finding["effect"] != "note"] == ([code] if code else [])
    problems = json.loads(cli("probe", "--host", host, "--format", "json").stdout)["problems"]
    assert any(problem["code"] == "nvcc-too-old" for problem in problems) is (code is not None)


@pytest.mark.parametrize(("flashinfer", "raises"), [("0.6.13", True), ("0.7.2", False)])
def test_mixed_kernel_packages_stop_selection_where_their_import_raises(
    cli: Cli, tmp_path: Path, flashinfer: str, raises: bool
) -> None:
    host = with_flashinfer(tmp_path, vllm="0.25.1", flashinfer=flashinfer, sm="9.0", flashinfer_cubin="0.6.12")
    done = cli("check", "--host", host, "--head-size", "128", "--format", "json")
    document = json.loads(done.stdout)
    assert (document["verdict"], document["fails_at"]) == (
        ("unsupported", "selection") if raises else ("supported", None)
    )
    assert ("fi-package-mismatch" in [finding["code"] for finding in document["findings"]]) is raises
    told = cli("check", "--host", host, "--head-size", "128").stdout
    assert ("\nerror[fi-package-mismatch] " in told) is raises
    forced = cli("check", "--host", host, "--head-size", "128", "--backend", "FLASH_ATTN")
    assert forced.returncode == 0
