"""Cells per second of `compatcheck check --batch` over the oracle's own cells, against vLLM's validate_configuration.

vLLM's side is measured by `vllm_validate.py`, which needs an unpacked vLLM wheel and writes cells per second; pass that
number, measured on the same machine in the same minute, to get the ratio.

Run: python -m benchmarks.batch [vLLM's cells per second]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from compatcheck.matrix.load import load
from compatcheck.resolve.normaliser import Normaliser
from tests.oracle import rows


def write_cells(path: Path) -> int:
    """Write every attn cell of the newest oracle file as a configuration; return how many."""
    count = 0
    with path.open("wb") as out:
        for row in rows.read(rows.files()[-1], "attn"):
            if "model" not in row:
                continue
            configuration = msgspec.structs.asdict(rows.configuration(row, backend=row["backend"]))
            out.write(msgspec.json.encode({k: v for k, v in configuration.items() if v is not None}) + b"\n")
            count += 1
    return count


def selector_rate() -> float:
    """Cells per second of the selector's answer alone, the one that vLLM's validate_configuration gives too."""
    loaded = load()
    normaliser = Normaliser(loaded.matrix)
    cells = [
        (row["backend"], normaliser(rows.configuration(row)))
        for row in rows.read(rows.files()[-1], "attn")
        if "model" in row
    ]
    start = time.perf_counter()
    for backend, normal in cells:
        loaded.resolver.engine("vllm", normal.release).judge(backend, normal.facts)
    return len(cells) / (time.perf_counter() - start)


def main() -> None:
    """Print cells per second, whole process included, and the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        cells = Path(folder) / "cells.jsonl"
        count = write_cells(cells)
        answers = Path(folder) / "answers.jsonl"
        command = [sys.executable, "-m", "compatcheck", "check", "--batch", str(cells)]
        with answers.open("wb") as out:
            start = time.perf_counter()
            done = subprocess.run(command, stdout=out, check=False)
            rate = count / (time.perf_counter() - start)
        answered = sum(1 for _ in answers.open("rb"))
    if done.returncode != 1 or answered != count:  # 1: some of these cells are unsupported
        sys.exit(f"not measured: exit code {done.returncode}, {answered} answers for {count} cells")
    selector = selector_rate()
    print(f"batch, whole verdicts: {rate:.0f} cells/s; the selector's answer alone, in process: {selector:.0f} cells/s")
    if len(sys.argv) > 1:
        engine = float(sys.argv[1])
        print(f"against vLLM's validate_configuration: {rate / engine:.1f}x and {selector / engine:.1f}x (bar: 10x)")


if __name__ == "__main__":
    main()
