"""An engine at one release: what it has, in which order it asks, what it picks."""

from __future__ import annotations

from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.engine import latest
from compatcheck.resolve.normalise import normalise

from .conftest import Small


class Since:
    def __init__(self, since: str) -> None:
        self.since = since


@pytest.mark.parametrize(
    ("release", "since"),
    [("0.1.0", None), ("0.20.0", "0.20.0"), ("0.20.5", "0.20.0"), ("0.9.0", "0.3"), ("1.0", "0.20.0")],
)
def test_latest_is_by_version_not_by_text(release: str, since: str | None) -> None:
    found = latest([Since("0.20.0"), Since("0.3")], release)
    assert (found.since if found else None) == since


def facts(loaded: LoadedMatrix, **fields: Any) -> Configuration:
    return normalise(loaded.matrix, Configuration(**fields)).facts


def test_backends_of_a_release(small: Small) -> None:
    resolver = small().resolver
    assert resolver.engine("vllm", "0.2.0").backends == ["FLASH_ATTN", "FLASHINFER"]
    assert resolver.engine("vllm", "0.3.0").backends == ["FLASH_ATTN"]
    assert resolver.engine("vllm", "0.1.0").kv_cache_dtypes == ["auto", "fp8"]


def test_order_passes_over_what_the_release_lacks(small: Small) -> None:
    loaded = small()
    for release, sm, order in (
        ("0.2.0", "12.0", ["FLASHINFER", "FLASH_ATTN"]),
        ("0.2.0", "9.0", ["FLASH_ATTN", "FLASHINFER"]),
        ("0.3.0", "12.0", ["FLASH_ATTN"]),
    ):
        engine = loaded.resolver.engine("vllm", release)
        assert engine.order(facts(loaded, sm=sm)) == (order, frozenset())
    assert engine.order(facts(loaded)) == (None, {"sm"})


def test_selection_stops_at_the_first_that_cannot_tell(small: Small) -> None:
    loaded = small()
    engine = loaded.resolver.engine("vllm", "0.2.0")
    selection = engine.select(facts(loaded, sm="9.0", engine_version="0.2.0"))
    assert (selection.selected, selection.missing) == (None, {"head_size"})
    selection = engine.select(facts(loaded, sm="9.0", engine_version="0.2.0", head_size=128))
    assert (selection.selected, selection.candidates) == ("FLASH_ATTN", ("FLASH_ATTN", "FLASHINFER"))
    selection = engine.select(facts(loaded, sm="9.0", engine_version="0.2.0", head_size=100))
    assert selection.selected is None
    assert selection.rejected == dict.fromkeys(("FLASH_ATTN", "FLASHINFER"), ("head_size not supported",))


def test_an_earlier_unknown_hides_a_later_acceptance(loaded: LoadedMatrix) -> None:
    """The first backend may still be picked, so the second is not."""
    engine = loaded.resolver.engine("vllm", "0.33.0")
    selection = engine.select(facts(loaded, sm="9.0", kv_cache_dtype="auto"))
    assert (selection.selected, selection.missing) == (None, {"head_size"})
    assert "FLEX_ATTENTION" in selection.candidates


def test_routes(loaded: LoadedMatrix) -> None:
    engine = loaded.resolver.engine("vllm", "0.33.0")
    for fields, route in (
        ({"sm": "10.0", "kv_cache_dtype": "nvfp4"}, "flashinfer.nvfp4_native"),
        ({"sm": "9.0", "kv_cache_dtype": "nvfp4"}, "flashinfer.nvfp4_slot_mapping"),
        ({"sm": "12.0", "kv_cache_dtype": "nvfp4"}, "flashinfer.nvfp4_slot_mapping_xqa"),
        ({"sm": "12.0", "kv_cache_dtype": "nvfp4", "head_size": 512}, "flashinfer.nvfp4_slot_mapping"),
        ({"sm": "12.0", "kv_cache_dtype": "nvfp4", "cubins_available": False}, "flashinfer.nvfp4_slot_mapping"),
        ({"sm": "10.0", "kv_cache_dtype": "fp8"}, "flashinfer.trtllm_gen_fp8"),
        ({"sm": "8.0"}, "flashinfer.native"),
    ):
        asked = facts(loaded, **{"backend": "FLASHINFER", "head_size": 128} | fields)
        assert engine.route(asked) == (route, frozenset())
    assert engine.route(facts(loaded, backend="FLASHINFER", kv_cache_dtype="nvfp4", head_size=128)) == (None, {"sm"})


def test_a_backend_that_cannot_be_imported(loaded: LoadedMatrix) -> None:
    engine = loaded.resolver.engine("vllm", "0.33.0")
    judgement = engine.judge("NO_ATTENTION", facts(loaded))
    assert judgement.accepted is False
    assert judgement.words[0].startswith("import: ModuleNotFoundError")
