"""Shell text into commands of words, each with its place. Nothing is run: what a shell would compute stays unknown.

Quotes, escapes, line continuations, comments, redirections, here-documents, and variables and arrays that the text
itself sets are understood; command substitutions, variables that it does not set and the placeholders of
documentation (<name>, [a|b], ...) give a word that is marked `dynamic`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from compatcheck.launch.model import Word
from compatcheck.launch.shell_scanner import Scanner
from compatcheck.launch.shell_variables import CLOSERS, OPENERS, TESTS, Variables

MAX_TEXT = 1_000_000
"""Characters; a launch script is a few hundred lines."""
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=", re.S)
_LEADERS = frozenset({"then", "else", "elif", "do", "{", "(", "!"}) | OPENERS


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
    state = Variables(dict(variables or {}))
    scanner = Scanner(text[:MAX_TEXT], line, column, state, starts)
    for words in scanner.run():
        if scanner.joined not in ("&&", "||"):
            state.tested = False
        while words and words[0].text in CLOSERS | _LEADERS and not words[0].dynamic:
            if words[0].text in OPENERS:
                state.enter(words[0].text)
            elif words[0].text in CLOSERS:
                state.leave()
            words = words[1:]
        state.tested = state.tested or scanner.joined == "||"
        state.learn(words, scanner.arrays)
        scanner.arrays = []
        state.tested = state.tested or (bool(words) and words[0].text in TESTS)
        if words:
            yield words


def assignment(word: Word) -> tuple[str, Word] | None:
    """Return the name and value of `NAME=value`, or None."""
    match = _ASSIGNMENT.match(word.text)
    if match is None:
        return None
    value = Word(word.text[match.end() :], word.line, word.column + match.end(), word.dynamic)
    return match[1], value
