"""Real FlashInfer wheels, downloaded once and kept in pytest's cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

OFFLINE = "COMPATCHECK_OFFLINE"


def _pip(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"pip {' '.join(arguments)} failed:\n{done.stderr}"


@pytest.fixture(scope="session")
def real_flashinfer(request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """Install a FlashInfer release with pip, without dependencies, and return its site directory.

    Wheel and installed tree are kept in pytest's cache, so that only the first run takes the time. Where there is
    no network, COMPATCHECK_OFFLINE=1 skips what is not in the cache yet; without it a failing download fails the
    test.
    """
    wheels = request.config.cache.mkdir("wheels")

    def install(version: str) -> Path:
        site = wheels / f"flashinfer-{version}"
        if site.is_dir():
            return site
        name = f"flashinfer_python-{version}-py3-none-any.whl"
        if not (wheels / name).is_file():
            if os.environ.get(OFFLINE):
                pytest.skip(f"{OFFLINE} is set and {name} is not in the cache")
            _pip("download", "--quiet", "--no-deps", "--dest", str(wheels), f"flashinfer-python=={version}")
        with tempfile.TemporaryDirectory(dir=wheels) as scratch:
            target = Path(scratch, "site")
            _pip(
                *("install", "--quiet", "--no-deps", "--no-index", "--no-compile"),
                *("--target", str(target), str(wheels / name)),
            )
            target.rename(site)
        return site

    return install
