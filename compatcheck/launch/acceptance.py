"""Which covered releases accept what a launch says, asked where the release itself is only assumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compatcheck.launch.arguments import ArgumentProblem, parse_arguments
from compatcheck.launch.flag_table import keyword_history, releases, table
from compatcheck.launch.model import Word
from compatcheck.matrix.versions import parse


class Acceptance:
    """The problems of one command line in every covered release; releases are parsed when they are asked for."""

    def __init__(self, words: tuple[Word, ...]) -> None:
        self._words = words
        self._problems: dict[str, set[tuple[int, int, str]]] = {}

    def of(self, problem: ArgumentProblem) -> tuple[str, ...]:
        """Return the releases whose parser does not stop at the word of a problem."""
        return tuple(release for release in releases() if _key(problem.word) not in self._of_release(release))

    def of_all(self) -> tuple[str, ...]:
        """Return the releases whose parser takes the whole command."""
        return tuple(release for release in releases() if not self._of_release(release))

    def _of_release(self, release: str) -> set[tuple[int, int, str]]:
        found = self._problems.get(release)
        if found is None:
            problems = parse_arguments(self._words, table(release)).problems
            found = self._problems[release] = {_key(p.word) for p in problems if not p.word.dynamic}
        return found


def accepting(accepts: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the covered releases for which a condition holds."""
    return tuple(release for release in releases() if accepts(release))


def with_key(option: str, key: str) -> tuple[str, ...]:
    """Return the releases whose JSON option has a key."""
    return accepting(lambda release: (flag := table(release).flags.get(option)) is not None and key in flag.keys)


def with_keyword(owner: str, name: str) -> tuple[str, ...]:
    """Return the releases in which a Python class takes a keyword."""
    spans = keyword_history(owner, name)
    return accepting(
        lambda release: any(
            (since is None or parse(since) <= parse(release)) and (until is None or parse(release) < parse(until))
            for since, until in spans
        )
    )


def describe(accepted: Sequence[str]) -> str:
    """Return releases as text, runs of them joined: '0.18.1 to 0.27.1, 0.33.0'."""
    every = releases()
    runs: list[list[str]] = []
    for release in accepted:
        if runs and every.index(release) == every.index(runs[-1][-1]) + 1:
            runs[-1].append(release)
        else:
            runs.append([release])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


def _key(word: Word) -> tuple[int, int, str]:
    return word.line, word.column, word.text
