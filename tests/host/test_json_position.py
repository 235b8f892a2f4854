from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from compatcheck.host.json_position import line_column, locate

KEYS = st.text(st.characters(exclude_characters=".[]", exclude_categories=["Cs"]), min_size=1, max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def places(value: object, path: str = "$") -> list[tuple[str, object]]:
    found = [(path, value)]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += places(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += places(inner, f"{path}[{index}]")
    return found


@given(VALUES, st.sampled_from([None, 1, 3]), st.booleans())
def test_every_value_of_any_document_is_found_where_it_is(value: object, indent: int | None, ascii_: bool) -> None:
    text = " \n" + json.dumps(value, indent=indent, ensure_ascii=ascii_)
    for path, inner in places(value):
        offset = locate(text, path)
        found, _ = json.JSONDecoder().raw_decode(text, offset)
        assert found == inner


def test_a_path_that_leads_nowhere_ends_at_the_last_value() -> None:
    text = '{"a": {"b": [10, 20]}}'
    assert text[locate(text, "$.a.b[7]") :].startswith("[10")
    assert text[locate(text, "$.a.missing") :].startswith('{"b"')
    assert text[locate(text, "$.a.b[...]") :].startswith("[10")
    assert text[locate(text, "$.a.b[0].c") :].startswith("10")


def test_lines_and_columns_count_from_one() -> None:
    assert line_column("ab\ncd", 0) == (1, 1)
    assert line_column("ab\ncd", 4) == (2, 2)
    assert line_column("ab\ncd", 99) == (2, 3)
    assert line_column("", 5) == (1, 1)
