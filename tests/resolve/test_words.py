"""The engine's words: filled as it prints them, and found again in a log."""

from __future__ import annotations

import pytest

from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.words import as_regex, fill, placeholders

FACTS = Configuration(sm="12.1", kv_cache_dtype="nvfp4", head_size=64, use_mla=False)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("plain", "plain"),
        ("{kv_cache_dtype} at {head_size}", "nvfp4 at 64"),
        ("major={sm.major}, minor={sm.minor} of {sm}", "major=12, minor=1 of 12.1"),
        ("{use_mla} {block_size}", "False None"),
        ("{unknown} {'dict': 1} {}", "{unknown} {'dict': 1} {}"),
        ("{backend}: {backend}", "X: X"),
    ],
)
def test_fill(template: str, text: str) -> None:
    assert fill(template, FACTS, {"backend": "X"}) == text


def test_placeholders() -> None:
    assert placeholders("{a} {sm.major} {1} {}") == ["a", "sm.major"]


@pytest.mark.parametrize(
    ("words", "log", "found"),
    [
        ("head_size not supported", "E: ['head_size not supported']", "head_size not supported"),
        ("no {kv_cache_dtype} here", "there is no fp8_e5m2 here today", "no fp8_e5m2 here"),
        ("{kv_cache_dtype} is refused", "so fp8 is refused", " is refused"),
        ("got {head_size}", "got 576, sorry", "got 5"),
        ("/a.c \\d+/", "xx abc 12", "abc 12"),
        ("(a.b)", "axb (a.b)", "(a.b)"),
    ],
)
def test_found_in_a_log(words: str, log: str, found: str) -> None:
    match = as_regex(words).search(log)
    assert match is not None
    assert match[0] == found


@pytest.mark.parametrize(
    ("words", "log"), [("no {x} here", "no here"), ("a.b", "axb"), ("no {x} here", "no " + "z" * 999 + " here")]
)
def test_not_found(words: str, log: str) -> None:
    assert as_regex(words).search(log) is None


def test_it_stays_linear() -> None:
    """The first words stand everywhere and the last nowhere: it would take very long, were it not bounded."""
    assert as_regex("{a} layer {b} of {c} is refused").search("layer x of y is fine " * 5_000) is None
