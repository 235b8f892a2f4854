"""KServe's services, which name a model and options for a runtime: InferenceService and LLMInferenceService.

Sources: kserve/kserve pkg/controller/v1beta1/inferenceservice/utils/utils.go:MergeRuntimeContainers (arguments of
runtime and service are combined), python/huggingfaceserver/huggingfaceserver/__main__.py (options of its own beside
the engine's; those that neither knows are passed over), config/llmisvcconfig/config-llm-template.yaml.
"""

from __future__ import annotations

import msgspec

from compatcheck.launch.files.containers import environment_of, launches_of, words_of
from compatcheck.launch.files.pods import gpu_of, launches_of_container, model_of_uri
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.words import commands
from compatcheck.launch.yaml_lenient import Node, starts_of

RUNTIMES = frozenset({"ServingRuntime", "ClusterServingRuntime"})
SERVER = "huggingfaceserver"
MOUNT = "/mnt/models"
"""Where the storage initialiser puts what storageUri names."""
_ADDED = "VLLM_ADDITIONAL_ARGS"
_OTHER_BACKENDS = frozenset({"huggingface", "triton"})


def kind_of(document: Node) -> str:
    """Return a document's kind; nothing where it has none."""
    kind = document.get("kind")
    return (kind.text() if kind is not None else None) or ""


def launches_of_services(documents: list[Node], lines: list[str]) -> list[Launch]:
    """Return the launches of every InferenceService whose model says that vLLM serves it."""
    runtimes = [document for document in documents if kind_of(document) in RUNTIMES]
    found: list[Launch] = []
    for document in documents:
        predictor = document.get("spec", "predictor")
        model = predictor.get("model") if predictor is not None else None
        if kind_of(document) != "InferenceService" or predictor is None or model is None or model.get("image"):
            continue
        format_ = model.get("modelFormat", "name")
        name = ((format_.text() if format_ is not None else None) or "").lower()
        if name == "vllm":
            found += _vllm(model, _runtime(model, runtimes), gpu_of(predictor), lines)
        elif name == "huggingface" and model.get("runtime") is None:
            found += _huggingface(model, gpu_of(predictor), lines)
    return found


def _runtime(model: Node, runtimes: list[Node]) -> Node | None:
    """Return the container of the runtime that serves a model, where the file has it."""
    wanted = model.get("runtime")
    for document in runtimes:
        name, containers = document.get("metadata", "name"), document.get("spec", "containers")
        formats = document.get("spec", "supportedModelFormats")
        names = [f.get("name") for f in formats.items()] if formats is not None else []
        serves = any(n is not None and (n.text() or "").lower() == "vllm" for n in names)
        named = wanted is not None and name is not None and wanted.text() == name.text()
        if containers is not None and containers.items() and (named if wanted is not None else serves):
            return containers.items()[0]
    return None


def _vllm(model: Node, runtime: Node | None, gpu: Word | None, lines: list[str]) -> list[Launch]:
    stored = model_of_uri(model.get("storageUri"))
    args = words_of(model.get("args"), lines) or []
    environment = environment_of(model.get("env"))
    if runtime is None:
        entrypoint = [Word(word, model.line, model.column) for word in ("vllm", "serve")]
        if not any(word.text.partition("=")[0] == "--model" for word in args):
            args = [Word("--model", model.line, model.column), stored or _mounted(model), *args]
        return launches_of(None, entrypoint, _placed(args, stored), environment, model, gpu)
    args = [*(words_of(runtime.get("args"), lines) or []), *args]
    own = environment_of(runtime.get("env")) | environment
    command = words_of(model.get("command") or runtime.get("command"), lines)
    found = launches_of(runtime.get("image"), command, _placed(args, stored), own, model, gpu)
    return [msgspec.structs.replace(launch, line=model.line, column=model.column) for launch in found]


def _huggingface(model: Node, gpu: Word | None, lines: list[str]) -> list[Launch]:
    """Return the launch of KServe's own server, which uses vLLM unless it is told another backend."""
    words: list[Word] = []
    named = False
    for word in words_of(model.get("args"), lines) or []:
        option, _, value = word.text.partition("=")
        option = option.replace("_", "-")
        if option == "--backend" and value in _OTHER_BACKENDS:
            return []
        if words and words[-1].text == "--backend" and word.text in _OTHER_BACKENDS:
            return []
        named = named or option == "--model-id"
        text = word.text.replace(word.text[: len("--model-id")], "--model", 1) if option == "--model-id" else word.text
        words.append(msgspec.structs.replace(word, text=text))
    if not named:
        stored = model_of_uri(model.get("storageUri"))
        words = [Word("--model", model.line, model.column), stored or _mounted(model), *words]
    launch = Launch(
        program=SERVER,
        words=tuple(words),
        environment=environment_of(model.get("env")),
        gpu=gpu,
        line=model.line,
        column=model.column,
    )
    return [launch]


def _mounted(model: Node) -> Word:
    """Return the folder of a model whose storage says nothing of what it holds."""
    return Word(MOUNT, model.line, model.column)


def _placed(words: list[Word], stored: Word | None) -> list[Word]:
    """Return words with the folder that the model is put into replaced by the model, where it is known."""
    if stored is None:
        return words
    return [
        msgspec.structs.replace(word, text=word.text.removesuffix(MOUNT) + stored.text)
        if word.text in (MOUNT, f"--model={MOUNT}")
        else word
        for word in words
    ]


def launches_of_llm_service(document: Node, lines: list[str]) -> list[Launch]:
    """Return the launches of an LLMInferenceService: KServe's command, with the options of VLLM_ADDITIONAL_ARGS."""
    name = document.get("spec", "model", "name")
    model = model_of_uri(document.get("spec", "model", "uri"))
    if model is None and name is not None and name.text():
        model = Word(name.text() or "", name.line, name.column)
    found: list[Launch] = []
    for pod in document.walk():
        containers = pod.get("containers")
        for container in containers.items() if containers is not None else ():
            title = container.get("name")
            if container.get("command") is not None or title is None or title.text() != "main":
                found += launches_of_container(container, lines, gpu_of(pod))
                continue
            environment = environment_of(container.get("env"))
            environment.pop(_ADDED, None)
            words = [*(words_of(container.get("args"), lines) or []), *_added(container, lines)]
            entrypoint = [Word(word, container.line, container.column) for word in ("vllm", "serve")]
            named = [model] if model is not None else []
            found += launches_of(
                container.get("image"), entrypoint, [*named, *words], environment, container, gpu_of(pod)
            )
    return found


def _added(container: Node, lines: list[str]) -> list[Word]:
    env = container.get("env")
    for item in env.items() if env is not None else ():
        name, value = item.get("name"), item.get("value")
        if name is not None and name.text() == _ADDED and value is not None:
            text = value.text() or ""
            return [word for command in commands(text, starts=starts_of(value, lines)) for word in command]
    return []
