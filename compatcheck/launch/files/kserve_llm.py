"""KServe's LLMInferenceService: KServe writes the command, and takes options from VLLM_ADDITIONAL_ARGS.

Source: kserve/kserve config/llmisvcconfig/config-llm-template.yaml, whose script is `vllm serve MODEL ...
--tensor-parallel-size N ${VLLM_ADDITIONAL_ARGS} $@`, and pkg/controller/v1alpha2/llmisvc: `speculator` becomes
--speculative-config, `baseRefs` and `runtime` name what else is merged in.
"""

from __future__ import annotations

import json
import re

from compatcheck.launch.files.containers import launches_of, named, word_of
from compatcheck.launch.files.kserve import text_of
from compatcheck.launch.files.node_choice import gpu_of
from compatcheck.launch.files.pods import Maps, Pod, model_of_uri
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.placeholders import is_open
from compatcheck.launch.templates import veiled
from compatcheck.launch.words import commands
from compatcheck.launch.yaml_lenient import Node, starts_of

_ADDED = "VLLM_ADDITIONAL_ARGS"
_OTHER_ENGINES = re.compile(r"sglang|trt-?llm|tensorrt|text-generation-inference|\btgi\b", re.I)
_WORKLOADS = ("template", "worker")


def launches_of_llm_service(document: Node, lines: list[str], maps: Maps) -> list[Launch]:
    """Return the launches of a service: of its workers, and of those that only prefill."""
    spec = document.get("spec")
    if spec is None or _OTHER_ENGINES.search(text_of(spec.get("runtime"))):
        return []
    found: list[Launch] = []
    for part in (spec, spec.get("prefill")):
        pods = [pod for key in _WORKLOADS if part is not None and (pod := part.get(key)) is not None]
        if part is not None and not any(pod.get("containers") for pod in pods):
            pods = [Node({"containers": Node([_unsaid(spec)], part.line, part.column)}, part.line, part.column)]
        for pod in pods:
            containers = pod.get("containers")
            for container in containers.items() if containers is not None else ():
                if container.get("command") is not None or text_of(container.get("name")) != "main":
                    found += Pod(container, lines, maps).launches(gpu_of(pod))
                elif part is not None and not _OTHER_ENGINES.search(text_of(container.get("image"))):
                    found += _main(Pod(container, lines, maps), spec, part, gpu_of(pod))
    return found


def _unsaid(spec: Node) -> Node:
    """Return the container that KServe adds where a service has none of its own."""
    place = spec.get("model") or spec
    return Node({"name": Node("main", place.line, place.column)}, place.line, place.column)


def _main(pod: Pod, spec: Node, part: Node, gpu: Word | None) -> list[Launch]:
    added = _added(pod)
    pod.environment.pop(_ADDED, None)
    name = spec.get("model", "name")
    model = model_of_uri(spec.get("model", "uri")) or (word_of(name) if name is not None and name.text() else None)
    tensor = part.get("parallelism", "tensor")
    sizes = [_at(tensor, "--tensor-parallel-size"), word_of(tensor)] if tensor is not None and tensor.text() else []
    speculator = spec.get("speculator")
    drafted = _speculative(speculator) if speculator is not None and not speculator.is_null() else []
    given = [*([model] if model is not None else []), *sizes, *added, *drafted, *(pod.words("args") or [])]
    bases, runtime = spec.get("baseRefs"), spec.get("runtime")
    shared = [named("the base", base.get("name") or base) for base in (bases.items() if bases is not None else ())]
    shared += [named("the runtime", runtime)] if runtime is not None else []
    here = pod.container
    entrypoint = [_at(here, "vllm"), _at(here, "serve")]
    elsewhere = [*pod.elsewhere, *shared]
    return launches_of(here.get("image"), entrypoint, given, pod.environment, here, gpu, pod.env_files, elsewhere)


def _at(node: Node, text: str) -> Word:
    return Word(text, node.line, node.column)


def _speculative(speculator: Node) -> list[Word]:
    """Return the option that a speculator becomes; the numbers of its configuration are written as texts."""
    config, model = speculator.get("config"), model_of_uri(speculator.get("model", "uri"))
    values = {key: text_of(value) for key, value in config.value.items()} if config and config.value else {}
    numbers = {key: int(value) if value.isdecimal() else value for key, value in values.items()}
    given = json.dumps(numbers | ({"model": model.text} if model is not None else {}))
    open_ = is_open(given) or (config is not None and config.text() is not None)
    place = config or speculator
    return [_at(place, "--speculative-config"), Word(given, place.line, place.column, dynamic=open_)]


def _added(pod: Pod) -> list[Word]:
    """Return the words of VLLM_ADDITIONAL_ARGS, which KServe's command puts behind its own."""
    env = pod.container.get("env")
    for item in env.items() if env is not None else ():
        value = item.get("value")
        if text_of(item.get("name")) != _ADDED:
            continue
        if value is None or value.text() is None:
            known = pod.environment.get(_ADDED)
            if known is None or known.dynamic:
                pod.elsewhere.append(Word(_ADDED, item.line, item.column, dynamic=True))
                return []
            return [word for command in commands(known.text, known.line, known.column) for word in command]
        word = Word(value.text() or "", value.line, value.column, starts=starts_of(value, pod.lines))
        word = veiled(pod.filled(word))
        return [word for command in commands(word.text, starts=word.starts) for word in command]
    return []
