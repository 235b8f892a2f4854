"""Distributions whose metadata is missing, unreadable, doubled or left over, or contradicts their files."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem
from compatcheck.host.problems.facts import UNKNOWN_BUILD, version_of

_SOURCE = "importlib.metadata.version (Python standard library), which vLLM and pip ask"


def check(host: Host) -> list[Problem]:
    """Report broken distributions, and FlashInfer packages whose files contradict their metadata."""
    problems = []
    for item in host.broken_packages:
        leftover = item.kind == "leftover"
        files_only = item.kind == "no-metadata" and "." not in item.entry
        reinstall = f"pip install --force-reinstall --no-deps {item.name}"
        problems.append(
            Problem(
                code="broken-package-metadata",
                severity="info" if leftover else "warning",
                who="pip and every program that asks for a version",
                message=f"the installed {item.name} cannot be trusted to be what its metadata says"
                if not leftover
                else f"pip was interrupted while it removed {item.name}; it warns on every run",
                required="one metadata directory with METADATA, which names a PEP 440 version",
                found=f"{item.entry}: {item.detail}",
                fix=f"delete the directory {item.entry}"
                if leftover
                else f"delete the stale directory, then {reinstall}"
                if item.kind == "duplicate"
                else f"reinstall it as you built it, or {reinstall}"
                if files_only
                else reinstall,
                source=_SOURCE,
            )
        )
    for name in ("flashinfer-python", "flashinfer-cubin", "flashinfer-jit-cache"):
        package = host.packages.get(name)
        files = version_of(package.module_version) if package else None
        metadata = version_of(package.version) if package else None
        if package is None or files is None or metadata is None or package.module_version == UNKNOWN_BUILD:
            continue
        if files != metadata:
            problems.append(
                Problem(
                    code="package-files-differ-from-metadata",
                    severity="warning",
                    who=f"{name}, whose own checks use the version in its files",
                    message="files of two releases are mixed, or an editable install moved on after it was installed",
                    required=f"{name} {package.version} in metadata and files",
                    found=f"the files say {package.module_version}" + (" (editable)" if package.editable else ""),
                    fix=f"pip install --force-reinstall --no-deps '{name}=={package.version}'"
                    if not package.editable
                    else "run `pip install -e .` again in the source tree",
                    source="flashinfer/version.py@0.7.2.post1",
                )
            )
    return problems
