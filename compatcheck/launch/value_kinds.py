"""Values that a configuration class refuses: of another kind than its field, or out of bounds.

The classes are pydantic's (vllm/config/utils.py:config@0.33.0), which take text for a number where it is one. What
`Field(ge=1)` and the annotations say is in the table of options, read from the wheels.
"""

from __future__ import annotations

from typing import Any

from compatcheck.launch.flag_table import Flag, Kind

_TRUTHS = frozenset({"0", "off", "f", "false", "n", "no", "1", "on", "t", "true", "y", "yes"})
"""Text that pydantic takes for true or false, in small letters."""


def misfit(expected: Kind | Flag, value: Any) -> str | None:
    """Return what a field would have to hold instead of a value; None where it takes it, or that is not known."""
    if value is None:
        return None
    if expected.kind == "bool":
        fits = value in (0, 1) if isinstance(value, (int, float)) else str(value).lower() in _TRUTHS
        return None if fits else "true or false"
    if expected.kind == "choices":
        return None if value in expected.choices else "one of " + ", ".join(dict.fromkeys(map(str, expected.choices)))
    if expected.kind not in ("int", "float"):
        return None
    number = _number(value)
    if number is None or (expected.kind == "int" and number != number // 1):
        return "a whole number" if expected.kind == "int" else "a number"
    return _outside(expected, number)


def _number(value: Any) -> float | None:
    if not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _outside(expected: Kind | Flag, number: float) -> str | None:
    """Return the bound that a number is outside of."""
    if expected.ge is not None and not number >= expected.ge:  # neither is a NaN
        return f"at least {expected.ge:g}"
    if expected.gt is not None and not number > expected.gt:
        return f"more than {expected.gt:g}"
    if expected.le is not None and number > expected.le:
        return f"at most {expected.le:g}"
    return f"less than {expected.lt:g}" if expected.lt is not None and number >= expected.lt else None
