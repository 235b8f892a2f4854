from __future__ import annotations

import sys

import msgspec
import pynvml
import pytest

from compatcheck.host.model import Driver, DriverState
from compatcheck.host.nvml import query_nvml

from .fakes import GIB, Board, FakeNvml, a100_mig, gb10, h200, rtx3090, rtx5090


def test_one_gpu_is_described_and_nvml_is_shut_down() -> None:
    nvml = FakeNvml(h200())
    driver, (gpu,) = query_nvml(nvml)
    assert driver == Driver(state="ok", version="580.159.04", cuda_version="13.0")
    assert (gpu.index, gpu.name, gpu.sm, gpu.memory_bytes) == (0, "NVIDIA H200", "9.0", 150754820096)
    assert gpu.mig.enabled is False
    assert gpu.visible is True
    assert gpu.errors == ()
    assert nvml.shut_down == 1


def test_mixed_gpus_keep_their_own_compute_capability() -> None:
    _, gpus = query_nvml(FakeNvml(rtx3090(), rtx5090()))
    assert [(gpu.index, gpu.sm) for gpu in gpus] == [(0, "8.6"), (1, "12.0")]
    assert [gpu.mig.enabled for gpu in gpus] == [False, False], "a GeForce says that MIG is not supported"


def test_mig_instances_are_listed_and_empty_slots_skipped() -> None:
    _, (gpu,) = query_nvml(FakeNvml(a100_mig()))
    assert gpu.mig.enabled is True
    assert [(item.index, item.memory_bytes) for item in gpu.mig.instances] == [(0, 20 * GIB), (2, 5 * GIB)]
    assert gpu.mig.instances[1].name == "NVIDIA A100-SXM4-40GB MIG 1g.5gb"
    assert gpu.errors == ()


def test_mig_without_instances_is_no_error_of_the_query() -> None:
    board = a100_mig()
    board.slices = {}
    _, (gpu,) = query_nvml(FakeNvml(board))
    assert (gpu.mig.enabled, gpu.mig.instances, gpu.errors) == (True, (), ())


def test_no_uuid_reaches_the_document() -> None:
    driver, gpus = query_nvml(FakeNvml(a100_mig(), h200()), {"CUDA_VISIBLE_DEVICES": "GPU-00000000-0000-0000"})
    text = msgspec.json.encode((driver, gpus)).decode()
    assert "GPU-" not in text
    assert "MIG-0" not in text


@pytest.mark.parametrize(
    ("code", "state"),
    [
        (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, "no-library"),
        (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "driver-not-loaded"),
        (pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "library-mismatch"),
        (pynvml.NVML_ERROR_NO_PERMISSION, "no-permission"),
        (pynvml.NVML_ERROR_GPU_IS_LOST, "gpu-lost"),
        (pynvml.NVML_ERROR_UNKNOWN, "error"),
    ],
)
def test_a_failed_start_is_a_state_with_nvmls_own_words(code: int, state: DriverState) -> None:
    driver, gpus = query_nvml(FakeNvml(h200(), init_error=code))
    assert driver.state == state
    assert driver.error == str(pynvml.NVMLError(code)).rstrip(".")
    assert gpus == ()


def test_the_module_can_be_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    driver, gpus = query_nvml()
    assert driver.state == "no-module"
    assert driver.error is not None
    assert "pynvml" in driver.error
    assert gpus == ()


def test_a_foreign_pynvml_that_raises_something_else_is_recorded() -> None:
    class Foreign:
        def nvmlInit(self) -> None:  # noqa: N802
            raise OSError("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1: file too short")

    driver, gpus = query_nvml(Foreign())
    assert (driver.state, driver.error, gpus) == ("error", "<path>: file too short", ())


def test_an_old_pynvml_without_the_newer_queries_still_answers() -> None:
    class Old(FakeNvml):
        nvmlSystemGetCudaDriverVersion_v2 = None  # type: ignore[assignment]  # noqa: N815

        def nvmlSystemGetCudaDriverVersion(self) -> int:  # noqa: N802
            return 12040

        def nvmlDeviceGetMigMode(self, handle: Board) -> list[int]:  # noqa: N802
            raise AttributeError("nvmlDeviceGetMigMode")

    driver, (gpu,) = query_nvml(Old(h200(name=b"NVIDIA H200")))
    assert driver.cuda_version == "12.4"
    assert gpu.name == "NVIDIA H200"
    assert gpu.mig.enabled is None
    assert gpu.errors == ("nvmlDeviceGetMigMode: nvmlDeviceGetMigMode",)


def test_a_gpu_that_disappears_is_lost_and_the_others_remain() -> None:
    gone = h200(fails={"nvmlDeviceGetCudaComputeCapability": pynvml.NVML_ERROR_GPU_IS_LOST})
    _, (first, second) = query_nvml(FakeNvml(gone, h200(uuid="GPU-2")))
    assert first.lost
    assert first.sm is None
    assert first.errors == ("nvmlDeviceGetCudaComputeCapability: GPU is lost",)
    assert (second.lost, second.sm) == (False, "9.0")


def test_a_gpu_without_a_handle_is_listed_as_lost() -> None:
    gone = h200(fails={"nvmlDeviceGetHandleByIndex": pynvml.NVML_ERROR_GPU_IS_LOST})
    _, (gpu,) = query_nvml(FakeNvml(gone))
    assert (gpu.lost, gpu.name, gpu.errors) == (True, None, ("nvmlDeviceGetHandleByIndex: GPU is lost",))


def test_shared_memory_is_not_an_error() -> None:
    _, (gpu,) = query_nvml(FakeNvml(gb10()))
    assert (gpu.sm, gpu.memory_bytes, gpu.errors) == ("12.1", None, ())


def test_failing_system_queries_are_noted_beside_the_gpus() -> None:
    nvml = FakeNvml(
        h200(),
        fails={
            "nvmlSystemGetDriverVersion": pynvml.NVML_ERROR_UNKNOWN,
            "nvmlShutdown": pynvml.NVML_ERROR_UNINITIALIZED,
        },
    )
    driver, gpus = query_nvml(nvml)
    assert (driver.state, driver.version) == ("ok", None)
    assert driver.error == "nvmlSystemGetDriverVersion: Unknown Error"
    assert len(gpus) == 1


def test_a_failing_count_is_a_state() -> None:
    nvml = FakeNvml(h200(), fails={"nvmlDeviceGetCount": pynvml.NVML_ERROR_UNKNOWN})
    driver, gpus = query_nvml(nvml)
    assert (driver.state, driver.error, gpus) == ("error", "nvmlDeviceGetCount: Unknown Error", ())
    assert nvml.shut_down == 1


def test_visibility_is_resolved_by_index_and_by_uuid() -> None:
    two = (h200(uuid="GPU-aaaa"), h200(uuid="GPU-bbbb"))
    for value, expected in (("1", [False, True]), ("GPU-a", [True, False]), ("", [False, False])):
        _, gpus = query_nvml(FakeNvml(*two), {"CUDA_VISIBLE_DEVICES": value})
        assert [gpu.visible for gpu in gpus] == expected, value


def test_an_index_among_different_gpus_needs_pci_order() -> None:
    boards = (rtx3090(), rtx5090())
    _, unknown = query_nvml(FakeNvml(*boards), {"CUDA_VISIBLE_DEVICES": "0"})
    assert [gpu.visible for gpu in unknown] == [None, None]
    ordered = {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    _, known = query_nvml(FakeNvml(*boards), ordered)
    assert [gpu.visible for gpu in known] == [True, False]


def test_the_real_library_answers_or_says_why_not() -> None:
    """No fake: the installed pynvml against whatever driver this machine has."""
    driver, gpus = query_nvml()
    if driver.state == "ok":
        assert driver.version
        assert driver.cuda_version
        assert all(gpu.sm and gpu.name for gpu in gpus if not gpu.lost)
    else:
        assert driver.state in ("no-library", "driver-not-loaded", "library-mismatch", "no-permission")
        assert driver.error
        assert gpus == ()
