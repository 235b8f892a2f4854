"""Start the reading process and take its answer: nothing of a wheel is read in the process of the command itself."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from compatcheck.audit import limits
from compatcheck.audit.archives import ReleaseError
from compatcheck.audit.messages import Answer, Request

_START = "import sys; sys.path.insert(0, sys.argv[1]); from compatcheck.audit.child import main; sys.exit(main())"
_ROOT = Path(__file__).resolve().parent.parent.parent


def read(request: Request, *, seconds: int = limits.SECONDS) -> Answer:
    """Return what releases say. Raises `ReleaseError` where one is refused, or where reading it ends the process."""
    with tempfile.TemporaryDirectory(prefix="compatcheck-audit-") as folder:
        progress = Path(folder) / "member"
        asked = msgspec.structs.replace(request, progress=str(progress))
        command = [sys.executable, "-I", "-c", _START, str(_ROOT)]
        try:
            done = subprocess.run(  # noqa: S603 - our own interpreter and code
                command, input=msgspec.json.encode(asked), capture_output=True, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            raise ReleaseError(f"{_last(progress)}: reading took longer than {seconds} s and was stopped") from None
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            why = (
                f"signal {-done.returncode}" if done.returncode < 0 else said[-1] if said else f"code {done.returncode}"
            )
            raise ReleaseError(f"{_last(progress)}: reading it ended the reading process ({why})")
    found = msgspec.json.decode(done.stdout, type=Answer)
    if found.refused is not None:
        raise ReleaseError(found.refused)
    return found


def _last(progress: Path) -> str:
    try:
        return progress.read_text(encoding="utf-8") or "the release"
    except OSError:
        return "the release"
