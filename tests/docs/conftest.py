"""The small matrix, the real one, and a place for caches."""

from __future__ import annotations

from pathlib import Path

import pytest

from compatcheck.docs.grid import Grid
from compatcheck.docs.render import render_all
from compatcheck.matrix.load import LoadedMatrix, load

SMALL = Path(__file__).parent / "data" / "small.yaml"


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPATCHECK_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="session")
def small() -> LoadedMatrix:
    return load(SMALL)


@pytest.fixture(scope="session")
def real() -> LoadedMatrix:
    return load()


@pytest.fixture(scope="session")
def real_grid(real: LoadedMatrix) -> Grid:
    return Grid(real)


@pytest.fixture(scope="session")
def small_files(small: LoadedMatrix, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return render_all(small, tmp_path_factory.mktemp("none"))
