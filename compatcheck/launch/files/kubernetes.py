"""Kubernetes manifests: every container of every pod template, and the GPU that the pod must run on."""

from __future__ import annotations

import msgspec

from compatcheck.launch.files.embedded import launches_in_config_map, launches_in_values
from compatcheck.launch.files.kserve import Services, kind_of, text_of
from compatcheck.launch.files.kserve_llm import launches_of_llm_service
from compatcheck.launch.files.node_choice import gpu_of
from compatcheck.launch.files.pods import Maps, Pod
from compatcheck.launch.files.ray_serve import launches_of_applications
from compatcheck.launch.files.reader import YAML, has_key, read_documents
from compatcheck.launch.files.yaml_scripts import launches_in_scalars
from compatcheck.launch.model import Launch
from compatcheck.launch.yaml_lenient import Node

_PODS = ("containers", "initContainers", "ephemeralContainers")
"""An init container may be one that runs beside the others (restartPolicy: Always)."""

_READ = ("metadata", "annotations", "labels")


class Kubernetes:
    """`containers:` wherever a pod specification stands, and what KServe and Ray put in its place."""

    name = "kubernetes"

    def takes(self, path: str, text: str) -> bool:
        return path.endswith(YAML) and (has_key(text, "containers") or has_key(text, "apiVersion"))

    def launches(self, text: str) -> list[Launch]:
        documents = [one for document in read_documents(text, "manifest") for one in _listed(document)]
        lines = text.splitlines()
        maps = {
            name: data
            for d in documents
            if kind_of(d) == "ConfigMap" and (name := text_of(d.get("metadata", "name"))) and (data := d.get("data"))
        }
        services = Services(documents, lines, maps)
        found = services.launches()
        for document in documents:
            found += launches_of_applications(document, lines)
            if kind_of(document) == "ConfigMap":
                found += launches_in_config_map(document, lines)
            elif kind_of(document) == "LLMInferenceService":
                found += launches_of_llm_service(document, lines, maps)
            elif not services.uses(document):
                found += launches_in_values(document, lines) or _all(document, lines, maps)
        return sorted(found, key=lambda launch: (launch.line, launch.column))


def _listed(document: Node) -> list[Node]:
    """Return the documents of a `kind: List`; any other document alone."""
    items = document.get("items")
    return items.items() if items is not None and kind_of(document) == "List" else [document]


def _all(document: Node, lines: list[str], maps: Maps) -> list[Launch]:
    """Return the launches of pods, and of what stands beside them: each place once."""
    pods = _pods(document, lines, maps)
    places = {(launch.line, launch.column) for launch in pods}
    return [*pods, *(one for one in _others(document, lines) if (one.line, one.column) not in places)]


def _others(document: Node, lines: list[str]) -> list[Launch]:
    """Return what else reads like a script or a container: steps and templates of Argo, Tekton and others."""
    spec = document.get("spec")
    return launches_in_scalars(_without_pods(spec), lines, pods=True) if spec is not None else []


def _without_pods(node: Node) -> Node:
    """Return a node without the containers of pods in it, which were looked at, and without what people read."""
    if isinstance(node.value, list):
        return msgspec.structs.replace(node, value=[_without_pods(item) for item in node.value])
    if not isinstance(node.value, dict):
        return node
    kept = {key: _without_pods(value) for key, value in node.value.items() if key not in (*_PODS, *_READ)}
    return msgspec.structs.replace(node, value=kept)


def _pods(document: Node, lines: list[str], maps: Maps) -> list[Launch]:
    found: list[Launch] = []
    for node in document.walk():
        lists = [part for key in _PODS if (part := node.get(key)) is not None and isinstance(part.value, list)]
        gpu = gpu_of(node) if lists else None
        for container in (one for part in lists for one in part.items()):
            found += Pod(container, lines, maps).launches(gpu)
        model = node.get("model")  # KServe's predictor: a container without the list around it
        if model is not None and model.get("image") is not None and model.get("args") is not None:
            found += Pod(model, lines, maps).launches(gpu_of(node))
    return found
