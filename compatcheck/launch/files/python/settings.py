"""Keywords and variables of a Python file as a launch holds them: settings, words, and what is elsewhere."""

from __future__ import annotations

import ast
from typing import Any

from compatcheck.launch.files.python.mappings import Held
from compatcheck.launch.files.python.values import Values
from compatcheck.launch.model import Setting, Word


def settings_of(held: Held, values: Values) -> list[Setting]:
    """Return the keywords of an engine; what may be more of them is one that is `dynamic`."""
    found = [setting(name, one.value, one.place, values, sure=one.sure) for name, one in held.items.items()]
    for node in held.elsewhere:
        text = "**" + ast.unparse(node)[:80]
        found.append(_written(text, text, node, dynamic=True))
    return found


def setting(name: str, value: ast.expr, place: ast.expr | ast.keyword, values: Values, *, sure: bool = True) -> Setting:
    """Return one keyword; its text stands for a value that is not written down."""
    known, constant = values.value(value)
    return _written(name, constant if known else ast.unparse(value)[:80], place, dynamic=not known or not sure)


def _written(name: str, value: Any, place: ast.expr | ast.keyword, *, dynamic: bool) -> Setting:
    return Setting(
        option="--" + name.replace("_", "-"),
        value=value,
        written=name,
        line=place.lineno,
        column=place.col_offset + 1,
        dynamic=dynamic,
    )


def variables_of(held: Held, values: Values) -> dict[str, Word]:
    """Return variables by their names; of one that may not be set only the name is known."""
    found: dict[str, Word] = {}
    for name, item in held.items.items():
        word = values.word(item.value)
        found[name] = word if item.sure else Word(word.text, word.line, word.column, dynamic=True)
    return found


def elsewhere_of(nodes: list[ast.expr], before: str = "") -> tuple[Word, ...]:
    """Return the names of parts that may hold variables."""
    return tuple(
        Word(before + ast.unparse(node)[:80], node.lineno, node.col_offset + 1, dynamic=True) for node in nodes
    )
