"""Units of systemd: what ExecStart runs, with the variables of Environment and EnvironmentFile."""

from __future__ import annotations

import re

import msgspec

from compatcheck.launch.command_line import find_launches, with_files
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.words import assignment, commands

_SETTING = re.compile(r"^(Environment|EnvironmentFile|ExecStart)\s*=\s*", re.M)


class SystemdUnit:
    """`[Service]` of a unit file."""

    name = "systemd"

    def takes(self, path: str, text: str) -> bool:
        return path.endswith(".service")

    def launches(self, text: str) -> list[Launch]:
        environment: dict[str, Word] = {}
        files: list[Word] = []
        found: list[Launch] = []
        for match in _SETTING.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            words = _words(text[match.end() :], line, len(match[0]) + 1)
            if match[1] == "Environment":
                environment |= {pair[0]: pair[1] for word in words if (pair := assignment(word)) is not None}
            elif match[1] == "EnvironmentFile":
                files += words[:1]
            elif words:
                bare = words[0].text.lstrip("-@:+!")
                words[0] = msgspec.structs.replace(words[0], text=bare)
                found += find_launches(words, environment)
        absent = tuple(msgspec.structs.replace(word, text=word.text.lstrip("-")) for word in files)
        return [with_files(launch, absent) for launch in found]


def _words(rest: str, line: int, column: int) -> list[Word]:
    """Return the words of a setting, whose line goes on after a backslash."""
    return next(commands(rest, line, column), [])
