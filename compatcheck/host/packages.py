"""Installed distributions that decide what works, read from their metadata and a few version files.

Nothing is imported: a search path of another virtual environment can be inspected as well as our own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from compatcheck.host.metadata import (
    MetadataError,
    canonical,
    entry_name,
    is_editable,
    is_valid_version,
    read_metadata,
    requirements,
)
from compatcheck.host.model import BrokenKind, BrokenPackage, Package
from compatcheck.matrix.versions import parse

NAMES = (
    "apache-tvm-ffi",
    "b12x",
    "cuda-python",
    "deep-gemm",
    "fbgemm-gpu",
    "fbgemm-gpu-genai",
    "flash-attn",
    "flashinfer-cubin",
    "flashinfer-jit-cache",
    "flashinfer-python",
    "humming-kernels",
    "ninja",
    "nvidia-cuda-nvcc",
    "nvidia-cuda-nvcc-cu12",
    "nvidia-cuda-runtime",
    "nvidia-cudnn-frontend",
    "nvidia-cutlass-dsl",
    "nvidia-ml-py",
    "pynvml",
    "quack-kernels",
    "tilelang",
    "torch",
    "triton",
    "vllm",
)
"""Distributions that are looked for, and every flashinfer-jit-cache-smXX provider (0.7.0 and later)."""

PROVIDER_PREFIX = "flashinfer-jit-cache-"

_MODULES = {
    "flashinfer-cubin": "flashinfer_cubin",
    "flashinfer-jit-cache": "flashinfer_jit_cache",
    "flashinfer-python": "flashinfer",
    "torch": "torch",
    "vllm": "vllm",
}
_NO_BUILD_META = {"flashinfer-python": "0.0.0+unknown", "flashinfer-jit-cache": "0.0.0+unknown"}
"""What these packages call themselves without a _build_meta.py (flashinfer/version.py@0.7.2.post1)."""


def default_site_paths() -> list[Path]:
    """Return the running interpreter's search path, directories only."""
    return [Path(entry) for entry in sys.path if entry and os.path.isdir(entry)]


def collect_packages(
    site_paths: Sequence[Path],
) -> tuple[dict[str, Package], tuple[BrokenPackage, ...]]:
    """Return the distributions of `NAMES` on a search path by name, and those whose metadata is broken.

    The first directory on the path that holds a distribution decides, as at import.
    """
    packages: dict[str, Package] = {}
    broken: list[BrokenPackage] = []
    for site in site_paths:
        here: dict[str, list[Path]] = {}
        for entry in _metadata_entries(site):
            if entry.name.startswith("~"):
                broken += _leftover(entry.name)
                continue
            name = entry_name(entry.name)
            if name is not None and (name in NAMES or name.startswith(PROVIDER_PREFIX)):
                here.setdefault(name, []).append(entry)
        for name, entries in here.items():
            if name in packages:
                continue
            found = [_read(name, entry, broken) for entry in entries]
            packages[name] = max(found, key=lambda package: package.version is not None)
            if len(entries) > 1:
                broken.append(_duplicate(name, entries))
    for name, module in _MODULES.items():
        package = _with_files(name, module, packages.get(name), site_paths)
        if package is None:
            continue
        if name not in packages:
            broken.append(_broken(name, module, "no-metadata", f"{module} is there, but no metadata for it"))
        packages[name] = package
    return dict(sorted(packages.items())), tuple(sorted(broken, key=lambda item: (item.name, item.entry)))


def _metadata_entries(site: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(site))
    except OSError:
        return []
    return [site / name for name in names if name.endswith((".dist-info", ".egg-info"))]


def _read(name: str, entry: Path, broken: list[BrokenPackage]) -> Package:
    try:
        metadata = read_metadata(entry)
    except MetadataError as error:
        kind: BrokenKind = "no-metadata" if "missing" in str(error) else "unreadable"
        broken.append(_broken(name, entry.name, kind, str(error)))
        return Package(name=name, editable=is_editable(entry))
    version = metadata.version
    if version is None:
        broken.append(_broken(name, entry.name, "no-version", "the metadata names no version"))
    elif not is_valid_version(version):
        broken.append(_broken(name, entry.name, "bad-version", f"version {version!r} does not follow PEP 440"))
        version = None
    wanted = requirements(metadata.requires) if name == "vllm" else {}
    return Package(
        name=name,
        version=version,
        local=parse(version).local if version else None,
        editable=is_editable(entry),
        requires={key: value for key, value in sorted(wanted.items()) if key in NAMES},
    )


def _with_files(name: str, module: str, package: Package | None, site_paths: Sequence[Path]) -> Package | None:
    """Return the package with what its own files say, or None where neither metadata nor files exist."""
    if package is None and not any((site / module / "__init__.py").is_file() for site in site_paths):
        return None
    from compatcheck.host.module_roots import find_package
    from compatcheck.host.source_files import constants

    directory = find_package(module, site_paths)
    if directory is None:
        return package
    package = package or Package(name=name)
    if name == "vllm":
        return package
    if name == "torch":
        said = constants(directory / "version.py", ("__version__", "cuda", "hip"))
    else:
        said = constants(directory / "_build_meta.py", ("__version__",))
    version = said.get("__version__") or _NO_BUILD_META.get(name)
    return msgspec.structs.replace(
        package,
        version=package.version or (version if version and is_valid_version(version) else None),
        module_version=version,
        cuda=said.get("cuda"),
        rocm=said.get("hip"),
    )


def _broken(name: str, entry: str, kind: BrokenKind, detail: str) -> BrokenPackage:
    return BrokenPackage(name=name, entry=entry, kind=kind, detail=detail)


def _duplicate(name: str, entries: Sequence[Path]) -> BrokenPackage:
    listed = ", ".join(entry.name for entry in entries)
    return _broken(name, entries[0].name, "duplicate", f"{len(entries)} metadata directories: {listed}")


def _leftover(entry: str) -> list[BrokenPackage]:
    """Return a note for what pip leaves after an interrupted uninstall: '~lashinfer_python-….dist-info'."""
    stem = entry_name("x" + entry.lstrip("~"))
    if stem is None:
        return []
    return [
        _broken(name, entry, "leftover", "left behind by an interrupted uninstall")
        for name in NAMES
        if canonical(name)[1:] == stem[1:]
    ]
