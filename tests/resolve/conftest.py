"""A small matrix with one fault or fact planted, loaded as any other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix, load
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import normalise
from compatcheck.resolve.verdict import Verdict

from ..matrix.samples import SMALL, planted

Small = Callable[..., LoadedMatrix]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Small:
    """Load the small matrix of the lint tests, with (old, new) texts replaced and overlays merged."""
    monkeypatch.setenv("COMPATCHECK_CACHE_DIR", str(tmp_path / "cache"))

    def make(*changes: tuple[str, str], overlay: str = "") -> LoadedMatrix:
        text = SMALL
        for old, new in changes:
            planted(old, new)  # it must occur exactly once
            text = text.replace(old, new)
        (tmp_path / "m.yaml").write_text(text, encoding="utf-8")
        over = tmp_path / "o.yaml"
        over.write_text(overlay, encoding="utf-8")
        return load(tmp_path / "m.yaml", (over,) if overlay else ())

    return make


def judge(loaded: LoadedMatrix, **fields: Any) -> Verdict:
    """Return the verdict without alternatives."""
    verdict: Verdict = loaded.resolver.judge(normalise(loaded.matrix, Configuration(**fields)))
    return verdict


def codes(verdict: Verdict) -> list[str]:
    """Return the codes of a verdict's findings, in its order."""
    return [finding.code for finding in verdict.findings]
