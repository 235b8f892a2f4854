"""Kubernetes manifests: every container of every pod template, and the GPU its node selector asks for."""

from __future__ import annotations

from compatcheck.launch.files.kserve import kind_of, launches_of_llm_service, launches_of_services
from compatcheck.launch.files.pods import gpu_of, launches_of_container
from compatcheck.launch.files.reader import UnreadableError
from compatcheck.launch.files.yaml_scripts import launches_in_scalars
from compatcheck.launch.model import Launch
from compatcheck.launch.yaml_lenient import YamlError, read_lenient


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
        found: list[Launch] = launches_of_services(documents, lines)
        for document in documents:
            if kind_of(document) == "ConfigMap":
                found += launches_in_scalars(document, lines)
            if kind_of(document) == "LLMInferenceService":
                found += launches_of_llm_service(document, lines)
                continue
            for node in document.walk():
                containers = node.get("containers")
                if containers is not None and isinstance(containers.value, list):
                    gpu = gpu_of(node)
                    for container in containers.value:
                        found += launches_of_container(container, lines, gpu)
                model = node.get("model")  # KServe's predictor: a container without the list around it
                if model is not None and model.get("image") is not None and model.get("args") is not None:
                    found += launches_of_container(model, lines, gpu_of(node))
        return sorted(found, key=lambda launch: (launch.line, launch.column))
