"""A host and its problems as plain text lines: no colour, no width, one fact a line."""

from __future__ import annotations

from collections.abc import Sequence

from compatcheck.host.model import Gpu, Host, Problem
from compatcheck.host.symbols import PAGED_DEQUANTIZE, SLOT_MAPPING_APPEND

_ABSENT = ("torch", "flashinfer-python", "flashinfer-cubin", "flashinfer-jit-cache", "vllm")
_LABEL = 12
_STATES = {
    "not-queried": "not asked",
    "no-module": "cannot be asked",
    "no-library": "no NVIDIA driver",
    "driver-not-loaded": "driver not loaded",
    "library-mismatch": "driver and its library differ",
    "no-permission": "no permission",
    "gpu-lost": "GPU lost",
    "error": "error",
}


def summary_lines(host: Host, problems: Sequence[Problem]) -> list[str]:
    """Return the host's facts, then its problems with a fix each. Lines carry no trailing newline."""
    lines = [
        _line("system", _system(host)),
        _line("driver", _driver(host)),
        *(_line("gpu", _gpu(gpu)) for gpu in host.gpus),
    ]
    if not host.gpus and host.driver.state != "not-queried":
        lines.append(_line("gpu", 'none found; give --sm 9.0 or --gpu "H200" to ask about one'))
    if host.toolkit.source != "not-queried":
        lines.append(_line("toolkit", _toolkit(host)))
    lines += [_line("package", _package(host, name)) for name in dict.fromkeys((*_ABSENT, *host.packages))]
    lines += [
        _line("function", f"{name}: {'in' if there else 'not in'} the installed FlashInfer")
        for name in (SLOT_MAPPING_APPEND, PAGED_DEQUANTIZE)
        if (there := host.flashinfer_symbols.get(name)) is not None
    ]
    lines += [
        _line("environment", name if value is None else f"{name}={value}") for name, value in host.environment.items()
    ]
    lines.append("")
    if not problems:
        return [*lines, "no problems found"]
    for problem in problems:
        lines += _problem(problem)
    return [*lines, _count(problems)]


def _line(label: str, text: str) -> str:
    return f"{label:<{_LABEL}}{text}"


def _system(host: Host) -> str:
    system = host.system
    python = f"Python {system.python}" if system.python else None
    parts = [system.os, system.distribution, system.machine, system.libc, python]
    return ", ".join([part for part in parts if part] + (["WSL"] if system.wsl else []))


def _driver(host: Host) -> str:
    driver = host.driver
    if driver.state != "ok":
        return _STATES[driver.state] + (f" ({driver.error})" if driver.error else "")
    cuda = f", runs CUDA up to {driver.cuda_version}" if driver.cuda_version else ""
    return f"{driver.version or 'version unknown'}{cuda}"


def _gpu(gpu: Gpu) -> str:
    parts = [f"{gpu.index}: {gpu.name or 'name unknown'}", f"SM {gpu.sm or 'unknown'}"]
    if gpu.memory_bytes:
        parts.append(f"{gpu.memory_bytes / 2**30:.1f} GiB")
    if gpu.mig.enabled:
        parts.append(f"MIG with {len(gpu.mig.instances)} instances")
    if gpu.lost:
        parts.append("lost")
    if gpu.visible is not True:
        parts.append("hidden by CUDA_VISIBLE_DEVICES" if gpu.visible is False else "perhaps hidden")
    return ", ".join(parts)


def _toolkit(host: Host) -> str:
    kit = host.toolkit
    if kit.source == "none":
        return f"none ({kit.error})" if kit.error else "none"
    origin = "the default directory" if kit.source == "default" else kit.source
    if not kit.nvcc:
        return f"no nvcc where {origin} points"
    version = f"nvcc {kit.nvcc_build or kit.cuda_version}" if kit.cuda_version else f"nvcc ({kit.nvcc_error})"
    tools = [name for name, there in (("ninja", kit.ninja), ("C++ compiler", kit.host_compiler)) if not there]
    return f"{version}, from {origin}" + (f", no {', no '.join(tools)}" if tools else "")


def _package(host: Host, name: str) -> str:
    package = host.packages.get(name)
    if package is None:
        return f"{name} not installed"
    notes = []
    if name == "torch" and package.module_version is not None:
        notes.append(f"CUDA {package.cuda}" if package.cuda else f"ROCm {package.rocm}" if package.rocm else "no CUDA")
    if package.editable:
        notes.append("editable")
    if name == "vllm" and package.requires.get("flashinfer-python"):
        notes.append(f"pins flashinfer-python{package.requires['flashinfer-python']}")
    return f"{name} {package.version or 'version unknown'}" + (f" ({', '.join(notes)})" if notes else "")


def _problem(problem: Problem) -> list[str]:
    return [
        f"{problem.severity}: {problem.code}: {problem.who}: {problem.message}",
        f"  required: {problem.required}",
        f"  found:    {problem.found}",
        f"  fix:      {problem.fix}",
        f"  source:   {problem.source}",
        "",
    ]


def _count(problems: Sequence[Problem]) -> str:
    counts = [
        (sum(problem.severity == severity for problem in problems), noun)
        for severity, noun in (("error", "error"), ("warning", "warning"), ("info", "note"))
    ]
    return ", ".join(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts)
