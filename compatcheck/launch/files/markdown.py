"""Markdown: each fenced code block is read as what its language says, or as shell."""

from __future__ import annotations

import re

from compatcheck.launch.files.compose import Compose
from compatcheck.launch.files.dockerfile import Dockerfile
from compatcheck.launch.files.justfile import Justfile
from compatcheck.launch.files.kubernetes import Kubernetes
from compatcheck.launch.files.llm_d_values import LlmDValues
from compatcheck.launch.files.makefile import Makefile
from compatcheck.launch.files.marks import may_launch
from compatcheck.launch.files.moving import moved
from compatcheck.launch.files.podman_quadlet import PodmanQuadlet
from compatcheck.launch.files.production_stack import ProductionStack
from compatcheck.launch.files.python.file import PythonFile
from compatcheck.launch.files.ray_serve import RayServe
from compatcheck.launch.files.reader import Reader, UnreadableError
from compatcheck.launch.files.systemd_unit import SystemdUnit
from compatcheck.launch.files.templated import launches_in_text
from compatcheck.launch.files.yaml_scripts import YamlScripts
from compatcheck.launch.model import Launch

_FENCE = re.compile(r"^(?P<indent>[ \t>]*)(?P<mark>`{3,}|~{3,})\s*(?P<language>[\w+.-]*)")
_YAML = frozenset({"yaml", "yml"})
YAML: tuple[Reader, ...] = (RayServe(), LlmDValues(), ProductionStack(), Kubernetes(), Compose(), YamlScripts())
"""Readers of YAML that know their own by a mark; anything else may be a part of a compose file."""
_UNITS = frozenset({"ini", "systemd", "service", "desktop", "quadlet", "container", "toml", "conf"})
_LANGUAGES: dict[str, Reader] = {
    **dict.fromkeys(("python", "py", "python3"), PythonFile()),
    **dict.fromkeys(("dockerfile", "docker", "containerfile"), Dockerfile()),
    **dict.fromkeys(("make", "makefile"), Makefile()),
    **dict.fromkeys(("just", "justfile"), Justfile()),
}
_GOES_ON = {**dict.fromkeys(("powershell", "pwsh", "ps1", "ps"), "`"), **dict.fromkeys(("bat", "batch", "cmd"), "^")}
"""What ends a line that goes on, in languages of Windows."""
_PROMPT = re.compile(r"[ \t]*(?:[$%#]|\S+[@:]\S*[$#%])[ \t]")
_PROMPT_AGAIN = re.compile(r"[ \t]*>(?=[ \t]|$)")


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
    if language in _YAML:
        reader: Reader | None = next((r for r in YAML if r.takes("block.yaml", body)), Compose())
    elif language in _UNITS:
        reader = PodmanQuadlet() if "[Container]" in body else SystemdUnit() if "[Service]" in body else None
    else:
        reader = _LANGUAGES.get(language)
    if reader is not None:
        try:
            return reader.launches(body)
        except UnreadableError:
            pass
    return launches_in_text(_commands(language, body))


def _commands(language: str, body: str) -> str:
    """Return a block as a shell reads it: of what a terminal shows only what was typed, at the same places."""
    mark = _GOES_ON.get(language)
    shown = False
    goes_on = False
    lines: list[str] = []
    for line in body.split("\n"):
        if mark is not None and line.endswith(mark):
            line = line[: -len(mark)] + "\\"
        if not goes_on:
            shown = _PROMPT.match(line) is not None
        elif shown and (again := _PROMPT_AGAIN.match(line)) is not None:
            line = " " * again.end() + line[again.end() :]
        goes_on = line.endswith("\\")
        lines.append(line)
    return "\n".join(lines)
