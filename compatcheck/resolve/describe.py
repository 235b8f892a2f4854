"""Conditions, constraints and grants as text for people. Shorter than the data, never more permissive than it."""

from __future__ import annotations

from typing import Any

from compatcheck.matrix.model import FactCase, Grants
from compatcheck.resolve.verdict import BITES_ORDER

_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def describe_constraint(constraint: Any) -> str:
    """Return a constraint as text: [64, 128] -> '64, 128'; {multiple_of: 8, le: 256} -> 'multiples of 8, <= 256'."""
    if isinstance(constraint, list):
        return ", ".join(str(item) for item in constraint)
    if not isinstance(constraint, dict):
        return str(constraint).lower() if isinstance(constraint, bool) else str(constraint)
    parts: list[str] = []
    for key, operand in constraint.items():
        if key in _COMPARISONS:
            parts.append(f"{_COMPARISONS[key]} {operand}")
        elif key == "multiple_of":
            parts.append(f"multiples of {operand}")
        elif key == "prefix":
            parts.append(f"{operand}*")
        elif key == "suffix":
            parts.append(f"*{operand}")
        elif key == "in":
            parts.append(describe_constraint(operand))
        elif key == "not":
            parts.append(f"not {describe_constraint(operand)}")
        elif key == "absent":
            parts.append("none" if operand else "given")
        elif key == "known":
            parts.append("known")
    return ", ".join(parts)


def describe_bites(bites: str) -> str:
    """Return when something bites: 'first_decode' -> 'first decode (init or first-request)'."""
    return bites if bites in BITES_ORDER else f"{bites.replace('_', ' ')} (init or first-request)"


def describe_condition(condition: dict[str, Any]) -> str:
    """Return a condition as text: {sm: [9.x]} -> 'sm 9.x'."""
    parts: list[str] = []
    for key, constraint in condition.items():
        if key == "all_of":
            parts += [describe_condition(item) for item in constraint]
        elif key == "any_of":
            parts.append("(" + " or ".join(describe_condition(item) for item in constraint) + ")")
        elif key == "not":
            parts.append(f"not ({describe_condition(constraint)})")
        else:
            parts.append(f"{key} {describe_constraint(constraint)}")
    return " and ".join(parts)


def describe_flag(flag: bool | dict[str, Any] | None, always: str) -> str:
    """Return a flag as text: true -> `always`, false -> 'never', a condition -> the condition."""
    if isinstance(flag, dict):
        return describe_condition(flag)
    return always if flag else "never"


def describe_grants(grants: Grants | None) -> str:
    """Return grants as text; none at all is 'any'."""
    if not grants:
        return "any"
    return "; ".join(
        describe_constraint(g.values) + (f" where {describe_condition(g.when)}" if g.when else "") for g in grants
    )


def describe_where(case: FactCase) -> str:
    """Return from which release and where a line of a decision list holds: 'since 0.31.0 where sm is 12.x'."""
    parts = [f"since {case.since}"] if case.since else []
    parts += [f"before {case.until}"] if case.until else []
    parts += [f"where {describe_condition(case.when)}"] if case.when else []
    return " ".join(parts)
