"""Values of llm-d's chart llm-d-modelservice: the containers of `decode:` and `prefill:`, and the command of each.

Source: charts/llm-d-modelservice/templates/_helpers.tpl of llm-d-incubation/llm-d-modelservice (commit 024c0f2d0237):
`vllmServe` starts `vllm serve MODEL --port ... --tensor-parallel-size N ARGS`, `imageDefault` the image's own program
with `--model MODEL`, and `custom`, which is the default, what the container says itself. The model is that of
`modelArtifacts.uri`.
"""

from __future__ import annotations

from compatcheck.launch.files.containers import launches_of, word_of
from compatcheck.launch.files.node_choice import gpu_of, gpus_of, one_of
from compatcheck.launch.files.pods import Pod, model_of_uri
from compatcheck.launch.files.reader import YAML, has_key, read_documents
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.yaml_lenient import Node

MARK = "modelArtifacts"
ROLES = ("decode", "prefill")
_SIZES = (("tensor", "--tensor-parallel-size"), ("data", "--data-parallel-size"))


class LlmDValues:
    """`modelArtifacts:` with `decode:` and `prefill:`."""

    name = "llm-d-values"

    def takes(self, path: str, text: str) -> bool:
        return path.endswith(YAML) and has_key(text, MARK) and not has_key(text, "apiVersion")

    def launches(self, text: str) -> list[Launch]:
        documents = read_documents(text, "values file")
        lines = text.splitlines()
        return [launch for document in documents for launch in launches_of_llm_d(document, lines)]


def launches_of_llm_d(document: Node, lines: list[str]) -> list[Launch]:
    """Return the launches of the chart's values, wherever a document holds them."""
    found: list[Launch] = []
    for node in document.walk():
        artifacts = node.get(MARK)
        for role in ROLES if artifacts is not None else ():
            pod = node.get(role)
            containers = pod.get("containers") if pod is not None else None
            created = pod.get("create") if pod is not None else None
            if pod is None or artifacts is None or containers is None or (created and created.plain() is False):
                continue
            for container in containers.items():
                found += _container(Pod(container, lines), pod, model_of(artifacts))
    return found


def model_of(artifacts: Node) -> Word | None:
    """Return the model that the chart writes into the command; None where the values do not say it."""
    uri, name = artifacts.get("uri"), artifacts.get("name")
    stored = model_of_uri(uri)
    if stored is not None:
        return stored
    protocol, separator, rest = ((uri.text() if uri is not None else None) or "").partition("://")
    if uri is not None and uri.text() and not separator:
        return word_of(uri)
    parts = [part for part in rest.split("/") if part]
    if uri is not None and protocol == "pvc" and len(parts) >= 2:
        mount = artifacts.get("mountPath")
        folder = (mount.text() if mount is not None else None) or "/model-cache"
        word = word_of(uri)
        return Word("/".join([folder, *parts[1:]]), word.line, word.column, word.dynamic)
    return word_of(name) if name is not None and name.text() and "://" not in (name.text() or "") else None


def _container(own: Pod, pod: Node, model: Word | None) -> list[Launch]:
    container = own.container
    kind = container.get("modelCommand")
    args = own.words("args") or []
    entrypoint = own.words("command")
    if kind is not None and kind.text() in ("vllmServe", "imageDefault"):
        served = kind.text() == "vllmServe"
        entrypoint = [_at(kind, "vllm"), _at(kind, "serve")] if served else None
        known = model or Word(f"{MARK}.uri", kind.line, kind.column, dynamic=True)
        args = [*([] if served else [_at(kind, "--model")]), known, *_sizes(pod), *args]
    image = container.get("image")
    return launches_of(image, entrypoint, args, own.environment, container, _gpu(pod), own.env_files, own.elsewhere)


def _at(node: Node, text: str) -> Word:
    return Word(text, node.line, node.column)


def _sizes(pod: Node) -> list[Word]:
    """Return the parallel sizes that the chart passes on: those above 1."""
    words: list[Word] = []
    for key, option in _SIZES:
        node = pod.get("parallelism", key)
        text = node.text() if node is not None else None
        if node is not None and text and text != "1":
            words += [_at(node, option), word_of(node)]
    return words


def _gpu(pod: Node) -> Word | None:
    """Return the GPU that `acceleratorTypes:` asks for by a node label, where it is one, or the pod itself does."""
    label, values = pod.get("acceleratorTypes", "labelKey"), pod.get("acceleratorTypes", "labelValues")
    return one_of(gpus_of(label, values)) or gpu_of(pod)
