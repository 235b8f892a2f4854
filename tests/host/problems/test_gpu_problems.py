"""NVML, lost GPUs, mixed GPUs, MIG, visibility."""

from __future__ import annotations

from typing import get_args

import pytest

from compatcheck.host.model import Driver, DriverState, Gpu, Mig, MigInstance

from ..hosts import codes, gpu, host, problem


@pytest.mark.parametrize("state", get_args(DriverState))
def test_every_state_of_nvml_is_reported_but_the_good_ones(state: DriverState) -> None:
    found = codes(host(driver=Driver(state=state, error="its own words")))
    assert found == ([] if state in ("ok", "not-queried") else [f"nvml-{state}"])


def test_nvmls_own_words_are_shown() -> None:
    made = host(driver=Driver(state="library-mismatch", error="RM has detected an NVML/RM version mismatch"))
    found = problem(made, "nvml-library-mismatch")
    assert found.severity == "error"
    assert found.found == "RM has detected an NVML/RM version mismatch"
    assert "reboot" in found.fix


def test_a_lost_gpu() -> None:
    lost = gpu("9.0", lost=True, errors=("nvmlDeviceGetMemoryInfo: GPU is lost",))
    found = problem(host(lost), "gpu-lost")
    assert found.severity == "error"
    assert found.who == "GPU 0 (NVIDIA H200)"


def test_a_query_that_failed() -> None:
    made = host(Gpu(index=0, errors=("nvmlDeviceGetCudaComputeCapability: Unknown Error",)))
    assert "nothing can be said for it" in problem(made, "gpu-query-failed").message


def test_mixed_gpus_warn_until_the_order_is_fixed() -> None:
    found = problem(host("8.6", "12.0"), "mixed-gpus")
    assert found.severity == "warning"
    assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in found.fix
    assert "GPU 1 NVIDIA GeForce RTX 5090 (SM 12.0)" in found.found
    ordered = host("8.6", "12.0", env={"CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
    assert problem(ordered, "mixed-gpus").severity == "info"
    assert codes(host("9.0", "9.0")) == []
    assert "mixed-gpus" not in codes(host("8.6", gpu("12.0", 1, visible=False))), "a hidden GPU is not mixed in"


def test_mig() -> None:
    instance = MigInstance(index=0, name="NVIDIA A100 MIG 3g.20gb", memory_bytes=20 * 2**30)
    on = problem(host(gpu("8.0", mig=Mig(enabled=True, instances=(instance,)))), "mig-enabled")
    assert on.severity == "info"
    assert on.found == "NVIDIA A100 MIG 3g.20gb (20.0 GiB)"
    empty = problem(host(gpu("8.0", mig=Mig(enabled=True))), "mig-without-instances")
    assert empty.severity == "error"
    assert codes(host(gpu("8.0", mig=Mig(enabled=None)))) == []


def test_hidden_gpus() -> None:
    some = host("9.0", gpu("9.0", 1, visible=False), env={"CUDA_VISIBLE_DEVICES": "0"})
    assert problem(some, "gpus-hidden").severity == "info"
    assert problem(some, "gpus-hidden").found == "CUDA_VISIBLE_DEVICES=0: GPU 1 NVIDIA H200"
    none = host(gpu("9.0", visible=False), env={"CUDA_VISIBLE_DEVICES": ""})
    assert problem(none, "gpus-hidden").severity == "warning"
    unsure = host(gpu("9.0", visible=None), env={"CUDA_VISIBLE_DEVICES": None})
    assert "<UUIDs>" in problem(unsure, "gpus-hidden").found
    assert codes(host("9.0", env={"CUDA_VISIBLE_DEVICES": "0"})) == []
