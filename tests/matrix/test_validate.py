from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compatcheck.matrix.model import Backend, JointRule, Kernel, Matrix, Release, Rule
from compatcheck.matrix.validate import mismatches
from compatcheck.matrix.yaml_reader import read_yaml

from .samples import SMALL


def found(value: Any, model: type) -> list[tuple[tuple[str | int, ...], str, str]]:
    return [(m.path, m.code, m.message) for m in mismatches(value, model)]


def test_sample_fits() -> None:
    assert mismatches(read_yaml(SMALL, "m")[0], Matrix) == []


@pytest.mark.parametrize(
    ("value", "model", "expected"),
    [
        (
            {"flashinfer": 0.6, "torch": "2"},
            Release,
            (("flashinfer",), "wrong-type", "expected text, found the number 0.6; quote it"),
        ),
        ({"torch": "2"}, Release, ((), "missing-key", "key 'flashinfer' is required")),
        (
            {"flashinfer": "1", "torch": "2", "cudaa": "3"},
            Release,
            (("cudaa",), "unknown-key", "unknown key 'cudaa'; did you mean cuda?"),
        ),
        ([], Release, ((), "wrong-type", "expected a mapping (Release), found a list")),
        (
            {"title": "t", "since": "1", "dtypes": "x"},
            Backend,
            (("dtypes",), "wrong-type", "expected a list, found the text 'x'"),
        ),
        (
            {"title": "t", "since": "1", "sms": 5},
            Backend,
            (("sms",), "wrong-type", "expected true or false or a mapping, found the number 5"),
        ),
        ({"title": "t", "since": None}, Backend, (("since",), "wrong-type", "expected text, found nothing")),
        (
            {"title": "t", "since": "1", "mla": "true"},
            Backend,
            (("mla",), "wrong-type", "expected true or false, found the text 'true'"),
        ),
        (
            {"code": "c", "when": 3, "words": "w"},
            JointRule,
            (("when",), "wrong-type", "expected a mapping, found the number 3"),
        ),
    ],
)
def test_one_mismatch(value: Any, model: type, expected: tuple[Any, str, str]) -> None:
    assert found(value, model) == [expected]


@pytest.mark.parametrize("schema", [2, True, 1.0, "1", None])
def test_schema_is_the_number_one(schema: Any) -> None:
    document = {**read_yaml(SMALL, "m")[0], "schema": schema}
    assert [m.path for m in mismatches(document, Matrix)] == [("schema",)]


def test_all_at_once() -> None:
    value = {
        "title": 1,
        "refuser": "me",
        "bites": "init",
        "effect": "note",
        "when": {},
        "why": "w",
        "fix": [],
        "srouces": [],
    }
    assert {(path, code) for path, code, _ in found(value, Rule)} == {
        (("title",), "wrong-type"),
        (("refuser",), "wrong-value"),
        (("fix",), "wrong-type"),
        (("srouces",), "unknown-key"),
        ((), "missing-key"),
    }


SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, 2.5, "", "1", "note", "engine", "write", "init"])
NAMES = sorted({name for model in (Rule, Kernel, Backend, Release) for name in model.__struct_fields__})
JUNK = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from([*NAMES, "ref", "values"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=300)
@given(st.sampled_from([Release, JointRule, Kernel, Backend, Rule]), st.data())
def test_no_mismatch_means_convertible(model: type, data: st.DataObject) -> None:
    """The walk and msgspec accept the same values."""
    fields = st.fixed_dictionaries({}, optional=dict.fromkeys(model.__struct_fields__, JUNK))  # type: ignore[attr-defined]
    value = data.draw(fields | JUNK)
    try:
        msgspec.convert(value, model)
    except msgspec.ValidationError:
        assert mismatches(value, model)
    else:
        assert mismatches(value, model) == []
