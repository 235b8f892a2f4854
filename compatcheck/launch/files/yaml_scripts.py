"""YAML of other tools (SkyPilot, GitHub workflows, Ansible): scripts that stand in its texts."""

from __future__ import annotations

from compatcheck.launch import docker
from compatcheck.launch.command_line import launches_in_script
from compatcheck.launch.files.containers import environment_of, launches_of, words_of
from compatcheck.launch.files.reader import UnreadableError
from compatcheck.launch.model import Launch
from compatcheck.launch.yaml_lenient import Node, YamlError, read_lenient, starts_of

MARKS = ("vllm serve", "vllm.entrypoints", "vllm/vllm-openai", "vllm bench", "vllm run-batch")
"""What a text has in it that may launch the engine."""


class YamlScripts:
    """Every text of a YAML file that may be a script."""

    name = "yaml"

    def takes(self, path: str, text: str) -> bool:
        return path.endswith((".yaml", ".yml")) and any(mark in text for mark in MARKS)

    def launches(self, text: str) -> list[Launch]:
        try:
            documents = read_lenient(text, "file")
        except YamlError as error:
            raise UnreadableError(str(error), error.line, error.column) from error
        lines = text.splitlines()
        return [launch for document in documents for launch in launches_in_scalars(document, lines)]


def launches_in_scalars(document: Node, lines: list[str]) -> list[Launch]:
    """Return the launches of every text below a node that reads like a script."""
    found: list[Launch] = []
    for node in document.walk():
        image, command = node.get("image") or node.get("name"), node.get("command") or node.get("args")
        if image is not None and command is not None and docker.is_vllm_server(image.text() or ""):
            environment = environment_of(node.get("env") or node.get("environment"))
            entrypoint = words_of(node.get("entrypoint"), lines)
            found += launches_of(image, entrypoint, words_of(command, lines), environment, node)
            continue
        body = node.text()
        if body is not None and any(mark in body for mark in MARKS):
            found += launches_in_script(body, starts=starts_of(node, lines))
    return found
