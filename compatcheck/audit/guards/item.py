"""One guard: a piece of a release that is not evaluated, by the fingerprint of its text's meaning."""

from __future__ import annotations

import ast
from collections.abc import Iterable

import msgspec

from compatcheck.audit.reading.digest import digest

DIGITS = 12
"""Hexadecimal digits of a guard's fingerprint."""


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """`key` is `file:name`, such as `vllm/platforms/cuda.py:CudaPlatformBase.get_valid_backends`."""

    group: str
    """What it takes part in: `linear selection`."""
    key: str
    line: int
    digest: str


def fingerprint(nodes: Iterable[ast.AST], more: Iterable[str] = ()) -> str:
    """Return a guard's fingerprint; the order of the nodes does count."""
    return digest([ast.Module(body=list(nodes), type_ignores=[])], more)[:DIGITS]  # type: ignore[arg-type]
