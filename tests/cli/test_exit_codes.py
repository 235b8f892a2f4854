"""Exit codes: 0 fine, 1 findings, 2 usage or unreadable input, 3 unknown, 4 internal error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from compatcheck.cli.exit_codes import FINDINGS, FINE, UNKNOWN, of_verdicts

from .conftest import ROOT, Cli, environment, lines

H200 = ("check", "--no-host", "--sm", "9.0", "--vllm", "0.33.0")


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ((), FINE),
        (("supported",), FINE),
        (("supported", "degraded"), FINDINGS),
        (("unknown", "supported"), UNKNOWN),
        (("unknown", "unsupported"), FINDINGS),
    ],
)
def test_findings_win_over_unknown_and_unknown_over_fine(verdicts: tuple[str, ...], code: int) -> None:
    assert of_verdicts(verdicts) == code


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((*H200, "--head-size", "128"), 0),
        ((*H200, "--head-size", "128", "--backend", "FLASHINFER", "--kv-cache-dtype", "fp8_e5m2"), 1),
        ((*H200, "--head-size", "0"), 2),
        ((*H200, "--backend", "FLASHINFER"), 3),
    ],
)
def test_check(process: Cli, arguments: tuple[str, ...], code: int) -> None:
    assert process(*arguments).returncode == code


def test_full_disk(cache: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "compatcheck", *H200, "--head-size", "128"],
            env=environment(cache),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=120,
        )
    assert done.returncode == 4
    assert done.stderr == "compatcheck: No space left on device\n"


@pytest.mark.parametrize("count", [1, 3000])
def test_a_reader_that_leaves(cache: Path, tmp_path: Path, count: int) -> None:
    """`| head -1`: an output that fits the buffers and one that does not, without a word on stderr."""
    batch = tmp_path / "b.jsonl"
    batch.write_text(lines({"sm": "9.0", "head_size": 128}) * count, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "compatcheck", "check", "--batch", str(batch)],
        env=environment(cache),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    if count > 1:
        assert process.stdout.readline().startswith(b'{"schema":1')
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(120), said) == (141, b"")


INTERRUPTED = """
import os, signal, sys
def before_it_takes_its_place(written, path):
    os.truncate(written, os.path.getsize(written) // 2)
    os.kill(os.getpid(), signal.SIGINT)
os.replace = before_it_takes_its_place
sys.argv = ["compatcheck", "check", "--no-host", "--sm", "9.0"]
from compatcheck.cli.entry import entry
entry()
"""


def test_ctrl_c_while_the_cache_is_written(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        env=environment(tmp_path / "cache"),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 130
    assert done.stdout == ""
    assert done.stderr.strip() == "Stopped."
    assert list((tmp_path / "cache" / "compatcheck").iterdir()) == []


def test_ctrl_c_while_a_batch_is_read(cache: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "compatcheck", "check", "--batch", "-"],
        env=environment(cache),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdin is not None
    process.stdin.write(b'{"sm": "9.0"}\n' * 9000)  # more than a pipe holds: it reads when this returns
    process.stdin.flush()
    time.sleep(0.2)
    os.kill(process.pid, signal.SIGINT)
    out, said = process.communicate(timeout=120)
    assert (process.returncode, out, said.strip()) == (130, b"", b"Stopped.")
