"""`LLMConfig(...)` of Ray Serve in Python: its engine_kwargs are the keywords of vLLM's AsyncEngineArgs."""

from __future__ import annotations

import ast
from typing import Any

from compatcheck.launch.files.python_values import name_of, value_of, word_of
from compatcheck.launch.files.ray_serve import PROGRAM
from compatcheck.launch.model import Launch, Setting, Word

_MODEL = ("model_source", "model_id")


def imports_ray(nodes: list[ast.AST]) -> bool:
    """Return whether a file takes something from Ray's LLM packages."""
    modules = [n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)]
    modules += [alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names]
    return any(module.startswith(("ray.serve", "ray.llm")) for module in modules)


def ray_launch(node: ast.Call, names: dict[str, Any], environment: dict[str, Word]) -> Launch | None:
    """Return the engine that an LLMConfig describes; None for one of another engine than vLLM."""
    keywords = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
    engine = value_of(keywords["llm_engine"], names)[1] if "llm_engine" in keywords else "vLLM"
    if str(engine).lower() != "vllm":
        return None
    settings: list[Setting] = []
    loading = dict(_entries(keywords.get("model_loading_config")) or ())
    model = next((loading[key] for key in _MODEL if key in loading), None)
    if model is not None:
        settings.append(_setting("model", model, names))
    if (given := keywords.get("engine_kwargs")) is not None:
        entries = _entries(given)
        known, value = value_of(given, names)
        if entries is not None:
            settings += [_setting(name, item, names) for name, item in entries]
        elif known and isinstance(value, dict):
            settings += [_written(str(name), item, given, dynamic=False) for name, item in value.items()]
        else:
            settings.append(_written("**" + ast.unparse(given)[:80], None, given, dynamic=True))
    gpu = word_of(keywords["accelerator_type"], names) if "accelerator_type" in keywords else None
    variables = dict(_entries(dict(_entries(keywords.get("runtime_env")) or ()).get("env_vars")) or ())
    return Launch(
        program=PROGRAM,
        form="python",
        settings=tuple(settings),
        environment=environment | {name: word_of(value, names) for name, value in variables.items()},
        gpu=gpu if gpu is not None and not gpu.dynamic else None,
        line=node.lineno,
        column=node.col_offset + 1,
    )


def _entries(node: ast.expr | None) -> list[tuple[str, ast.expr]] | None:
    """Return the names and values of `{...}`, `dict(...)` or a class's keywords; None where there are others too."""
    if isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        named = [(key, value) for key, value in zip(keys, node.values, strict=True) if isinstance(key, str)]
        return named if len(named) == len(keys) else None
    if isinstance(node, ast.Call) and name_of(node.func) in ("dict", "ModelLoadingConfig") and not node.args:
        given = [(keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg is not None]
        return given if len(given) == len(node.keywords) else None
    return None


def _setting(name: str, value: ast.expr, names: dict[str, Any]) -> Setting:
    known, constant = value_of(value, names)
    return _written(name, constant if known else ast.unparse(value)[:80], value, dynamic=not known)


def _written(name: str, value: Any, place: ast.expr, *, dynamic: bool) -> Setting:
    return Setting(
        option="--" + name.replace("_", "-"),
        value=value,
        written=name,
        line=place.lineno,
        column=place.col_offset + 1,
        dynamic=dynamic,
    )
