"""Constraints on one value: a scalar, a list, or comparisons, judged by the type and the known values of the field."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

from compatcheck.matrix.lint.vocabulary import Field
from compatcheck.matrix.yaml_reader import Path
from compatcheck.resolve.conditions import OPERATORS

Found = tuple[Path, str]
_BOUNDS = frozenset({"lt", "le", "gt", "ge"})
_KIND = {str: "a text", int: "a whole number", bool: "true or false"}


def constraint_problems(constraint: Any, field: Field, here: Path) -> Iterator[Found]:
    """Yield the path, and what is wrong there."""
    if isinstance(constraint, list):
        yield from _list(constraint, field, here)
    elif not isinstance(constraint, dict):
        yield from _scalar(constraint, field, here)
    elif not constraint:
        yield here, "no comparison is given"
    else:
        if _unsatisfiable(constraint):
            yield here, "no value can be all of this: the bounds leave nothing between them"
        for key, operand in constraint.items():
            if key not in OPERATORS:
                near = difflib.get_close_matches(str(key), list(OPERATORS), n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(OPERATORS)}"
                yield (*here, key), f"unknown comparison {key!r}; {hint}"
            else:
                yield from _operand(key, operand, field, (*here, key))


def _unsatisfiable(constraint: dict[str, Any]) -> bool:
    """Return whether bounds, a set and a divisor leave no whole number from 0 on."""
    bounds = {key: value for key, value in constraint.items() if key in ("lt", "le", "gt", "ge", "multiple_of")}
    if any(isinstance(value, bool) or not isinstance(value, int) for value in bounds.values()):
        return False
    least = max(bounds.get("ge", 0), bounds.get("gt", -1) + 1)
    most = min([bounds["le"]] if "le" in bounds else [], default=None)
    if "lt" in bounds:
        most = bounds["lt"] - 1 if most is None else min(most, bounds["lt"] - 1)
    step = bounds.get("multiple_of", 1)
    if step < 1:
        return False
    named = constraint.get("in")
    if isinstance(named, list) and bounds:
        numbers = [n for n in named if isinstance(n, int)]
        return not any(least <= n and (most is None or n <= most) and n % step == 0 for n in numbers)
    return most is not None and (least + step - 1) // step * step > most


def _list(values: list[Any], field: Field, here: Path) -> Iterator[Found]:
    if not values:
        yield here, "an empty list accepts nothing; leave the entry out, or say what is accepted"
    seen: list[Any] = []
    for index, item in enumerate(values):
        yield from _scalar(item, field, (*here, index))
        if any(type(item) is type(other) and item == other for other in seen):
            yield (*here, index), f"{item!r} is listed twice"
        seen.append(item)


def _scalar(value: Any, field: Field, here: Path) -> Iterator[Found]:
    if value is None:
        yield here, "nothing cannot be compared; write {absent: true}"
        return
    if isinstance(value, dict | list):
        yield here, "expected one value, found a mapping or a list"
        return
    if type(value) not in field.kinds:
        wanted = " or ".join(_KIND[kind] for kind in (str, int, bool) if kind in field.kinds) or "no value at all"
        hint = "; quote it" if field.kinds == {str} and isinstance(value, int | float) else ""
        yield here, f"expected {wanted}, found {value!r}{hint}"
        return
    if field.values is not None and value not in field.values:
        known = [str(known) for known in field.values if known is not None]
        near = difflib.get_close_matches(str(value), known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(known))}"
        yield here, f"{value!r} is never the value of this field; {hint}"


def _operand(key: str, operand: Any, field: Field, here: Path) -> Iterator[Found]:
    if key == "in":
        if isinstance(operand, list):
            yield from _list(operand, field, here)
        else:
            yield here, f"`in` needs a list, found {operand!r}"
    elif key == "not":
        yield from constraint_problems(operand, field, here)
    elif key in ("prefix", "suffix"):
        yield from _affix(key, operand, field, here)
    elif key == "absent":
        if not isinstance(operand, bool):
            yield here, f"`absent` is true or false, found {operand!r}"
        elif not field.nullable:
            yield here, "this field always has a value: where it is absent it is not known, and nothing follows"
    elif key == "known":
        if operand is not True:
            yield here, f"`known` is true or left out, found {operand!r}"
        elif not field.nullable:
            yield here, "this field is never absent: without a value every condition on it is unknown"
    elif int not in field.kinds:
        yield here, f"`{key}` compares numbers, and this field is not one"
    elif isinstance(operand, bool) or not isinstance(operand, int):
        yield here, f"`{key}` needs a whole number, found {operand!r}"
    elif key == "multiple_of" and operand < 1:
        yield here, f"`multiple_of` needs a number above 0, found {operand}"


def _affix(key: str, operand: Any, field: Field, here: Path) -> Iterator[Found]:
    if not isinstance(operand, str) or not operand:
        yield here, f"`{key}` needs a text, found {operand!r}"
    elif str not in field.kinds:
        yield here, f"`{key}` compares texts, and this field is not one"
    elif field.values is not None:
        test = OPERATORS[key](operand)
        if not any(test(value) for value in field.values if value is not None):
            yield here, f"no known value has the {key} {operand!r}"
