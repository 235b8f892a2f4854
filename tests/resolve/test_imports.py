"""Backends whose module cannot be imported: the selector passes them over in its own words, a forced one is refused."""

from __future__ import annotations

from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix

from .conftest import codes, judge

WRITER = "ImportError: cannot import name 'nvfp4_quantize_append_paged_kv_cache_with_slot_mapping' from 'flashinfer'"
NO_MODULE = "ModuleNotFoundError: No module named 'flashinfer'"
SM100: dict[str, Any] = {"sm": "10.0", "head_size": 128}


@pytest.mark.parametrize(
    ("release", "words"), [("0.18.1", "ImportError"), ("0.28.0", "ImportError"), ("0.29.0", NO_MODULE)]
)
def test_without_flashinfer_selection_passes_it_over(loaded: LoadedMatrix, release: str, words: str) -> None:
    answer = judge(loaded, **SM100, engine_version=release, has_flashinfer=False)
    assert (answer.verdict, answer.selected) == ("supported", "FLASH_ATTN")
    assert answer.rejected is not None
    assert answer.rejected["FLASHINFER"] == (words,)
    assert "flashinfer_version" not in {assumption.field for assumption in answer.assumed}
    forced = judge(loaded, **SM100, engine_version=release, has_flashinfer=False, backend="FLASHINFER")
    assert (forced.verdict, forced.engine_reasons, forced.fails_at) == ("unsupported", (words,), "selection")
    assert codes(forced) == ["flashinfer-not-installed"]


def test_what_is_not_installed_wins_over_a_version(loaded: LoadedMatrix) -> None:
    answer = judge(loaded, **SM100, has_flashinfer=False, flashinfer_version="0.7.2.post1", backend="FLASHINFER")
    assert answer.verdict == "unsupported"


@pytest.mark.parametrize("kv", ["auto", "fp8", "nvfp4"])
@pytest.mark.parametrize("sm", ["8.0", "9.0", "10.0", "12.0"])
@pytest.mark.parametrize("missing", [{"flashinfer_version": "0.6.14"}, {"slot_mapping_helpers": False}])
def test_the_writer_is_imported_for_every_dtype_since_0_32(
    loaded: LoadedMatrix, kv: str, sm: str, missing: dict[str, Any]
) -> None:
    case = {"sm": sm, "head_size": 128, "kv_cache_dtype": kv, **missing}
    for release in ("0.32.0", "0.33.0"):
        answer = judge(loaded, **case, engine_version=release, backend="FLASHINFER")
        assert (answer.verdict, answer.engine_reasons) == ("unsupported", (WRITER,))
    before = judge(loaded, **case, engine_version="0.31.0", backend="FLASHINFER")
    assert WRITER not in before.engine_reasons


def test_automatic_selection_goes_on_to_what_can_be_imported(loaded: LoadedMatrix) -> None:
    answer = judge(loaded, **SM100, engine_version="0.33.0", flashinfer_version="0.6.14")
    assert (answer.verdict, answer.selected) == ("supported", "FLASH_ATTN")
    assert answer.rejected is not None
    assert answer.rejected["FLASHINFER"] == (WRITER,)


def test_a_nightly_leaves_the_pick_open(loaded: LoadedMatrix) -> None:
    answer = judge(loaded, **SM100, engine_version="0.33.0", flashinfer_version="0.6.14.dev20260601")
    assert (answer.verdict, answer.missing) == ("unknown", ("slot_mapping_helpers",))


def test_an_import_error_is_the_only_reason(loaded: LoadedMatrix) -> None:
    answer = judge(loaded, sm="7.5", head_size=80, backend="FLASHINFER", has_flashinfer=False)
    assert answer.engine_reasons == (NO_MODULE,)
