"""What is read from Makefiles, against what GNU make really runs: the words and variables that a `vllm` is given."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from compatcheck.launch.files.makefile import Makefile
from compatcheck.launch.model import Launch, Word

SAID = (Path(__file__).parents[1] / "data" / "makefiles.txt").read_text("utf-8")
CASES = re.findall(r"^=====(\S+) (known|open)\n(.*?)(?=^=====|\Z)", SAID, re.M | re.S)
"""Target, whether all of it is in the file, and the Makefile, `|` for the tab of recipes."""
PROGRAM = """#!/bin/sh
if [ "$1" = -m ]; then shift 2; else shift; fi
{ printf '%s\\0' "$@"; printf '\\1'; env | grep -E '^(VLLM_|KV)'; printf '\\2'; } >> "$OUT"
"""

Ran = tuple[list[str], dict[str, str]]


def run_make(folder: Path, text: str, target: str) -> list[Ran]:
    programs = folder / "bin"
    programs.mkdir()
    for name in ("vllm", "python3"):
        (programs / name).write_text(PROGRAM)
        (programs / name).chmod(0o755)
    (folder / "Makefile").write_text(text)
    out = folder / "out"
    out.touch()
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "OUT": str(out)}
    subprocess.run(["make", "-s", target], cwd=folder, env=environment, capture_output=True, check=False)
    found: list[Ran] = []
    for one in out.read_text().split("\2")[:-1]:
        words, variables = one.split("\1")
        found.append((words.split("\0")[:-1], dict(line.split("=", 1) for line in variables.splitlines())))
    return found


def fits(words: tuple[Word, ...], texts: list[str]) -> bool:
    """Return whether the words may be these texts: an open one stands for any number of them."""
    if not words:
        return not texts
    if words[0].dynamic:
        return any(fits(words[1:], texts[count:]) for count in range(len(texts) + 1))
    return bool(texts) and words[0].text == texts[0] and fits(words[1:], texts[1:])


def may_be(launch: Launch, ran: Ran) -> bool:
    given = {name: word for name, word in launch.environment.items() if name.startswith(("VLLM_", "KV"))}
    more = bool(launch.elsewhere or launch.env_files)
    right = all(word.dynamic or ran[1].get(name) == word.text for name, word in given.items())
    return right and (more or ran[1].keys() <= given.keys()) and fits(launch.words, ran[0])


def is_open(launch: Launch) -> bool:
    words = (*launch.words, *launch.environment.values())
    return bool(launch.elsewhere or launch.env_files) or any(word.dynamic for word in words)


def test_there_are_fifty() -> None:
    assert len(CASES) >= 50


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize(("target", "state", "text"), CASES)
def test_as_make_runs_it(tmp_path: Path, target: str, state: str, text: str) -> None:
    text = text.replace("|", "\t")
    launches = Makefile().launches(text)
    ran = run_make(tmp_path, text, target)
    assert ran
    for one in ran:
        assert any(may_be(launch, one) for launch in launches), one
    assert any(is_open(launch) for launch in launches) is (state == "open")
