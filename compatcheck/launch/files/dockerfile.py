"""Dockerfiles: ENTRYPOINT and CMD of every stage, with its ENV and the image it starts from."""

from __future__ import annotations

import re

import msgspec

from compatcheck.launch import docker
from compatcheck.launch.arguments import read_json
from compatcheck.launch.command_line import in_container, launches_in_script
from compatcheck.launch.installed_release import pinned_version
from compatcheck.launch.launch_parts import with_image
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.shell.patterns import HEREDOC
from compatcheck.launch.words import assignment, commands, read_commands

_TAKES_HEREDOC = re.compile(r"^\s*(?:RUN|COPY|ADD)\s", re.I)
_INSTRUCTION = re.compile(r"^\s*(FROM|ARG|ENV|RUN|CMD|ENTRYPOINT)\s+", re.I)


class _Stage(msgspec.Struct):
    name: str = ""
    image: Word | None = None
    environment: dict[str, Word] = {}
    version: Word | None = None
    """The release that a RUN installs."""
    arguments: dict[str, str] = {}
    """ARG with a default, which holds where the build is not told otherwise."""
    entrypoint: tuple[str, Word] | None = None
    """Form (exec or shell) and the text, with its place."""
    command: tuple[str, Word] | None = None


class Dockerfile:
    """What a container of each stage would start; RUN lines start nothing that lasts."""

    name = "dockerfile"

    def takes(self, path: str, text: str) -> bool:
        name = path.rsplit("/", 1)[-1].lower()
        return name.startswith(("dockerfile", "containerfile")) or name.endswith((".dockerfile", ".containerfile"))

    def launches(self, text: str) -> list[Launch]:
        stages: list[_Stage] = []
        defaults: dict[str, str] = {}
        """ARG in front of the first FROM: what a tag is where the build is not told otherwise."""
        for name, word in _instructions(text):
            if name == "FROM":
                stages.append(_stage(word, stages, defaults))
            elif name == "ARG":
                _argue(word, stages, defaults)
            elif not stages:
                continue
            elif name == "RUN":
                installed = [pinned_version(c) for c in _run(word)]
                stages[-1].version = next((v for v in reversed(installed) if v is not None), stages[-1].version)
            elif name == "ENV":
                stages[-1].environment |= _environment(word, _known(stages[-1], word))
            else:
                value = ("exec" if word.text.lstrip().startswith("[") else "shell", word)
                if name == "CMD":
                    stages[-1].command = value
                else:
                    stages[-1].entrypoint, stages[-1].command = value, None
        return [_installed(launch, stage) for stage in stages for launch in _launches(stage)]


def _installed(launch: Launch, stage: _Stage) -> Launch:
    """Return the launch with the release that the stage installs over what its image brings."""
    return launch if stage.version is None else msgspec.structs.replace(launch, engine_version=stage.version)


def _stage(word: Word, before: list[_Stage], defaults: dict[str, str]) -> _Stage:
    """Return a new stage: from an image, or from an earlier stage by its name, with all that it sets."""
    found = [w for c in commands(word.text, word.line, word.column, defaults) for w in c]
    words = [w for w in found if not w.text.startswith("--")]
    if not words:
        return _Stage()
    name = words[2].text if len(words) > 2 and words[1].text.lower() == "as" else ""
    parent = next((stage for stage in reversed(before) if stage.name and stage.name == words[0].text), None)
    if parent is None:
        return _Stage(name=name, image=words[0])
    return msgspec.structs.replace(parent, name=name, environment=dict(parent.environment), arguments={})


def _instructions(text: str) -> list[tuple[str, Word]]:
    """Return the instructions that matter, continuation lines joined, each with the place of its argument."""
    found: list[tuple[str, Word]] = []
    lines = text.splitlines()
    index = 0
    while index < len(lines):
        start = index
        parts = [lines[index]]
        while parts[-1].rstrip().endswith("\\") and index + 1 < len(lines):
            index += 1
            comment = lines[index].lstrip().startswith("#")
            parts.append("\\" if comment else lines[index])
        index += 1
        ends = [m[2] or m[3] or m[4] for m in HEREDOC.finditer(parts[-1])] if _TAKES_HEREDOC.match(parts[0]) else []
        for end in ends:
            while index < len(lines) and lines[index].lstrip("\t") != end:
                parts.append(lines[index])
                index += 1
            parts += lines[index : index + 1]
            index += 1
        match = _INSTRUCTION.match(parts[0])
        if match:
            body = "\n".join([parts[0][match.end() :], *parts[1:]])
            found.append((match[1].upper(), Word(body, start + 1, match.end() + 1)))
    return found


def _run(word: Word) -> list[list[Word]]:
    """Return the commands of a RUN, those of its here-documents with them."""
    found: list[list[Word]] = []
    for words, command, _ in read_commands(word.text, word.line, word.column, {}, ()):
        found.append(words)
        for heredoc in command.heredocs:
            found += commands(heredoc.text, heredoc.line)
    if HEREDOC.match(word.text):  # RUN <<EOF: a command of its own
        _, _, script = word.text.partition("\n")
        found += commands(script, word.line + 1)
    return found


def _argue(word: Word, stages: list[_Stage], defaults: dict[str, str]) -> None:
    """Note `ARG NAME=default`, in a stage or in front of all; `ARG NAME` in a stage takes what stands in front."""
    known = _known(stages[-1], word) if stages else dict(defaults)
    for argument in (w for command in commands(word.text, word.line, word.column, known) for w in command):
        pair = assignment(argument)
        name = pair[0] if pair is not None else argument.text
        value = (
            None if argument.dynamic else pair[1].text if pair is not None else defaults.get(name) if stages else None
        )
        given = stages[-1].arguments if stages else defaults
        given.pop(name, None)
        if value is not None:
            given[name] = value


def _known(stage: _Stage, word: Word) -> dict[str, str]:
    """Return what `$NAME` stands for in an instruction, where one is in it: ENV comes before ARG."""
    if "$" not in word.text:
        return {}
    environment = {name: word.text for name, word in stage.environment.items() if not word.dynamic}
    arguments = {name: value for name, value in stage.arguments.items() if name not in stage.environment}
    return arguments | environment


def _environment(word: Word, known: dict[str, str]) -> dict[str, Word]:
    words = [w for command in commands(word.text, word.line, word.column, known) for w in command]
    pairs = [assignment(w) for w in words]
    if words and pairs[0] is None and len(words) >= 2:  # the old form: ENV NAME value
        text = " ".join(word.text for word in words[1:])
        return {words[0].text: msgspec.structs.replace(words[1], text=text, dynamic=any(w.dynamic for w in words[1:]))}
    return {pair[0]: pair[1] for pair in pairs if pair is not None}


def _launches(stage: _Stage) -> list[Launch]:
    if stage.image is not None and docker.is_other_platform(stage.image.text):
        return []
    for value in (stage.entrypoint, stage.command):
        if value is not None and value[0] == "shell":
            script = launches_in_script(value[1].text, value[1].line, value[1].column, stage.environment)
            return [with_image(launch, stage.image) for launch in script]
    if stage.entrypoint is None and stage.command is None:
        return []
    entrypoint = _exec(stage.entrypoint) if stage.entrypoint else None
    command = _exec(stage.command) if stage.command else []
    return in_container(command, stage.environment, stage.image, entrypoint)


def _exec(value: tuple[str, Word]) -> list[Word]:
    """Return the words of a JSON list, each at its own place where it can be found."""
    word = value[1]
    items = read_json(word.text.replace("\\\n", "\n"))
    if not isinstance(items, list):
        return []
    words: list[Word] = []
    at = 0
    for item in items:
        text = str(item)
        found = word.text.find(text, at)
        at = found + len(text) if found >= 0 else at
        before = word.text[: max(found, 0)]
        line = word.line + before.count("\n")
        column = max(found, 0) - before.rfind("\n") if "\n" in before else word.column + max(found, 0)
        words.append(Word(text, line, column))
    return words
