"""Kubernetes manifests: every container of every pod template, and the GPU that the pod must run on."""

from __future__ import annotations

from compatcheck.launch.files.kserve import Services, kind_of, launches_of_llm_service
from compatcheck.launch.files.node_choice import gpu_of
from compatcheck.launch.files.pods import Pod
from compatcheck.launch.files.ray_serve import launches_of_applications
from compatcheck.launch.files.reader import read_documents
from compatcheck.launch.files.yaml_scripts import launches_in_scalars
from compatcheck.launch.model import Launch
from compatcheck.launch.yaml_lenient import Node


class Kubernetes:
    """`containers:` wherever a pod specification stands, and what KServe and Ray put in its place."""

    name = "kubernetes"

    def takes(self, path: str, text: str) -> bool:
        manifest = "containers:" in text or "apiVersion:" in text
        return path.endswith((".yaml", ".yml")) and manifest

    def launches(self, text: str) -> list[Launch]:
        documents = read_documents(text, "manifest")
        lines = text.splitlines()
        services = Services(documents, lines)
        found = services.launches()
        for document in documents:
            found += launches_of_applications(document, lines)
            if kind_of(document) == "ConfigMap":
                found += launches_in_scalars(document, lines)
            elif kind_of(document) == "LLMInferenceService":
                found += launches_of_llm_service(document, lines)
            elif not services.uses(document):
                found += _pods(document, lines)
        return sorted(found, key=lambda launch: (launch.line, launch.column))


def _pods(document: Node, lines: list[str]) -> list[Launch]:
    found: list[Launch] = []
    for node in document.walk():
        containers = node.get("containers")
        if containers is not None and isinstance(containers.value, list):
            gpu = gpu_of(node)
            for container in containers.value:
                found += Pod(container, lines).launches(gpu)
        model = node.get("model")  # KServe's predictor: a container without the list around it
        if model is not None and model.get("image") is not None and model.get("args") is not None:
            found += Pod(model, lines).launches(gpu_of(node))
    return found
