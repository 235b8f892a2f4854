"""A checkpoint's expressions fit the names that Python's matcher says, and none takes long."""

from __future__ import annotations

import contextlib
import re

import pytest

from compatcheck.launch.name_patterns import Name, UnjudgedError, fits
from tests.launch.steps import steps

NAMES = (
    "model.layers.0.self_attn.q_proj",
    "model.layers.31.mlp.gate_proj",
    "model.language_model.layers.7.mlp.shared_expert.down_proj",
    "lm_head",
    "aab",
    "",
)


@pytest.mark.parametrize(
    "pattern",
    [
        ".*self_attn.*",
        "model.layers.0",
        r"model\.layers\.(?:[0-9]|[1-2][0-9])\.self_attn\.(q|k|v|o)_proj$",
        r"^(?!.*lm_head).*mlp\.(?P<which>gate|up)_proj$",
        r".*(?=down)",
        r"model\.[a-z_]+\..*\.\d{1,2}\..*[^q]_proj",
        r"(?:[a-z_]+\.)+\d+\..*",
        r"(a|ab)(b|)$",
        "a{2}b",
        "a{3,}",
        "(?:a?){2}b+?$",
        r"\w+$",
        "lm_head|aab",
        "(.|.){6}",
        "",
    ],
)
def test_it_fits_what_python_fits(pattern: str) -> None:
    assert [fits(pattern, Name(name)) for name in NAMES] == [re.match(pattern, name) is not None for name in NAMES]


@pytest.mark.parametrize(
    "pattern",
    [r"(a)\1", "(?i)model", r".*(?<!lm)_head", "(?>a+)b", "a++b", "[z-a]", "(a", "a)", "*a", "[[a]", "a" * 1001],
)
def test_what_is_not_judged_is_said(pattern: str) -> None:
    with pytest.raises(UnjudgedError):
        fits(pattern, Name("model"))


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(?:(?:a*)*)*b",
        "(.*)*(.*)*(.*)*x",
        "(.*a){30}x",
        "((a{999}){999}){999}",
        "(.|.)" * 60 + "x",
        "(" * 400,
    ],
)
def test_no_expression_takes_long(pattern: str) -> None:
    def judge() -> None:
        with contextlib.suppress(UnjudgedError):
            assert not fits(pattern, Name("a" * 60 + "!"))

    assert steps(judge) < 50_000
