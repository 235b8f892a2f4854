"""Every code of the launch readers can be explained, and the parser's words lead to it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from compatcheck.explain.entries import entries
from compatcheck.explain.launch_codes import launch_entries
from compatcheck.explain.match import find
from compatcheck.launch.arguments import Problem
from compatcheck.matrix.load import LoadedMatrix

LAUNCH = Path(__file__).parents[2] / "compatcheck" / "launch"


def test_every_code_has_an_entry() -> None:
    made = {
        code for file in LAUNCH.rglob("*.py") for code in re.findall(r'"(launch-[a-z-]+)"', file.read_text("utf-8"))
    }
    made |= {f"launch-{kind}" for kind in get_args(Problem) if kind != "unknown"}
    known = [entry.id for entry in launch_entries()]
    assert made <= set(known)
    assert len(known) == len(set(known))
    assert {code for code in known if not code.startswith("launch-unusable-")} <= made


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("vllm: error: unrecognized arguments: --foo 1", "launch-unknown-option"),
        ("vllm serve: error: argument --tensor-parallel-size/-tp: invalid int value: 'banana'", "launch-bad-value"),
        (
            "ValueError: Total number of attention heads (32) must be divisible by tensor parallel size (5).",
            "launch-heads-not-divisible",
        ),
        (
            "TypeError: EngineArgs.__init__() got an unexpected keyword argument 'kv_cache_dtyp'",
            "launch-unknown-keyword",
        ),
        ("ValueError: invalid literal for int() with base 10: 'true'", "launch-bad-variable"),
        ("AssertionError: 11009 is not divisible by 2", "launch-width-not-divisible"),
        ("launch-windows-together", "launch-windows-together"),
    ],
)
def test_what_a_log_says_leads_to_the_code(text: str, code: str, loaded: LoadedMatrix) -> None:
    assert code in [match.entry.id for match in find(entries(loaded), text, 3)]
