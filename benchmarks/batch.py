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


def main() -> None:
    """Print cells per second, whole process included, and the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        cells = Path(folder) / "cells.jsonl"
        count = write_cells(cells)
        start = time.perf_counter()
        command = [sys.executable, "-m", "compatcheck", "check", "--batch", str(cells)]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        rate = count / (time.perf_counter() - start)
    print(f"compatcheck: {count} cells, {rate:.0f} cells/s")
    if len(sys.argv) > 1:
        print(f"against vLLM's validate_configuration: {rate / float(sys.argv[1]):.1f}x (bar: 10x)")


if __name__ == "__main__":
    main()
