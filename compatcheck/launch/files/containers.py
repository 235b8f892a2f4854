"""What compose files and Kubernetes manifests share: a container's image, environment, entrypoint and command.

A part that is not written out (`args: {{ toYaml .Values.args }}`) is added to the list `elsewhere` that a reader hands
in: whatever is found of the container, the rest of it stays open.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from compatcheck.launch import docker
from compatcheck.launch.command_line import in_container
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.placeholders import is_open, is_reference, unveiled, veiled_values, with_defaults
from compatcheck.launch.templates import veiled
from compatcheck.launch.words import assignment, commands, split
from compatcheck.launch.yaml_lenient import Node, starts_of

_OPTIONS = re.compile(r"\n[ \t]*--[a-z]")
Fill = Callable[[Word], Word]
"""What the program that reads the file puts in place of its references, before any shell sees the text."""


def word_of(node: Node) -> Word:
    """Return a scalar as one word; what is put in the place of a part of it makes it dynamic.

    Where compose is told a default (`${TAG:-v0.33.0}`), that is taken, as it is where nothing else is set.
    """
    text = with_defaults(node.text() or "")
    return Word(text, node.line, node.column + (1 if node.style in ("'", '"') else 0), is_open(text))


def named(title: str, node: Node) -> Word:
    """Return the name of a part that the file does not hold: `args {{ toYaml .Values.args }}`, or `args` alone."""
    written = " ".join((node.text() or "").split())
    return Word(f"{title} {written}".rstrip(), node.line, node.column, dynamic=True)


def words_of(
    node: Node | None, lines: list[str], elsewhere: list[Word], title: str, fill: Fill = lambda word: word
) -> list[Word] | None:
    """Return a command given as a list, or as one text that is split into words; None where there is none."""
    if node is None or node.is_null():
        return None
    if isinstance(node.value, list):
        return [_item(item, lines, fill) for item in node.value]
    text = node.text()
    if text is None or is_reference(with_defaults(text)):
        elsewhere.append(named(title, node))
        return []
    word = veiled(fill(Word(text, node.line, node.column, starts=starts_of(node, lines))))
    return split(word.text, word.starts)


def _item(item: Node, lines: list[str], fill: Fill) -> Word:
    """Return an item of a command; it may be a whole script, whose lines have places of their own."""
    text = item.text()
    if text is None:
        return Word("a value that is no text", item.line, item.column, dynamic=True)
    if any(space in text for space in " \n\t"):
        word = veiled(fill(Word(text, item.line, item.column, starts=starts_of(item, lines))))
    else:
        word = fill(word_of(item))
    return _or_open(msgspec.structs.replace(word, dynamic=is_open(word.text)), text)


def _or_open(word: Word, written: str) -> Word:
    """Return a word; one that is empty only because nobody sets what is written there is known only to who does."""
    return word if word.text or not written else msgspec.structs.replace(word, text=written, dynamic=True)


def environment_of(node: Node | None, elsewhere: list[Word], title: str = "env") -> dict[str, Word]:
    """Return the variables of a mapping, of a NAME=value list, or of Kubernetes' name and value entries.

    A name without a value takes the value from wherever the container is started.
    """
    found: dict[str, Word] = {}
    if node is None or node.is_null():
        return found
    if isinstance(node.value, dict):
        return {name: _value(name, value) for name, value in node.value.items()}
    for item in node.items():
        name, value = item.get("name"), item.get("value")
        text = item.text()
        if name is not None and name.text() and not is_open(name.text() or ""):
            found[name.text() or ""] = (
                word_of(value) if value is not None and value.text() is not None else _unset(name)
            )
        elif text is None or is_open(text.partition("=")[0]):
            first = next(iter(item.value.items()), None) if isinstance(item.value, dict) and name is None else None
            elsewhere.append(named(title, name or item) if first is None else named(f"{title} {first[0]}", first[1]))
        elif text:
            pair = assignment(word_of(item))
            found |= {pair[0]: _or_open(pair[1], text.partition("=")[2])} if pair is not None else {text: _unset(item)}
    return found


def _value(name: str, node: Node) -> Word:
    """Return a variable of a mapping; GitLab may describe it beside its value."""
    inner = node.get("value")
    node = inner if inner is not None else node
    known = node.text() is not None and not node.is_null()
    return _or_open(word_of(node), node.text() or "") if known else Word(name, node.line, node.column, dynamic=True)


def _unset(node: Node) -> Word:
    return Word(node.text() or "", node.line, node.column, dynamic=True)


def lines_alone(script: Word) -> list[Word]:
    """Return the first line of options that no backslash joins to the line before, if any.

    A shell takes it for a command; other programs that split a text, and whoever wrote it, for options of the launch.
    """
    if _OPTIONS.search(script.text) is None:
        return []
    firsts = (words[0] for words in commands(script.text, script.line, script.column, starts=script.starts) if words)
    found = next((word for word in firsts if word.text.startswith("--")), None)
    return [msgspec.structs.replace(found, text=f"the line of {found.text}", dynamic=True)] if found else []


def image_of(node: Node | None) -> Node | None:
    """Return an image that is one text, or a chart's `repository:` and `tag:`."""
    repository, tag = (node.get("repository"), node.get("tag")) if node is not None else (None, None)
    if node is None or node.text():
        return node
    if repository is None or not repository.text():
        return None
    if tag is None or not tag.text():
        return repository
    return Node(f"{repository.text()}:{tag.text()}", tag.line, tag.column)


def launches_of(
    image: Node | None,
    entrypoint: list[Word] | None,
    command: list[Word] | None,
    environment: dict[str, Word],
    place: Node,
    gpu: Word | None = None,
    env_files: tuple[Word, ...] = (),
    elsewhere: list[Word] | None = None,
) -> list[Launch]:
    """Return the launches of one container."""
    picture = word_of(image) if image is not None and image.text() else None
    if picture is not None and docker.is_other_platform(picture.text):
        return []
    here = Word("", place.line, place.column)
    scripts = [word for word in (*(entrypoint or ()), *(command or ())) if "\n" in word.text.strip()]
    open_ = [*(elsewhere or ()), *(part for word in scripts for part in lines_alone(word))]
    found = in_container(command or [], veiled_values(environment), picture, entrypoint, place=here)
    return [
        msgspec.structs.replace(
            unveiled(launch),
            gpu=gpu if launch.gpu is None else launch.gpu,
            env_files=(*launch.env_files, *env_files),
            elsewhere=(*launch.elsewhere, *open_),
        )
        for launch in found
    ]
