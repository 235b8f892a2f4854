"""Justfiles: the lines of recipes, with `{{…}}` filled in, and what the file exports.

Source: just's manual. Each line of a recipe is run by a shell of its own, but for recipes with `#!` and [script].
"""

from __future__ import annotations

import re

from compatcheck.launch.files.just.expressions import Expression, NotAnExpressionError
from compatcheck.launch.files.just.reading import JustReading, Recipe, Scope
from compatcheck.launch.files.scripts import Script, Scripts, joined
from compatcheck.launch.model import Launch

_CLOSE = re.compile(r"\s*\}\}")
_SHELL = re.compile(r"^#!.*?\b(?:ba|da|z|k|a)?sh\b")


class Justfile:
    """Recipes of justfile, .justfile, *.just and *.justfile."""

    name = "justfile"

    def takes(self, path: str, text: str) -> bool:
        name = path.rsplit("/", 1)[-1].lower()
        return name == "justfile" or name.endswith((".justfile", ".just"))

    def launches(self, text: str) -> list[Launch]:
        scripts = Scripts()
        reading = JustReading(text, scripts)
        files, elsewhere = reading.sources()
        found: list[Launch] = []
        for recipe in reading.recipes:
            scope = reading.scope(recipe)
            found += scripts.run(_scripts(recipe, scope), reading.environment(recipe, scope), files, elsewhere)
        return found


def _scripts(recipe: Recipe, scope: Scope) -> list[Script]:
    lines = recipe.lines
    width = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    first = next((line.strip() for line in lines if line.strip()), "")
    whole = first.startswith("#!") or recipe.script
    if first.startswith("#!") and not _SHELL.match(first):
        return []
    found: list[Script] = []
    index = 0
    while index < len(lines):
        start = index
        while not whole and lines[index].endswith("\\") and index + 1 < len(lines):
            index += 1
        index += 1
        head = lines[start][width:]
        taken = width if whole else width + len(head) - len(head.lstrip("@?-"))
        body = "\n".join([lines[start][taken:], *(line[width:] for line in lines[start + 1 : index])])
        if body.strip():
            found.append(_filled(body, recipe.line + start, taken + 1, width + 1, scope))
    return joined(found) if whole else found


def _filled(body: str, line: int, column: int, indent: int, scope: Scope) -> Script:
    """Return a text with what stands in `{{…}}` filled in, and where its pieces stand in the file."""
    parts: list[str] = []
    starts = [(0, line, column)]
    length = at = 0

    def copy(text: str, *, shown: bool = True) -> None:
        nonlocal line, column, length
        for index, part in enumerate(text.split("\n")):
            if index:
                line, column = line + 1, indent
                starts.append((length + 1, line, column))
            length += (len(part) + bool(index)) if shown else 0
            column += len(part)

    while (start := body.find("{{", at)) >= 0:
        copy(body[at:start])
        parts.append(body[at:start])
        value, at = _interpolated(body, start, scope)
        starts.append((length, line, column))
        copy(body[start:at], shown=False)
        parts.append(value)
        length += len(value)
        starts.append((length, line, column))
    copy(body[at:])
    return "".join([*parts, body[at:]]), tuple(starts)


def _interpolated(body: str, start: int, scope: Scope) -> tuple[str, int]:
    """Return what `{{…}}` gives, and the place after it. `{{{{` stands for two brackets."""
    if body.startswith("{{{{", start):
        return "{{", start + 4
    sure = not scope.reading.dotenv()
    expression = Expression(body, start + 2, scope.get, scope.unknown, lines=True, defaults=sure)
    try:
        value = expression.value()
        end = _CLOSE.match(body, expression.at)
        if end is not None:
            return scope.spend(value, body[start : end.end()]), end.end()
    except NotAnExpressionError:
        pass
    closed = body.find("}}", start)
    end_at = closed + 2 if closed >= 0 else len(body)
    return scope.unknown(body[start:end_at]), end_at
