"""Size of the base install, dependencies included, in a fresh virtual environment.

Run: python -m benchmarks.size
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Print the size of site-packages after `pip install .`, without pip itself."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "site"
        venv.create(Path(folder) / "venv", with_pip=True)
        python = Path(folder) / "venv" / "bin" / "python"
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "--no-compile", "--target", target, str(ROOT)],
            check=True,
            stdout=sys.stderr,
        )
        sizes = {
            p.name: sum(f.stat().st_size for f in p.rglob("*") if f.is_file()) for p in target.iterdir() if p.is_dir()
        }
    for name, size in sorted(sizes.items(), key=lambda item: -item[1])[:8]:
        print(f"{name:<40}{size / 1e6:8.2f} MB")
    print(f"total {sum(sizes.values()) / 1e6:.2f} MB (bar: 15 MB)")


if __name__ == "__main__":
    main()
