"""Kubernetes manifests: every container of every pod template, and the GPU its node selector asks for."""

from __future__ import annotations

import re

import msgspec

from compatcheck.launch.files.containers import environment_of, launches_of, word_of, words_of
from compatcheck.launch.files.reader import UnreadableError
from compatcheck.launch.files.yaml_scripts import launches_in_scalars
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.yaml_lenient import Node, YamlError, read_lenient

LABELS = ("nvidia.com/gpu.product", "cloud.google.com/gke-accelerator")
"""Labels of nodes that name the GPU: NVIDIA's GPU feature discovery, and Google's clusters."""
_REFERENCE = re.compile(r"\$\(([A-Za-z_]\w*)\)")


class Kubernetes:
    """`containers:` wherever a pod specification stands."""

    name = "kubernetes"

    def takes(self, path: str, text: str) -> bool:
        manifest = "containers:" in text or "apiVersion:" in text
        return path.endswith((".yaml", ".yml")) and manifest

    def launches(self, text: str) -> list[Launch]:
        try:
            documents = read_lenient(text, "manifest")
        except YamlError as error:
            raise UnreadableError(str(error), error.line, error.column) from error
        lines = text.splitlines()
        found: list[Launch] = []
        for document in documents:
            if (document.get("kind") or Node("", 1, 1)).text() == "ConfigMap":
                found += launches_in_scalars(document, lines)
            for node in document.walk():
                containers = node.get("containers")
                if containers is not None and isinstance(containers.value, list):
                    gpu = _gpu(node)
                    for container in containers.value:
                        found += _container(container, lines, gpu)
                model = node.get("model")  # KServe's predictor: a container without the list around it
                if model is not None and model.get("image") is not None and model.get("args") is not None:
                    found += _container(model, lines, _gpu(node))
        return found


def _container(container: Node, lines: list[str], gpu: Word | None) -> list[Launch]:
    """In Kubernetes `command` is the entrypoint and `args` what is given to it; `$(NAME)` is a variable of `env`."""
    environment = environment_of(container.get("env"))
    return launches_of(
        container.get("image"),
        _filled(words_of(container.get("command"), lines), environment),
        _filled(words_of(container.get("args"), lines), environment),
        environment,
        container,
        gpu,
        _sources(container.get("envFrom")),
    )


def _filled(words: list[Word] | None, environment: dict[str, Word]) -> list[Word] | None:
    """Return words with `$(NAME)` replaced where the container's own environment says what it is."""
    if words is None:
        return None
    known = {name: word.text for name, word in environment.items() if not word.dynamic}
    filled: list[Word] = []
    for word in words:
        text = _REFERENCE.sub(lambda match: known.get(match[1], match[0]), word.text)
        open_ = word.dynamic and bool(_REFERENCE.search(text) or "$" in text)
        filled.append(word if text == word.text else msgspec.structs.replace(word, text=text, dynamic=open_))
    return filled


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
    for label in LABELS:
        selector = pod.get("nodeSelector", label)
        if selector is not None and selector.text():
            return word_of(selector)
    for node in (pod.get("affinity") or Node(None, 1, 1)).walk():
        key, values = node.get("key"), node.get("values")
        if key is not None and key.text() in LABELS and values is not None and len(values.items()) == 1:
            return word_of(values.items()[0])
    return None
