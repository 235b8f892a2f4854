"""Every check, in the order in which problems of equal severity are shown."""

from __future__ import annotations

from collections.abc import Callable

from compatcheck.host.model import Host, Problem
from compatcheck.host.problems import (
    arch_list,
    broken_metadata,
    comm_python,
    cubin_mismatch,
    driver_too_old,
    hidden_gpus,
    ignored_variables,
    import_needs_gpu,
    jit_cache_cuda,
    jit_cache_mismatch,
    mig_enabled,
    mixed_gpus,
    no_compiler,
    nvcc_headers,
    nvcc_too_old,
    nvfp4_helpers,
    nvml_failed,
    pynvml_conflict,
    toolkit_incomplete,
    toolkit_versions,
    torch_build,
    unreadable_files,
    version_check_disabled,
    vllm_disables_flashinfer,
    vllm_imports,
    vllm_pins,
)

Check = Callable[[Host], list[Problem]]

CHECKS: tuple[Check, ...] = (
    nvml_failed.check,
    driver_too_old.check,
    torch_build.check,
    cubin_mismatch.check,
    jit_cache_mismatch.check,
    version_check_disabled.check,
    jit_cache_cuda.check,
    nvfp4_helpers.check,
    vllm_imports.check,
    vllm_pins.check,
    nvcc_too_old.check,
    no_compiler.check,
    vllm_disables_flashinfer.check,
    toolkit_incomplete.check,
    nvcc_headers.check,
    toolkit_versions.check,
    import_needs_gpu.check,
    comm_python.check,
    arch_list.check,
    ignored_variables.check,
    mixed_gpus.check,
    mig_enabled.check,
    hidden_gpus.check,
    broken_metadata.check,
    pynvml_conflict.check,
    unreadable_files.check,
)

_RANK = {"error": 0, "warning": 1, "info": 2}


def diagnose(host: Host) -> list[Problem]:
    """Return every problem of a host, errors first; the same host gives the same list."""
    found = [problem for check in CHECKS for problem in check(host)]
    return sorted(found, key=lambda problem: _RANK[problem.severity])
