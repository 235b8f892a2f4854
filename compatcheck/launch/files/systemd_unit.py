"""Units of systemd: what ExecStart runs, with the variables of Environment and EnvironmentFile."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from compatcheck.launch.command_line import find_launches
from compatcheck.launch.files.scripts import REACHED, Scripts, bounded
from compatcheck.launch.files.unit_settings import Setting, UnitEnvironment, UnitWords, read_settings
from compatcheck.launch.installed_release import pinned_version, with_version
from compatcheck.launch.model import Launch, Word


class SystemdUnit:
    """`[Service]` of a unit file."""

    name = "systemd"

    def takes(self, path: str, text: str) -> bool:
        return path.endswith(".service")

    def launches(self, text: str) -> list[Launch]:
        scripts = Scripts()
        words = UnitWords(scripts)
        environment = UnitEnvironment(words)
        started: list[Setting] = []
        for setting in read_settings(text):
            if setting.section != "Service" or environment.take(setting):
                continue
            if setting.name == "ExecStart":
                started = [*started, setting] if setting.value.strip() else []
        variables = environment.under_files()
        given, elsewhere = bounded(variables)
        given[REACHED] = Word("1")
        files = tuple(environment.files)
        return [
            scripts.settled(with_version(launch, pinned_version(command)), files, elsewhere)
            for setting in started
            for command in _commands(words, setting, variables)
            for launch in find_launches(command, given)
        ]


def _commands(words: UnitWords, setting: Setting, variables: dict[str, Word]) -> Iterator[list[Word]]:
    """Yield the commands of one ExecStart, which `;` separates, each without what stands before its program."""
    command: list[Word] = []
    for word in (*words.read(setting, variables), Word(";")):
        if word.text != ";":
            command.append(word)
            continue
        if command:
            bare = command[0].text.lstrip("-@:+!|")
            prefix = command[0].text[: len(command[0].text) - len(bare)]
            rest = command[2:] if "@" in prefix else command[1:]  # behind @ the name that the process gives itself
            yield [msgspec.structs.replace(command[0], text=bare), *rest]
        command = []
