"""`LLMConfig(...)` of Ray Serve in Python: its engine_kwargs are the keywords of vLLM's AsyncEngineArgs."""

from __future__ import annotations

import ast

from compatcheck.launch.files.python.engine import changes_of
from compatcheck.launch.files.python.environment import Environments
from compatcheck.launch.files.python.mappings import Held, Item
from compatcheck.launch.files.python.settings import elsewhere_of, settings_of, variables_of
from compatcheck.launch.files.ray_serve import PROGRAM
from compatcheck.launch.model import Launch, Word

_MODEL = ("model_source", "model_id")
_CONFIG = "LLMConfig"


def is_ray_config(node: ast.Call, environments: Environments) -> bool:
    """Return whether a call makes a configuration of Ray's LLM packages."""
    dotted = environments.scopes.dotted(node.func)
    return dotted.rpartition(".")[2] == _CONFIG and dotted.startswith(("ray.serve.", "ray.llm."))


def ray_launch(node: ast.Call, environments: Environments) -> Launch | None:
    """Return the engine that an LLMConfig describes; None for one of another engine than vLLM."""
    values = environments.values
    given = environments.mappings.keywords(node)
    engine = values.value(given.items["llm_engine"].value)[1] if "llm_engine" in given.items else "vLLM"
    if str(engine).lower() != "vllm":
        return None
    loading, runtime = _part(given, "model_loading_config", environments), _part(given, "runtime_env", environments)
    kwargs, variables = _part(given, "engine_kwargs", environments), _part(runtime, "env_vars", environments)
    held = Held(elsewhere=[*node.args, *given.elsewhere])
    held.elsewhere += [change.node for change, _ in changes_of(node, environments)]
    model = next((loading.items[key] for key in _MODEL if key in loading.items), None)
    if model is not None:
        held.set("model", Item(model.value, model.value, model.sure))
    elif loading.elsewhere:
        held.set("model", Item(loading.elsewhere[0], loading.elsewhere[0]))
    for name, item in kwargs.items.items():
        held.set(name, Item(item.value, item.value, item.sure))
    held.elsewhere += kwargs.elsewhere
    gpu = values.word(given.items["accelerator_type"].value) if "accelerator_type" in given.items else None
    process, elsewhere = environments.at(node, exact=False)
    return Launch(
        program=PROGRAM,
        form="python",
        settings=tuple(settings_of(held, values)),
        environment=process | variables_of(variables, values),
        elsewhere=(*elsewhere, *_elsewhere(runtime, "runtime_env"), *_elsewhere(variables, "env_vars")),
        gpu=gpu if gpu is not None and not gpu.dynamic else None,
        line=node.lineno,
        column=node.col_offset + 1,
    )


def _part(of: Held, name: str, environments: Environments) -> Held:
    """Return the mapping that an item is; what cannot be read of it is elsewhere."""
    item = of.items.get(name)
    if item is None or (isinstance(item.value, ast.Constant) and item.value.value is None):
        return Held()
    held = environments.mappings.read(item.value) or Held(elsewhere=[item.value])
    if not item.sure:
        held.doubt()
    return held


def _elsewhere(held: Held, name: str) -> tuple[Word, ...]:
    return elsewhere_of(held.elsewhere, f"{name}=")
