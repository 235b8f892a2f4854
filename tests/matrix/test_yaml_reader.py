from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compatcheck.matrix.errors import MatrixError, Problem
from compatcheck.matrix.yaml_reader import MAX_DEPTH, read_document, read_yaml


def refused(text: str) -> list[Problem]:
    with pytest.raises(MatrixError) as caught:
        read_yaml(text, "m.yaml")
    return caught.value.problems


def test_values_and_places() -> None:
    value, places = read_yaml('a: 1\nb:\n  - x\n  - {c: "10.10", d: 2.5}\n', "m.yaml")
    assert value == {"a": 1, "b": ["x", {"c": "10.10", "d": 2.5}]}
    assert places == {
        (): (1, 1),
        ("a",): (1, 1),
        ("b",): (2, 1),
        ("b", 0): (3, 5),
        ("b", 1): (4, 5),
        ("b", 1, "c"): (4, 6),
        ("b", 1, "d"): (4, 18),
    }


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "---\n", "\ufeff"])
def test_nothing_is_an_empty_mapping(text: str) -> None:
    assert read_yaml(text, "m.yaml")[0] == {}


def test_byte_order_mark_and_crlf() -> None:
    assert read_yaml("\ufeffa: 1\r\nb: x\r\n", "m.yaml") == (
        {"a": 1, "b": "x"},
        {(): (1, 1), ("a",): (1, 1), ("b",): (2, 1)},
    )


def test_keys_are_names_as_they_are_written() -> None:
    assert read_yaml("8.0: 1\nyes: 2\n010: 3\n", "m.yaml")[0] == {"8.0": 1, "yes": 2, "010": 3}


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("a: 1\nb: 2\na: 3\n", "duplicate-key", 3, 1),
        ("a: &x 1\nb: *x\n", "yaml-alias", 1, 4),
        ("a: &x {c: 1}\nb: *x\n", "yaml-alias", 1, 4),
        ("a: &x [*x]\n", "yaml-alias", 1, 4),
        ("a: {}\n<<: {b: 1}\n", "yaml-alias", 2, 1),
        ("a: !!python/object/apply:os.system [id]\n", "yaml-tag", 1, 4),
        ("a: !!python/name:os.system\n", "yaml-tag", 1, 4),
        ("a: !mine {b: 1}\n", "yaml-tag", 1, 4),
        ("!mine a: 1\n", "yaml-tag", 1, 1),
        ("a: !!binary aGk=\n", "yaml-tag", 1, 4),
        ("a: !!set {b}\n", "yaml-tag", 1, 4),
        ('a: !!int "5"\n', "yaml-tag", 1, 4),
        ("? [a]\n: 1\n", "yaml-key", 1, 3),
        ("a: no\n", "yaml-boolean", 1, 4),
        ("a: True\n", "yaml-boolean", 1, 4),
        ("a: 012\n", "yaml-number", 1, 4),
        ("a: 0x10\n", "yaml-number", 1, 4),
        ("a: 1_000\n", "yaml-number", 1, 4),
        ("a: 12:30\n", "yaml-number", 1, 4),
        ("a: .inf\n", "yaml-number", 1, 4),
        ("a: .nan\n", "yaml-number", 1, 4),
        ("a: 1.0e+999\n", "yaml-number", 1, 4),
        ("a: " + "9" * 5000 + "\n", "yaml-number", 1, 4),
        ("a: [1\nb: 2\n", "yaml-syntax", 2, 2),
        ("a: 1\n---\nb: 2\n", "yaml-syntax", 2, 1),
        ("a: *nothing\n", "yaml-syntax", 1, 4),
        ("a: 1\nb: \x07\n", "yaml-syntax", 2, 4),
        ("a: 1\nb: x\x00\n", "yaml-syntax", 2, 5),
        ("\tb: 1\n", "yaml-syntax", 1, 1),
    ],
)
def test_refused_with_its_place(text: str, code: str, line: int, column: int) -> None:
    problems = refused(text)
    assert [(p.code, p.line) for p in problems] == [(code, line)]
    if code != "yaml-alias":
        assert problems[0].column == column
    assert problems[0].file == "m.yaml"


@pytest.mark.parametrize("key", ['&a "<<"', "&a !!str <<"])
def test_a_refused_merge_key_is_one_problem(key: str) -> None:
    assert [(p.code, p.column) for p in refused(f"{{{key}: 1, b: *a}}")] == [("yaml-alias", 2)]


def test_all_problems_at_once() -> None:
    assert [p.code for p in refused("a: no\nb: 0x1\nb: 2\nc: !x 1\n")] == [
        "yaml-boolean",
        "yaml-number",
        "duplicate-key",
        "yaml-tag",
    ]


def test_the_rest_is_still_read() -> None:
    document = read_document("a: no\nb: 2\nb: 3\nc: [1, !x 2]\n", "m.yaml")
    assert document.value == {"a": None, "b": 2, "c": [1, None]}
    assert document.broken == {("a",), ("b",), ("c", 1)}


def test_alias_bomb_is_linear() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    problems = refused("\n".join(lines))
    assert {p.code for p in problems} == {"yaml-alias"}
    assert len(problems) == 29 * 9


@pytest.mark.parametrize("depth", [MAX_DEPTH + 2, 500, 100_000])
@pytest.mark.parametrize("style", ["flow", "block"])
def test_huge_nesting(depth: int, style: str) -> None:
    depth = min(depth, 2000) if style == "block" else depth
    text = "a: " + "[" * depth + "]" * depth if style == "flow" else "\n".join(" " * n + "a:" for n in range(depth))
    problems = refused(text)
    assert {p.code for p in problems} <= {"too-deep", "yaml-syntax"}
    assert problems[0].line >= 1


def test_depth_that_is_allowed() -> None:
    depth = MAX_DEPTH - 1
    assert read_yaml("a: " + "[" * depth + "]" * depth, "m.yaml")[0]["a"]


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(MatrixError):
        read_yaml(text, "m.yaml")


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.text(st.characters(codec="ascii", categories=["L", "N", "P"])),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.from_regex(r"[a-z]{1,6}", fullmatch=True), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.from_regex(r"k[a-z]{1,6}", fullmatch=True), PLAIN, max_size=4))
def test_json_reads_as_itself(value: dict[str, object]) -> None:
    import json

    assert read_yaml(json.dumps(value), "m.yaml")[0] == value
