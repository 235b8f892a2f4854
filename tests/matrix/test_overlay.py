from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compatcheck.matrix.documents import read_files
from compatcheck.matrix.errors import MatrixError
from compatcheck.matrix.lint.run import lint_files
from compatcheck.matrix.load import load
from compatcheck.matrix.overlay import merge, merge_places


def test_mappings_are_merged_and_values_replaced() -> None:
    base = {"a": {"x": 1, "y": [1, 2]}, "b": 1}
    assert merge(base, {"a": {"y": [3], "z": 4}, "c": 5}) == {"a": {"x": 1, "y": [3], "z": 4}, "b": 1, "c": 5}
    assert base == {"a": {"x": 1, "y": [1, 2]}, "b": 1}


def test_histories_grow_and_routing_is_asked_first() -> None:
    base = {"changes": [1], "routing": ["base"], "sources": ["s"], "other": [1]}
    over = {"changes": [2], "routing": ["over"], "sources": ["t"], "other": [2]}
    assert merge(base, over) == {"changes": [1, 2], "routing": ["over", "base"], "sources": ["s", "t"], "other": [2]}


BASE = "top: {a: 1, b: 2}\nrouting:\n  - {r: 1}\n  - {r: 2}\nchanges:\n  - {c: 1}\nlist: [1, 2, 3]\n"
OVER = "# an overlay\ntop: {b: 3}\nrouting:\n  - {r: 0}\nchanges:\n  - {c: 2}\nlist: [9]\n"


def test_places_follow_the_merged_value() -> None:
    document = read_files([(Path("base.yaml"), BASE.encode()), (Path("over.yaml"), OVER.encode())])
    assert document.value == {
        "top": {"a": 1, "b": 3},
        "routing": [{"r": 0}, {"r": 1}, {"r": 2}],
        "changes": [{"c": 1}, {"c": 2}],
        "list": [9],
    }
    assert document.places["top", "a"] == ("base.yaml", 1, 7)
    assert document.places["top", "b"] == ("over.yaml", 2, 7)
    assert document.places["routing", 0, "r"] == ("over.yaml", 4, 6)
    assert document.places["routing", 1, "r"] == ("base.yaml", 3, 6)
    assert document.places["routing", 2, "r"] == ("base.yaml", 4, 6)
    assert document.places["changes", 0, "c"] == ("base.yaml", 6, 6)
    assert document.places["changes", 1, "c"] == ("over.yaml", 6, 6)
    assert document.places["list", 0] == ("over.yaml", 7, 8)
    assert ("list", 1) not in document.places


VALUES = st.recursive(
    st.integers(0, 9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "changes", "routing"]), inner, max_size=3)
    ),
    max_leaves=10,
)
MAPPINGS = st.dictionaries(st.sampled_from(["a", "b", "changes", "routing", "sources"]), VALUES, max_size=4)


def paths(value: object, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    items: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    found = {path}
    for key, item in items:
        found |= paths(item, (*path, key))
    return found


@given(MAPPINGS, MAPPINGS)
def test_every_merged_entry_has_one_place(base: dict[str, object], over: dict[str, object]) -> None:
    places = merge_places(base, over, {p: ("base", p) for p in paths(base)}, {p: ("over", p) for p in paths(over)})
    merged = merge(base, over)
    assert set(places) == paths(merged)
    for path, (origin, at) in places.items():
        source: object = base if origin == "base" else over
        value: object = merged
        for key in path:
            value = value[key]  # type: ignore[index]
        for key in at:
            source = source[key]  # type: ignore[index]
        if not isinstance(value, dict | list):
            assert value == source


def test_problems_of_all_files_are_reported() -> None:
    with pytest.raises(MatrixError) as caught:
        read_files([(Path("a.yaml"), b"a: [1"), (Path("b.yaml"), b"a: 1\na: 2\n"), (Path("c.yaml"), b"- 1\n")])
    assert [(p.file, p.code) for p in caught.value.problems] == [
        ("a.yaml", "yaml-syntax"),
        ("b.yaml", "duplicate-key"),
        ("c.yaml", "not-a-mapping"),
    ]


def test_what_an_overlay_states_holds_for_every_release() -> None:
    base = "B:\n  heads: [1]\n  changes:\n    - {since: '2', heads: [2], sms: [9]}\n    - {since: '3', heads: [3]}\n"
    over = "B:\n  heads: [7]\n  changes:\n    - {since: '4', sms: [8]}\n"
    document = read_files([(Path("base.yaml"), base.encode()), (Path("over.yaml"), over.encode())])
    assert document.value == {
        "B": {"heads": [7], "changes": [{"since": "2", "sms": [9]}, {"since": "3"}, {"since": "4", "sms": [8]}]}
    }
    assert document.places["B", "heads"] == ("over.yaml", 2, 3)
    assert ("B", "changes", 0, "heads") not in document.places
    assert document.places["B", "changes", 0, "sms"][0] == "base.yaml"


@pytest.mark.parametrize("entry", ["{title: other}", "{backends: {FLASH_ATTN: {dtypes: [float16]}}}", "[]", "null"])
def test_an_unknown_engine_is_one_error_that_names_it(tmp_path: Path, entry: str) -> None:
    overlay = tmp_path / "site.yaml"
    overlay.write_text(f"engines:\n  vlm: {entry}\n", "utf-8")
    with pytest.raises(MatrixError) as error:
        load(overlays=(overlay,))
    assert [(p.file, p.line, p.code) for p in error.value.problems] == [(str(overlay), 2, "unknown-engine")]
    assert "no engine 'vlm'; known: vllm" in str(error.value)
    assert [problem.code for problem in lint_files([overlay])] == ["unknown-engine"]
