"""The CUDA toolkit: too old, missing, incomplete, of another version."""

from __future__ import annotations

import pytest

from compatcheck.host.model import Driver, Host, Toolkit
from compatcheck.host.problems.nvcc_too_old import minimum_cuda
from compatcheck.host.toolkit import HEADERS

from ..hosts import codes, host, package, problem, toolkit


def built(*sms: str, kit: Toolkit, flashinfer: str = "0.6.15", cuda: str = "13.0", **more: str) -> Host:
    torch = package("torch", f"2.11.0+cu{cuda.replace('.', '')}", cuda=cuda)
    return host(*sms, packages={"flashinfer-python": flashinfer, **more}, extra=(torch,), kit=kit)


@pytest.mark.parametrize(
    ("flashinfer", "sm", "required"),
    [
        ("0.6.8.post1", "12.0", "12.9"),
        ("0.6.15", "12.1", "12.9"),
        ("0.7.0.post1", "12.0", "12.9"),
        ("0.7.1", "12.0", "12.8"),
        ("0.7.4", "12.1", "12.9"),
        ("0.7.4", "10.0", "12.8"),
        ("0.6.15", "10.3", "12.9"),
        ("0.7.4", "11.0", "13.0"),
    ],
)
def test_what_each_release_needs_for_each_gpu(flashinfer: str, sm: str, required: str) -> None:
    need = minimum_cuda(sm, flashinfer)
    assert need is not None
    assert need[0] == required
    assert need[2]


def test_any_supported_toolkit_will_do_for_older_gpus() -> None:
    for sm in ("7.5", "8.0", "8.6", "8.9", "9.0"):
        assert minimum_cuda(sm, "0.6.17") is None
        assert (minimum_cuda(sm, "0.7.4") or ("none",))[0] == "12.8"  # --compress-mode


def test_cuda_12_8_on_an_rtx_5090() -> None:
    found = problem(built("12.0", kit=toolkit("12.8"), cuda="12.8"), "nvcc-too-old")
    assert found.severity == "error"
    assert found.required == "CUDA toolkit >= 12.9 for SM 12.0 with FlashInfer 0.6.15"
    assert found.found == "nvcc 12.8 (from CUDA_HOME)"
    assert "sm75 or higher" in found.message
    assert "FlashInfer >= 0.7.1" in found.fix
    newer = built("12.0", kit=toolkit("12.8"), flashinfer="0.7.1", cuda="12.8")
    assert "nvcc-too-old" not in codes(newer)


def test_torchs_cuda_does_not_stand_in_for_nvcc() -> None:
    found = problem(built("12.1", kit=toolkit("12.8"), flashinfer="0.7.2"), "nvcc-too-old")
    assert "torch's CUDA 13.0 does not help" in found.message


def test_each_sm_of_a_mixed_host_is_judged_by_itself() -> None:
    made = built("8.6", "12.0", "12.1", kit=toolkit("12.8"), flashinfer="0.7.2", cuda="12.8")
    assert problem(made, "nvcc-too-old").required.startswith("CUDA toolkit >= 12.9 for SM 12.1")


def test_a_hidden_or_lost_gpu_needs_no_toolkit() -> None:
    from ..hosts import gpu

    torch = package("torch", "2.11.0", cuda="12.8")
    made = host(
        "9.0",
        gpu("12.1", 1, visible=False),
        gpu("12.1", 2, lost=True),
        packages={"flashinfer-python": "0.6.15"},
        extra=(torch,),
        kit=toolkit("12.8"),
    )
    assert "nvcc-too-old" not in codes(made)


@pytest.mark.parametrize(
    ("kit", "found", "fix"),
    [
        (toolkit(None), "no CUDA_HOME", "install a CUDA toolkit"),
        (
            toolkit(None, source="CUDA_HOME", nvcc_on_path=True, error=None),
            "no bin/nvcc under the directory that CUDA_HOME decided; another nvcc is on PATH but not used",
            "unset CUDA_HOME",
        ),
        (
            toolkit("12.8", nvcc_on_path=False, nvcc_error="nvcc cannot be run: Permission denied"),
            "nvcc cannot be run: Permission denied (from CUDA_HOME)",
            "install a CUDA toolkit",
        ),
    ],
)
def test_no_compiler_and_no_prebuilt_kernels(kit: Toolkit, found: str, fix: str) -> None:
    made = problem(built("9.0", kit=kit), "no-nvcc-no-jit-cache")
    assert made.severity == "error"
    assert made.found == found
    assert made.fix.startswith(fix)


def test_a_usable_jit_cache_makes_up_for_a_missing_nvcc() -> None:
    cache = {"flashinfer-jit-cache": "0.6.15+cu130"}
    assert "no-nvcc-no-jit-cache" not in codes(built("9.0", kit=toolkit(None), **cache))
    stale = {"flashinfer-jit-cache": "0.7.1+cu130"}
    assert "no-nvcc-no-jit-cache" in codes(built("9.0", kit=toolkit(None), flashinfer="0.7.2", **stale))


def test_an_installed_nvcc_wheel_is_pointed_out() -> None:
    made = built("9.0", kit=toolkit(None), **{"nvidia-cuda-nvcc-cu12": "12.8.93"})
    assert "installed nvidia-cuda-nvcc-cu12 wheel" in problem(made, "no-nvcc-no-jit-cache").fix


def test_without_a_gpu_it_is_only_worth_knowing() -> None:
    assert problem(built(kit=toolkit(None)), "no-nvcc-no-jit-cache").severity == "info"


def test_missing_build_tools() -> None:
    found = problem(built("9.0", kit=toolkit(ninja=False, host_compiler=False)), "no-build-tools")
    assert found.found == "no ninja and no a C++ compiler on PATH"
    assert "no-build-tools" not in codes(built("9.0", kit=toolkit()))


@pytest.mark.parametrize(
    ("vllm", "kit", "expected"),
    [
        ("0.31.0", toolkit(nvcc_on_path=False), True),
        ("0.32.0", toolkit(nvcc_on_path=False), False),
        ("0.31.0", toolkit(ninja=False), False),
        ("0.32.0", toolkit(ninja=False), True),
        ("0.33.0", toolkit(None), True),
    ],
)
def test_vllm_switches_flashinfer_off(vllm: str, kit: Toolkit, expected: bool) -> None:
    made = built("9.0", kit=kit, vllm=vllm)
    assert ("vllm-disables-flashinfer" in codes(made)) is expected
    with_cubin = built("9.0", kit=kit, vllm=vllm, **{"flashinfer-cubin": "0.6.15"})
    assert "vllm-disables-flashinfer" not in codes(with_cubin)


def test_the_cubin_variable_counts_as_cubins() -> None:
    found = {"flashinfer-python": "0.7.2", "vllm": "0.33.0", "torch": "2.14.0"}
    for value, expected in (("1", False), ("0", True)):
        made = host("9.0", packages=found, kit=toolkit(None), env={"VLLM_HAS_FLASHINFER_CUBIN": value})
        assert ("vllm-disables-flashinfer" in codes(made)) is expected, value


def test_a_toolkit_that_compiles_but_cannot_link() -> None:
    without = toolkit(libraries={"libcudart.so": True, "libcuda.so": False})
    found = problem(built("9.0", kit=without), "toolkit-cannot-link")
    assert found.severity == "error"
    assert "cannot find -lcuda'" in found.message
    assert "stub" in found.fix
    unsure = toolkit(libraries={"libcudart.so": True, "libcuda.so": None})
    assert "toolkit-cannot-link" not in codes(built("9.0", kit=unsure))
    prebuilt = built("9.0", kit=without, **{"flashinfer-jit-cache": "0.6.15+cu130"})
    assert problem(prebuilt, "toolkit-cannot-link").severity == "warning"


def test_missing_headers_name_what_breaks() -> None:
    headers = {**dict.fromkeys(HEADERS, True), "curand.h": False}
    found = problem(built("9.0", kit=toolkit(headers=headers)), "toolkit-missing-headers")
    assert found.severity == "warning"
    assert found.who == "nvcc, at the first build of the sampler"
    assert "curand.h" in found.message


def test_a_wrapper_outside_the_toolkit_is_recognised() -> None:
    kit = toolkit(source="PATH", headers=dict.fromkeys(HEADERS, False))
    found = problem(built("9.0", kit=kit), "toolkit-without-headers")
    assert found.fix == "set CUDA_HOME to the real toolkit: the nvcc on PATH is a link or wrapper outside of it"
    assert "toolkit-missing-headers" not in codes(built("9.0", kit=kit))


def test_nvcc_of_another_major_than_torch() -> None:
    found = problem(built("9.0", kit=toolkit("12.9")), "nvcc-torch-cuda-mismatch")
    assert found.severity == "warning"
    assert "nvcc-torch-cuda-mismatch" not in codes(built("9.0", kit=toolkit("12.9"), cuda="12.6"))


def test_nvcc_newer_than_the_driver() -> None:
    torch = package("torch", "2.11.0", cuda="12.8")
    made = host(
        "9.0",
        packages={"flashinfer-python": "0.6.15"},
        extra=(torch,),
        driver=Driver(version="570.1", cuda_version="12.8"),
    )
    found = problem(made, "nvcc-newer-than-driver")
    assert found.severity == "error"
    assert "CUDA 12.x toolkit" in found.fix


@pytest.mark.parametrize("value", ["9.0a", "9.0", "8.0 9.0", "12.0f 9.0a"])
def test_an_arch_list_that_is_fine(value: str) -> None:
    found = {"flashinfer-python": "0.6.15", "torch": "2.11.0"}
    assert codes(host("9.0", packages=found, env={"FLASHINFER_CUDA_ARCH_LIST": value})) == []


@pytest.mark.parametrize("value", ["", "9.0;10.0", "9.0,10.0", "9.0  10.0", "sm_90", "90", "9.0.1"])
def test_an_arch_list_that_stops_the_import(value: str) -> None:
    found = {"flashinfer-python": "0.6.15", "torch": "2.11.0"}
    made = host("9.0", packages=found, env={"FLASHINFER_CUDA_ARCH_LIST": value})
    assert codes(made) == ["flashinfer-arch-list-malformed"]


@pytest.mark.parametrize(
    ("value", "sm", "covered"),
    [
        ("8.0", "8.6", True),
        ("8.6", "8.0", False),
        ("8.0", "9.0", False),
        ("10.0a", "10.3", False),
        ("10.0", "10.3", False),
        ("10.0f", "10.3", True),
        ("12.0", "12.1", True),
        ("12.0f", "12.1", True),
        ("12.1", "12.0", False),
        ("12.0a", "12.1", False),
    ],
)
def test_an_arch_list_that_leaves_the_gpu_out(value: str, sm: str, covered: bool) -> None:
    found = {"flashinfer-python": "0.7.2", "torch": "2.14.0"}
    made = host(sm, packages=found, env={"FLASHINFER_CUDA_ARCH_LIST": value})
    assert ("flashinfer-arch-list-without-gpu" in codes(made)) is not covered


WHEELS = {"nvidia-cuda-nvcc": "13.3.33", "nvidia-cuda-runtime": "13.0.96"}


def test_nvcc_13_3_beside_headers_of_13_0() -> None:
    """flashinfer#3493 and vllm#44305: pip moved one wheel, torch pins the other."""
    made = built("12.0", kit=toolkit("13.3", headers_version="13.0"), flashinfer="0.6.12", **WHEELS)
    found = problem(made, "nvcc-headers-mismatch")
    assert found.severity == "error"
    assert "headers are incompatible" in found.message
    assert found.found == (
        "nvcc 13.3, headers of 13.0 in the same toolkit (from CUDA_HOME); installed: nvidia-cuda-nvcc 13.3.33, "
        "nvidia-cuda-runtime 13.0.96"
    )
    assert found.fix.startswith(
        "pip install 'nvidia-cuda-nvcc==13.0.*' 'nvidia-cuda-crt==13.0.*' 'nvidia-nvvm==13.0.*'"
    )


def test_headers_without_wheels_are_a_matter_of_cuda_home() -> None:
    found = problem(built("12.0", kit=toolkit("13.3", headers_version="13.0")), "nvcc-headers-mismatch")
    assert found.fix == "set CUDA_HOME to one complete toolkit"


@pytest.mark.parametrize(
    ("flashinfer", "headers"), [("0.6.12", "13.3"), ("0.6.12", None), ("0.6.9", "13.0"), ("0.6.8.post1", "12.8")]
)
def test_headers_that_nothing_compares(flashinfer: str, headers: str | None) -> None:
    made = built("12.0", kit=toolkit("13.3", headers_version=headers), flashinfer=flashinfer)
    assert "nvcc-headers-mismatch" not in codes(made)


def test_headers_matter_less_where_little_is_compiled() -> None:
    kit = toolkit("13.3", headers_version="13.0")
    cached = built("12.0", kit=kit, flashinfer="0.7.2", **{"flashinfer-jit-cache": "0.7.2+cu130"})
    assert problem(cached, "nvcc-headers-mismatch").severity == "warning"
    assert problem(built(kit=kit), "nvcc-headers-mismatch").severity == "info"


def test_an_option_that_nvcc_got_with_12_8() -> None:
    """flashinfer#5479: an RTX A6000 with an older nvcc."""
    made = built("8.6", kit=toolkit("12.6"), flashinfer="0.6.18", cuda="12.6")
    found = problem(made, "nvcc-too-old")
    assert "--compress-mode" in found.message
    assert found.required == "CUDA toolkit >= 12.8 for SM 8.6 with FlashInfer 0.6.18"
    assert "nvcc-too-old" not in codes(built("8.6", kit=toolkit("12.6"), flashinfer="0.6.17", cuda="12.6"))
    assert "nvcc-too-old" not in codes(built("8.6", kit=toolkit("12.8"), flashinfer="0.6.18", cuda="12.8"))
