"""What readers of manifests and of charts share: the launches of a pod's container, and the GPU that a pod asks for."""

from __future__ import annotations

import re

import msgspec

from compatcheck.launch.files.containers import environment_of, launches_of, word_of, words_of
from compatcheck.launch.files.instance_types import LABELS as INSTANCES
from compatcheck.launch.files.instance_types import gpu_of_instance
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.yaml_lenient import Node

LABELS = ("nvidia.com/gpu.product", "cloud.google.com/gke-accelerator")
"""Labels of nodes that name the GPU: NVIDIA's GPU feature discovery, and Google's clusters."""
_REFERENCE = re.compile(r"\$\(([A-Za-z_]\w*)\)")


def launches_of_container(container: Node, lines: list[str], gpu: Word | None) -> list[Launch]:
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


def gpu_of(pod: Node) -> Word | None:
    """Return the GPU that a pod's node selector or affinity names, by itself or by the type of the instance."""
    for label in LABELS + INSTANCES:
        selector = pod.get("nodeSelector", label)
        if selector is not None and (gpu := _gpu(label, selector)) is not None:
            return gpu
    for terms in (pod.get("affinity"), pod.get("nodeSelectorTerms")):
        for node in terms.walk() if terms is not None else ():
            key, values, operator = node.get("key"), node.get("values"), node.get("operator")
            label = (key.text() if key is not None else None) or ""
            chosen = operator is None or operator.text() == "In"
            if label in LABELS + INSTANCES and chosen and values is not None and len(values.items()) == 1:
                gpu = _gpu(label, values.items()[0])
                if gpu is not None:
                    return gpu
    return None


def _gpu(label: str, node: Node) -> Word | None:
    """Return the GPU that a label's value stands for; None where it stands for none."""
    text = node.text()
    if not text:
        return None
    named = gpu_of_instance(text) if label in INSTANCES else text
    return None if named is None else msgspec.structs.replace(word_of(node), text=named)


def model_of_uri(node: Node | None) -> Word | None:
    """Return the model of `hf://ORG/NAME`; None for storage whose content is not known."""
    protocol, separator, rest = ((node.text() if node is not None else None) or "").partition("://")
    parts = [part for part in rest.partition("@")[0].split("/") if part]
    if node is None or not separator or protocol != "hf" or len(parts) < 2:
        return None
    word = word_of(node)
    return Word("/".join(parts[:2]).partition(":")[0], word.line, word.column, word.dynamic)
