"""Unused entries: derived facts that no condition asks, routes that nothing takes. Warnings.

Why: they look as if they decided something. Kernels are not counted: those beside the routes are there to be tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.model import RouteCase, Rule

CODE = "unused"
_UNASKED = "no condition or rule asks for this fact"


def check(context: Context) -> list[Problem]:
    """Return facts and routes that are declared and not used."""
    asked = {name for _, condition in context.conditions for name in _asked(condition)}
    asked |= {rule.bites for _, rule in context.records(Rule)}
    taken = {(path[1], case.route) for path, case in context.records(RouteCase)}
    problems: list[Problem] = []
    for engine in context.names("engines"):
        problems += [
            context.problem(("engines", engine, "facts", name), CODE, _UNASKED, "warning")
            for name in context.names("engines", engine, "facts")
            if name not in asked
        ]
        problems += [
            context.problem(("engines", engine, "routes", name), CODE, "routing never takes this route", "warning")
            for name in context.names("engines", engine, "routes")
            if (engine, name) not in taken
        ]
    return problems


def _asked(condition: Any) -> Iterator[str]:
    if not isinstance(condition, dict):
        return
    for key, value in condition.items():
        if key in ("all_of", "any_of"):
            for nested in value if isinstance(value, list) else ():
                yield from _asked(nested)
        elif key == "not":
            yield from _asked(value)
        else:
            yield key
