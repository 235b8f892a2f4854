"""All pages rendered anew: with nothing kept, after one changed fact, and with every answer kept, against an empty run.

Run: python -m benchmarks.docs [RUNS]

Each case is a process of its own that reads the matrix, renders everything and writes it to an empty folder. Times are
the least of several runs; user time counts all processes, so it can be more than the wall time.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FACTS = {
    "a line that moves all others": ("matrix/rules.yaml", "\nrules:\n", "\n# one more line\nrules:\n"),
    "a rule of one backend": (
        "matrix/rules.yaml",
        "when: {backend: FLASHINFER, has_sink: true, sm: 12.x}",
        "when: {backend: FLASHINFER, has_sink: true, sm: [11.x, 12.x]}",
    ),
    "a backend's SMs": (
        "matrix.yaml",
        "        sms: {sm: 10.x}\n",
        "        sms: {sm: [10.x, 11.x]}\n",
    ),
    "a gate of a linear kernel": ("matrix/linear.yaml", "when: {not: {sm: 10.x}}", 'when: {not: {sm: "10.0"}}'),
}
"""What is changed: file, old text, new text."""


def timed(arguments: list[str], folder: Path, cache: Path) -> tuple[float, float]:
    """Wall and user seconds of a fresh interpreter."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": str(ROOT), "COMPATCHECK_CACHE_DIR": str(cache)}
    user, start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, time.perf_counter()
    run = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, check=False)
    wall = time.perf_counter() - start
    if run.returncode not in (0, 1):
        raise SystemExit(run.stderr.decode())
    return wall, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - user


def docs(matrix: Path, kept: Path | None, runs: int) -> tuple[float, float]:
    """Least wall and user seconds of `compatcheck docs` over a matrix; each run starts with the cache `kept`.

    What a run has written stays until the end: after many files were deleted, making new ones was seen to take ten
    times as long (ext4).
    """
    found: list[tuple[float, float]] = []
    for _ in range(runs):
        own = Path(tempfile.mkdtemp(dir=matrix.parent))
        cache = own / "cache"
        if kept is not None:
            shutil.copytree(kept, cache, ignore=shutil.ignore_patterns("docs-*.json"))  # or nothing would be rendered
        found.append(timed(["-m", "compatcheck", "docs", "--output", str(own / "docs")], matrix, cache))
    return min(wall for wall, _ in found), min(user for _, user in found)


def main(runs: int = 3) -> None:
    """Print seconds, and how many times an empty interpreter's user time each case takes."""
    with tempfile.TemporaryDirectory() as own:
        matrix, kept = Path(own) / "matrix", Path(own) / "kept"
        cases: dict[str, tuple[float, float]] = {}
        for name, (file, old, new) in {"nothing": ("matrix.yaml", "", ""), **FACTS}.items():
            shutil.rmtree(matrix, ignore_errors=True)
            (matrix / "matrix").mkdir(parents=True)
            for path in (ROOT / "matrix.yaml", *(ROOT / "matrix").glob("*.yaml")):
                shutil.copy(path, matrix / path.relative_to(ROOT))
            text = (matrix / file).read_text("utf-8")
            if old not in text:
                raise SystemExit(f"{file} has no {old!r} any more: change the benchmark")
            (matrix / file).write_text(text.replace(old, new, 1), "utf-8")
            if name == "nothing":
                timed(["-m", "compatcheck", "docs", "--output", str(Path(own) / "docs")], matrix, kept)
                cases["nothing kept"] = docs(matrix, None, runs)
                cases["every answer kept"] = docs(matrix, kept, runs)
            else:
                cases[f"changed: {name}"] = docs(matrix, kept, runs)
        # The mean: where time is counted in ticks, one run of so little may count as none.
        empty = sum(timed(["-c", "pass"], matrix, kept)[1] for _ in range(10 * runs)) / (10 * runs)
        cores = len(os.sched_getaffinity(0))
        print(f"{cores} cores; python -c pass: {empty:.3f} s user; bar for everything rendered anew: 2 s")
        for name, (wall, user) in cases.items():
            print(f"{name}: {wall:.1f} s, {user:.1f} s user, {user / empty:.0f}x python -c pass")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
