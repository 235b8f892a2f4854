"""Installed packages that are not the ones the installed vLLM pins."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem
from compatcheck.host.problems.facts import named, version_of
from compatcheck.matrix.versions import InvalidSpecifier, contains

_ERRORS = ("flashinfer-python", "torch")
_SKIP = ("flashinfer-cubin", "ninja")
"""flashinfer-cubin is judged against flashinfer-python itself, by cubin_mismatch."""


def check(host: Host) -> list[Problem]:
    """Compare every requirement of vLLM's metadata that concerns a package listed here."""
    vllm = host.packages.get("vllm")
    if vllm is None:
        return []
    problems = []
    for name, wanted in vllm.requires.items():
        found = host.version(name)
        if name in _SKIP or not wanted or version_of(found) is None or found is None:
            continue
        try:
            if contains(wanted, found):
                continue
        except InvalidSpecifier:
            continue
        exact = wanted.startswith("==")
        problems.append(
            Problem(
                code="not-the-version-vllm-pins",
                severity="warning" if name in _ERRORS else "info",
                who=named(host, "vllm"),
                message="vLLM was built and tested against the pinned release; another may lack a "
                "function, take other "
                "arguments, or give other results",
                required=f"{name}{wanted}",
                found=f"{name} {found}",
                fix=f"pip install '{name}{wanted}'"
                + (", or the vLLM release that pins the installed one" if exact else ""),
                source=f"vllm METADATA:Requires-Dist@{vllm.version or 'installed'}",
            )
        )
    if "flashinfer-python" in vllm.requires and "flashinfer-python" not in host.packages:
        problems.append(
            Problem(
                code="flashinfer-missing",
                severity="info",
                who=named(host, "vllm"),
                message="the FLASHINFER backend, its sampler and its MoE and GEMM kernels are not available",
                required=f"flashinfer-python{vllm.requires['flashinfer-python']}",
                found="not installed",
                fix=f"pip install 'flashinfer-python{vllm.requires['flashinfer-python']}'",
                source=f"vllm METADATA:Requires-Dist@{vllm.version or 'installed'}",
            )
        )
    return problems
