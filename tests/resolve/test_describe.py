"""Data as text for people: shorter, never more permissive."""

from __future__ import annotations

from typing import Any

import pytest

from compatcheck.matrix.model import Grant
from compatcheck.resolve.describe import describe_condition, describe_constraint, describe_flag, describe_grants


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        (128, "128"),
        (True, "true"),
        ([64, 128], "64, 128"),
        ({"multiple_of": 8, "le": 256}, "multiples of 8, <= 256"),
        ({"gt": 1, "lt": 9, "ge": 2}, "> 1, < 9, >= 2"),
        ({"prefix": "nvfp4"}, "nvfp4*"),
        ({"suffix": "_ds_mla"}, "*_ds_mla"),
        ({"in": [1, 2]}, "1, 2"),
        ({"not": "10.x"}, "not 10.x"),
        ({"not": {"prefix": "fp8"}}, "not fp8*"),
        ({"absent": True}, "none"),
        ({"absent": False}, "given"),
    ],
)
def test_constraints(constraint: Any, text: str) -> None:
    assert describe_constraint(constraint) == text


def test_conditions() -> None:
    assert describe_condition({}) == ""
    assert describe_condition({"sm": ["9.x"], "use_mla": False}) == "sm 9.x and use_mla false"
    nested = {"any_of": [{"a": 1}, {"b": 2, "c": 3}], "not": {"d": 4}}
    assert describe_condition(nested) == "(a 1 or b 2 and c 3) and not (d 4)"
    assert describe_condition({"all_of": [{"a": 1}, {"b": 2}]}) == "a 1 and b 2"


def test_flags_and_grants() -> None:
    assert [describe_flag(flag, "any") for flag in (True, False, None, {"sm": "9.0"})] == [
        "any",
        "never",
        "never",
        "sm 9.0",
    ]
    assert describe_grants([]) == describe_grants(None) == "any"
    grants = [Grant(values=[64, 128]), Grant(values=512, when={"sm": "9.x"})]
    assert describe_grants(grants) == "64, 128; 512 where sm 9.x"
