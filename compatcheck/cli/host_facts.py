"""What a host answers where the user gave nothing: GPU, versions, and whether FlashInfer really has the helpers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.cli.complain import complain
from compatcheck.cli.exit_codes import USAGE
from compatcheck.resolve.configuration import Configuration

if TYPE_CHECKING:
    from compatcheck.host.model import Host


def read_host(host_file: Path | None, *, gpus: bool = True, toolkit: bool = True, files: bool = True) -> Host:
    """Return a saved host, or this one. Leaves with exit code 2 where the file cannot be used."""
    from compatcheck.host import collect
    from compatcheck.host.document import HostFileError, load_host

    if host_file is None:
        return collect(gpus=gpus, toolkit=toolkit, files=files)
    try:
        return load_host(host_file)
    except HostFileError as error:
        complain(str(error), lines=True)
        sys.exit(USAGE)


def fill_from_host(given: Configuration, host_file: Path | None) -> tuple[list[Configuration], dict[str, str]]:
    """Return one configuration per distinct GPU, filled from the host, and the ground of each filled field.

    A version is taken from the host only where the user did not name another one that it depends on: with --vllm
    given, FlashInfer and torch come from that release's pins, not from this machine.
    """
    saved = host_file is not None
    wants_gpu = given.sm is None
    wants_versions = given.engine_version is None
    if not saved and not wants_gpu and not wants_versions:
        return [given], {}
    host = read_host(host_file, gpus=wants_gpu, toolkit=False, files=saved or wants_versions)
    if not saved and wants_versions and "flashinfer-python" in host.packages:
        from compatcheck.host.toolkit import inspect_toolkit

        host = msgspec.structs.replace(host, toolkit=inspect_toolkit())
    where = "from the saved host" if saved else "found on this host"
    fields: dict[str, Any] = {}
    if wants_versions:
        fields |= versions_of(given, host)
        if given.linear is not None:
            fields |= linear_packages(given, host)
    grounds = dict.fromkeys(fields, where)
    sms = list(host.sms()) if wants_gpu else []
    if sms:
        grounds["sm"] = where
    filled = msgspec.structs.replace(given, **fields)
    configurations = [msgspec.structs.replace(filled, sm=sm) for sm in sms] or [filled]
    return configurations, grounds


def versions_of(given: Configuration, host: Host) -> dict[str, Any]:
    """Return the versions that a host has installed, for the fields that are not given.

    A host with vLLM and without FlashInfer answers that FlashInfer is not there: no pin takes its place.
    """
    from compatcheck.host.symbols import SLOT_MAPPING_APPEND

    found: dict[str, Any] = {}
    for field, package in (
        ("engine_version", "vllm"),
        ("flashinfer_version", "flashinfer-python"),
        ("torch_version", "torch"),
    ):
        version = host.version(package)
        if version is not None and getattr(given, field) is None:
            found[field] = version
    cuda = _cuda_of(host)
    if cuda is not None and given.cuda_version is None:
        found["cuda_version"] = cuda
    if "flashinfer_version" in found:
        found |= _state_of_flashinfer(given, host)
    if "flashinfer_version" in found and given.slot_mapping_helpers is None:
        present = host.importable(SLOT_MAPPING_APPEND)
        if present is not None:
            found["slot_mapping_helpers"] = present
    asked = given.flashinfer_version is not None or given.has_flashinfer is not None
    if not asked and host.version("vllm") is not None and host.version("flashinfer-python") is None:
        found["has_flashinfer"] = False
    return found


def _state_of_flashinfer(given: Configuration, host: Host) -> dict[str, bool]:
    """Return whether the FlashInfer here can be imported, can build kernels, and has them, as far as the host tells."""
    from compatcheck.host.problems.kernel_wheels import import_raises, jit_cache_usable
    from compatcheck.host.problems.no_compiler import can_compile

    state = {
        "flashinfer_imports": False if import_raises(host) else None,
        "can_compile": can_compile(host),
        "has_jit_cache": True if jit_cache_usable(host) else None,
    }
    return {field: value for field, value in state.items() if value is not None and getattr(given, field) is None}


def _cuda_of(host: Host) -> str | None:
    """Return the CUDA version that FlashInfer goes by: nvcc's, and torch's where it finds no nvcc.

    flashinfer/jit/cpp_ext.py:get_cuda_version@0.7.2.post1.
    """
    kit, torch = host.toolkit, host.packages.get("torch")
    if "flashinfer-python" in host.packages and kit.nvcc and kit.cuda_version is not None:
        return kit.cuda_version
    return torch.cuda if torch is not None else None


def linear_packages(given: Configuration, host: Host) -> dict[str, Any]:
    """Return which optional packages of linear kernels a host with vLLM has, for the fields that are not given.

    A missing b12x decides nothing, since FlashInfer has a module of that name since 0.7.2. A FlashInfer that is there
    and that vLLM passes over, for want of cubins and nvcc, is none to its linear kernels.
    """
    from compatcheck.host.problems import vllm_disables_flashinfer

    if host.version("vllm") is None:
        return {}
    found = {
        "has_humming": host.version("humming-kernels") is not None,
        "has_fbgemm": any(host.version(name) is not None for name in ("fbgemm-gpu-genai", "fbgemm-gpu")),
    }
    if host.version("b12x") is not None:
        found["has_b12x"] = True
    if vllm_disables_flashinfer.check(host):
        found["has_flashinfer"] = False
    return {field: value for field, value in found.items() if getattr(given, field) is None}
