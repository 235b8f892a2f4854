from __future__ import annotations

from typing import Any

import pytest

from compatcheck.smoke.cell import SmokeCell
from compatcheck.smoke.judge import judge, judge_all, settled
from compatcheck.smoke.outcome import Expectation, Result
from tests.smoke.conftest import fake

REFUSED = Expectation(kind="refused", code="r", exception="ValueError", match=r"head \d+")
SUPPORTED = Expectation(kind="supported")
WRONG = Expectation(kind="wrong", code="adv", any_shape=True)
WORDED = Expectation(kind="wrong", code="adv", any_shape=True, exception="GraphError", match="same datatype")
VARIES = Expectation(kind="varies", code="adv", any_shape=True, reason="k_scale")
ABSENT = Expectation(kind="absent", reason="not there yet")
COMPILE = Expectation(kind="compile-error", code="c", exception="RuntimeError", match="static assertion")


def result(outcome: str, **values: Any) -> Result:
    return Result(id="x", outcome=outcome, **values)  # type: ignore[arg-type]


CASES: list[tuple[Expectation, Result, str]] = [
    (SUPPORTED, result("correct"), "confirmed"),
    (SUPPORTED, result("wrong"), "contradicted"),
    (SUPPORTED, result("refused", exception="ValueError", text="no"), "contradicted"),
    (SUPPORTED, result("compile-error"), "contradicted"),
    (SUPPORTED, result("crashed"), "contradicted"),
    (SUPPORTED, result("timeout", stage="launch"), "contradicted"),
    (SUPPORTED, result("timeout", stage="compile"), "unproven"),
    (SUPPORTED, result("unavailable", missing="artifact"), "unproven"),
    (SUPPORTED, result("passed", level="compile"), "unproven"),
    (REFUSED, result("refused", exception="ValueError", text="bad head 7"), "confirmed"),
    (REFUSED, result("refused", exception="Sub", bases=("ValueError",), text="bad head 7"), "confirmed"),
    (REFUSED, result("refused", exception="TypeError", text="bad head 7"), "contradicted"),
    (REFUSED, result("refused", exception="ValueError", text="other words"), "contradicted"),
    (REFUSED, result("correct"), "contradicted"),
    (REFUSED, result("wrong"), "contradicted"),
    (REFUSED, result("crashed"), "contradicted"),
    (REFUSED, result("unavailable", missing="network"), "unproven"),
    (REFUSED, result("passed", level="compile"), "unproven"),
    (REFUSED, result("passed", level="launch"), "contradicted"),
    (COMPILE, result("compile-error", exception="RuntimeError", text="x: static assertion failed"), "confirmed"),
    (COMPILE, result("refused", exception="RuntimeError", text="x: static assertion failed"), "contradicted"),
    (COMPILE, result("passed", level="compile"), "unproven"),
    (ABSENT, result("unavailable", missing="symbol"), "confirmed"),
    (ABSENT, result("unavailable", missing="package"), "unproven"),
    (ABSENT, result("correct"), "contradicted"),
    (WRONG, result("wrong"), "confirmed"),
    (WRONG, result("correct"), "contradicted"),
    (WRONG, result("crashed"), "contradicted"),
    (WRONG, result("passed", level="launch"), "unproven"),
    (WRONG, result("refused", exception="GraphError", text="the same datatype"), "contradicted"),
    (WORDED, result("refused", exception="GraphError", text="need the same datatype"), "confirmed"),
    (WORDED, result("refused", exception="GraphError", text="other words"), "contradicted"),
    (WORDED, result("refused", exception="Other", text="need the same datatype"), "contradicted"),
    (WORDED, result("wrong"), "confirmed"),
    (WORDED, result("correct"), "contradicted"),
    (VARIES, result("wrong"), "confirmed"),
    (VARIES, result("correct"), "confirmed"),
    (VARIES, result("crashed"), "contradicted"),
    (VARIES, result("refused", exception="ValueError", text="no"), "contradicted"),
    (VARIES, result("passed", level="launch"), "unproven"),
    (VARIES, result("unavailable", missing="package"), "unproven"),
    (Expectation(kind="unknown"), result("correct"), "unproven"),
    (SUPPORTED, result("skipped"), "unproven"),
]


@pytest.mark.parametrize(("expected", "got", "verdict"), CASES)
def test_judgements(expected: Expectation, got: Result, verdict: str) -> None:
    judgement, why = judge(expected, got)
    assert judgement == verdict
    assert why


def shapes(**outcomes: str) -> tuple[list[SmokeCell], dict[str, Result]]:
    cells = [fake("fine", f"k/d=64/{shape}", shape=shape, expected=WRONG) for shape in ("short", "long", "needle")]
    return cells, {
        f"k/d=64/{shape}": Result(id=f"k/d=64/{shape}", outcome=o)  # type: ignore[arg-type]
        for shape, o in outcomes.items()
    }


def test_one_wrong_shape_confirms_an_advisory_for_all() -> None:
    judged = judge_all(*shapes(short="correct", long="wrong", needle="correct"))
    assert [j.judgement for j in judged] == ["confirmed"] * 3
    assert "another one is wrong" in judged[0].why


def test_an_advisory_that_no_shape_shows_is_contradicted() -> None:
    judged = judge_all(*shapes(short="correct", long="correct", needle="correct"))
    assert [j.judgement for j in judged] == ["contradicted"] * 3


def test_an_advisory_is_unproven_while_shapes_are_missing() -> None:
    assert [j.judgement for j in judge_all(*shapes(short="correct"))] == ["unproven"]


@pytest.mark.parametrize(
    ("expected", "got", "believed"),
    [
        (SUPPORTED, result("correct"), True),
        (SUPPORTED, result("wrong"), False),
        (SUPPORTED, result("unavailable", missing="package"), True),
        (REFUSED, result("refused", exception="ValueError", text="head 7"), True),
        (REFUSED, result("refused", exception="ValueError", text="else"), False),
        (WRONG, result("wrong"), True),
    ],
)
def test_what_is_believed_at_once(expected: Expectation, got: Result, believed: bool) -> None:
    assert settled(expected, got) is believed
