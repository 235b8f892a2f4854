"""Kubernetes manifests: every container of every pod template, and the GPU its node selector asks for."""

from __future__ import annotations

from compatcheck.launch.files.containers import environment_of, launches_of, word_of, words_of
from compatcheck.launch.files.reader import UnreadableError
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.yaml_lenient import Node, YamlError, read_lenient

PRODUCT = "nvidia.com/gpu.product"
"""The label that NVIDIA's GPU feature discovery puts on nodes."""


class Kubernetes:
    """`containers:` wherever a pod specification stands."""

    name = "kubernetes"

    def takes(self, path: str, text: str) -> bool:
        return path.endswith((".yaml", ".yml")) and "containers:" in text

    def launches(self, text: str) -> list[Launch]:
        try:
            documents = read_lenient(text, "manifest")
        except YamlError as error:
            raise UnreadableError(str(error), error.line, error.column) from error
        lines = text.splitlines()
        found: list[Launch] = []
        for document in documents:
            for node in document.walk():
                containers = node.get("containers")
                if containers is None or not isinstance(containers.value, list):
                    continue
                gpu = _gpu(node)
                for container in containers.value:
                    found += _container(container, lines, gpu)
        return found


def _container(container: Node, lines: list[str], gpu: Word | None) -> list[Launch]:
    """In Kubernetes `command` is the entrypoint and `args` what is given to it."""
    return launches_of(
        container.get("image"),
        words_of(container.get("command"), lines),
        words_of(container.get("args"), lines),
        environment_of(container.get("env")),
        container,
        gpu,
        _sources(container.get("envFrom")),
    )


def _sources(node: Node | None) -> tuple[Word, ...]:
    """Return the config maps and secrets whose every key becomes a variable; what they hold is in the cluster."""
    found: list[Word] = []
    for item in node.items() if node is not None else ():
        for kind, title in (("configMapRef", "config map"), ("secretRef", "secret")):
            name = item.get(kind, "name")
            if name is not None and name.text():
                found.append(Word(f"{title} {name.text()}", name.line, name.column, dynamic=True))
    return tuple(found)


def _gpu(pod: Node) -> Word | None:
    selector = pod.get("nodeSelector", PRODUCT)
    if selector is not None and selector.text():
        return word_of(selector)
    for node in (pod.get("affinity") or Node(None, 1, 1)).walk():
        key, values = node.get("key"), node.get("values")
        if key is not None and key.text() == PRODUCT and values is not None and len(values.items()) == 1:
            return word_of(values.items()[0])
    return None
