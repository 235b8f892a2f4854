"""Justfiles: the lines of recipes, with `{{name}}` filled in from the file's variables and parameters' defaults."""

from __future__ import annotations

import re

from compatcheck.launch.command_line import launches_in_script
from compatcheck.launch.model import Launch

_VARIABLE = re.compile(r"^(?:export[ \t]+)?([A-Za-z_][\w-]*)[ \t]*:=[ \t]*(.*)$")
_RECIPE = re.compile(r"^@?([A-Za-z_][\w-]*)((?:[ \t][^:=]*(?:=[^:]*)?)?):(?!=)")
_PARAMETER = re.compile(r"(?<![\w-])([A-Za-z_][\w-]*)[ \t]*=[ \t]*('[^']*'|\"[^\"]*\")")
_TEXT = re.compile(r"^('[^']*'|\"[^\"]*\")\s*(?:#.*)?$")
_FALLBACK = re.compile(r"^env(?:_var_or_default)?\([^,()]*,\s*('[^']*'|\"[^\"]*\")\s*\)\s*$")
_FILLED = re.compile(r"\{\{\s*([A-Za-z_][\w-]*)\s*\}\}|\{\{[^{}]*\}\}")


class Justfile:
    """Recipes of justfile, .justfile and *.just."""

    name = "justfile"

    def takes(self, path: str, text: str) -> bool:
        name = path.rsplit("/", 1)[-1].lower()
        return name in ("justfile", ".justfile") or name.endswith(".just")

    def launches(self, text: str) -> list[Launch]:
        lines = text.splitlines()
        variables = {m[1]: value for line in lines if (m := _VARIABLE.match(line)) and (value := _literal(m[2]))}
        found: list[Launch] = []
        index = 0
        while index < len(lines):
            match = _RECIPE.match(lines[index])
            index += 1
            if match is None:
                continue
            start = index
            while index < len(lines) and (not lines[index].strip() or lines[index][:1] in (" ", "\t")):
                index += 1
            given = {p[1]: p[2][1:-1] for p in _PARAMETER.finditer(match[2])}
            found += _recipe(lines[start:index], start + 1, _without_parameters(variables, match[2]) | given)
        return found


def _literal(text: str) -> str | None:
    match = _TEXT.match(text) or _FALLBACK.match(text)
    return match[1][1:-1] if match is not None else None


def _without_parameters(variables: dict[str, str], parameters: str) -> dict[str, str]:
    """Return the variables that a recipe's parameters do not hide."""
    hidden = {word.lstrip("*+$").partition("=")[0] for word in parameters.split()}
    return {name: value for name, value in variables.items() if name not in hidden}


def _recipe(lines: list[str], line: int, variables: dict[str, str]) -> list[Launch]:
    width = min((len(text) - len(text.lstrip()) for text in lines if text.strip()), default=0)
    body = "\n".join(re.sub(r"^@?-?", "", text[width:]) if text.strip() else "" for text in lines)

    def replaced(match: re.Match[str]) -> str:
        name = match[1] or "just"
        return variables.get(name, "$" + name.replace("-", "_")) if match[1] else "$just"

    return launches_in_script(_FILLED.sub(replaced, body), line, width + 1)
