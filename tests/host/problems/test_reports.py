"""What users reported, rebuilt as hosts: the doctor must name the cause that each thread found."""

from __future__ import annotations

import pytest

from compatcheck.host.model import Host

from ..hosts import codes, host, package, toolkit

VLLM = "https://github.com/vllm-project/vllm"
FLASHINFER = "https://github.com/flashinfer-ai/flashinfer"


def torch(version: str, cuda: str) -> Host:
    """Only a torch, on an RTX 5090."""
    built = package("torch", version, cuda=cuda, module_version=version)
    return host("12.0", extra=(built,), kit=toolkit(cuda))


REPORTS: list[tuple[str, Host, str | None]] = [
    (
        f"{VLLM}/issues/49804",
        host(
            "9.0",
            packages={"vllm": "0.26.0", "flashinfer-python": "0.6.14", "flashinfer-cubin": "0.6.13", "torch": "2"},
        ),
        "flashinfer-cubin-mismatch",
    ),
    (
        "https://github.com/lightseekorg/tokenspeed/pull/284",
        host(
            "9.0",
            packages={"flashinfer-python": "0.6.11", "flashinfer-jit-cache": "0.6.9+cu130", "torch": "2.11.0"},
            env={"FLASHINFER_DISABLE_VERSION_CHECK": "1"},
        ),
        "flashinfer-version-check-bypassed",
    ),
    (
        "https://github.com/pipecat-ai/nemotron-january-2026/issues/6",
        host(
            "9.0", packages={"vllm": "0.13.0", "flashinfer-python": "0.5.3", "flashinfer-cubin": "0.6.0", "torch": "2"}
        ),
        "flashinfer-cubin-mismatch",
    ),
    (
        f"{VLLM}/issues/50705",
        host(
            "12.0",
            packages={"flashinfer-python": "0.6.15"},
            extra=(package("torch", "2.11.0+cu130", cuda="13.0"),),
            kit=toolkit("12.8"),
        ),
        "nvcc-too-old",
    ),
    (
        f"{VLLM}/issues/42393",
        host("12.0", packages={"flashinfer-python": "0.6.8.post1", "torch": "2.11.0"}, kit=toolkit("12.8")),
        "nvcc-too-old",
    ),
    (
        f"{VLLM}/issues/49497",
        host("9.0", packages={"flashinfer-python": "0.6.15", "vllm": "0.26.0", "torch": "2"}, kit=toolkit(None)),
        "no-nvcc-no-jit-cache",
    ),
    (
        f"{VLLM}/issues/21960",
        host("9.0", packages={"flashinfer-python": "0.2.9rc2", "torch": "2"}, kit=toolkit(None, source="default")),
        "no-nvcc-no-jit-cache",
    ),
    (
        f"{FLASHINFER}/issues/2195",
        host(
            "9.0",
            packages={"flashinfer-python": "0.5.3"},
            extra=(package("torch", "2.9.0+cu129", cuda="12.9"),),
            kit=toolkit("13.0"),
        ),
        "nvcc-torch-cuda-mismatch",
    ),
    (
        f"{FLASHINFER}/issues/5064",
        host(
            "12.1",
            packages={"flashinfer-python": "0.7.2", "torch": "2"},
            kit=toolkit("13.0", libraries={"libcudart.so": False, "libcuda.so": True}),
        ),
        "toolkit-cannot-link",
    ),
    (
        "https://github.com/vllm-project/production-stack/issues/528",
        torch("2.7.0+cu126", "12.6"),
        "torch-too-old-for-gpu",
    ),
    (
        f"{FLASHINFER}/issues/4337",
        host(
            "10.0",
            packages={
                "flashinfer-python": "0.6.16",
                "flashinfer-jit-cache": "0.6.16+cu130",
                "flashinfer-cubin": "0.6.16",
                "torch": "2",
            },
        ),
        None,
    ),
    (
        f"{VLLM}/pull/27990",
        host(
            "9.0",
            packages={
                "vllm": "0.25.1",
                "flashinfer-python": "0.6.13",
                "flashinfer-cubin": "0.6.13",
                "flashinfer-jit-cache": "0.6.13+cu130",
                "torch": "2",
            },
            kit=toolkit(None),
            env={"VLLM_HAS_FLASHINFER_CUBIN": "1"},
        ),
        None,
    ),
]


@pytest.mark.parametrize(
    ("report", "made", "expected"),
    REPORTS,
    ids=[item[0].rsplit("/", 3)[-3:][0] + "-" + item[0].rsplit("/", 1)[-1] for item in REPORTS],
)
def test_the_cause_is_named(report: str, made: Host, expected: str | None) -> None:
    found = codes(made)
    if expected is None:
        assert found == [], f"{report}: nothing was wrong there"
    else:
        assert expected in found, report
