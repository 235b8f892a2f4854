"""Configurations of Ray Serve LLM in YAML: each with `model_loading_config:` and `engine_kwargs:` is one engine.

Source: doc/source/serve/llm/ of ray-project/ray: `engine_kwargs` are the keywords of vLLM's AsyncEngineArgs, the model
is `model_source`, or `model_id` where that is not given. A RayService holds such a text under `serveConfigV2`.
"""

from __future__ import annotations

from typing import Any

from compatcheck.launch.files.containers import environment_of, word_of
from compatcheck.launch.files.moving import moved
from compatcheck.launch.files.reader import UnreadableError
from compatcheck.launch.model import Launch, Setting, Word
from compatcheck.launch.yaml_lenient import Node, YamlError, read_lenient

PROGRAM = "LLMConfig()"
MARKS = ("model_loading_config:", "serveConfigV2:")


class RayServe:
    """`llm_configs:` of an application, or one configuration by itself."""

    name = "ray-serve"

    def takes(self, path: str, text: str) -> bool:
        return path.endswith((".yaml", ".yml")) and MARKS[0] in text

    def launches(self, text: str) -> list[Launch]:
        try:
            documents = read_lenient(text, "Ray Serve configuration")
        except YamlError as error:
            raise UnreadableError(str(error), error.line, error.column) from error
        lines = text.splitlines()
        return [launch for document in documents for launch in _below(document, lines)]


def _below(document: Node, lines: list[str]) -> list[Launch]:
    found: list[Launch] = []
    for node in document.walk():
        if node.get("model_loading_config") is not None:
            launch = _launch(node)
            found += [launch] if launch is not None else []
        inner = node.get("serveConfigV2")
        if inner is not None and inner.style == "|" and MARKS[0] in (inner.text() or ""):
            first = lines[inner.line] if inner.line < len(lines) else ""
            try:
                texts = read_lenient(inner.text() or "", "serveConfigV2")
            except YamlError as error:
                raise UnreadableError(str(error), inner.line + error.line, error.column) from error
            width = len(first) - len(first.lstrip())
            found += [moved(launch, inner.line, width) for text in texts for launch in _below(text, [])]
    return found


def _launch(node: Node) -> Launch | None:
    engine, kwargs, gpu = node.get("llm_engine"), node.get("engine_kwargs"), node.get("accelerator_type")
    if engine is not None and (engine.text() or "vllm").lower() != "vllm":
        return None
    settings: list[Setting] = []
    source, name = node.get("model_loading_config", "model_source"), node.get("model_loading_config", "model_id")
    model = source if source is not None else name
    if model is not None:
        settings.append(_setting("model", model, known=model.text() is not None))
    for key, value in (kwargs.value if kwargs is not None and isinstance(kwargs.value, dict) else {}).items():
        settings.append(_setting(key, value, known=True))
    return Launch(
        program=PROGRAM,
        form="python",
        settings=tuple(settings),
        environment=environment_of(node.get("runtime_env", "env_vars")),
        gpu=_gpu(gpu),
        line=node.line,
        column=node.column,
    )


def _gpu(node: Node | None) -> Word | None:
    return word_of(node) if node is not None and node.text() and node.plain() is not None else None


def _setting(name: str, node: Node, *, known: bool) -> Setting:
    value: Any = node.plain()
    return Setting(
        option="--" + name.replace("_", "-"),
        value=value if known else name,
        written=name,
        line=node.line,
        column=node.column,
        dynamic=not known or (isinstance(value, str) and value.startswith("${")),
    )
