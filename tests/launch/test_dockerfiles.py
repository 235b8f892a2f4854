"""Dockerfiles: what ARG and ENV make of the words and variables of a launch."""

from __future__ import annotations

import pytest

from compatcheck.launch.files.dockerfile import Dockerfile

SHELL = "\nCMD vllm serve $V"


@pytest.mark.parametrize(
    ("instructions", "said"),
    [
        ("FROM a\nARG X=m\nENV V=$X", "m"),
        ("FROM a\nARG X=m\nARG Y=${X}n\nENV V=${Y}", "mn"),
        ("ARG X=m\nFROM a\nARG X\nENV V=$X", "m"),
        ("ARG X=m\nFROM a\nENV V=$X", "?$V"),
        ("FROM a\nARG X\nENV V=$X", "?$V"),
        ("FROM a\nARG X\nENV V=${X:-m}", "m"),
        ("FROM a\nARG V=m", "?$V"),
        ("FROM a\nENV X=m\nARG X=n\nENV V=$X", "m"),
        ("FROM a\nENV X=m\nENV X=n V=$X", "m"),
        ("FROM a\nENV X='$Y'\nENV V=\"$X\"", "$Y"),
        ("FROM a AS b\nARG X=m\nENV W=n\nFROM b\nENV V=$W$X", "?$V"),
        ("FROM a AS b\nENV W=m\nFROM b\nENV V=$W", "m"),
        ("FROM a\nENV W m --x\nENV V $W", "m --x"),
    ],
)
def test_what_a_variable_holds(instructions: str, said: str) -> None:
    (launch,) = Dockerfile().launches(instructions + SHELL)
    assert " ".join(("?" if word.dynamic else "") + word.text for word in launch.words) == said
