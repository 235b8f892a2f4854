"""Podman's quadlets (`*.container`): `Image=` with `Exec=`, and the variables that are given to it.

Source: podman-systemd.unit(5): Exec is the command line after the image, Entrypoint replaces that of the image,
Environment and EnvironmentFile are those of `podman run`.
"""

from __future__ import annotations

import re

import msgspec

from compatcheck.launch.command_line import in_container, with_files
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.words import assignment, commands

_SETTING = re.compile(r"^(Image|Exec|Entrypoint|Environment|EnvironmentFile)[ \t]*=[ \t]*", re.M)


class PodmanQuadlet:
    """`[Container]` of a quadlet."""

    name = "quadlet"

    def takes(self, path: str, text: str) -> bool:
        return path.endswith(".container")

    def launches(self, text: str) -> list[Launch]:
        environment: dict[str, Word] = {}
        files: list[Word] = []
        given: dict[str, list[Word]] = {}
        for match in _SETTING.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            words = next(commands(text[match.end() :], line, len(match[0]) + 1), [])
            words = words if words and words[0].line == line else []
            if match[1] == "Environment":
                environment |= {pair[0]: pair[1] for word in words if (pair := assignment(word)) is not None}
            elif match[1] == "EnvironmentFile":
                files += [msgspec.structs.replace(word, text=word.text.lstrip("-")) for word in words[:1]]
            else:
                given[match[1]] = words
        image = next(iter(given.get("Image", ())), None)
        if image is None:
            return []
        found = in_container(given.get("Exec", []), environment, image, given.get("Entrypoint"), place=image)
        return [with_files(launch, tuple(files)) for launch in found]
