"""Configurations of Ray Serve LLM in YAML: each with `model_loading_config:` and `engine_kwargs:` is one engine.

Source: doc/source/serve/llm/ of ray-project/ray: `engine_kwargs` are the keywords of vLLM's AsyncEngineArgs, the model
is `model_source`, or `model_id` where that is not given. A RayService holds such a text under `serveConfigV2`, and its
cluster's containers are where the engines run. Variables of an application's `runtime_env` hold for its engines
(doc/source/ray-core/handling-dependencies.rst: a child's variables are merged over its parent's).
"""

from __future__ import annotations

from typing import Any

import msgspec

from compatcheck.launch.files.containers import environment_of, named, word_of
from compatcheck.launch.files.moving import moved, pinned
from compatcheck.launch.files.node_choice import gpu_of, one_of
from compatcheck.launch.files.pods import Pod
from compatcheck.launch.files.reader import YAML, UnreadableError, has_key, read_documents
from compatcheck.launch.model import Launch, Setting, Word
from compatcheck.launch.placeholders import is_open
from compatcheck.launch.yaml_lenient import Node

PROGRAM = "LLMConfig()"
MARKS = ("model_loading_config", "serveConfigV2")


class RayServe:
    """`llm_configs:` of an application, or one configuration by itself."""

    name = "ray-serve"

    def takes(self, path: str, text: str) -> bool:
        return path.endswith(YAML) and has_key(text, MARKS[0]) and not has_key(text, "apiVersion")

    def launches(self, text: str) -> list[Launch]:
        documents = read_documents(text, "Ray Serve configuration")
        lines = text.splitlines()
        return [launch for document in documents for launch in launches_of_applications(document, lines)]


class _Around(msgspec.Struct, frozen=True):
    """What holds for the engines below a part of a configuration."""

    environment: dict[str, Word] = {}
    env_files: tuple[Word, ...] = ()
    elsewhere: tuple[Word, ...] = ()
    gpu: Word | None = None


def launches_of_applications(document: Node, lines: list[str]) -> list[Launch]:
    """Return the engines of every application in a document."""
    found = _below(document, _cluster(document, lines), lines)
    return list({(launch.line, launch.column): launch for launch in found}.values())


def _below(node: Node, around: _Around, lines: list[str]) -> list[Launch]:
    if isinstance(node.value, list):
        return [launch for item in node.value for launch in _below(item, around, lines)]
    if not isinstance(node.value, dict) or node.merged:
        return []
    if node.get("model_loading_config") is not None:
        return _engine(node, around)
    deployments = node.get("deployments")
    for deployment in deployments.items() if deployments is not None else ():
        around = _with(around, deployment.get("ray_actor_options"), maybe=True)
    around = _with(around, node)
    found: list[Launch] = []
    for name, child in node.value.items():
        found += _inside(child, around, lines) if name == MARKS[1] else _below(child, around, lines)
    return found


def _inside(node: Node, around: _Around, lines: list[str]) -> list[Launch]:
    """Return the engines of a text that is a configuration itself."""
    text = node.text()
    if text is None:
        return _below(node, around, lines)
    try:
        documents = read_documents(text, MARKS[1])
    except UnreadableError as error:
        line = node.line + error.line if node.style == "|" else node.line
        raise UnreadableError(str(error), line, error.column) from error
    found = [launch for document in documents for launch in _below(document, _Around(), [])]
    if node.style == "|":
        first = lines[node.line] if node.line < len(lines) else ""
        placed = [moved(launch, node.line, len(first) - len(first.lstrip())) for launch in found]
    else:
        placed = [pinned(launch, node.line, node.column) for launch in found]
    return [
        msgspec.structs.replace(
            launch,
            environment=around.environment | launch.environment,
            env_files=around.env_files,
            elsewhere=(*around.elsewhere, *launch.elsewhere),
            gpu=launch.gpu or around.gpu,
        )
        for launch in placed
    ]


def _cluster(document: Node, lines: list[str]) -> _Around:
    """Return what the workers of a RayService's cluster bring; what only some of them say is not known."""
    groups = document.get("spec", "rayClusterConfig", "workerGroupSpecs")
    specs = [group.get("template", "spec") for group in groups.items()] if groups is not None else []
    pods: list[Pod] = []
    for spec in specs:
        containers = spec.get("containers") if spec is not None else None
        pods += [Pod(container, lines) for container in (containers.items() if containers is not None else ())[:1]]
    environment: dict[str, Word] = {}
    for name, word in [pair for pod in pods for pair in pod.environment.items()]:
        same = all(name in pod.environment and pod.environment[name].text == word.text for pod in pods)
        environment[name] = word if same else msgspec.structs.replace(word, dynamic=True)
    return _Around(
        environment=environment,
        env_files=tuple(word for pod in pods for word in pod.env_files),
        elsewhere=tuple(word for pod in pods for word in pod.elsewhere),
        gpu=one_of([gpu_of(spec) if spec is not None else None for spec in specs]),
    )


def _with(around: _Around, node: Node | None, *, maybe: bool = False) -> _Around:
    """Return what holds with the variables of a `runtime_env`; `maybe`: it is that of only some deployments."""
    runtime = node.get("runtime_env") if node is not None else None
    if runtime is None or runtime.is_null():
        return around
    elsewhere: list[Word] = []
    environment: dict[str, Word] = {}
    if isinstance(runtime.value, dict):
        environment = environment_of(runtime.get("env_vars"), elsewhere, "env_vars of runtime_env")
    else:
        elsewhere.append(named("runtime_env", runtime))
    if maybe:
        environment = {name: msgspec.structs.replace(word, dynamic=True) for name, word in environment.items()}
    return msgspec.structs.replace(
        around, environment=around.environment | environment, elsewhere=(*around.elsewhere, *elsewhere)
    )


def _engine(node: Node, around: _Around) -> list[Launch]:
    engine, kwargs, gpu = node.get("llm_engine"), node.get("engine_kwargs"), node.get("accelerator_type")
    if engine is not None and (engine.text() or "vllm").lower() != "vllm":
        return []
    around = _with(_with(around, node.get("deployment_config", "ray_actor_options")), node)
    elsewhere = [*around.elsewhere]
    settings: list[Setting] = []
    source, name = node.get("model_loading_config", "model_source"), node.get("model_loading_config", "model_id")
    model = source if source is not None else name
    if model is not None:
        settings.append(_setting("model", model, known=model.text() is not None))
    if kwargs is not None and isinstance(kwargs.value, dict):
        settings += [_setting(key, value, known=True) for key, value in kwargs.value.items()]
    elif kwargs is not None and not kwargs.is_null():
        elsewhere.append(named("engine_kwargs", kwargs))
    return [
        Launch(
            program=PROGRAM,
            form="python",
            settings=tuple(settings),
            environment=around.environment,
            env_files=around.env_files,
            elsewhere=tuple(elsewhere),
            gpu=_gpu(gpu) or around.gpu,
            line=node.line,
            column=node.column,
        )
    ]


def _gpu(node: Node | None) -> Word | None:
    word = word_of(node) if node is not None and node.text() and not node.is_null() else None
    return word if word is not None and not word.dynamic else None


def _setting(name: str, node: Node, *, known: bool) -> Setting:
    value: Any = node.plain()
    return Setting(
        option="--" + name.replace("_", "-"),
        value=value if known else name,
        written=name,
        line=node.line,
        column=node.column,
        dynamic=not known or any(is_open(part.text() or "") for part in node.walk()),
    )
