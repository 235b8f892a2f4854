"""Selection explained: the release's order, the pick, and what would change it."""

from __future__ import annotations

from pathlib import Path

import pytest

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import normalise
from compatcheck.resolve.selection import explain_selection, why
from tests.oracle import rows

DEEPSEEK = rows.MODELS["dsv3"] | {"use_mla": True, "head_size": 576}


@pytest.mark.parametrize("path", rows.files(), ids=rows.release)
def test_equal_to_the_engine_on_every_auto_row(path: Path, loaded: LoadedMatrix) -> None:
    seen = 0
    for row in rows.read(path, "auto"):
        answer = explain_selection(loaded.resolver, rows.configuration(row))
        assert answer.selected == row["selected"], row
        assert [c.name for c in answer.candidates if c.accepted] == row["candidates"], row
        assert {c.name: list(c.words) for c in answer.candidates if c.words} == row["rejected"], row
        seen += 1
    assert seen > 30


def test_ranks_follow_the_release_and_the_gpu(loaded: LoadedMatrix) -> None:
    hopper = explain_selection(loaded.resolver, Configuration(engine_version="0.33.0", sm="9.0", head_size=128))
    blackwell = explain_selection(loaded.resolver, Configuration(engine_version="0.33.0", sm="10.0", head_size=128))
    assert [c.rank for c in hopper.candidates] == list(range(1, len(hopper.candidates) + 1))
    assert [c.name for c in hopper.candidates][:2] == ["FLASH_ATTN", "FLASHINFER"]
    assert [c.name for c in blackwell.candidates][:2] == ["FLASHINFER", "FLASH_ATTN"]
    assert sum(c.picked for c in hopper.candidates) == 1


def test_a_forced_backend_does_not_change_what_would_be_picked(loaded: LoadedMatrix) -> None:
    given = Configuration(sm="9.0", head_size=128, backend="TRITON_ATTN")
    assert explain_selection(loaded.resolver, given).selected == "FLASH_ATTN"


def test_mla_prefill_is_selected_apart(loaded: LoadedMatrix) -> None:
    answer = explain_selection(loaded.resolver, Configuration(engine_version="0.33.0", sm="10.0", **DEEPSEEK))
    assert answer.prefill is not None
    assert answer.prefill_selected in [c.name for c in answer.prefill if c.accepted]
    assert answer.selected not in [c.name for c in answer.prefill if c.picked]
    assert explain_selection(loaded.resolver, Configuration(sm="10.0", head_size=128)).prefill is None


def test_why_names_single_changes_that_hold(loaded: LoadedMatrix) -> None:
    given = Configuration(engine_version="0.33.0", sm="9.0", head_size=128)
    answer = why(loaded.resolver, given, "FLASHINFER")
    assert not answer.picked
    assert answer.accepted
    assert answer.outranked_by == ("FLASH_ATTN",)
    assert {(c.of, c.field) for c in answer.changes} >= {("command", "kv_cache_dtype"), ("gpu", "sm")}
    import msgspec

    for change in answer.changes:
        more = {"flashinfer_version": None} if change.field == "engine_version" else {}
        changed = msgspec.structs.replace(given, **{change.field: change.value}, **more)
        assert loaded.resolver.judge(normalise(loaded.matrix, changed)).selected == "FLASHINFER", change


def test_why_of_the_pick_of_an_unknown_and_of_a_refused_one(loaded: LoadedMatrix) -> None:
    given = Configuration(engine_version="0.33.0", sm="9.0", head_size=128)
    assert why(loaded.resolver, given, "FLASH_ATTN").picked
    unknown = why(loaded.resolver, given, "NO_SUCH")
    assert (unknown.known, unknown.changes) == (False, ())
    refused = why(loaded.resolver, given, "FLASHMLA")
    assert refused.accepted is False
    assert refused.words
    assert not refused.in_order


def test_why_of_an_mla_prefill_backend(loaded: LoadedMatrix) -> None:
    answer = why(loaded.resolver, Configuration(engine_version="0.33.0", sm="10.0", **DEEPSEEK), "TRTLLM_RAGGED")
    assert answer.known
    assert answer.in_order
