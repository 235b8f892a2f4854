"""The support table says what the resolver says, cell by cell."""

from __future__ import annotations

from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.probe.support import MLA_DIMENSIONS, support
from compatcheck.report.support_text import render
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import normalise


@pytest.mark.parametrize("mla", [False, True])
@pytest.mark.parametrize("sm", ["7.5", "9.0", "12.0"])
def test_every_cell(loaded: LoadedMatrix, sm: str, mla: bool) -> None:
    table = support(loaded, Configuration(sm=sm, engine_version="0.33.0"), mla=mla)
    engine = loaded.resolver.engine("vllm", "0.33.0")
    assert [row.kv_cache_dtype for row in table.rows] == engine.kv_cache_dtypes
    dimensions: dict[str, Any] = MLA_DIMENSIONS if mla else {"head_size": 128}
    for row in table.rows:
        asked_of: list[tuple[str | None, str]] = [(None, row.verdict), *row.backends.items()]
        for name, said in asked_of:
            sparse = name is not None and engine.program(name).facts["sparse"]
            more: dict[str, Any] = {"use_sparse": True, "index_topk": 2048} if sparse else {}
            asked = Configuration(
                sm=sm, engine_version="0.33.0", kv_cache_dtype=row.kv_cache_dtype, backend=name, **dimensions, **more
            )
            verdict = loaded.resolver.judge(normalise(loaded.matrix, asked))
            assert said == verdict.verdict
            if name is None:
                assert row.pick == verdict.selected


def test_columns_are_the_backends_of_the_kind(loaded: LoadedMatrix) -> None:
    plain, mla = (support(loaded, Configuration(sm="9.0"), mla=mla) for mla in (False, True))
    assert "FLASHINFER" in plain.rows[0].backends
    assert "FLASHMLA" not in plain.rows[0].backends
    assert "FLASHMLA" in mla.rows[0].backends
    assert set(plain.rows[0].backends).isdisjoint(mla.rows[0].backends)


def test_text_shows_only_what_works_somewhere(loaded: LoadedMatrix) -> None:
    table = support(loaded, Configuration(sm="9.0", engine_version="0.33.0"), mla=False)
    text = [line.plain() for line in render(table)]
    shown = {line.split()[0] for line in text[2:] if not line.strip().startswith("nowhere")}
    assert {"auto", "fp8", "nvfp4"} <= shown
    nowhere = next(line for line in text if "nowhere here" in line)
    for row in table.rows:
        works = any(verdict != "unsupported" for verdict in row.backends.values())
        assert (f" {row.kv_cache_dtype}" in f"{nowhere},".replace(",", " ").replace("  ", " ")) is not works or works
        assert (row.kv_cache_dtype in shown) is works
