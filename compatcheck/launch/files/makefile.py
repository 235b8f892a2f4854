"""Makefiles: the lines of recipes, which a shell runs, with the variables that the file sets and exports."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compatcheck.launch.files.make.lines import references
from compatcheck.launch.files.make.reading import Reading, Rule
from compatcheck.launch.files.make.targets import Targets
from compatcheck.launch.files.make.values import Values
from compatcheck.launch.files.scripts import MARK, Script, Scripts, joined, may_launch
from compatcheck.launch.model import Launch

_PREFIX = re.compile(rf"[ \t@+-]*(?:\$\{{{MARK}\d+_\}}(?=\w))?[ \t@+-]*")
"""What make takes off a recipe's line; `$(Q)` in front of a command stands for nothing else."""


class Makefile:
    """Recipes of Makefile, GNUmakefile and *.mk."""

    name = "makefile"

    def takes(self, path: str, text: str) -> bool:
        name = path.rsplit("/", 1)[-1].lower()
        return name in ("makefile", "gnumakefile") or name.startswith("makefile.") or name.endswith((".mk", ".mak"))

    def launches(self, text: str) -> list[Launch]:
        scripts = Scripts()
        reading = Reading(text, scripts)
        targets = Targets(reading)
        files, elsewhere = targets.sources()
        found: list[Launch] = []

        def run(rule: Rule) -> None:
            values, environment = targets.scope(rule)
            lines = [script for one in rule.recipe for script in _scripts(*one, values, reading)]
            lines = joined(lines) if reading.one_shell else lines
            found.extend(scripts.run(lines, environment, files, elsewhere))

        for rule in reading.rules:
            run(rule)
        for name, rule in reading.defined.items():
            if name not in reading.spent.used:
                run(rule)
        return found


def _scripts(line: int, column: int, raw: list[str], values: Values, reading: Reading) -> Iterator[Script]:
    """Yield what one line of a recipe is to the shell: one text, or one for each line of a `define` in it."""
    prefix, whole = reading.prefix, reading.one_shell
    body = "\n".join([raw[0].removeprefix(prefix), *(text.removeprefix(prefix) for text in raw[1:])])
    if not whole and "$" not in body and not may_launch(body):
        return
    columns = [column + (len(raw[0]) - len(raw[0].removeprefix(prefix)))]
    columns += [1 + len(text) - len(text.removeprefix(prefix)) for text in raw[1:]]
    place = _Place(line, columns)
    parts: list[str] = []
    at = 0
    for start, end, inner in references(body):
        place.copy(body[at:start])
        value = values.replaced(body[start:end], inner)
        place.fill(body[start:end], value)
        parts += [body[at:start], value]
        at = end
    place.copy(body[at:])
    parts.append(body[at:])
    yield from _split("".join(parts), place.starts)


def _split(text: str, starts: list[tuple[int, int, int]]) -> Iterator[Script]:
    """Split at the ends of lines that do not go on, each without what make takes off its start."""
    ends = [match.end() for match in re.finditer(r"(?<!\\)(?:\\\\)*\n", text)]
    index = 0
    for begin, end in zip([0, *ends], [*ends, len(text)], strict=True):
        match = _PREFIX.match(text, begin, end)
        begin = match.end() if match is not None else begin
        while index + 1 < len(starts) and starts[index + 1][0] <= begin:
            index += 1
        first, line, column = starts[index]
        places = [(0, line, column + begin - first)]
        last = index + 1
        while last < len(starts) and starts[last][0] < end:
            places.append((starts[last][0] - begin, *starts[last][1:]))
            last += 1
        yield text[begin:end].rstrip("\n"), tuple(places)


class _Place:
    """Where the pieces of a text that is filled in stand in the file."""

    def __init__(self, line: int, columns: list[int]) -> None:
        self.line = line
        self.columns = columns
        self.row = 0
        self.column = columns[0]
        self.offset = 0
        self.starts = [(0, line, self.column)]

    def copy(self, text: str) -> None:
        """Note a piece that stands in the file as it is."""
        for index, part in enumerate(text.split("\n")):
            if index:
                self.row += 1
                self.column = self.columns[self.row]
                self.offset += 1
                self.starts.append((self.offset, self.line + self.row, self.column))
            self.offset += len(part)
            self.column += len(part)

    def fill(self, written: str, value: str) -> None:
        """Note what is filled in at this place, and that the file goes on after it."""
        self.starts.append((self.offset, self.line + self.row, self.column))
        self.row += written.count("\n")
        self.column = self.column + len(written) if "\n" not in written else 1 + len(written.rpartition("\n")[2])
        self.offset += len(value)
        self.starts.append((self.offset, self.line + self.row, self.column))
