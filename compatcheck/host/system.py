"""Operating system, C library and Python version."""

from __future__ import annotations

import os
import sys

from compatcheck.host.model import System

_OS_RELEASE = ("/etc/os-release", "/usr/lib/os-release")


def collect_system(python: str | None = None) -> System:
    """Return what the system says of itself; `python` replaces the running interpreter's version."""
    version = python if python is not None else ".".join(str(part) for part in sys.version_info[:3])
    if not hasattr(os, "uname"):
        return System(os=sys.platform, python=version)
    name = os.uname()
    return System(
        os=name.sysname,
        distribution=_distribution(),
        machine=name.machine,
        libc=_libc(),
        python=version,
        wsl="microsoft" in name.release.lower(),
    )


def _libc() -> str | None:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, OSError, ValueError):
        return None


def _distribution() -> str | None:
    for path in _OS_RELEASE:
        try:
            with open(path, encoding="utf-8", errors="replace") as stream:
                pairs = [line.partition("=") for line in stream.read(65536).splitlines()]
        except OSError:
            continue
        fields = {key: value.strip("'\"") for key, sep, value in pairs if sep}
        parts = [fields[key] for key in ("ID", "VERSION_ID") if fields.get(key)]
        return " ".join(parts) or None
    return None
