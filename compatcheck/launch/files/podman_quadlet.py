"""Podman's quadlets (`*.container`): `Image=` with `Exec=`, and the variables that are given to it.

Source: podman-systemd.unit(5): Exec is the command line after the image, Entrypoint replaces that of the image,
Environment and EnvironmentFile are those of `podman run`, and PodmanArgs are more options of it. The container's are
those of [Container]; [Service] sets variables for podman itself, which fill in `${NAME}` of command lines.
"""

from __future__ import annotations

import msgspec

from compatcheck.launch import docker
from compatcheck.launch.arguments import read_json
from compatcheck.launch.command_line import in_container, with_files
from compatcheck.launch.files.scripts import Scripts, bounded
from compatcheck.launch.files.unit_settings import Setting, UnitEnvironment, UnitWords, read_settings
from compatcheck.launch.model import Launch, Word


class PodmanQuadlet:
    """`[Container]` of a quadlet."""

    name = "quadlet"

    def takes(self, path: str, text: str) -> bool:
        return path.endswith(".container")

    def launches(self, text: str) -> list[Launch]:
        scripts = Scripts()
        words = UnitWords(scripts)
        inner, service = UnitEnvironment(words), UnitEnvironment(words)
        given: dict[str, Setting] = {}
        more: list[Setting] = []
        for setting in read_settings(text):
            if setting.section == "Service":
                service.take(setting)
            elif setting.section == "Container" and not inner.take(setting):
                given[setting.name] = setting
                more += [setting] if setting.name == "PodmanArgs" else []
        filled = service.under_files()

        def read(name: str) -> list[Word]:
            return words.read(given[name], filled) if name in given else []

        image = next(iter(read("Image")), None)
        if image is None:
            return []
        options = [word for setting in more for word in words.read(setting, filled)]
        container = docker.read_run([Word("podman"), Word("run"), *options, image, *read("Exec")])
        if container is None:
            return []
        environment, elsewhere = bounded({**inner.given, **container.environment})
        if "EnvironmentHost" in given and given["EnvironmentHost"].value.strip().lower() in ("true", "yes", "1", "on"):
            _, line, _ = given["EnvironmentHost"].starts[0]
            elsewhere = (*elsewhere, Word("the environment of the host (EnvironmentHost)", line, 1))
        entrypoint = container.entrypoint
        if entrypoint is None and "Entrypoint" in given:
            entrypoint = _entrypoint(given["Entrypoint"], read("Entrypoint"))
        found = in_container(container.command, environment, container.image, entrypoint, place=image)
        files = tuple(scripts.word(word) for word in (*inner.files, *container.env_files))
        return [
            with_files(scripts.settled(msgspec.structs.replace(launch, elsewhere=elsewhere)), files) for launch in found
        ]


def _entrypoint(setting: Setting, words: list[Word]) -> list[Word]:
    """Return the words of an entrypoint, which may be a list of JSON."""
    items = read_json(setting.value) if setting.value.lstrip().startswith("[") else None
    _, line, column = setting.starts[0]
    return [Word(str(item), line, column) for item in items] if isinstance(items, list) else words
