"""Values of llm-d's chart llm-d-modelservice: the containers of `decode:` and `prefill:`, and the command of each.

Source: charts/llm-d-modelservice/templates/_helpers.tpl of llm-d-incubation/llm-d-modelservice (commit 024c0f2d0237):
`vllmServe` starts `vllm serve MODEL --port ... --tensor-parallel-size N ARGS`, `imageDefault` the image's own program
with `--model MODEL`, and `custom`, which is the default, what the container says itself. The model is that of
`modelArtifacts.uri`.
"""

from __future__ import annotations

from compatcheck.launch.files.containers import environment_of, launches_of, word_of, words_of
from compatcheck.launch.files.pods import LABELS
from compatcheck.launch.files.reader import UnreadableError
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.yaml_lenient import Node, YamlError, read_lenient

ROLES = ("decode", "prefill")
_SIZES = (("tensor", "--tensor-parallel-size"), ("data", "--data-parallel-size"))


class LlmDValues:
    """`modelArtifacts:` with `decode:` and `prefill:`."""

    name = "llm-d-values"

    def takes(self, path: str, text: str) -> bool:
        return path.endswith((".yaml", ".yml")) and "modelArtifacts:" in text and "apiVersion:" not in text

    def launches(self, text: str) -> list[Launch]:
        try:
            documents = read_lenient(text, "values file")
        except YamlError as error:
            raise UnreadableError(str(error), error.line, error.column) from error
        lines = text.splitlines()
        found: list[Launch] = []
        for document in documents:
            for node in document.walk():
                artifacts = node.get("modelArtifacts")
                if artifacts is None:
                    continue
                model = model_of(artifacts)
                for pod in (node.get(role) for role in ROLES):
                    containers = pod.get("containers") if pod is not None else None
                    for container in containers.items() if pod is not None and containers is not None else ():
                        found += _container(container, pod, model, lines)
        return found


def model_of(artifacts: Node) -> Word | None:
    """Return the model that the chart writes into the command; dynamic where the values do not say it."""
    uri, name = artifacts.get("uri"), artifacts.get("name")
    for node in (uri, name):
        if node is None or not node.text():
            continue
        protocol, separator, rest = (node.text() or "").partition("://")
        word = word_of(node)
        if not separator:
            return word
        parts = [part for part in rest.split("/") if part]
        if protocol == "hf" and len(parts) >= 2:
            return Word("/".join(parts[:2]), word.line, word.column, word.dynamic)
        if protocol == "pvc+hf" and len(parts) >= 3:
            return Word("/".join(parts[-2:]), word.line, word.column, word.dynamic)
        if protocol == "pvc" and len(parts) >= 2:
            mount = artifacts.get("mountPath")
            folder = (mount.text() if mount is not None else None) or "/model-cache"
            return Word("/".join([folder, *parts[1:]]), word.line, word.column, word.dynamic)
    return None


def _container(container: Node, pod: Node | None, model: Word | None, lines: list[str]) -> list[Launch]:
    kind = container.get("modelCommand")
    environment = environment_of(container.get("env"))
    args = words_of(container.get("args"), lines) or []
    entrypoint = words_of(container.get("command"), lines)
    gpu = _gpu(pod) if pod is not None else None
    if kind is not None and kind.text() in ("vllmServe", "imageDefault"):
        served = kind.text() == "vllmServe"
        entrypoint = [_at(kind, "vllm"), _at(kind, "serve")] if served else None
        named = model or Word("modelArtifacts.uri", kind.line, kind.column, dynamic=True)
        args = [*([] if served else [_at(kind, "--model")]), named, *_sizes(pod), *args]
    return launches_of(container.get("image"), entrypoint, args, environment, container, gpu)


def _at(node: Node, text: str) -> Word:
    return Word(text, node.line, node.column)


def _sizes(pod: Node | None) -> list[Word]:
    """Return the parallel sizes that the chart passes on: those above 1."""
    words: list[Word] = []
    for key, option in _SIZES:
        node = pod.get("parallelism", key) if pod is not None else None
        text = node.text() if node is not None else None
        if node is not None and text and text != "1":
            words += [_at(node, option), word_of(node)]
    return words


def _gpu(pod: Node) -> Word | None:
    """Return the GPU that `acceleratorTypes:` asks for by a node label, where it is one."""
    label, values = pod.get("acceleratorTypes", "labelKey"), pod.get("acceleratorTypes", "labelValues")
    if label is None or label.text() not in LABELS or values is None or len(values.items()) != 1:
        return None
    return word_of(values.items()[0])
