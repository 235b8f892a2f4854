"""Forbidden words: no marketing names and no open SM bounds in data.

Why: "Blackwell" is 10.x, 11.0 and 12.x at once, and `>= 100` took in all of them; both have broken real engines.
Quoted words of an engine and titles for people may say what they like.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.yaml_reader import Path

CODE = "forbidden-word"
_GENERATION = re.compile(r"\b(blackwell|hopper|ampere|turing|ada|lovelace|rubin)\b", re.IGNORECASE)
_BOUND = re.compile(r"(>=?|<=?)\s*'?(sm_?)?([7-9][0-9]|1[0-2][0-9])\b|\bsm_?[0-9]+\+", re.IGNORECASE)


def check(context: Context) -> list[Problem]:
    """Return conditions and ids that name a GPU generation or bound the SM."""
    problems: list[Problem] = []
    for path, condition in context.conditions:
        for place, text in _texts(condition, path):
            problems += _judge(context, place, text)
    for at in (("rules",), ("kernels",)):
        for name in context.names(*at):
            problems += _judge(context, (*at, name), name.replace("-", " ").replace("_", " ").replace(".", " "))
    return problems


def _judge(context: Context, path: Path, text: str) -> list[Problem]:
    found = _GENERATION.search(text)
    if found:
        message = f"{found[0]!r} is a marketing name for several SMs; name the SMs or families"
        return [context.problem(path, CODE, message)]
    bound = _BOUND.search(text)
    if bound:
        return [context.problem(path, CODE, f"{bound[0]!r} bounds the SM; name the SMs or families")]
    return []


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "words":
                continue
            yield from _texts(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index))
