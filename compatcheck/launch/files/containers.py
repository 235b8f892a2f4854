"""What compose files and Kubernetes manifests share: a container's image, environment, entrypoint and command."""

from __future__ import annotations

import re

import msgspec

from compatcheck.launch import docker
from compatcheck.launch.command_line import in_container, with_files
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.words import assignment, commands
from compatcheck.launch.yaml_lenient import Node, starts_of

_INTERPOLATED = re.compile(r"\$\{?[A-Za-z_(]")
_DEFAULT = re.compile(r"\$\{[A-Za-z_]\w*:?-([^{}$]*)\}")


def word_of(node: Node) -> Word:
    """Return a scalar as one word; what compose or Kubernetes would put in its place makes it dynamic.

    Where compose is told a default (`${TAG:-v0.33.0}`), that is taken, as it is where nothing else is set.
    """
    text = _DEFAULT.sub(r"\1", node.text() or "")
    column = node.column + (1 if node.style in ("'", '"') else 0)
    return Word(text, node.line, column, bool(_INTERPOLATED.search(text)) and "\n" not in text and " " not in text)


def words_of(node: Node | None, lines: list[str]) -> list[Word] | None:
    """Return a command given as a list, or as one text that is split as a shell would."""
    if node is None:
        return None
    if isinstance(node.value, list):
        return [_script_word(item, lines) for item in node.value if item.text() is not None]
    if node.text() is None:
        return None
    starts = starts_of(node, lines)
    return [word for command in commands(node.text() or "", starts=starts) for word in command]


def _script_word(item: Node, lines: list[str]) -> Word:
    """Return an item of a command; it may be a whole script, whose lines have places of their own."""
    word = word_of(item)
    return msgspec.structs.replace(word, starts=starts_of(item, lines)) if " " in word.text else word


def environment_of(node: Node | None) -> dict[str, Word]:
    """Return the variables of a mapping, of a NAME=value list, or of Kubernetes' name and value entries."""
    found: dict[str, Word] = {}
    if node is None:
        return found
    if isinstance(node.value, dict):
        return {name: word_of(value) for name, value in node.value.items() if value.text() is not None}
    for item in node.items():
        name, value = item.get("name"), item.get("value")
        if name is not None and name.text():
            known = value is not None and value.text() is not None
            found[name.text() or ""] = word_of(value) if known and value else Word("", name.line, name.column, True)
            continue
        pair = assignment(word_of(item)) if item.text() is not None else None
        if pair is not None:
            found[pair[0]] = pair[1]
    return found


def launches_of(
    image: Node | None,
    entrypoint: list[Word] | None,
    command: list[Word] | None,
    environment: dict[str, Word],
    place: Node,
    gpu: Word | None = None,
    env_files: tuple[Word, ...] = (),
) -> list[Launch]:
    """Return the launches of one container."""
    picture = word_of(image) if image is not None and image.text() else None
    if picture is not None and docker.is_other_platform(picture.text):
        return []
    here = Word("", place.line, place.column)
    found = in_container(command or [], environment, picture, entrypoint, place=here)
    found = [with_files(launch, env_files) for launch in found]
    return [launch if gpu is None else msgspec.structs.replace(launch, gpu=gpu) for launch in found]
