"""Ranking: an id, then words found in the text, then the text found in words, then rare terms."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compatcheck.explain.entries import Entry, entries
from compatcheck.explain.match import find
from compatcheck.matrix.load import LoadedMatrix

INDEX = [
    Entry(id="one", kind="rule", title="first", words=("cannot read the {dtype} cache on SM {sm}",)),
    Entry(id="two", kind="advisory", title="second", words=("/Tllm.{0,9}Runner: \\d+ failed/",)),
    Entry(id="three", kind="kernel", title="third kernel of the flashinfer library"),
    Entry(id="four", kind="library refusal", title="fourth", words=("the {dtype} cache",)),
]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("ONE", ["one"]),
        ("ValueError: cannot  read the\nnvfp4 cache on SM 12.0 today", ["one", "four"]),
        ("x TllmGenRunner: 12 failed y", ["two"]),
        ("cannot read the", ["one"]),
        ("kernel flashinfer", ["three"]),
        ("", []),
        ("unrelated things", []),
    ],
)
def test_ranking(text: str, ids: list[str]) -> None:
    found = [match.entry.id for match in find(INDEX, text)]
    assert found[: len(ids)] == ids
    assert bool(found) is bool(ids)


def test_scores_fall(loaded: LoadedMatrix) -> None:
    scores = [match.score for match in find(entries(loaded), "nvfp4 KV cache is not supported", limit=50)]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


APPEND = "nvfp4_quantize_append_paged_kv_cache_with_slot_mapping"


@pytest.mark.parametrize(
    ("text", "first", "how"),
    [
        (
            f"AttributeError: module 'flashinfer' has no attribute '{APPEND}'",
            "fi-slot-mapping-helpers",
            "a name in the text",
        ),
        (
            "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
            "fi-xqa-dtype-fallthrough",
            "words that any fault on the GPU prints",
        ),
        ("INFO Using FLASHINFER_MLA_SPARSE_DSV41 as the backend of this layer", None, None),
    ],
)
def test_weak_evidence_is_called_weak(loaded: LoadedMatrix, text: str, first: str | None, how: str | None) -> None:
    found = find(entries(loaded), text)
    assert (found[0].entry.id if found else None, found[0].how if found else None) == (first, how)
    assert all(match.score < 0.5 for match in found)


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=60))
def test_any_text(text: str) -> None:
    find(INDEX, text)


def test_every_entry_is_found_by_its_id_and_by_its_own_words(loaded: LoadedMatrix) -> None:
    index = entries(loaded)
    by_id = {entry.id for entry in index}
    for name in by_id:
        assert find(index, name)[0].entry.id == name
    lost = []
    for entry in index:
        words = entry.words[0] if entry.words and entry.kind in ("rule", "advisory") else "/"
        if words.startswith("/") or len(words) < 8:
            continue
        found = [match.entry for match in find(index, words, limit=50)]
        named = " ".join(other.why or "" for other in found if other.symptom)  # says which causes its words have
        if entry.id not in {other.id for other in found} and entry.id not in named:
            lost.append((entry.id, words))
    assert lost == []
