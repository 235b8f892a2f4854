"""What a justfile says: its variables, settings and exports, and its recipes with their parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from compatcheck.launch.files.just.expressions import Expression, NotAnExpressionError, statement_end
from compatcheck.launch.files.scripts import MAX_VALUE, Scripts, bounded
from compatcheck.launch.model import Word

_ASSIGNMENT = re.compile(r"(?:(?:export|eager|lazy|private)[ \t]+)*([A-Za-z_][\w-]*)[ \t]*:=")
_SET = re.compile(r"set[ \t]+([\w-]+)[ \t]*(:=)?")
_OTHER = re.compile(r"(?:(import\??|mod\??)[ \t]+(\S[^\n]*)|(unexport)[ \t]+([\w-]+)|alias[ \t][^\n]*)")
_HEAD = re.compile(r"@?([A-Za-z_][\w-]*)(?=[ \t:])")
_PARAMETER = re.compile(r"[ \t]*[*+]?(\$?)([A-Za-z_][\w-]*)[ \t]*(=?)")
_COLON = re.compile(r"[ \t]*:")
_FALSE = re.compile(r"[ \t]*false\b")
_ENV = re.compile(r"\benv\(\s*('[^']*'|\"[^\"]*\")\s*,\s*('[^']*'|\"[^\"]*\")\s*\)")
_DOTENV = frozenset({"dotenv-load", "dotenv-filename", "dotenv-path", "dotenv-required", "dotenv-override"})
MAX_CHARACTERS = 300_000
"""Characters that are filled in for one file; beyond them values are unknown."""
MAX_SOURCES = 10
"""Other files that are named; one is enough to leave the answer open."""
MAX_DEPTH = 20
"""Variables in variables that are followed."""


class Parameter(msgspec.Struct, frozen=True):
    """A recipe's parameter: its default is the expression from `at` on, -1 for none."""

    name: str
    at: int
    exported: bool
    column: int


class Recipe(msgspec.Struct):
    """A recipe: `line` is that of its first line, after the head."""

    line: int
    lines: list[str]
    parameters: list[Parameter]
    script: bool
    environment: dict[str, Word]


class Variable(msgspec.Struct, frozen=True):
    """An assignment, its expression from `at` on."""

    at: int
    line: int
    exported: bool


class JustReading:
    """A justfile, once it is read. Variables may stand after what uses them."""

    def __init__(self, text: str, scripts: Scripts) -> None:
        self.text = text
        self.scripts = scripts
        self.variables: dict[str, Variable] = {}
        self.settings: dict[str, tuple[int, int]] = {}
        """Name -> the line, and where its expression stands; -1 for none."""
        self.imports: list[Word] = []
        self.hidden: set[str] = set()
        """Names of `unexport`."""
        self.recipes: list[Recipe] = []
        self.spent = 0
        self.values: dict[str, str | None] = {}
        self.open: set[str] = set()
        self.exported: dict[str, Word] | None = None
        self._read()

    def _read(self) -> None:
        text, at, line = self.text, 0, 1
        attributes: list[str] = []
        while at < len(text):
            end = text.find("\n", at)
            end = end if end >= 0 else len(text)
            if (match := _ASSIGNMENT.match(text, at)) is not None:
                words = match[0].split()
                self.variables[match[1]] = Variable(match.end(), line, "export" in words[:-1])
                end = statement_end(text, match.end())
            elif (match := _SET.match(text, at)) is not None:
                self.settings[match[1]] = (line, match.end() if match[2] else -1)
                end = statement_end(text, match.end())
            elif (match := _OTHER.match(text, at)) is not None:
                if match[4]:
                    self.hidden.add(match[4])
                elif (match[1] or "").startswith("import"):
                    self.imports.append(Word(match[2].strip().strip("'\""), line, match.start(2) - at + 1))
            elif text.startswith("[", at):
                attributes.append(text[at:end])
            elif (match := _HEAD.match(text, at)) is not None:
                end = self._recipe(match.end(), at, line, attributes)
            if not text.startswith(("[", "#", "\n"), at):
                attributes = []
            end = text.find("\n", end)
            end = end if end >= 0 else len(text)
            line += text.count("\n", at, end + 1)
            at = end + 1

    def _recipe(self, at: int, start: int, line: int, attributes: list[str]) -> int:
        """Read a head and the lines below it; return the end of the last of them."""
        text = self.text
        parameters: list[Parameter] = []
        skipper = Expression(text, at, lambda _: "", lambda _: "")
        while (match := _PARAMETER.match(text, skipper.at)) is not None:
            skipper.at = match.end()
            parameters.append(
                Parameter(match[2], match.end() if match[3] else -1, bool(match[1]), match.start(2) - start + 1)
            )
            try:
                if match[3]:
                    skipper.primary()
            except NotAnExpressionError:
                break
        end = text.find("\n", skipper.at)
        end = end if end >= 0 else len(text)
        if not _COLON.match(text, skipper.at):
            return end
        first = line + text.count("\n", start, end) + 1
        lines: list[str] = []
        while end < len(text) and (text[end + 1 : end + 2] in (" ", "\t", "\n", "\r")):
            begin, after = end + 1, text.find("\n", end + 1)
            end = after if after >= 0 else len(text)
            lines.append(text[begin:end].rstrip("\r"))
        said = " ".join(attributes)
        given = {m[1][1:-1]: Word(m[2][1:-1], line, 1) for m in _ENV.finditer(said)}
        self.recipes.append(Recipe(first, lines, parameters, bool(re.search(r"\bscript\b", said)), given))
        return end

    # ------------------------------------------------------------------------------------------- values

    def value(self, name: str) -> str | None:
        """Return a variable's value, with marks for what is unknown in it; None where the file has no such one."""
        if name not in self.values:
            variable = self.variables.get(name)
            if variable is None or name in self.open or len(self.open) >= MAX_DEPTH:
                return None
            self.open.add(name)
            self.values[name] = self.evaluated(variable.at, f"{{{{{name}}}}}", Scope(self, {}))
            self.open.discard(name)
        return self.values[name]

    def evaluated(self, at: int, said: str, scope: Scope, *, primary: bool = False) -> str:
        """Return what the expression at a place gives."""
        expression = Expression(self.text, at, scope.get, self.scripts.unknown, defaults=not self.dotenv())
        try:
            return scope.spend(expression.primary() if primary else expression.value(), said)
        except NotAnExpressionError:
            return self.scripts.unknown(said)

    def scope(self, recipe: Recipe) -> Scope:
        """Return what the names in a recipe stand for: parameters hide variables."""
        scope = Scope(self, {})
        for one in recipe.parameters:
            said = f"{{{{{one.name}}}}}"
            unset = one.at < 0
            value = self.scripts.unknown(said) if unset else self.evaluated(one.at, said, scope, primary=True)
            scope.given[one.name] = value
        return scope

    def environment(self, recipe: Recipe, scope: Scope) -> dict[str, Word]:
        """Return what the file exports to a recipe's shells."""
        every = "export" in self.settings and self._is_on(self.settings["export"][1])
        if self.exported is None:
            self.exported = dict(self._exported(every=every))
        own = {
            one.name: Word(scope.given[one.name], recipe.line - 1, one.column)
            for one in recipe.parameters
            if every or one.exported
        } | recipe.environment
        return {**bounded(self.exported)[0], **own} if own else self.exported

    def _exported(self, *, every: bool) -> Iterator[tuple[str, Word]]:
        for name, variable in self.variables.items():
            if (every or variable.exported) and name not in self.hidden:
                value = self.value(name)
                yield name, Word(self.scripts.unknown(f"{{{{{name}}}}}") if value is None else value, variable.line)

    def _is_on(self, at: int) -> bool:
        return at < 0 or not _FALSE.match(self.text, at)

    def dotenv(self) -> dict[str, tuple[int, int]]:
        """Return the settings that load a file of variables, of which `env` gives those, too."""
        return {name: place for name, place in self.settings.items() if name in _DOTENV and self._is_on(place[1])}

    def sources(self) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
        """Return the files of variables, and what else may export some."""
        said = self.dotenv()
        named = said.get("dotenv-path") or said.get("dotenv-filename")
        files: tuple[Word, ...] = ()
        if named is not None:
            files = (Word(self.evaluated(named[1], "set dotenv-path", Scope(self, {})), named[0]),)
        elif said:
            files = (Word(".env", next(iter(said.values()))[0]),)
        return files, tuple(self.imports[:MAX_SOURCES])


class Scope:
    """What names stand for in one recipe."""

    def __init__(self, reading: JustReading, given: dict[str, str]) -> None:
        self.reading = reading
        self.given = given
        self.unknown = reading.scripts.unknown

    def get(self, name: str) -> str | None:
        """Return the value of a parameter or variable; None where it is not known."""
        return self.given[name] if name in self.given else self.reading.value(name)

    def spend(self, value: str, said: str) -> str:
        """Return a value, or its mark where it is too long or too much was filled in."""
        self.reading.spent += len(value)
        long = len(value) > MAX_VALUE or self.reading.spent > MAX_CHARACTERS
        return self.reading.scripts.unknown(said) if long else value
