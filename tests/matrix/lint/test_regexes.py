"""Patterns that may take for ever are known as such; those of the packaged matrix are not."""

from __future__ import annotations

import re

import pytest

from compatcheck.explain.entries import entries
from compatcheck.matrix.lint.regexes import slow
from compatcheck.matrix.load import LoadedMatrix


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+b",
        r"(?:a*)*",
        r"(\w+\s?)*x",
        r"(?:(?:a|b)+c?)*d",
        r"(?:.|\s)*x",
        r"(x(a+)y?)+",
        r"(a{2,}){5,}",
    ],
)
def test_slow(pattern: str) -> None:
    assert slow(pattern)


@pytest.mark.parametrize(
    "pattern", [r"a+b+", r".{0,80}x", r"(?:ab)+", r"(?:a|b)+", r"(a?b)*", r"\d+ of \d+", r"(a{1,3}){2}", r"x.*y"]
)
def test_not_slow(pattern: str) -> None:
    assert slow(pattern) is None


def test_not_a_pattern() -> None:
    with pytest.raises(re.error):
        slow("(")


def test_the_matrix_has_none(loaded: LoadedMatrix) -> None:
    patterns = [w[1:-1] for e in entries(loaded) for w in e.words if len(w) > 2 and w[0] == w[-1] == "/"]
    assert len(patterns) > 10
    assert [p for p in patterns if slow(p)] == []
