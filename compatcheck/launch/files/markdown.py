"""Markdown: each fenced code block is read as what its language says, or as shell."""

from __future__ import annotations

import re
from collections.abc import Callable

from compatcheck.launch.command_line import launches_in_script
from compatcheck.launch.files.compose import Compose
from compatcheck.launch.files.dockerfile import Dockerfile
from compatcheck.launch.files.kubernetes import Kubernetes
from compatcheck.launch.files.llm_d_values import LlmDValues
from compatcheck.launch.files.marks import may_launch
from compatcheck.launch.files.moving import moved
from compatcheck.launch.files.production_stack import ProductionStack
from compatcheck.launch.files.python_file import PythonFile
from compatcheck.launch.files.ray_serve import RayServe
from compatcheck.launch.files.reader import Reader, UnreadableError
from compatcheck.launch.files.yaml_scripts import YamlScripts
from compatcheck.launch.model import Launch

_FENCE = re.compile(r"^(?P<indent>[ \t>]*)(?P<mark>`{3,}|~{3,})\s*(?P<language>[\w+.-]*)")
_PYTHON = frozenset({"python", "py", "python3"})
_YAML = frozenset({"yaml", "yml"})
YAML: tuple[Reader, ...] = (RayServe(), LlmDValues(), ProductionStack(), Kubernetes(), Compose(), YamlScripts())
"""Readers of YAML that know their own by a mark; anything else may be a part of a compose file."""
_DOCKER = frozenset({"dockerfile", "docker"})


class Markdown:
    """Code blocks of Markdown files; a block that is not what it says is tried as shell, as people write them."""

    name = "markdown"

    def takes(self, path: str, text: str) -> bool:
        return path.lower().endswith((".md", ".markdown", ".mdx"))

    def launches(self, text: str) -> list[Launch]:
        found: list[Launch] = []
        for language, body, line, indent in _blocks(text):
            if may_launch(body):
                found += [moved(launch, line - 1, indent) for launch in _read(language, body)]
        return found


def _blocks(text: str) -> list[tuple[str, str, int, int]]:
    """Return (language, text without its indentation, first line, indentation) of every fenced block."""
    blocks: list[tuple[str, str, int, int]] = []
    lines = text.splitlines()
    index = 0
    while index < len(lines):
        match = _FENCE.match(lines[index])
        index += 1
        if match is None:
            continue
        mark, width = match["mark"], len(match["indent"])
        start = index
        while index < len(lines) and not lines[index].lstrip(" \t>").startswith(mark):
            index += 1
        body = [line[width:] if not line[:width].strip(" \t>") else line for line in lines[start:index]]
        blocks.append((match["language"].lower(), "\n".join(body), start + 1, width))
        index += 1
    return blocks


def _read(language: str, body: str) -> list[Launch]:
    readers: list[Callable[[str], list[Launch]]] = []
    if language in _PYTHON:
        readers = [PythonFile().launches]
    elif language in _YAML:
        readers = [next((r for r in YAML if r.takes("block.yaml", body)), Compose()).launches]
    elif language in _DOCKER:
        readers = [Dockerfile().launches]
    for read in readers:
        try:
            return read(body)
        except UnreadableError:
            continue
    return launches_in_script(body)
