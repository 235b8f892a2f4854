"""Shell texts that another program fills in and runs (make, just, systemd), and what only that program knows in them.

Such a part is written into the text as a variable that nothing sets, so that whatever the shell makes of it stays open;
in what is found it reads as the file has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from compatcheck.launch.command_line import launches_in_script
from compatcheck.launch.installed_release import pinned_version, with_version
from compatcheck.launch.launch_parts import with_files
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.programs import TELLING
from compatcheck.launch.words import MAX_TEXT, commands

Starts = tuple[tuple[int, int, int], ...]
"""Where the pieces of a text stand in its file: (offset, line, column)."""
Script = tuple[str, Starts]

MARK = "COMPATCHECK_UNKNOWN_"
_MARKED = re.compile(rf"\$\{{{MARK}(\d+)_\}}|\${MARK}(\d+)_")
_PIN = re.compile(r"vllm(?:\[[\w,-]*\])?(?:==|@)")
REACHED = f"{MARK}REACHED"
"""A variable in every environment: a launch that has it is run in that environment, not in a container of its own."""
MAX_SAID = 60
"""Characters of an unknown part that are shown."""
MAX_VALUE = 20_000
"""Characters of a variable's value; a longer one is not looked at."""
MAX_EXPORTED = 100
"""Variables that one file exports; those beyond are named as elsewhere. vLLM's own come first."""


class Scripts:
    """The shell texts of one file."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.numbers: dict[str, int] = {}
        self.last: tuple[Mapping[str, Word], dict[str, Word], tuple[Word, ...], bool] | None = None

    def unknown(self, said: str) -> str:
        """Return what stands in a shell's text for a part that only the program that fills it in knows."""
        said = " ".join(_MARKED.sub(self._said, said[:1000]).split())
        said = said if len(said) <= MAX_SAID else said[: MAX_SAID - 1] + "\u2026"
        number = self.numbers.setdefault(said, len(self.said))
        if number == len(self.said):
            self.said.append(said)
        return f"${{{MARK}{number}_}}"

    def run(
        self,
        scripts: Iterable[Script],
        environment: Mapping[str, Word],
        files: tuple[Word, ...] = (),
        elsewhere: tuple[Word, ...] = (),
    ) -> list[Launch]:
        """Return the launches of texts that are run one after another, each by a shell of its own.

        `files` and `elsewhere` are where variables of these shells come from; a release that one of the texts installs
        is there for the later ones.
        """
        found: list[Launch] = []
        pinned: Word | None = None
        given: dict[str, Word] | None = None
        for text, starts in scripts:
            if not (may_launch(text) or ("$" in text and self._bounded(environment)[2])):
                continue
            if given is None:
                given, more, _ = self._bounded(environment)
                elsewhere += more
            _, line, column = starts[0]
            if len(text) > MAX_TEXT:
                elsewhere = (*elsewhere, Word("the end of this recipe, which is too long to be read,", line, column))
            launches = launches_in_script(text, line, column, given, starts=starts)
            found += [self.settled(with_version(launch, pinned), files, elsewhere) for launch in launches]
            if _PIN.search(text):
                for words in commands(text, line, column, starts=starts):
                    pinned = pinned_version(words) or pinned
        return found

    def _bounded(self, environment: Mapping[str, Word]) -> tuple[dict[str, Word], tuple[Word, ...], bool]:
        """Return what `bounded` does, and whether a variable holds a launch; once for the environment of many."""
        if self.last is None or self.last[0] is not environment:
            given, more = bounded(environment)
            launching = any(may_launch(word.text) for word in given.values())
            self.last = (environment, given | {REACHED: Word("1")}, more, launching)
        return self.last[1:]

    def settled(self, launch: Launch, files: tuple[Word, ...] = (), elsewhere: tuple[Word, ...] = ()) -> Launch:
        """Return the launch with what is unknown in it as the file has it, and where its variables come from."""
        environment = {name: self.word(word) for name, word in launch.environment.items() if name != REACHED}
        whole = msgspec.structs.replace(
            launch,
            words=tuple(self.word(word) for word in launch.words),
            environment=environment,
            env_files=tuple(self.word(word) for word in launch.env_files),
            elsewhere=tuple(self.word(word) for word in launch.elsewhere),
            image=launch.image and self.word(launch.image),
            engine_version=launch.engine_version and self.word(launch.engine_version),
        )
        if REACHED not in launch.environment:
            return whole
        more = tuple(self.word(word) for word in elsewhere)
        given = tuple(self.word(word) for word in files)
        return with_files(msgspec.structs.replace(whole, elsewhere=(*whole.elsewhere, *more)), given)

    def word(self, word: Word) -> Word:
        """Return a word as the file has it, `dynamic` where a part of it is unknown."""
        text, count = _MARKED.subn(self._said, word.text)
        return msgspec.structs.replace(word, text=text, dynamic=True) if count else word

    def _said(self, match: re.Match[str]) -> str:
        number = int(match[1] or match[2])
        return self.said[number] if number < len(self.said) else match[0]


def is_known(text: str) -> bool:
    """Return whether no part of a text is unknown."""
    return MARK not in text


def joined(scripts: Sequence[Script]) -> list[Script]:
    """Return texts that one shell runs as one text."""
    texts: list[str] = []
    starts: list[tuple[int, int, int]] = []
    offset = 0
    for text, places in scripts:
        starts += [(at + offset, line, column) for at, line, column in places]
        texts.append(text)
        offset += len(text) + 1
    return [("\n".join(texts), tuple(starts))] if texts else []


def may_launch(text: str) -> bool:
    """Return whether a launch may be in a text: all of them name vLLM, or one of its own options."""
    lower = text.lower().replace("_", "-")
    return "vllm" in lower or any(option in lower for option in TELLING)


def bounded(environment: Mapping[str, Word]) -> tuple[dict[str, Word], tuple[Word, ...]]:
    """Return as many variables as a launch is given, and what names the others."""
    if len(environment) <= MAX_EXPORTED:
        return dict(environment), ()
    names = sorted(environment, key=lambda name: not name.startswith(("VLLM_", "FLASHINFER_")))
    given = {name: environment[name] for name in names[:MAX_EXPORTED]}
    first = environment[names[MAX_EXPORTED]]
    said = f"the exported variables after the first {MAX_EXPORTED}"
    return given, (Word(said, first.line, first.column),)
