"""A Makefile from top to bottom: its variables, what it exports, and its rules with their recipes' lines.

Source: the manual of GNU make, "How make Reads a Makefile" and "Communicating Variables to a Sub-make".
"""

from __future__ import annotations

import re

import msgspec

from compatcheck.launch.files.make.conditions import DIRECTIVE, Conditions
from compatcheck.launch.files.make.lines import one_line, outside, physical
from compatcheck.launch.files.make.values import Spent, Values, Variable
from compatcheck.launch.files.scripts import Scripts
from compatcheck.launch.model import Word

_NAME = r"((?:\$\([^()]*\)|\$\{[^{}]*\}|[^\s:#=+?!$])+)"
_ASSIGNMENT = re.compile(rf"^\s*((?:(?:export|override|private)\s+)*){_NAME}\s*(:{{0,3}}|\?|\+|!)=\s*(.*)$", re.S)
_DEFINE = re.compile(rf"^\s*((?:(?:export|override|private)\s+)*)define\s+{_NAME}\s*(?:(:{{0,3}}|\?|\+|!)=)?\s*$")
_NAMES = re.compile(r"^\s*(export|unexport|undefine|override\s+undefine)(?:\s+(.*))?$", re.S)
_INCLUDE = re.compile(r"^\s*(?:-|s)?include\s+(.*)$", re.S)
_EVALUATED = re.compile(r"\$[({]eval\s+(?:(?:export|override)\s+)?(?:([\w.-]+)\s*[:?+!]*=)?")


class Specific(msgspec.Struct, frozen=True):
    """A variable of one target: `serve: export KV := fp8`."""

    target: str
    modifiers: tuple[str, ...]
    name: str
    kind: str
    value: str
    line: int
    column: int
    sure: bool


class Rule(msgspec.Struct):
    """Targets, what they need, and the lines of their recipe: (line, column, physical lines)."""

    targets: tuple[str, ...]
    needs: tuple[str, ...] = ()
    recipe: list[tuple[int, int, list[str]]] = msgspec.field(default_factory=list)


class Reading:
    """What a Makefile says, once it is read."""

    def __init__(self, text: str, scripts: Scripts) -> None:
        self.scripts = scripts
        self.spent = Spent()
        self.table: dict[str, Variable] = {}
        self.exports: dict[str, tuple[bool | None, int, int]] = {}
        """Names of `export` and `unexport`: whether they are exported (None: they may be), and where that stands."""
        self.export_all: bool | None = False
        self.rules: list[Rule] = []
        self.defined: dict[str, Rule] = {}
        """Texts of `define`, as recipes: what a rule that `eval` makes would run."""
        self.specific: list[Specific] = []
        self.included: list[Word] = []
        self.elsewhere: list[Word] = []
        """What may export variables of which this file does not say enough."""
        self.one_shell = False
        self.prefix = "\t"
        self.values = Values(self.known, scripts.unknown, self.spent)
        self.conditions = Conditions(self.table.get, self.values)
        self.rule: Rule | None = None
        self.evaluated: set[str] = set()
        self._evaluations(text)
        self._read(text.split("\n"))

    def known(self, name: str) -> Variable | None:
        """Return a variable whose value is known at this point."""
        found = self.table.get(name)
        if found is None or not found.sure or name in self.evaluated:
            return None
        return found if found.override or found.includes == len(self.included) else None

    def _evaluations(self, text: str) -> None:
        for match in _EVALUATED.finditer(text):
            if match[1]:
                self.evaluated.add(match[1])
            elif not self.elsewhere:
                self.elsewhere.append(Word("$(eval \u2026)", text.count("\n", 0, match.start()) + 1, 1))

    def _read(self, lines: list[str]) -> None:
        index = 0
        while index < len(lines):
            start = index
            index, raw = physical(lines, index)
            if self.rule is not None and raw[0].startswith(self.prefix):
                self.rule.recipe.append((start + 1, 1, raw))
                continue
            line = one_line(raw)
            define = _DEFINE.match(line)
            if define is not None:
                index = self._define(define, lines, index, start + 1)
            elif line.strip():
                self._line(line, raw, start + 1)

    def _define(self, match: re.Match[str], lines: list[str], index: int, line: int) -> int:
        start = index
        depth = 1
        while index < len(lines) and depth:
            depth += 1 if _DEFINE.match(lines[index]) else -1 if re.match(r"\s*endef\b", lines[index]) else 0
            index += 1
        last = index - (depth == 0)
        body = "\n".join(text.rstrip("\r") for text in lines[start:last])
        self.defined[match[2]] = recipe = Rule(())
        while start < last:
            at = start + 1
            start, raw = physical(lines, start)
            if raw[0].startswith(self.prefix):
                recipe.recipe.append((at, 1, raw))
        self._assign(match[1].split(), match[2], match[3] or "", body, line, 1)
        return index

    def _line(self, line: str, raw: list[str], number: int) -> None:
        if (match := DIRECTIVE.match(line)) is not None:
            self.conditions.directive(match[1], match[2])
        elif (match := _ASSIGNMENT.match(line)) is not None:
            self._assign(match[1].split(), match[2], match[3], match[4], number, match.start(2) + 1)
        elif (match := _INCLUDE.match(line)) is not None:
            self._include(self.values.fill(match[1]).split(), number, match.start(1) + 1)
        elif (match := _NAMES.match(line)) is not None:
            self._names(match[1].split()[-1], match[2] or "", number, match.start(1) + 1)
        elif outside(line, ":") >= 0:
            self._rule(line, raw, number)

    # ----------------------------------------------------------------------------------------- variables

    def _assign(self, modifiers: list[str], name: str, kind: str, value: str, line: int, column: int) -> None:
        self.rule = None
        name = self.values.fill(name)
        reads = self.conditions.reads(name)
        if reads is False:
            return
        if name == ".RECIPEPREFIX":
            self.prefix = value[:1] or "\t"
        if "export" in modifiers:
            self._export(name, reads, line, column)
        present = self.known(name)
        if present is not None and (kind == "?" or (present.override and "override" not in modifiers)):
            return
        sure = (
            reads is True and "private" not in modifiers and not (kind == "?" and (self.included or name in self.table))
        )
        place = (line, column)
        self.set(self.table, name, kind, value, place, sure=sure, override="override" in modifiers, values=self.values)
        self.values.forget()

    def set(
        self,
        table: dict[str, Variable],
        name: str,
        kind: str,
        value: str,
        place: tuple[int, int],
        *,
        sure: bool,
        values: Values | None = None,
        override: bool = False,
    ) -> None:
        """Set a variable in a table: the file's, or that of one target. Without `values` the value is filled in."""
        old = table.get(name)
        simple = kind.startswith(":") or kind == "!" or (kind == "+" and old is not None and old.simple)
        if kind == "!":
            value = self.scripts.unknown(f"$(shell {value})")
        elif simple and values is not None:
            value = values.fill(value)
        if kind == "+" and old is not None and (old.sure or not sure):
            old.parts.append(value if sure else self.scripts.unknown(f"$({name})"))
            return
        if kind == "+":
            value = f"{self.scripts.unknown(f'$({name})')} {value}"
        if old is not None and not sure:
            sure = old.sure and old.simple == simple and old.text == value
        table[name] = Variable([value], simple, *place, sure, override, len(self.included))

    def _names(self, word: str, rest: str, line: int, column: int) -> None:
        self.rule = None
        reads = self.conditions.reads()
        if reads is False:
            return
        for name in self.values.fill(rest).split():
            if word == "undefine":
                if not (name in self.table and self.table[name].override):
                    self.table.pop(name, None)
            elif not re.fullmatch(r"[\w.-]+", name):
                self.elsewhere.append(Word(f"{word} {rest}", line, column))
                return
            elif word == "export":
                self._export(name, reads, line, column)
            else:
                self.exports[name] = (False if reads else None, line, column)
        if word == "export" and not rest.strip():
            self.export_all = reads if not self.export_all else True
        elif word == "unexport" and not rest.strip():
            self.export_all = False if reads else None

    def _export(self, name: str, reads: bool | None, line: int, column: int) -> None:
        before = self.exports.get(name)
        self.exports[name] = (reads if before is None else reads or before[0], line, column)

    def _include(self, names: list[str], line: int, column: int) -> None:
        self.rule = None
        if self.conditions.reads() is not False:
            self.included += [Word(name, line, column) for name in names if not name.endswith(".d")]
            self.values.forget()

    # ----------------------------------------------------------------------------------------- rules

    def _rule(self, line: str, raw: list[str], number: int) -> None:
        colon = outside(line, ":")
        targets = tuple(dict.fromkeys(self.values.fill(line[:colon].rstrip("&")).split()))
        rest = line[colon + 1 :].removeprefix(":")
        match = _ASSIGNMENT.match(rest)
        if match is not None:
            self._specific(targets, match, number, len(line) - len(rest))
            return
        body, semicolon = raw[0], outside(raw[0], ";")
        if outside(rest, ";") >= 0:
            rest = rest[: outside(rest, ";")]
        needs = self.values.fill(rest).replace("|", " ").rpartition(":")[2].split()
        self.rule = Rule(targets, tuple(needs))
        if semicolon >= 0 and "#" not in body[:semicolon]:
            self.rule.recipe.append((number, semicolon + 2, [body[semicolon + 1 :], *raw[1:]]))
        self.one_shell = self.one_shell or ".ONESHELL" in targets
        if ".EXPORT_ALL_VARIABLES" in targets:
            self.export_all = True
        self.rules.append(self.rule)

    def _specific(self, targets: tuple[str, ...], match: re.Match[str], line: int, offset: int) -> None:
        reads = self.conditions.reads()
        self.rule = None
        if reads is False:
            return
        simple = match[3].startswith(":")
        value = self.values.fill(match[4]) if simple else match[4]
        name, column = self.values.fill(match[2]), offset + match.start(2) + 1
        modifiers = tuple(match[1].split())
        self.specific += [
            Specific(target, modifiers, name, match[3], value, line, column, reads is True) for target in targets
        ]
