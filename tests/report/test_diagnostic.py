"""Findings as diagnostics: levels, places, and a missing fact as one of its own."""

from __future__ import annotations

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.report.diagnostic import of_verdict

from ..resolve.conftest import judge


def test_levels_and_places(loaded: LoadedMatrix) -> None:
    verdict = judge(
        loaded, engine_version="0.33.0", sm="12.1", backend="FLASHINFER", kv_cache_dtype="fp8_e5m2", head_size=128
    )
    found = of_verdict(verdict, "b.jsonl", 7)
    assert {(d.file, d.line, d.column) for d in found} == {("b.jsonl", 7, 1)}
    levels = {d.code: d.level for d in found}
    assert levels["vllm-xqa-e5m2"] == "warning"
    assert set(levels.values()) == {"warning", "note"}
    assert all(d.source for d in found)


def test_unknown(loaded: LoadedMatrix) -> None:
    (found,) = of_verdict(judge(loaded, backend="FLASHINFER"))
    assert (found.code, found.level, found.message) == ("unknown", "warning", "The verdict is unknown: head_size, sm.")
    assert (found.file, found.line, found.column) == (None, None, None)
