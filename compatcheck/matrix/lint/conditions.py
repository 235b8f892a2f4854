"""Conditions: every one compiles, asks about something that exists, and compares it with values it can have.

Why: a condition on a misspelt field, SM, dtype or derived value is never true, and the fact it guards is silently lost.
SMs are sets and families, never bounds: `>= 10.0` took in 11.0 and 12.x in real engines, where it was wrong.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.constraints import Found, constraint_problems
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.lint.version_ranges import range_problem
from compatcheck.matrix.lint.vocabulary import Vocabulary, vocabulary_at
from compatcheck.matrix.sm import parse_sm
from compatcheck.matrix.yaml_reader import Path
from compatcheck.resolve.configuration import VERSION_FIELDS

CODE = "condition"


def check(context: Context) -> list[Problem]:
    """Return what is wrong inside the conditions, at the key or list item where it is."""
    problems: list[Problem] = []
    for path, condition in context.conditions:
        vocabulary = vocabulary_at(context, path)
        problems += [
            context.problem((*path, *inner), CODE, message)
            for inner, message in condition_problems(condition, vocabulary)
        ]
    return problems


def condition_problems(condition: dict[str, Any], vocabulary: Vocabulary, at: Path = ()) -> Iterator[Found]:
    """Yield the path inside a condition, and what is wrong there."""
    for key, constraint in condition.items():
        here = (*at, key)
        if key in ("all_of", "any_of"):
            if not isinstance(constraint, list) or not constraint:
                yield here, "needs a list of conditions"
                continue
            for index, nested in enumerate(constraint):
                yield from _nested(nested, vocabulary, (*here, index))
        elif key == "not":
            yield from _nested(constraint, vocabulary, here)
        else:
            yield from _leaf(key, constraint, vocabulary, here)


def _nested(value: Any, vocabulary: Vocabulary, here: Path) -> Iterator[Found]:
    if not isinstance(value, dict):
        yield here, f"expected a condition (a mapping of field to constraint), found {value!r}"
    elif not value:
        yield here, "an empty condition always holds; leave it out"
    else:
        yield from condition_problems(value, vocabulary, here)


def _leaf(name: str, constraint: Any, vocabulary: Vocabulary, here: Path) -> Iterator[Found]:
    if name in vocabulary.facts:
        yield from constraint_problems(constraint, vocabulary.facts[name], here)
    elif name in vocabulary.later:
        yield here, f"the derived fact {name} is declared here or further down; a fact may only use those above it"
    elif name not in vocabulary.fields:
        known = [*vocabulary.fields, *vocabulary.facts]
        near = difflib.get_close_matches(name, known, n=1)
        yield here, f"unknown field {name!r}; " + (f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}")
    elif name == "sm":
        yield from sm_problems(constraint, vocabulary, here)
    elif name in VERSION_FIELDS:
        if not isinstance(constraint, str):
            yield here, f"expected a quoted version range such as '>=0.6.15.dev0', found {constraint!r}"
        elif message := range_problem(constraint):
            yield here, message
    else:
        yield from constraint_problems(constraint, vocabulary.fields[name], here)


def sm_problems(constraint: Any, vocabulary: Vocabulary, here: Path) -> Iterator[Found]:
    """Yield what is wrong with a set of SMs: capabilities and families of the matrix, in `in` or `not`, no bounds."""
    if isinstance(constraint, dict):
        for key, value in constraint.items():
            if key in ("in", "not"):
                yield from sm_problems(value, vocabulary, (*here, key))
            else:
                yield (*here, key), f"sm takes a set or a family, never {key}: list the SMs or families that are meant"
        if not constraint:
            yield here, "no SM is named"
        return
    if constraint == []:
        yield here, "no SM is named"
    items = constraint if isinstance(constraint, list) else [constraint]
    for index, item in enumerate(items):
        if isinstance(item, str) and (item in vocabulary.sms or item in vocabulary.families):
            continue
        place = (*here, index) if isinstance(constraint, list) else here
        yield place, f"{item!r} is neither a compute capability nor a family of the matrix{_sm_hint(item, vocabulary)}"


def _sm_hint(item: Any, vocabulary: Vocabulary) -> str:
    meant = parse_sm(item) if isinstance(item, str | int | float) else None
    if meant in vocabulary.sms:
        return f"; write '{meant}' in quotes"
    known = [*sorted(vocabulary.families), *sorted(vocabulary.sms)]
    return f"; it has: {', '.join(known)}"
