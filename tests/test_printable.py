"""What a foreign file says is printed so that it cannot pose as anything else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compatcheck.printable import printable
from compatcheck.report import github
from compatcheck.report.diagnostic import Diagnostic

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "tests" / "host" / "recorded" / "h200.json"
HOSTILE = "H200\x1b[2J\x1b]0;title\x07\n::error file=x::posed\r\u202eabc"


@given(st.text(max_size=80))
def test_nothing_moves_the_cursor(text: str) -> None:
    one = printable(text)
    assert not any(ord(c) < 32 and c != "\t" for c in one)
    assert "\x7f" not in one
    assert "\u2028" not in one
    assert printable(text, lines=True).count("\n") == text.count("\n")


def test_what_is_harmless_stays() -> None:
    text = "größer → 日本語\tok"
    assert printable(text) == text


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "compatcheck", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COMPATCHECK_CACHE_DIR": str(cwd / "cache")},
        capture_output=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("format_", ["text", "github"])
def test_a_hostile_host(tmp_path: Path, format_: str) -> None:
    document = json.loads(RECORDED.read_text("utf-8"))
    document["gpus"][0]["name"] = HOSTILE
    document["packages"]["vllm"] = {**document["packages"].get("torch", {}), "name": "vllm", "version": HOSTILE}
    (tmp_path / "host.json").write_text(json.dumps(document), encoding="utf-8")
    for command in (["probe", "--host", "host.json"], ["check", "--host", "host.json", "--head-size", "128"]):
        if format_ == "github" and command[0] == "probe":
            continue
        done = run(*command, *(["--format", format_] if command[0] == "check" else []), cwd=tmp_path)
        both = (done.stdout + done.stderr).decode()
        assert done.returncode in (0, 1, 2), both
        assert "\x1b" not in both
        assert "\u202e" not in both
        assert not any(line.startswith("::error file=x") for line in both.splitlines())


def test_github_commands_are_one_line() -> None:
    text = github.render([Diagnostic(code="c", level="error", message=HOSTILE)])
    assert text.count("\n") == 1
    assert "\x1b" not in text


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("check --sm 9.0 --head-size 128 --vllm 0.33.0", 0),
        ("check --sm 9.0 --head-size 96 --vllm 0.33.0 --backend FLASHINFER", 1),
        ("explain FLASHINFER", 0),
        ("lint", 0),
        ("--version", 0),
    ],
)
@pytest.mark.parametrize("closed", ["1>&-", "1>&- 2>&- 0<&-"])
def test_closed_streams(tmp_path: Path, command: str, code: int, closed: str) -> None:
    """A shell that closed our output wants the exit code and nothing else."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COMPATCHECK_CACHE_DIR": str(tmp_path / "cache")}
    line = f"exec '{sys.executable}' -m compatcheck {command} {closed}"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, timeout=120)
    assert (done.returncode, done.stderr) == (code, b"")
