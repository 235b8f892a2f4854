"""Values of vLLM's production stack: each entry of `servingEngineSpec.modelSpec` is one `vllm serve`.

Source: helm/templates/deployment-vllm-multi.yaml of vllm-project/production-stack (commit 010004eea56f): the command
that the chart writes, and the variables: those of a model over those of `configs`, which is for all. Keys of vllmConfig
that it does not read have no effect.
"""

from __future__ import annotations

from compatcheck.launch.files.containers import environment_of, image_of, launches_of, named, word_of
from compatcheck.launch.files.node_choice import gpu_of
from compatcheck.launch.files.pods import Pod
from compatcheck.launch.files.reader import YAML, has_key, read_documents
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.yaml_lenient import Node

MARK = "servingEngineSpec"
KEYS = {
    "maxModelLen": "--max-model-len",
    "dtype": "--dtype",
    "tensorParallelSize": "--tensor-parallel-size",
    "maxNumSeqs": "--max-num-seqs",
    "gpuMemoryUtilization": "--gpu-memory-utilization",
    "maxLoras": "--max-loras",
}
"""Key of vllmConfig -> the option that it becomes."""
_CONNECTOR = '{"kv_connector":"LMCacheConnectorV1","kv_role":"%s"}'


class ProductionStack:
    """`servingEngineSpec:` with `modelSpec:`."""

    name = "production-stack"

    def takes(self, path: str, text: str) -> bool:
        values = has_key(text, MARK) and has_key(text, "modelSpec") and not has_key(text, "apiVersion")
        return path.endswith(YAML) and values

    def launches(self, text: str) -> list[Launch]:
        documents = read_documents(text, "values file")
        lines = text.splitlines()
        return [launch for document in documents for launch in launches_of_stack(document, lines)]


def launches_of_stack(document: Node, lines: list[str]) -> list[Launch]:
    """Return the launches of the chart's values, wherever a document holds them."""
    found: list[Launch] = []
    for node in document.walk():
        engines = node.get(MARK)
        models = engines.get("modelSpec") if engines is not None else None
        enabled = engines.get("enableEngine") if engines is not None else None
        off = enabled is not None and enabled.plain() is False
        if engines is not None and models is not None and not off:
            found += [launch for model in models.items() for launch in _model(Pod(model, lines), engines)]
    return found


def _model(own: Pod, engines: Node) -> list[Launch]:
    model = own.container
    url = model.get("modelURL")
    if url is None or not url.text():
        return []
    shared = environment_of(engines.get("configs"), own.elsewhere, f"{MARK}.configs")
    entrypoint = [Word(word, model.line, model.column) for word in ("vllm", "serve")]
    words = [word_of(url), *_options(own)]
    gpu = gpu_of(model) or gpu_of(engines)
    return launches_of(
        image_of(model), entrypoint, words, shared | own.environment, model, gpu, elsewhere=own.elsewhere
    )


def _options(own: Pod) -> list[Word]:
    words: list[Word] = []
    config = own.container.get("vllmConfig")
    if config is not None and config.text():
        own.elsewhere.append(named("vllmConfig", config))
    for key, option in KEYS.items():
        node = config.get(key) if config is not None else None
        if node is not None and node.text():
            words += [Word(option, node.line, node.column), word_of(node)]
    if config is not None:
        words += own.words_of(config.get("extraArgs"), "extraArgs") or []
    cache = own.container.get("lmcacheConfig", "enabled")
    if cache is not None and cache.plain() is True:
        role = own.container.get("lmcacheConfig", "kvRole")
        connector = _CONNECTOR % ((role.text() if role is not None else None) or "kv_both")
        words += [Word(text, cache.line, cache.column) for text in ("--kv-transfer-config", connector)]
    elif cache is not None and word_of(cache).dynamic:
        own.elsewhere.append(named("lmcacheConfig.enabled", cache))
    return words
