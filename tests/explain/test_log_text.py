"""Colours and prefixes of lines are taken off; what a program wrote stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compatcheck.explain.log_text import plain

PREFIXES = [
    "(EngineCore_DP0 pid=7320) ERROR 09-12 10:01:22 [core.py:868] ",
    (
        "(APIServer pid=1) (EngineCore_DP6 pid=2454) (Worker_DP6_EP6 pid=2516) ERROR 10-30 17:32:00 "
        "[v1/executor/multiproc_executor.py:671] "
    ),
    "ERROR 04-22 21:41:28 [worker_base.py:598] ",
    "[rank0]: ",
    "2026-04-23T04:05:25.4057486Z ",
    "[2025-12-11 03:56:16] ",
    "Aug 19 18:34:27 vllm vllm[8727]: (EngineCore pid=8727) ",
    "vllm-1  | ",
]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_prefix(prefix: str) -> None:
    assert plain(f"{prefix}nvcc fatal: x\n{prefix}y").split() == ["nvcc", "fatal:", "x", "y"]


def test_colours_and_titles() -> None:
    assert plain("\x1b]0;title\x07\x1b[01;31m\x1b[Kfatal error: \x1b[m\x1b[Kx.h\x00") == "fatal error: x.h"


@pytest.mark.parametrize(
    "text", ["RuntimeError: (a) b", "ValueError: EngineCore died", "[1/9] nvcc -c x.cu", "a | b", "error: x\n\n  y"]
)
def test_nothing_to_take_off(text: str) -> None:
    assert plain(text) == text


@given(st.text())
def test_any_text(text: str) -> None:
    assert len(plain(text)) <= len(text)
