"""Where the releases of an audit are: named wheels and trees, wheels from the index, or what is installed here."""

from __future__ import annotations

import os
from pathlib import Path

from compatcheck.audit.archives import ReleaseError, WheelFiles
from compatcheck.audit.fetch import LATEST, download
from compatcheck.audit.messages import Source
from compatcheck.audit.metadata import described
from compatcheck.host.metadata import canonical, entry_name, is_valid_version, requirements

DISTRIBUTIONS = ("vllm", "flashinfer-python")


def given(wheels: tuple[Path, ...], trees: tuple[Path, ...], versions: dict[str, str | None]) -> dict[str, Source]:
    """Return distribution -> source for named wheels and trees. Raises `ReleaseError`."""
    found: dict[str, Source] = {}
    for wheel in wheels:
        name = canonical(wheel.name.partition("-")[0])
        if name not in DISTRIBUTIONS:
            raise ReleaseError(f"{wheel.name}: no wheel of {' or '.join(DISTRIBUTIONS)}, going by its name")
        _take(found, name, Source(path=str(wheel), version=versions.get(name) or _version(wheel)))
    for tree in trees:
        held = _held(tree)
        if not held:
            raise ReleaseError(
                f"{tree}: no metadata of {' or '.join(DISTRIBUTIONS)} in it (a .dist-info folder beside the package)"
            )
        for name in held:
            _take(found, name, Source(path=str(tree), version=versions.get(name)))
    return found


def _take(found: dict[str, Source], name: str, source: Source) -> None:
    if name in found:
        raise ReleaseError(f"{name} is given twice: {found[name].path} and {source.path}")
    found[name] = source


def _version(wheel: Path) -> str | None:
    parts = wheel.name.removesuffix(".whl").split("-")
    return parts[1] if len(parts) >= 5 else None


def _held(folder: Path) -> list[str]:
    try:
        names = {entry_name(entry) for entry in os.listdir(folder) if entry.endswith((".dist-info", ".egg-info"))}
    except OSError as error:
        raise ReleaseError(f"{folder}: cannot be read: {error.strerror}") from None
    return [name for name in DISTRIBUTIONS if name in names]


def fetched(versions: dict[str, str | None], have: dict[str, Source], folder: Path) -> dict[str, Source]:
    """Return sources for the versions that are asked for and not given. Raises `ReleaseError`."""
    return {
        name: Source(path=str(download(name, version, folder)), version=None if version == LATEST else version)
        for name, version in versions.items()
        if version is not None and name not in have
    }


def installed(site_paths: list[Path] | None = None) -> dict[str, Source]:
    """Return sources for what is installed beside this interpreter."""
    from compatcheck.host.module_roots import find_package
    from compatcheck.host.packages import default_site_paths

    found: dict[str, Source] = {}
    sites = default_site_paths() if site_paths is None else site_paths
    modules = {"vllm": "vllm", "flashinfer-python": "flashinfer"}
    for name in DISTRIBUTIONS:
        site = next((site for site in sites if site.is_dir() and name in _held(site)), None)
        package = find_package(modules[name], sites)
        if site is not None and package is not None:
            beside = None if package.parent == site else str(package.parent)
            found[name] = Source(path=str(site), packages=beside)
    return found


def pin(source: Source, distribution: str) -> str | None:
    """Return the version of another distribution that a wheel pins, or None where it pins none.

    Only METADATA is read here, which the reading process checks again. Raises `ReleaseError`.
    """
    files = WheelFiles(Path(source.path))
    wanted = requirements(described(files.metadata()).requires).get(distribution, "")
    version = wanted.removeprefix("==")
    return version if wanted.startswith("==") and is_valid_version(version) else None
