"""Docker compose files: the command of every service."""

from __future__ import annotations

from compatcheck.launch.files.containers import environment_of, launches_of, word_of, words_of
from compatcheck.launch.files.reader import UnreadableError
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.yaml_lenient import Node, YamlError, read_lenient


class Compose:
    """`services:` of a compose file."""

    name = "compose"

    def takes(self, path: str, text: str) -> bool:
        return path.endswith((".yaml", ".yml")) and "services:" in text and "apiVersion:" not in text

    def launches(self, text: str) -> list[Launch]:
        try:
            documents = read_lenient(text, "compose file")
        except YamlError as error:
            raise UnreadableError(str(error), error.line, error.column) from error
        lines = text.splitlines()
        return [launch for document in documents for launch in _services(document.get("services"), lines)]


def _services(services: Node | None, lines: list[str]) -> list[Launch]:
    if services is None or not isinstance(services.value, dict):
        return []
    found: list[Launch] = []
    for service in services.value.values():
        if not isinstance(service.value, dict):
            continue
        found += launches_of(
            service.get("image"),
            words_of(service.get("entrypoint"), lines),
            words_of(service.get("command"), lines),
            environment_of(service.get("environment")),
            service,
            env_files=_env_files(service.get("env_file")),
        )
    return found


def _env_files(node: Node | None) -> tuple[Word, ...]:
    """Return the files of `env_file:`: a path, or a list of paths and of mappings with a path."""
    if node is None:
        return ()
    paths = [node.get("path")] if isinstance(node.value, dict) else [n.get("path") or n for n in node.items()]
    return tuple(word_of(path) for path in paths if path is not None and path.text())
