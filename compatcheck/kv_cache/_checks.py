"""Argument checks shared by the helpers."""

from __future__ import annotations

from typing import Any


def positive(name: str, value: Any) -> None:
    """Raise ValueError unless value is an int above 0 (bool does not count)."""
    if type(value) is not int or value <= 0:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")
