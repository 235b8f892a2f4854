"""Ask another Python interpreter for its version and search path, so that its packages can be inspected."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

_SECONDS = 30
_QUESTION = "import json, sys; print(json.dumps(['.'.join(map(str, sys.version_info[:3])), sys.path[1:]]))"


class InterpreterError(ValueError):
    """The given program is no Python interpreter, or it failed; the text says how."""


class Interpreter(NamedTuple):
    """Version ('3.12.3') and search path of an interpreter."""

    version: str
    site_paths: list[Path]


def ask_interpreter(python: str | Path) -> Interpreter:
    """Run an interpreter, which imports only its standard library, and return its version and path.

    Raises `InterpreterError` where it cannot be run, fails, or answers with something else.
    """
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 - the user named this program
            [str(python), "-c", _QUESTION],
            capture_output=True,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InterpreterError(f"{python}: no answer within {_SECONDS} s") from None
    except (OSError, ValueError) as error:
        raise InterpreterError(f"{python}: cannot be run: {getattr(error, 'strerror', None) or error}") from None
    if done.returncode != 0:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise InterpreterError(f"{python}: ended with {done.returncode}: {' '.join(last)}")
    try:
        version, paths = msgspec.json.decode(done.stdout, type=tuple[str, list[str]])
    except msgspec.DecodeError:
        raise InterpreterError(f"{python}: is not a Python interpreter (its answer was not understood)") from None
    return Interpreter(version, [Path(path) for path in paths if path and Path(path).is_dir()])
