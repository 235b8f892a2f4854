"""Rules that a whole launch settles: each stays where nothing of the launch settles it."""

from __future__ import annotations

import pytest

from compatcheck.launch.one_kind import without_settled
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.matrix.model import Settling
from compatcheck.resolve.configuration import Configuration

CASES: list[tuple[dict[str, str | int], Settling]] = [
    ({"engine_version": "0.33.0", "backend": "FLASHINFER", "sliding_window": 1024}, "windows"),
    ({"engine_version": "0.25.1", "kv_cache_dtype": "turboquant_k8v4"}, "model_runner"),
    (
        {
            "engine_version": "0.23.0",
            "backend": "TRITON_ATTN",
            "kv_cache_dtype": "fp8_per_token_head",
            "model_type": "gemma4",
        },
        "pages",
    ),
]


@pytest.mark.parametrize(("given", "settled"), CASES)
def test_only_what_is_settled_goes(loaded: LoadedMatrix, given: dict[str, str | int], settled: Settling) -> None:
    rules = loaded.matrix.rules
    verdict = loaded.resolver.resolve(Configuration(sm="9.0", head_size=128, **given))  # type: ignore[arg-type]
    mine = {finding.code for finding in verdict.findings if rules[finding.code].settled_by == settled}
    assert mine
    others: list[Settling] = [one for _, one in CASES if one != settled]
    assert without_settled(verdict, rules, others) == verdict
    left = without_settled(verdict, rules, [settled])
    assert not mine & {finding.code for finding in left.findings}
    assert left.verdict == "supported"
