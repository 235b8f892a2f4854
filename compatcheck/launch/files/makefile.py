"""Makefiles: the lines of recipes, which a shell runs, with the variables that the file sets.

A variable that the file sets more than once is not known, but for `+=`; nor is what a function of make gives.
"""

from __future__ import annotations

import re

from compatcheck.launch.command_line import launches_in_script
from compatcheck.launch.model import Launch

_VARIABLE = re.compile(r"^(?:export[ \t]+|override[ \t]+)?([A-Za-z_][\w-]*)[ \t]*(\?|:{1,3}|\+|)=[ \t]*(.*)$")
_REFERENCE = re.compile(r"\$\$|\$\(([\w.-]+)\)|\$\{([\w.-]+)\}|\$\((?:[^()]|\([^()]*\))*\)|\$([A-Za-z@<^*?%+])")
_CONDITIONAL = re.compile(r"^(?:ifeq|ifneq|ifdef|ifndef)\b", re.M)
MAX_DEPTH = 50
"""Variables in variables that are followed."""
MAX_VALUE = 20_000
"""Characters of a variable's value; a longer one is not looked at."""


class Makefile:
    """Recipes of Makefile, GNUmakefile and *.mk."""

    name = "makefile"

    def takes(self, path: str, text: str) -> bool:
        name = path.rsplit("/", 1)[-1].lower()
        return name in ("makefile", "gnumakefile") or name.startswith("makefile.") or name.endswith((".mk", ".mak"))

    def launches(self, text: str) -> list[Launch]:
        lines = text.splitlines()
        filler = _Filler(_variables(lines, conditional=bool(_CONDITIONAL.search(text))))
        found: list[Launch] = []
        index = 0
        while index < len(lines):
            start = index
            while lines[index].endswith("\\") and index + 1 < len(lines):
                index += 1
            index += 1
            if not lines[start].startswith("\t"):
                continue
            first = lines[start].lstrip("\t @+-")
            body = "\n".join([first, *(line.removeprefix("\t") for line in lines[start + 1 : index])])
            column = len(lines[start]) - len(first) + 1
            found += launches_in_script(filler.fill(body), start + 1, column)
        return found


def _variables(lines: list[str], *, conditional: bool) -> dict[str, str]:
    values: dict[str, str] = {}
    unsure: set[str] = set()
    index = 0
    while index < len(lines):
        line = lines[index]
        while line.endswith("\\") and index + 1 < len(lines):
            index += 1
            line = line[:-1] + " " + lines[index].strip()
        index += 1
        match = None if line.startswith("\t") else _VARIABLE.match(line)
        if match is None:
            continue
        name, kind, value = match[1], match[2], re.split(r"(?<!\\)#", match[3])[0].rstrip()
        if kind == "+" and name in values and not conditional:
            values[name] += " " + value
        elif name in values:
            unsure.add(name)
        else:
            values[name] = value if kind != "+" else f"$$unknown {value}"
    return {name: value for name, value in values.items() if name not in unsure}


class _Filler:
    """Puts the values of variables in place of their names, each value filled once."""

    def __init__(self, variables: dict[str, str]) -> None:
        self.variables = variables
        self.done: dict[str, str] = {}
        self.open: set[str] = set()

    def fill(self, text: str) -> str:
        """Return a recipe as the shell gets it; what make alone knows becomes a variable that nothing sets."""
        return _REFERENCE.sub(self._replaced, text)

    def _replaced(self, match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        name = match[1] or match[2]
        if name is None or name not in self.variables or name in self.open or len(self.open) >= MAX_DEPTH:
            return "$" + re.sub(r"\W", "_", name or "made")
        if name not in self.done:
            self.open.add(name)
            value = self.fill(self.variables[name])
            self.open.discard(name)
            self.done[name] = value if len(value) <= MAX_VALUE else f"${name}"
        return self.done[name]
