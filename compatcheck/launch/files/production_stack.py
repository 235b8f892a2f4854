"""Values of vLLM's production stack: each entry of `servingEngineSpec.modelSpec` is one `vllm serve`.

Source: helm/templates/deployment-vllm-multi.yaml of vllm-project/production-stack (commit 010004eea56f): the command
that the chart writes. Keys of vllmConfig that it does not read have no effect.
"""

from __future__ import annotations

from compatcheck.launch.files.containers import environment_of, launches_of, word_of, words_of
from compatcheck.launch.files.pods import gpu_of
from compatcheck.launch.files.reader import UnreadableError
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.yaml_lenient import Node, YamlError, read_lenient

KEYS = {
    "maxModelLen": "--max-model-len",
    "dtype": "--dtype",
    "tensorParallelSize": "--tensor-parallel-size",
    "maxNumSeqs": "--max-num-seqs",
    "gpuMemoryUtilization": "--gpu-memory-utilization",
}
"""Key of vllmConfig -> the option that it becomes."""
_CONNECTOR = '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'


class ProductionStack:
    """`servingEngineSpec:` with `modelSpec:`."""

    name = "production-stack"

    def takes(self, path: str, text: str) -> bool:
        values = "servingEngineSpec:" in text and "modelSpec:" in text and "apiVersion:" not in text
        return path.endswith((".yaml", ".yml")) and values

    def launches(self, text: str) -> list[Launch]:
        try:
            documents = read_lenient(text, "values file")
        except YamlError as error:
            raise UnreadableError(str(error), error.line, error.column) from error
        lines = text.splitlines()
        found: list[Launch] = []
        for document in documents:
            for node in document.walk():
                engines = node.get("servingEngineSpec")
                models = engines.get("modelSpec") if engines is not None else None
                for model in models.items() if engines is not None and models is not None else ():
                    found += _model(model, engines, lines)
        return found


def _model(model: Node, engines: Node | None, lines: list[str]) -> list[Launch]:
    named = model.get("modelURL")
    if named is None or not named.text():
        return []
    entrypoint = [Word(word, model.line, model.column) for word in ("vllm", "serve")]
    gpu = gpu_of(model) or (gpu_of(engines) if engines is not None else None)
    words = [word_of(named), *_options(model, lines)]
    return launches_of(_image(model), entrypoint, words, environment_of(model.get("env")), model, gpu)


def _options(model: Node, lines: list[str]) -> list[Word]:
    words: list[Word] = []
    config = model.get("vllmConfig")
    for key, option in KEYS.items():
        node = config.get(key) if config is not None else None
        if node is not None and node.text():
            words += [Word(option, node.line, node.column), word_of(node)]
    words += words_of(config.get("extraArgs"), lines) or [] if config is not None else []
    cache = model.get("lmcacheConfig", "enabled")
    if cache is not None and cache.plain() is True:
        words += [Word(text, cache.line, cache.column) for text in ("--kv-transfer-config", _CONNECTOR)]
    return words


def _image(model: Node) -> Node | None:
    repository, tag = model.get("repository"), model.get("tag")
    if repository is None or not repository.text():
        return None
    if tag is None or not tag.text():
        return repository
    return Node(f"{repository.text()}:{tag.text()}", tag.line, tag.column)
