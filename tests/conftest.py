"""Fixtures that every test may use."""

from __future__ import annotations

import pytest

from compatcheck.matrix.load import LoadedMatrix, load


@pytest.fixture(scope="session")
def loaded() -> LoadedMatrix:
    """The packaged matrix."""
    return load()
