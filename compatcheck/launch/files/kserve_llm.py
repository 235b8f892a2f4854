"""KServe's LLMInferenceService: KServe writes the command, and takes options from VLLM_ADDITIONAL_ARGS.

Source: kserve/kserve config/llmisvcconfig/config-llm-template.yaml; `baseRefs` name configurations that are merged in.
"""

from __future__ import annotations

from compatcheck.launch.files.containers import launches_of, named, word_of
from compatcheck.launch.files.kserve import text_of
from compatcheck.launch.files.node_choice import gpu_of
from compatcheck.launch.files.pods import Maps, Pod, model_of_uri
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.templates import veiled
from compatcheck.launch.words import commands
from compatcheck.launch.yaml_lenient import Node, starts_of

_ADDED = "VLLM_ADDITIONAL_ARGS"


def launches_of_llm_service(document: Node, lines: list[str], maps: Maps) -> list[Launch]:
    """Return the launches of an LLMInferenceService: KServe's command, with the options of VLLM_ADDITIONAL_ARGS."""
    spec = document.get("spec")
    if spec is None:
        return []
    name = spec.get("model", "name")
    model = model_of_uri(spec.get("model", "uri"))
    if model is None and name is not None and name.text():
        model = word_of(name)
    bases = spec.get("baseRefs")
    shared = [named("the base", base.get("name") or base) for base in bases.items()] if bases is not None else []
    if spec.get("template", "containers") is None:
        place = spec.get("model") or spec
        alone = Pod(Node({}, place.line, place.column), lines)
        return _main(alone, model, shared, None)
    found: list[Launch] = []
    for pod in document.walk():
        containers = pod.get("containers")
        for container in containers.items() if containers is not None else ():
            if container.get("command") is not None or text_of(container.get("name")) != "main":
                found += Pod(container, lines, maps).launches(gpu_of(pod))
            else:
                found += _main(Pod(container, lines, maps), model, shared, gpu_of(pod))
    return found


def _main(pod: Pod, model: Word | None, shared: list[Word], gpu: Word | None) -> list[Launch]:
    added = _added(pod)
    pod.environment.pop(_ADDED, None)
    given = [*([model] if model is not None else []), *(pod.words("args") or []), *added]
    entrypoint = [Word(word, pod.container.line, pod.container.column) for word in ("vllm", "serve")]
    image, elsewhere = pod.container.get("image"), [*pod.elsewhere, *shared]
    return launches_of(image, entrypoint, given, pod.environment, pod.container, gpu, pod.env_files, elsewhere)


def _added(pod: Pod) -> list[Word]:
    """Return the words of VLLM_ADDITIONAL_ARGS, which KServe's command puts behind its own."""
    env = pod.container.get("env")
    for item in env.items() if env is not None else ():
        value = item.get("value")
        if text_of(item.get("name")) != _ADDED:
            continue
        if value is None or value.text() is None:
            pod.elsewhere.append(Word(_ADDED, item.line, item.column, dynamic=True))
            return []
        word = Word(value.text() or "", value.line, value.column, starts=starts_of(value, pod.lines))
        word = veiled(pod.filled(word))
        return [word for command in commands(word.text, starts=word.starts) for word in command]
    return []
