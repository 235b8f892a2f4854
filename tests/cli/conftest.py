"""The command line as a user starts it, in an empty folder, with its output in pipes."""

from __future__ import annotations

import gc
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest

from compatcheck.cli.entry import entry

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
def process(tmp_path: Path, cache: Path) -> Cli:
    """Run `python -m compatcheck` with these arguments, as a process of its own."""

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


@pytest.fixture
def cli(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    """Run the same in this process, through the function that the console script calls: many times as fast."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)

    def run(*arguments: str, stdin: str | bytes = "", timeout: float = 0, **more: str) -> Done[str]:
        out, said = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
        read = io.TextIOWrapper(io.BytesIO(stdin.encode() if isinstance(stdin, str) else stdin), encoding="utf-8")
        with monkeypatch.context() as patch:
            for name, value in ({"COMPATCHECK_CACHE_DIR": str(cache)} | more).items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["compatcheck", *arguments])
            patch.setattr(sys, "stdin", read)
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", said)
            with pytest.raises(SystemExit) as left:
                entry()
        assert isinstance(left.value.code, int)
        return subprocess.CompletedProcess(arguments, left.value.code, written(out), written(said))

    yield run
    gc.enable()  # a command of its own process does without


def written(stream: TextIO) -> str:
    """Return what was written to a stream."""
    stream.seek(0)
    return stream.read()


def lines(*configurations: dict[str, Any]) -> str:
    """Return configurations as a batch has them, one a line."""
    return "".join(json.dumps(configuration) + "\n" for configuration in configurations)


def documents(text: str) -> list[Any]:
    """Return what a jsonl output holds."""
    return [json.loads(line) for line in text.splitlines()]
