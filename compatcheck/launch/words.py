"""Shell text into commands of words, each with its place. Nothing is run: what a shell would compute stays unknown.

Quotes, escapes, line continuations, comments, redirections, here-documents, branches, loops and functions, and
variables and arrays that the text itself sets are understood; command substitutions, variables that it does not set
and the placeholders of documentation (<name>, [a|b], ...) give a word that is marked `dynamic`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from compatcheck.launch.model import Word
from compatcheck.launch.shell.flow import walk
from compatcheck.launch.shell.reading import Reading
from compatcheck.launch.shell.scanner import Command, Scanner
from compatcheck.launch.shell.survey import survey
from compatcheck.launch.shell.variable import Variable
from compatcheck.launch.shell.variables import Variables

MAX_TEXT = 1_000_000
"""Characters; a launch script is a few hundred lines."""
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=", re.S)


def commands(
    text: str,
    line: int = 1,
    column: int = 1,
    variables: dict[str, str] | None = None,
    starts: tuple[tuple[int, int, int], ...] = (),
) -> Iterator[list[Word]]:
    """Yield the simple commands of a shell text in order, each as its words.

    `line` and `column` are the place of the text's first character; `starts` are those of its pieces, (offset, line,
    column), where they cannot be counted. Variables that the text assigns are filled in where they are used later; one
    that a branch may have set differently is not.
    """
    known = {name: Variable(text=value) for name, value in (variables or {}).items()}
    for words, _, _ in read_commands(text, line, column, known, starts):
        yield words


def split(text: str, starts: tuple[tuple[int, int, int], ...]) -> list[Word]:
    """Return the words of a text as a program splits it that is no shell, up to the first operator.

    A `#` begins no comment, a line's end is a space, and a backslash before it makes it a part of a word
    (mattn/go-shellwords, which compose uses, and Python's shlex.split).
    """
    scanner = Scanner(text[:MAX_TEXT], 1, 1, Variables({}), starts)
    scanner.shell = False
    return next((command.words for command in scanner.run()), [])


def read_commands(
    text: str, line: int, column: int, known: dict[str, Variable], starts: tuple[tuple[int, int, int], ...]
) -> Iterator[tuple[list[Word], Command, Reading]]:
    """Yield the simple commands of a text, each with what is known of the text where it is run."""
    text = text[:MAX_TEXT]
    variables = Variables(dict(known))
    reading = Reading(variables, survey(text))
    for words, command in walk(Scanner(text, line, column, variables, starts), reading):
        yield words, command, reading
        reading.learn(words, command)


def assignment(word: Word) -> tuple[str, Word] | None:
    """Return the name and value of `NAME=value`, or None."""
    match = _ASSIGNMENT.match(word.text)
    if match is None:
        return None
    value = Word(word.text[match.end() :], word.line, word.column + match.end(), word.dynamic)
    return match[1], value
