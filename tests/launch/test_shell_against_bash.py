"""What is read in a script, against what bash runs: a `vllm` first on PATH notes its words and its variables."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from compatcheck.launch.command_line import launches_in_script
from compatcheck.launch.model import Launch, Word

_DATA = (Path(__file__).parents[1] / "data" / "shell_scripts.txt").read_text("utf-8")
_PARTS = [part.partition("\n") for part in re.split(r"^=== ", _DATA, flags=re.M)[1:]]
SCRIPTS = {head.rpartition(":")[0]: script for head, _, script in _PARTS}
KNOWN = {head.rpartition(":")[0] for head, _, _ in _PARTS if head.endswith(": known")}
"""Scripts of which every word and variable can be known."""
Run = tuple[list[str], dict[str, str]]
_VLLM = r"""#!/bin/sh
[ "$1" = serve ] || exit 0
{ printf '%s\0' "$@"; printf 'ENV\0'; env -0 | grep -z '^VLLM_'; } > "$NOTED/$$"
mv "$NOTED/$$" "$NOTED/$$.run"
"""
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")


def runs_of(script: str, folder: Path) -> list[Run]:
    """Run a script; return the words and the variables with which it started vLLM."""
    programs, here, noted = folder / "bin", folder / "here", folder / "noted"
    programs.mkdir()
    here.mkdir()
    noted.mkdir()
    (programs / "vllm").write_text(_VLLM, "utf-8")
    (programs / "vllm").chmod(0o755)
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "NOTED": str(noted), "HOME": str(folder)}
    command = ["bash", "-c", script]
    subprocess.run(command, cwd=here, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    found: list[Run] = []
    for file in noted.glob("*.run"):
        words, variables = file.read_text("utf-8").split("ENV\0")
        pairs = [text.split("=", 1) for text in variables.split("\0") if text]
        found.append((words.split("\0")[1:-1], dict(pairs)))
    return found


def agrees(launch: Launch, run: Run) -> bool:
    """Return whether all that is said of a launch holds for a run; what is `dynamic` may be any words, or none."""
    pattern = "".join("(?:[^\0]*\0)*" if word.dynamic else re.escape(word.text) + "\0" for word in launch.words)
    words = re.fullmatch(pattern, "".join(f"{word}\0" for word in run[0]), re.S)
    said = {name: word for name, word in launch.environment.items() if name.startswith("VLLM_")}
    wrong = [name for name, word in said.items() if not word.dynamic and run[1].get(name) != word.text]
    silent = [name for name in run[1] if name not in said and not launch.elsewhere and not launch.env_files]
    return words is not None and not wrong and not silent


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_is_read_is_what_bash_runs(name: str, tmp_path: Path) -> None:
    runs = runs_of(SCRIPTS[name], tmp_path)
    launches = launches_in_script(SCRIPTS[name])
    assert runs or not launches
    assert [run for run in runs if not any(agrees(launch, run) for launch in launches)] == []
    assert [launch for launch in launches if not any(agrees(launch, run) for run in runs)] == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_can_be_known_is_known(name: str) -> None:
    """What can be known of a script is; in another one something stays open."""
    open_ = any(_open(launch) for launch in launches_in_script(SCRIPTS[name]))
    assert open_ == (name not in KNOWN)


def _open(launch: Launch) -> bool:
    words: list[Word] = [*launch.words, *launch.environment.values()]
    return any(word.dynamic for word in words) or bool(launch.elsewhere or launch.env_files)


def test_bash_is_asked(tmp_path: Path) -> None:
    assert runs_of("VLLM_X=1 vllm serve 'a b'; vllm bench", tmp_path) == [(["a b"], {"VLLM_X": "1"})]
    assert os.fspath(tmp_path) not in os.environ["PATH"]
