"""The command line as a user starts it: a process of its own, in an empty folder, with its output in pipes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PLACE = re.compile(r"matrix(/[a-z_]+)?\.yaml:\d+")
"""Where an entry of the packaged matrix stands: in matrix.yaml or one of its parts."""
Done = subprocess.CompletedProcess
Cli = Callable[..., "Done[str]"]


def environment(cache: Path, **more: str) -> dict[str, str]:
    """Return the tests' environment without what changes how Python writes, and with a matrix cache of their own."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONUNBUFFERED", "NO_COLOR")}
    return kept | {
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "error",
        "COMPATCHECK_CACHE_DIR": str(cache),
        **more,
    }


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A matrix cache that the commands of this run share, with the packaged matrix in it."""
    folder = tmp_path_factory.mktemp("cache")
    command = [sys.executable, "-m", "compatcheck", "matrix"]
    subprocess.run(command, env=environment(folder), check=True, capture_output=True, timeout=300)
    return folder


@pytest.fixture
def cli(tmp_path: Path, cache: Path) -> Cli:
    """Run `python -m compatcheck` with these arguments."""

    def run(*arguments: str, stdin: str | bytes = "", timeout: float = 120, **more: str) -> Done[str]:
        done = subprocess.run(
            [sys.executable, "-m", "compatcheck", *arguments],
            cwd=tmp_path,
            env=environment(cache, **more),
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            timeout=timeout,
        )
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


def lines(*configurations: dict[str, Any]) -> str:
    """Return configurations as a batch has them, one a line."""
    return "".join(json.dumps(configuration) + "\n" for configuration in configurations)


def documents(text: str) -> list[Any]:
    """Return what a jsonl output holds."""
    return [json.loads(line) for line in text.splitlines()]
