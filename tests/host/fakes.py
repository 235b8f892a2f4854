"""NVML answers for hosts that this machine is not, with the exceptions and codes of the real pynvml."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pynvml

GIB = 2**30


@dataclasses.dataclass
class Slice:
    """One MIG instance."""

    name: str
    memory: int
    uuid: str


@dataclasses.dataclass
class Board:
    """One GPU. `fails` maps an NVML query to the error code that it ends with."""

    name: str | bytes
    sm: tuple[int, int]
    memory: int
    uuid: str
    mig: int | None = None
    slots: int = 7
    slices: dict[int, Slice] = dataclasses.field(default_factory=dict)
    fails: dict[str, int] = dataclasses.field(default_factory=dict)


class FakeNvml:
    """Stands in for the pynvml module."""

    def __init__(
        self,
        *boards: Board,
        driver: str = "580.159.04",
        cuda: int = 13000,
        init_error: int | None = None,
        fails: dict[str, int] | None = None,
    ) -> None:
        self.boards = boards
        self.driver = driver
        self.cuda = cuda
        self.init_error = init_error
        self.fails = fails or {}
        self.shut_down = 0

    def _check(self, query: str, board: Board | Slice | None = None) -> None:
        code = self.fails.get(query)
        if isinstance(board, Board):
            code = board.fails.get(query, code)
        if code is not None:
            raise pynvml.NVMLError(code)

    def nvmlInit(self) -> None:  # noqa: N802
        if self.init_error is not None:
            raise pynvml.NVMLError(self.init_error)

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.shut_down += 1
        self._check("nvmlShutdown")

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        self._check("nvmlSystemGetDriverVersion")
        return self.driver

    def nvmlSystemGetCudaDriverVersion_v2(self) -> int:  # noqa: N802
        self._check("nvmlSystemGetCudaDriverVersion")
        return self.cuda

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        self._check("nvmlDeviceGetCount")
        return len(self.boards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Board:  # noqa: N802
        board = self.boards[index]
        self._check("nvmlDeviceGetHandleByIndex", board)
        return board

    def nvmlDeviceGetName(self, handle: Board | Slice) -> str | bytes:  # noqa: N802
        self._check("nvmlDeviceGetName", handle)
        return handle.name

    def nvmlDeviceGetUUID(self, handle: Board | Slice) -> str:  # noqa: N802
        self._check("nvmlDeviceGetUUID", handle)
        return handle.uuid

    def nvmlDeviceGetCudaComputeCapability(self, handle: Board) -> tuple[int, int]:  # noqa: N802
        self._check("nvmlDeviceGetCudaComputeCapability", handle)
        return handle.sm

    def nvmlDeviceGetMemoryInfo(self, handle: Board | Slice) -> Any:  # noqa: N802
        self._check("nvmlDeviceGetMemoryInfo", handle)
        return SimpleNamespace(total=handle.memory)

    def nvmlDeviceGetMigMode(self, handle: Board) -> list[int]:  # noqa: N802
        self._check("nvmlDeviceGetMigMode", handle)
        if handle.mig is None:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return [handle.mig, handle.mig]

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: Board) -> int:  # noqa: N802
        self._check("nvmlDeviceGetMaxMigDeviceCount", handle)
        return handle.slots

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Board, index: int) -> Slice:  # noqa: N802
        self._check("nvmlDeviceGetMigDeviceHandleByIndex", handle)
        if index not in handle.slices:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return handle.slices[index]


def h200(**changes: Any) -> Board:
    """An H200 as NVML described one (driver 580.159.04); MIG-capable, MIG off."""
    base = Board("NVIDIA H200", (9, 0), 150754820096, "GPU-00000000-0000-0000-0000-000000000200", mig=0)
    return dataclasses.replace(base, **changes)


def rtx3090() -> Board:
    return Board("NVIDIA GeForce RTX 3090", (8, 6), 24 * GIB, "GPU-00000000-0000-0000-0000-000000003090")


def rtx5090() -> Board:
    return Board("NVIDIA GeForce RTX 5090", (12, 0), 32 * GIB, "GPU-00000000-0000-0000-0000-000000005090")


def a100_mig() -> Board:
    """An A100 40 GB in MIG mode with two instances, in slots 0 and 2."""
    return Board(
        "NVIDIA A100-SXM4-40GB",
        (8, 0),
        40 * GIB,
        "GPU-00000000-0000-0000-0000-000000000100",
        mig=1,
        slices={
            0: Slice("NVIDIA A100-SXM4-40GB MIG 3g.20gb", 20 * GIB, "MIG-00000000-0000-0000-0000-000000000001"),
            2: Slice("NVIDIA A100-SXM4-40GB MIG 1g.5gb", 5 * GIB, "MIG-00000000-0000-0000-0000-000000000002"),
        },
    )


def gb10() -> Board:
    """A DGX Spark: the GPU shares the host's memory, so the memory query is not supported."""
    return Board(
        "NVIDIA GB10",
        (12, 1),
        0,
        "GPU-00000000-0000-0000-0000-000000000010",
        fails={"nvmlDeviceGetMemoryInfo": pynvml.NVML_ERROR_NOT_SUPPORTED},
    )
