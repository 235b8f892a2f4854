from __future__ import annotations

import sys
from pathlib import Path

import pytest

from compatcheck.host.interpreter import InterpreterError, ask_interpreter

from .test_toolkit import program


def test_a_real_interpreter_answers() -> None:
    found = ask_interpreter(sys.executable)
    assert found.version == ".".join(map(str, sys.version_info[:3]))
    assert any(path.name in ("site-packages", "dist-packages") for path in found.site_paths)
    assert all(path.is_dir() for path in found.site_paths)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("echo 'no module' >&2; exit 4", "ended with 4: no module"),
        ("echo hello", "is not a Python interpreter"),
        ("echo '[1, 2]'", "is not a Python interpreter"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(InterpreterError, match=message):
        ask_interpreter(program(tmp_path / "python", body))


def test_a_missing_interpreter(tmp_path: Path) -> None:
    with pytest.raises(InterpreterError, match="cannot be run: No such file or directory"):
        ask_interpreter(tmp_path / "absent")
