"""Fake site-packages trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path


def write(root: Path, name: str, text: str = "") -> Path:
    """Write a file below a directory, with its parents."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def distribution(site: Path, name: str, version: str, requires: Iterable[str] = ()) -> Path:
    """Write a wheel's metadata directory as pip does and return it."""
    lines = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {item}" for item in requires]
    text = "\n".join([*lines, "", "Version: not this one, it is the description", ""])
    return write(site, f"{name.replace('-', '_')}-{version}.dist-info/METADATA", text).parent


def flashinfer(site: Path, version: str, files: Mapping[str, str] | None = None) -> Path:
    """Write a FlashInfer with the given files and return its package directory."""
    distribution(site, "flashinfer-python", version)
    write(site, "flashinfer/__init__.py")
    write(site, "flashinfer/_build_meta.py", f'__version__ = "{version}"\n')
    for name, text in (files or {}).items():
        write(site, f"flashinfer/{name}", text)
    return site / "flashinfer"


def torch(site: Path, version: str, cuda: str | None) -> None:
    """Write a torch whose version.py is shaped like that of 2.13.0."""
    distribution(site, "torch", version)
    write(site, "torch/__init__.py", "raise ImportError('torch must not be imported')\n")
    write(
        site,
        "torch/version.py",
        "from typing import Optional\n\n"
        f"__version__ = {version!r}\ndebug = False\ncuda: Optional[str] = {cuda!r}\n"
        "git_version = 'cf30153c'\nhip: Optional[str] = None\n",
    )
