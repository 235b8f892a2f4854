"""A finding cites the line that decided: of the entry, of a release's change, of a parent, or of an overlay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix, load

from .conftest import judge


def cited(loaded: LoadedMatrix, **fields: Any) -> str:
    """Return the text of the line that the first finding cites."""
    line = judge(loaded, **fields).findings[0].line
    assert line is not None
    file, _, number = line.rpartition(":")
    root = Path(__file__).parents[2]
    path = Path(file) if Path(file).is_absolute() else root / file
    return path.read_text("utf-8").splitlines()[int(number) - 1]


@pytest.mark.parametrize(
    ("release", "fields", "part"),
    [
        ("0.18.1", {"backend": "FLASHINFER", "head_size": 512}, "head_sizes: [{values: [64, 128, 256]}]"),
        ("0.33.0", {"backend": "FLASHINFER", "head_size": 96}, 'since: "0.22.0", head_sizes'),
        ("0.33.0", {"backend": "FLASHINFER", "head_size": 128, "sm": "7.5"}, 'since: "0.24.0", sms'),
        (
            "0.33.0",
            {"backend": "ULTRAQUANT", "head_size": 128, "block_size": 8, "kv_cache_dtype": "ultraquant_4bit"},
            "block_sizes: [{values: [16",
        ),
        ("0.33.0", {"backend": "FLASHINFER", "has_flashinfer": False}, "- code: flashinfer-not-installed"),
    ],
)
def test_the_line_that_decided(loaded: LoadedMatrix, release: str, fields: dict[str, Any], part: str) -> None:
    assert part in cited(loaded, **{"sm": "9.0", "engine_version": release, **fields})


def test_an_overlay_wins_and_is_cited_only_where_it_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPATCHECK_CACHE_DIR", str(tmp_path / "cache"))
    site = tmp_path / "site.yaml"
    site.write_text(
        "engines:\n  vllm:\n    backends:\n      FLASHINFER:\n        head_sizes: [{values: [96]}]\n", encoding="utf-8"
    )
    loaded = load(None, (site,))
    case: dict[str, Any] = {"sm": "8.0", "backend": "FLASHINFER"}
    for release in ("0.18.1", "0.33.0"):
        assert judge(loaded, **case, engine_version=release, head_size=96).engine_accepts is True
        assert "[{values: [96]}]" in cited(loaded, **case, engine_version=release, head_size=128)
    refused = judge(loaded, **case | {"sm": "7.5"}, engine_version="0.33.0", head_size=96)
    assert refused.findings[0].line is not None
    assert refused.findings[0].line.startswith("matrix.yaml:")
