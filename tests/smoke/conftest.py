from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from compatcheck.smoke.cell import SmokeCell
from compatcheck.smoke.outcome import Expectation, Result
from compatcheck.smoke.runner import Runner, RunnerOptions, Watcher
from tests.smoke.broken import KERNELS

ROOT = Path(__file__).resolve().parents[2]
FAKES = "tests.smoke.broken:KERNELS"


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Workers must find the fake kernels; nothing is written outside of the test's own directory."""
    path = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{path}" if path else str(ROOT))
    monkeypatch.setenv("COMPATCHECK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.fixture
def journal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], list[str]]:
    """What the workers did, in order."""
    path = tmp_path / "journal"
    monkeypatch.setenv("SMOKE_TEST_JOURNAL", str(path))
    return lambda: path.read_text().splitlines() if path.exists() else []


def fake(driver: str, name: str | None = None, **values: Any) -> SmokeCell:
    """A cell of a fake kernel, expected to be supported unless said otherwise."""
    values.setdefault("expected", Expectation(kind="supported", path=("kernels", f"fake.{driver}")))
    return SmokeCell(
        id=name or f"fake.{driver}/cpu",
        kernel=f"fake.{driver}",
        driver=driver,
        symbol="",
        phase="decode",
        sm="cpu",
        **values,
    )


def drive(
    cells: Sequence[SmokeCell], watcher: Watcher | None = None, **options: Any
) -> tuple[dict[str, Result], Runner]:
    """Run cells of fake kernels; return results by id, in the order they came, and the runner."""
    results: dict[str, Result] = {}

    def keep(cell: SmokeCell, result: Result) -> None:
        assert cell.id not in results, "a cell has one result"
        results[cell.id] = result

    options.setdefault("timeout", 20.0)
    runner = Runner(cells, {k.name: k for k in KERNELS}, RunnerOptions(kernels=FAKES, **options), keep, watcher)
    runner.run()
    return results, runner
