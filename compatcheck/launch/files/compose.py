"""Docker compose files: the command of every service, with what it extends.

Source: https://docs.docker.com/reference/compose-file/: `extends` takes a service's settings as a base, of which a
command replaces the other's and variables are merged; `$$` is a dollar, `${NAME:-x}` has a default.
"""

from __future__ import annotations

import re

import msgspec

from compatcheck.launch.files.containers import environment_of, launches_of, named, word_of, words_of
from compatcheck.launch.files.reader import YAML, has_key, read_documents
from compatcheck.launch.files.yaml_scripts import launches_in_document
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.placeholders import DEFAULT, MAX_NESTED, edited, veil
from compatcheck.launch.yaml_lenient import Node

_REFERENCE = re.compile(r"\$\$|\$\{[^{}]*\}|\$[A-Za-z_]\w*")
MAX_DEPTH = 20
"""Services that a service extends, one behind the other."""


class Compose:
    """`services:` of a compose file."""

    name = "compose"

    def takes(self, path: str, text: str) -> bool:
        return path.endswith(YAML) and has_key(text, "services") and not has_key(text, "apiVersion")

    def launches(self, text: str) -> list[Launch]:
        documents = read_documents(text, "compose file")
        lines = text.splitlines()
        found: list[Launch] = []
        for document in documents:
            services = document.get("services")
            if services is not None and isinstance(services.value, dict):
                found += _services(services, lines)
            else:  # services of another tool's jobs
                found += launches_in_document(document, lines)
        return found


class _Service(msgspec.Struct):
    """What a service says, above what it extends."""

    image: Node | None = None
    entrypoint: list[Word] | None = None
    command: list[Word] | None = None
    environment: dict[str, Word] = {}
    env_files: tuple[Word, ...] = ()
    elsewhere: list[Word] = []


def _services(services: Node, lines: list[str]) -> list[Launch]:
    found: list[Launch] = []
    for node in services.value.values():
        if isinstance(node.value, dict):
            service = _service(node, services, lines, 0)
            found += launches_of(
                service.image,
                service.entrypoint,
                service.command,
                service.environment,
                node,
                env_files=service.env_files,
                elsewhere=service.elsewhere,
            )
    return found


def _service(node: Node, services: Node | None, lines: list[str], depth: int) -> _Service:
    base = _base(node.get("extends"), services, lines, depth)
    elsewhere = [*base.elsewhere]
    entrypoint = words_of(node.get("entrypoint"), lines, elsewhere, "entrypoint", _filled)
    command = words_of(node.get("command"), lines, elsewhere, "command", _filled)
    return _Service(
        image=node.get("image") or base.image,
        entrypoint=base.entrypoint if entrypoint is None else entrypoint,
        command=base.command if command is None else command,
        environment=base.environment | environment_of(node.get("environment"), elsewhere, "environment"),
        env_files=(*base.env_files, *_env_files(node.get("env_file"))),
        elsewhere=elsewhere,
    )


def _base(node: Node | None, services: Node | None, lines: list[str], depth: int) -> _Service:
    """Return the service that another extends; of one that is not in this file only the name is known."""
    if node is None or node.is_null():
        return _Service()
    name, file = node.get("service") or node, node.get("file")
    base = services.get(name.text() or "") if services is not None and file is None else None
    if base is None or not isinstance(base.value, dict) or depth >= MAX_DEPTH:
        service = named("the service", name)
        return _Service(elsewhere=[service if file is None else named(f"{service.text} of", file)])
    return _service(base, services, lines, depth + 1)


def _filled(word: Word) -> Word:
    """Return a text as a container gets it: with defaults, where compose takes nothing else from its own variables."""
    for _ in range(MAX_NESTED):
        word = edited(word, [(match.start(), match.end(), match[1]) for match in DEFAULT.finditer(word.text)])
    references = _REFERENCE.finditer(word.text)
    return edited(word, [(m.start(), m.end(), "$" if m[0] == "$$" else veil(m[0])) for m in references])


def _env_files(node: Node | None) -> tuple[Word, ...]:
    """Return the files of `env_file:`: a path, or a list of paths and of mappings with a path."""
    if node is None:
        return ()
    paths = [node.get("path")] if isinstance(node.value, dict) else [n.get("path") or n for n in node.items()]
    return tuple(word_of(path) for path in paths if path is not None and path.text())
