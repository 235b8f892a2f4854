"""Python files: calls of `LLM(...)` and of the engine's argument classes, read as a syntax tree and never run."""

from __future__ import annotations

import ast
from functools import partial
from typing import Any

from compatcheck.launch.command_line import find_launches, launches_in_script
from compatcheck.launch.files.python_grown import Grown, text_of
from compatcheck.launch.files.python_lists import followed_commands
from compatcheck.launch.files.python_ray import imports_ray, ray_launch
from compatcheck.launch.files.python_values import constants, name_of, value_of, word_of
from compatcheck.launch.files.reader import UnreadableError
from compatcheck.launch.model import Launch, Setting, Word

CALLS = frozenset({"LLM", "AsyncLLM", "EngineArgs", "AsyncEngineArgs"})
MAX_CHARACTERS = 1_000_000


class PythonFile:
    """Keyword arguments of the engine's classes, and commands as lists of words or as texts for a shell."""

    name = "python"

    def takes(self, path: str, text: str) -> bool:
        return path.endswith((".py", ".pyi"))

    def launches(self, text: str) -> list[Launch]:
        if len(text) > MAX_CHARACTERS:
            raise UnreadableError(f"larger than {MAX_CHARACTERS} characters")
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            raise UnreadableError(f"not Python: {error.msg}", error.lineno or 1, error.offset or 1) from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise UnreadableError(f"not Python: {error}") from error
        try:
            return _launches(tree)
        except RecursionError as error:
            raise UnreadableError("nested too deeply") from error


def _launches(tree: ast.Module) -> list[Launch]:
    nodes = list(ast.walk(tree))
    names = constants(nodes)
    environment = _environment(nodes)
    imported = any(
        (isinstance(n, ast.ImportFrom) and (n.module or "").split(".")[0] == "vllm")
        or (isinstance(n, ast.Import) and any(alias.name.split(".")[0] == "vllm" for alias in n.names))
        for n in nodes
    )
    ray = imports_ray(nodes)
    renamed = {
        alias.asname: alias.name
        for n in nodes
        if isinstance(n, ast.ImportFrom) and (n.module or "").split(".")[0] == "vllm"
        for alias in n.names
        if alias.asname is not None
    }
    found: list[Launch] = []
    for node in nodes:
        called = name_of(node.func) if isinstance(node, ast.Call) else ""
        program = renamed.get(called, called)
        if isinstance(node, ast.Call) and imported and program in CALLS:
            found.append(_call(node, program, names, environment))
        elif isinstance(node, ast.Call) and ray and called == "LLMConfig":
            configured = ray_launch(node, names, environment)
            found += [configured] if configured is not None else []
    for command in followed_commands(tree, partial(word_of, names=names)):
        found += _script(command, environment) if command.script else find_launches([*command.words], environment)
    return sorted(found, key=lambda launch: (launch.line, launch.column))


def _script(command: Grown, environment: dict[str, Word]) -> list[Launch]:
    """Return the launches of a command that is one text; what is filled in from elsewhere stays open."""
    text, starts = text_of(command)
    return launches_in_script(text, environment=environment, starts=starts)


def _call(node: ast.Call, program: str, names: dict[str, Any], environment: dict[str, Word]) -> Launch:
    settings: list[Setting] = []
    if node.args and not isinstance(node.args[0], ast.Starred):
        settings.append(_setting("model", node.args[0], node.args[0], names))
    for keyword in node.keywords:
        known, spread = value_of(keyword.value, names) if keyword.arg is None else (False, None)
        if keyword.arg is not None:
            settings.append(_setting(keyword.arg, keyword.value, keyword, names))
        elif known and isinstance(spread, dict) and all(isinstance(name, str) for name in spread):
            settings += [_written(name, value, keyword, dynamic=False) for name, value in spread.items()]
        else:
            text = "**" + ast.unparse(keyword.value)[:80]
            settings.append(_written(text, text, keyword, dynamic=True))
    return Launch(
        program=f"{program}()",
        form="python",
        settings=tuple(settings),
        environment=environment,
        line=node.lineno,
        column=node.col_offset + 1,
    )


def _setting(name: str, value: ast.expr, place: ast.expr | ast.keyword, names: dict[str, Any]) -> Setting:
    known, constant = value_of(value, names)
    return _written(name, constant if known else ast.unparse(value)[:80], place, dynamic=not known)


def _written(name: str, value: Any, place: ast.expr | ast.keyword, *, dynamic: bool) -> Setting:
    return Setting(
        option="--" + name.replace("_", "-"),
        value=value,
        written=name,
        line=place.lineno,
        column=place.col_offset + 1,
        dynamic=dynamic,
    )


def _environment(nodes: list[ast.AST]) -> dict[str, Word]:
    """Return `os.environ["NAME"] = value` and `os.environ.setdefault("NAME", value)` of the file."""
    found: dict[str, Word] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
            target = node.targets[0]
            if name_of(target.value) == "environ" and isinstance(target.slice, ast.Constant):
                found[str(target.slice.value)] = word_of(node.value, {})
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 2:
            key = node.args[0]
            default = node.func.attr == "setdefault" and name_of(node.func.value) == "environ"
            if default and isinstance(key, ast.Constant):
                found[str(key.value)] = word_of(node.args[1], {})
    return found
