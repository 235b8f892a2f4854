"""From files to problems: read, merge, ask every rule."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from compatcheck.aside import Aside
from compatcheck.matrix.documents import MergedDocument, read_files
from compatcheck.matrix.errors import MatrixError, Problem
from compatcheck.matrix.files import read_bytes
from compatcheck.matrix.lint import compiles
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.load import default_path
from compatcheck.matrix.model import Matrix
from compatcheck.matrix.parts import with_parts

if TYPE_CHECKING:
    from compatcheck.resolve.conditions import CompiledEntries

READ_CODES = frozenset(
    {
        "unreadable",
        "too-large",
        "encoding",
        "yaml-syntax",
        "yaml-alias",
        "yaml-tag",
        "yaml-key",
        "too-deep",
        "duplicate-key",
        "not-a-mapping",
    }
)
"""Problems of a file that is not readable as a matrix at all, as against one that says something wrong."""

_NEEDED = frozenset({"empty", "sm", "name", "release", "reference", "condition", "grant", "version-range", "words"})
"""Codes of the rules whose problems would surface as crashes, or as answers to another question."""


def lint_files(paths: list[Path]) -> list[Problem]:
    """Return everything that is wrong with a matrix and its overlays, in the order of the files and lines.

    The first file is the matrix, the others are merged over it as `load` does it; no file is the packaged matrix. A
    first file that states no `schema` is an overlay, and is read over the packaged matrix. Nothing is raised for what a
    file holds, or for a file that cannot be read: that is a problem of the list.
    """
    named = [str(path) for path in paths] or [str(default_path())]
    files: list[tuple[Path, bytes]] = []
    problems: list[Problem] = []
    for index, path in enumerate(paths or [default_path()]):
        try:
            files += with_parts(path, default_path()) if index == 0 else [(path, read_bytes(path))]
        except MatrixError as error:
            problems += error.problems
    try:
        document = read_files(files)
        if not problems and paths and document.value and "schema" not in read_files(files[:1]).value:
            document = read_files([*with_parts(default_path(), default_path()), *files])
    except MatrixError as error:
        return _sorted(problems + error.problems, named)
    problems += document.problems
    if not problems or not any(problem.code == "unreadable" for problem in problems):
        problems += _lint(document, named[0])
    return _sorted(problems, named)


class Checking:
    """Tells what would make a well-formed matrix fail while it is asked; `load` refuses such a matrix.

    What is compiled is left in `compiled`.
    """

    def __init__(self, document: MergedDocument, file: str, matrix: Matrix, compiled: CompiledEntries) -> None:
        self._document = document
        self._file = file
        self._matrix = matrix
        self._compiled = compiled
        self._aside: Aside | None = None
        self._found: list[Problem] | None = None

    def begin(self, *, everything: bool) -> bool:
        """Begin to ask the rules in a process of its own; False where that cannot be.

        With `everything` it is also found out there whether the matrix compiles, and whoever works with it before
        `problems` tells may meet any exception. Otherwise that is found out here: False where it does not.
        """
        if not everything:
            try:
                if compiles.compile_everything(self._matrix, self._compiled):
                    return False
            except Exception:  # the rules say better what is wrong than whatever it led to
                return False
        find = self._of_everything if everything else self._of_rules
        self._aside = Aside.begin(lambda: msgspec.msgpack.encode(find()))
        return self._aside is not None

    def problems(self) -> list[Problem]:
        """Return the problems; those of the rules first, which know the place."""
        if self._found is None:
            self._found = _sorted(self._find(), [self._file])
        return self._found

    def _find(self) -> list[Problem]:
        if self._aside is not None:
            said, self._aside = self._aside.result(), None
            if said is not None:
                return msgspec.msgpack.decode(said, type=list[Problem])
        return self._of_everything()

    def _of_everything(self) -> list[Problem]:
        found = self._of_rules()
        if not found:
            wrong = compiles.compile_everything(self._matrix, self._compiled)
            context = Context(self._document, self._file) if wrong else None
            found = [context.problem(path, compiles.CODE, message) for path, message in wrong if context]
        return found

    def _of_rules(self) -> list[Problem]:
        # Imported where they are asked: perhaps in another process.
        from compatcheck.matrix.lint import linear
        from compatcheck.matrix.lint.registry import RULES

        context = Context(self._document, self._file)
        problems = [problem for rule in RULES if rule.code in _NEEDED for problem in rule.check(context)]
        problems += linear.needed(context)
        return [problem for problem in problems if problem.severity == "error"]


def _lint(document: MergedDocument, file: str) -> list[Problem]:
    from compatcheck.matrix.lint.registry import RULES

    context = Context(document, file)
    problems = [problem for rule in RULES for problem in rule.check(context)]
    if all(problem.severity == "warning" for problem in problems):
        problems += compiles.check(context)
    return problems


def _sorted(problems: list[Problem], files: list[str]) -> list[Problem]:
    def key(problem: Problem) -> tuple[int, str, int, int, str, str]:
        known = files.index(problem.file) if problem.file in files else len(files)
        return known, problem.file, problem.line, problem.column, problem.code, problem.message

    return sorted(set(problems), key=key)
