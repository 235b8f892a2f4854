"""A cold `compatcheck check` against `python -c pass`, and proof of what it never imports.

Run: python -m benchmarks.cold_start
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

CHECK = [
    "-m",
    "compatcheck",
    "check",
    "--no-host",
    "--sm",
    "9.0",
    "--backend",
    "FLASHINFER",
    "--kv-cache-dtype",
    "nvfp4",
]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""An installed package has its bytecode; a checkout has it only where Python may write it."""
HEAVY = ("torch", "flashinfer", "vllm", "jinja2", "rich", "yaml", "numpy", "pydantic")


def seconds(commands: list[list[str]], runs: int) -> list[float]:
    """Median wall times of fresh interpreters, one command after the other so that a slow minute meets all alike."""
    times: list[list[float]] = [[] for _ in commands]
    for _ in range(runs):
        for arguments, found in zip(commands, times, strict=True):
            start = time.perf_counter()
            subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=False, env=ENVIRONMENT)
            found.append(time.perf_counter() - start)
    return [statistics.median(found) for found in times]


def imported() -> list[str]:
    """The heavy modules that a check imports."""
    code = (
        "import sys, io; sys.argv = ['compatcheck', *" + repr(CHECK[2:]) + "]\n"
        "sys.stdout = io.StringIO()\n"
        "from compatcheck.cli.entry import entry\n"
        "try: entry()\n"
        "except SystemExit: pass\n"
        f"sys.stderr.write(','.join(m for m in {HEAVY!r} if m in sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [name for name in run.stderr.strip().split(",") if name]


def main(runs: int = 21) -> None:
    """Print the ratio."""
    check = [*CHECK, "--head-size", "128"]
    seconds([check], 2)  # fills the caches
    empty, full = seconds([["-c", "pass"], check], runs)
    loaded = ", ".join(imported()) or "none"
    print(f"python -c pass: 1x; compatcheck check: {full / empty:.1f}x (bar: 8x); heavy modules imported: {loaded}")


if __name__ == "__main__":
    main()
