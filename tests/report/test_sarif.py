"""SARIF: valid, every result with its rule, places with characters that a URI may not hold."""

from __future__ import annotations

import json

import pytest

from compatcheck.report.diagnostic import Diagnostic
from compatcheck.report.sarif import render

from .sarif_structure import check_sarif

FOUND = [
    Diagnostic(code="b", level="error", message="one", file="a b/<stdin>.jsonl", line=3, column=7, help="do it"),
    Diagnostic(code="a", level="note", message="two"),
    Diagnostic(code="b", level="warning", message="three", file="é.jsonl"),
]


def test_valid() -> None:
    log = json.loads(render(FOUND))
    check_sarif(log)
    results = log["runs"][0]["results"]
    assert [result["level"] for result in results] == ["error", "note", "warning"]
    assert results[0]["message"]["text"] == "one Fix: do it"
    assert results[0]["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20b/%3Cstdin%3E.jsonl"},
        "region": {"startLine": 3, "startColumn": 7},
    }
    assert "locations" not in results[1]


def test_nothing_found_is_valid_too() -> None:
    check_sarif(json.loads(render([])))


def test_the_check_can_fail() -> None:
    log = json.loads(render(FOUND))
    log["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(AssertionError, match="fatal"):
        check_sarif(log)
