"""Wheels from the package index: downloaded by pip in a process of its own, never installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from compatcheck.audit.archives import ReleaseError

SECONDS = 1800
LATEST = "latest"
"""Instead of a version: the newest one that pip would install."""


def download(distribution: str, version: str, folder: Path) -> Path:
    """Return the wheel of a release, downloaded into a folder. Raises `ReleaseError`."""
    wanted = distribution if version == LATEST else f"{distribution}=={version}"
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-input", "-q", "--no-deps"]
    command += ["--only-binary", ":all:", "-d", str(folder), wanted]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise ReleaseError(f"{wanted}: pip download took longer than {SECONDS} s") from None
    except OSError as error:
        raise ReleaseError(f"{wanted}: pip cannot be started: {error}") from None
    if done.returncode != 0:
        said = [line for line in done.stderr.strip().splitlines() if line.startswith("ERROR")] or [
            "pip download failed"
        ]
        raise ReleaseError(f"{wanted}: {said[-1].removeprefix('ERROR: ')}")
    found = [
        path for path in folder.glob("*.whl") if path.name.lower().startswith(f"{distribution.replace('-', '_')}-")
    ]
    if len(found) != 1:
        raise ReleaseError(f"{wanted}: pip downloaded {len(found)} wheels of it")
    return found[0]
