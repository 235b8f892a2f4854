"""GPUs and driver through NVML (`pynvml`, from nvidia-ml-py). Every failure becomes a recorded state.

NVML can fail as a whole (no library, no driver, a driver that was upgraded under a running kernel module) or
in one query of one GPU (not supported on this board, a GPU that fell off the bus). The first kind ends in
`Driver.state` and `Driver.error`, the second in that GPU's `errors`; nothing is raised.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from compatcheck.host.model import Driver, DriverState, Gpu, Mig, MigInstance
from compatcheck.host.privacy import without_paths
from compatcheck.host.visibility import visible_gpus

T = TypeVar("T")

# Codes of nvml.h; pynvml keeps them in the exception's `value`.
_NOT_SUPPORTED = 3
_NOT_FOUND = 6
_GPU_IS_LOST = 15
_STATES: dict[int, DriverState] = {
    4: "no-permission",
    9: "driver-not-loaded",
    12: "no-library",
    15: "gpu-lost",
    18: "library-mismatch",
}


def query_nvml(module: Any | None = None, environ: Mapping[str, str] | None = None) -> tuple[Driver, tuple[Gpu, ...]]:
    """Return driver and GPUs; `module` stands in for pynvml, `environ` for the process environment."""
    if module is None:
        try:
            module = importlib.import_module("pynvml")
        except ImportError as error:
            return Driver(state="no-module", error=f"cannot import pynvml: {_words(error)}"), ()
    try:
        module.nvmlInit()
    except Exception as error:  # an old or foreign pynvml raises whatever it likes
        return Driver(state=_state(error), error=_words(error)), ()
    try:
        return _query(module, environ or {})
    finally:
        with contextlib.suppress(Exception):  # the answers are in hand; a failing shutdown changes none of them
            module.nvmlShutdown()


def _query(nvml: Any, environ: Mapping[str, str]) -> tuple[Driver, tuple[Gpu, ...]]:
    notes: list[str] = []
    version = _ask(notes, "nvmlSystemGetDriverVersion", lambda: _text(nvml.nvmlSystemGetDriverVersion()))
    cuda = _ask(notes, "nvmlSystemGetCudaDriverVersion", lambda: _cuda_version(_cuda_driver(nvml)))
    try:
        count = int(nvml.nvmlDeviceGetCount())
    except Exception as error:
        notes.append(f"nvmlDeviceGetCount: {_words(error)}")
        return Driver(state=_state(error), version=version, cuda_version=cuda, error="; ".join(notes)), ()
    found = [_gpu(nvml, index) for index in range(count)]
    names = {gpu.name for gpu, _ in found}
    order_known = len(names) <= 1 or environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    seen = visible_gpus(environ.get("CUDA_VISIBLE_DEVICES"), [uuids for _, uuids in found], order_known=order_known)
    gpus = tuple(_with_visibility(gpu, visible) for (gpu, _), visible in zip(found, seen, strict=True))
    driver = Driver(state="ok", version=version, cuda_version=cuda, error="; ".join(notes) or None)
    return driver, gpus


def _with_visibility(gpu: Gpu, visible: bool | None) -> Gpu:
    return msgspec.structs.replace(gpu, visible=visible)


def _gpu(nvml: Any, index: int) -> tuple[Gpu, list[str]]:
    """Return a GPU and the UUIDs it answers to; the UUIDs are never kept."""
    notes: list[str] = []
    lost: list[bool] = []

    def ask(what: str, query: Callable[[], T], *, optional: bool = False) -> T | None:
        return _ask(notes, what, query, optional=optional, lost=lost)

    handle = ask("nvmlDeviceGetHandleByIndex", lambda: nvml.nvmlDeviceGetHandleByIndex(index))
    if handle is None:
        return Gpu(index=index, lost=bool(lost), errors=tuple(notes)), []
    name = ask("nvmlDeviceGetName", lambda: _text(nvml.nvmlDeviceGetName(handle)))
    sm = ask("nvmlDeviceGetCudaComputeCapability", lambda: _sm(nvml.nvmlDeviceGetCudaComputeCapability(handle)))
    # A board that shares the host's memory (GB10) does not support the memory query.
    memory = ask("nvmlDeviceGetMemoryInfo", lambda: int(nvml.nvmlDeviceGetMemoryInfo(handle).total), optional=True)
    uuid = ask("nvmlDeviceGetUUID", lambda: _text(nvml.nvmlDeviceGetUUID(handle)), optional=True)
    mode: bool | None
    try:
        mode = bool(nvml.nvmlDeviceGetMigMode(handle)[0])
    except Exception as error:
        # A GPU without MIG says "not supported", which is an answer; anything else is not.
        mode = False if _code(error) == _NOT_SUPPORTED else None
        if mode is None:
            notes.append(f"nvmlDeviceGetMigMode: {_words(error)}")
            lost.extend([True] * (_code(error) == _GPU_IS_LOST))
    uuids = [uuid] if uuid else []
    instances: tuple[MigInstance, ...] = ()
    if mode:
        instances, mig_uuids = _mig_instances(nvml, handle, notes)
        uuids += mig_uuids
    gpu = Gpu(
        index=index,
        name=name,
        sm=sm,
        memory_bytes=memory,
        mig=Mig(enabled=mode, instances=instances),
        lost=bool(lost),
        errors=tuple(notes),
    )
    return gpu, uuids


def _mig_instances(nvml: Any, handle: Any, notes: list[str]) -> tuple[tuple[MigInstance, ...], list[str]]:
    count = _ask(notes, "nvmlDeviceGetMaxMigDeviceCount", lambda: int(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)))
    instances: list[MigInstance] = []
    uuids: list[str] = []
    for index in range(count or 0):
        try:
            part = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
        except Exception as error:
            if _code(error) == _NOT_FOUND:  # a slot without an instance
                continue
            notes.append(f"nvmlDeviceGetMigDeviceHandleByIndex({index}): {_words(error)}")
            break
        instance, uuid = _mig_instance(nvml, part, index, notes)
        instances.append(instance)
        uuids += [uuid] if uuid else []
    return tuple(instances), uuids


def _mig_instance(nvml: Any, part: Any, index: int, notes: list[str]) -> tuple[MigInstance, str | None]:
    name = _ask(notes, "nvmlDeviceGetName(MIG)", lambda: _text(nvml.nvmlDeviceGetName(part)))
    memory = _ask(notes, "nvmlDeviceGetMemoryInfo(MIG)", lambda: int(nvml.nvmlDeviceGetMemoryInfo(part).total))
    uuid = _ask(notes, "nvmlDeviceGetUUID(MIG)", lambda: _text(nvml.nvmlDeviceGetUUID(part)))
    return MigInstance(index=index, name=name, memory_bytes=memory), uuid


def _ask(
    notes: list[str],
    what: str,
    query: Callable[[], T],
    *,
    optional: bool = False,
    lost: list[bool] | None = None,
) -> T | None:
    """Return a query's answer, or None with a note; an unsupported optional query leaves none."""
    try:
        return query()
    except Exception as error:
        if lost is not None and _code(error) == _GPU_IS_LOST:
            lost.append(True)
        if not (optional and _code(error) == _NOT_SUPPORTED):
            notes.append(f"{what}: {_words(error)}")
        return None


def _cuda_driver(nvml: Any) -> int:
    """Return e.g. 13000; _v2 asks the libcuda that would be loaded, forward compatibility included."""
    query = getattr(nvml, "nvmlSystemGetCudaDriverVersion_v2", None) or nvml.nvmlSystemGetCudaDriverVersion
    return int(query())


def _cuda_version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _sm(pair: tuple[int, int]) -> str:
    major, minor = pair
    return f"{int(major)}.{int(minor)}"


def _text(value: str | bytes) -> str:
    """Return text; pynvml returned bytes before 11.5."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _code(error: BaseException) -> int | None:
    value = getattr(error, "value", None)
    return value if isinstance(value, int) else None


def _state(error: BaseException) -> DriverState:
    code = _code(error)
    return _STATES.get(code, "error") if code is not None else "error"


def _words(error: BaseException) -> str:
    return without_paths(str(error)).rstrip(".") or type(error).__name__
