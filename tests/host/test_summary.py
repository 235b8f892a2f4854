from __future__ import annotations

from compatcheck.host.model import Driver, Gpu, Host, Mig, MigInstance
from compatcheck.host.problems import diagnose
from compatcheck.host.summary import summary_lines
from compatcheck.host.symbols import PAGED_DEQUANTIZE, SLOT_MAPPING_APPEND

from .hosts import gpu, host, package, toolkit


def lines(made: Host) -> list[str]:
    return summary_lines(made, diagnose(made))


def test_a_healthy_host() -> None:
    made = host(
        gpu("9.0", memory_bytes=150754820096),
        extra=(
            package("torch", "2.14.0+cu130", cuda="13.0", module_version="2.14.0+cu130"),
            package("vllm", "0.33.0", requires={"flashinfer-python": "==0.7.2.post1"}),
            package("flashinfer-python", "0.7.2.post1", editable=True),
        ),
        flashinfer_symbols={SLOT_MAPPING_APPEND: True, PAGED_DEQUANTIZE: None},
        env={"CUDA_HOME": None, "VLLM_BATCH_INVARIANT": "1"},
    )
    assert lines(made) == [
        "system      ",
        "driver      580.159.04, runs CUDA up to 13.0",
        "gpu         0: NVIDIA H200, SM 9.0, 140.4 GiB",
        "toolkit     nvcc 13.0.1, from CUDA_HOME",
        "package     torch 2.14.0+cu130 (CUDA 13.0)",
        "package     flashinfer-python 0.7.2.post1 (editable)",
        "package     flashinfer-cubin not installed",
        "package     flashinfer-jit-cache not installed",
        "package     vllm 0.33.0 (pins flashinfer-python==0.7.2.post1)",
        f"function    {SLOT_MAPPING_APPEND}: in the installed FlashInfer",
        "environment CUDA_HOME",
        "environment VLLM_BATCH_INVARIANT=1",
        "",
        "no problems found",
    ]


def test_a_host_without_a_gpu_says_what_to_do() -> None:
    text = "\n".join(lines(host(kit=toolkit(None))))
    assert "no NVIDIA driver (NVML Shared Library Not Found)" in text
    assert "--sm 9.0" in text
    assert "toolkit     none (no CUDA_HOME)" in text


def test_every_oddity_of_a_gpu_is_on_its_line() -> None:
    mig = Mig(enabled=True, instances=(MigInstance(index=0), MigInstance(index=1)))
    text = lines(
        host(
            gpu("8.0", 0, mig=mig),
            gpu("9.0", 1, visible=False, lost=True, errors=("x",)),
            Gpu(index=2, visible=None),
            driver=Driver(),
        )
    )
    assert text[1] == "driver      version unknown"
    assert text[2] == "gpu         0: NVIDIA A100, SM 8.0, MIG with 2 instances"
    assert text[3] == "gpu         1: NVIDIA H200, SM 9.0, lost, hidden by CUDA_VISIBLE_DEVICES"
    assert text[4] == "gpu         2: name unknown, SM unknown, perhaps hidden"


def test_toolkits_with_something_missing() -> None:
    kits = {
        "no nvcc where CUDA_PATH points": toolkit(None, source="CUDA_PATH"),
        "nvcc (it fails), from the default directory": toolkit(
            cuda_version=None, nvcc_error="it fails", source="default", nvcc_build=None
        ),
        "nvcc 13.0.1, from CUDA_HOME, no ninja, no C++ compiler": toolkit(ninja=False, host_compiler=False),
    }
    for expected, kit in kits.items():
        assert f"toolkit     {expected}" in lines(host(kit=kit))


def test_problems_are_printed_with_a_fix_and_counted() -> None:
    made = host("9.0", packages={"flashinfer-python": "0.6.15", "flashinfer-cubin": "0.6.13", "torch": "2.11.0"})
    text = lines(made)
    start = text.index(next(line for line in text if line.startswith("error: flashinfer-cubin-mismatch: ")))
    assert text[start + 1] == "  required: flashinfer-cubin 0.6.15"
    assert text[start + 2] == "  found:    flashinfer-cubin 0.6.13"
    assert text[start + 3].startswith("  fix:      pip uninstall flashinfer-cubin")
    assert text[start + 4].startswith("  source:   flashinfer/jit/env.py:")
    assert text[-1] == "1 error, 0 warnings, 0 notes"
    assert all("\n" not in line for line in text)
