"""Podman's quadlets (`*.container`): `Image=` with `Exec=`, and the variables that are given to it.

Source: podman-systemd.unit(5): Exec is the command line after the image, Entrypoint replaces that of the image,
Environment and EnvironmentFile are those of `podman run`, and PodmanArgs are more options of it. The container's are
those of [Container]; [Service] sets variables for podman itself, which fill in `${NAME}` of command lines.
"""

from __future__ import annotations

import msgspec

from compatcheck.launch import docker
from compatcheck.launch.arguments import read_json
from compatcheck.launch.command_line import in_container
from compatcheck.launch.files.scripts import MARK, Scripts, bounded
from compatcheck.launch.files.unit_settings import Setting, UnitEnvironment, UnitWords, read_settings
from compatcheck.launch.launch_parts import with_files
from compatcheck.launch.model import Launch, Word

MAX_OPTIONS = 1000
"""Words of one PodmanArgs that are read."""


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
                if setting.name == "Secret":
                    inner.given |= _secret(words.read(setting))
        filled = service.under_files()

        def read(name: str) -> list[Word]:
            return words.read(given[name], filled) if name in given else []

        image = next(iter(read("Image")), None)
        if image is None:
            return []
        variables, files, entrypoint = {**inner.given}, [*inner.files], None
        unread: tuple[Word, ...] = ()
        for setting in more:
            options = words.read(setting, filled)
            others = [word for word in options if word.text.startswith(f"${{{MARK}")] + options[MAX_OPTIONS:]
            unread = unread or tuple(_named("PodmanArgs from elsewhere", word) for word in others[:1])
            run = docker.read_run([Word("podman"), Word("run"), *options[:MAX_OPTIONS], image, image])
            if run is not None:
                variables |= run.environment
                files += run.env_files
                entrypoint = entrypoint if run.entrypoint is None else run.entrypoint
        environment, elsewhere = bounded(variables)
        if "EnvironmentHost" in given and given["EnvironmentHost"].value.strip().lower() in ("true", "yes", "1", "on"):
            _, line, column = given["EnvironmentHost"].starts[0]
            elsewhere = (*elsewhere, Word("the environment of the host (EnvironmentHost)", line, column))
        if entrypoint is None and "Entrypoint" in given:
            entrypoint = _entrypoint(given["Entrypoint"], read("Entrypoint"))
        found = in_container(read("Exec"), environment, image, entrypoint, place=image)
        said = tuple(scripts.word(word) for word in files)
        elsewhere += unread
        return [
            with_files(scripts.settled(msgspec.structs.replace(launch, elsewhere=elsewhere)), said) for launch in found
        ]


def _secret(words: list[Word]) -> dict[str, Word]:
    """Return the variable that `Secret=name,type=env,target=NAME` sets to what only Podman knows."""
    name, *options = words[0].text.split(",") if words else [""]
    given = dict(option.split("=", 1) for option in options if "=" in option)
    return (
        {given.get("target", name): msgspec.structs.replace(words[0], dynamic=True)}
        if given.get("type") == "env"
        else {}
    )


def _named(said: str, word: Word) -> Word:
    return msgspec.structs.replace(word, text=said, dynamic=False)


def _entrypoint(setting: Setting, words: list[Word]) -> list[Word]:
    """Return the words of an entrypoint, which may be a list of JSON."""
    items = read_json(setting.value) if setting.value.lstrip().startswith("[") else None
    _, line, column = setting.starts[0]
    return [Word(str(item), line, column) for item in items] if isinstance(items, list) else words
