"""What readers of manifests and of charts share: the launches of a pod's container, and the model of a storage URI."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from compatcheck.launch.files.containers import environment_of, launches_of, named, word_of, words_of
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.placeholders import filled_from, is_open
from compatcheck.launch.yaml_lenient import Node

_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][\w.-]*)\)")

Maps = Mapping[str, Node]
"""Name of a ConfigMap of the same file -> its data."""


class Pod:
    """The parts of one container of a pod; `elsewhere` are those that the file does not hold.

    In Kubernetes `command` is the entrypoint and `args` what is given to it; `$(NAME)` is a variable of `env`, and `$$`
    a dollar.
    """

    def __init__(self, container: Node, lines: list[str], maps: Maps = MappingProxyType({})) -> None:
        self.container = container
        self.lines = lines
        self.maps = maps
        self.elsewhere: list[Word] = []
        self.environment: dict[str, Word] = {}
        self.env_files = self._sources(container.get("envFrom"))
        self._set_environment()

    def words(self, key: str) -> list[Word] | None:
        """Return the words of `command` or `args`."""
        return self.words_of(self.container.get(key), key)

    def words_of(self, node: Node | None, title: str) -> list[Word] | None:
        """Return the words of another part that ends in the command."""
        return words_of(node, self.lines, self.elsewhere, title, self.filled)

    def filled(self, word: Word) -> Word:
        """Return a text with `$(NAME)` replaced where the container's own environment says what it is."""
        return filled_from(word, _REFERENCE, self.environment)

    def launches(self, gpu: Word | None) -> list[Launch]:
        """Return the launches of the container."""
        return launches_of(
            self.container.get("image"),
            self.words("command") or None,  # one that is not known, or empty, leaves the image's own
            self.words("args"),
            self.environment,
            self.container,
            gpu,
            self.env_files,
            self.elsewhere,
        )

    def _set_environment(self) -> None:
        """Set the variables, each filled from those before it."""
        own = environment_of(self.container.get("env"), self.elsewhere)
        for name, word in (own | self._from_maps(self.container.get("env"))).items():
            known = word if not word.text else self.filled(word)
            changed = known.text != word.text
            self.environment[name] = msgspec.structs.replace(known, dynamic=is_open(known.text)) if changed else known

    def _from_maps(self, env: Node | None) -> dict[str, Word]:
        """Return the variables whose values a ConfigMap of this file has."""
        found: dict[str, Word] = {}
        for item in env.items() if env is not None else ():
            name, reference = item.get("name"), item.get("valueFrom", "configMapKeyRef")
            source = reference.get("name") if reference is not None else None
            key = reference.get("key") if reference is not None else None
            data = self.maps.get((source.text() if source is not None else None) or "")
            value = data.get((key.text() if key is not None else None) or "") if data is not None else None
            if name is not None and name.text() and value is not None and value.text() is not None:
                found[name.text() or ""] = word_of(value)
        return found

    def _sources(self, node: Node | None) -> tuple[Word, ...]:
        """Return the config maps and secrets whose every key becomes a variable and that this file does not have."""
        found: list[Word] = []
        for item in node.items() if node is not None and not node.is_null() else ():
            for kind, title in (("configMapRef", "config map"), ("secretRef", "secret")):
                name = item.get(kind, "name")
                data = self.maps.get(name.text() or "") if name is not None and title == "config map" else None
                if data is not None and item.get("prefix") is None:
                    self.environment |= environment_of(data, self.elsewhere)
                elif name is not None and name.text():
                    found.append(named(title, name))
            if item.text():
                self.elsewhere.append(named("envFrom", item))
        return tuple(found)


def model_of_uri(node: Node | None) -> Word | None:
    """Return the model of `hf://ORG/NAME`, or of `pvc+hf://CLAIM/.../ORG/NAME`; None for other storage."""
    if node is None:
        return None
    word = word_of(node)
    protocol, separator, rest = word.text.partition("://")
    parts = [part for part in rest.partition("@")[0].split("/") if part]
    if not separator or len(parts) < {"hf": 2, "pvc+hf": 3}.get(protocol, len(parts) + 1):
        return None
    chosen = parts[:2] if protocol == "hf" else parts[-2:]
    return msgspec.structs.replace(word, text="/".join(chosen).partition(":")[0])
