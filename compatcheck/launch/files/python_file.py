"""Python files: calls of `LLM(...)` and of the engine's argument classes, read as a syntax tree and never run."""

from __future__ import annotations

import ast
from typing import Any

from compatcheck.launch.command_line import find_launches, launches_in_script
from compatcheck.launch.files.reader import UnreadableError
from compatcheck.launch.model import Launch, Setting, Word

SHELLS = frozenset({"run", "Popen", "call", "check_call", "check_output", "system", "popen", "getoutput"})
"""Functions of subprocess and os that take a command as one text."""
CALLS = frozenset({"LLM", "AsyncLLM", "EngineArgs", "AsyncEngineArgs"})
MAX_CHARACTERS = 1_000_000
_CHANGES = frozenset({"update", "setdefault", "pop", "popitem", "clear"})
"""Methods after which a dictionary is no longer what the file wrote."""


class PythonFile:
    """Keyword arguments of the engine's classes, and lists of words that start with `vllm serve`."""

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
    names = _constants(nodes)
    environment = _environment(nodes)
    imported = any(
        (isinstance(n, ast.ImportFrom) and (n.module or "").split(".")[0] == "vllm")
        or (isinstance(n, ast.Import) and any(alias.name.split(".")[0] == "vllm" for alias in n.names))
        for n in nodes
    )
    renamed = {
        alias.asname: alias.name
        for n in nodes
        if isinstance(n, ast.ImportFrom) and (n.module or "").split(".")[0] == "vllm"
        for alias in n.names
        if alias.asname is not None
    }
    found: list[Launch] = []
    for node in nodes:
        called = _name(node.func) if isinstance(node, ast.Call) else ""
        program = renamed.get(called, called)
        if isinstance(node, ast.Call) and imported and program in CALLS:
            found.append(_call(node, program, names, environment))
        elif isinstance(node, ast.Call) and called in SHELLS and node.args:
            found += _shell(node.args[0], names, environment)
        elif isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) >= 3:
            words = [_word(item, names) for item in node.elts]
            found += find_launches(words, environment) if words[0].text in ("vllm", "python", "python3") else []
    return sorted(found, key=lambda launch: (launch.line, launch.column))


def _shell(node: ast.expr, names: dict[str, Any], environment: dict[str, Word]) -> list[Launch]:
    """Return the launches of a command that is one text; what is filled in from elsewhere stays open."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    text: list[str] = []
    for part in parts:
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        known, value = _value(inner, names)
        if not known and not isinstance(part, ast.FormattedValue):
            return []
        text.append(str(value) if known else "$unknown")
    script = "".join(text)
    if "vllm" not in script:
        return []
    return launches_in_script(script, node.lineno, node.col_offset + 2, environment)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _call(node: ast.Call, program: str, names: dict[str, Any], environment: dict[str, Word]) -> Launch:
    settings: list[Setting] = []
    if node.args and not isinstance(node.args[0], ast.Starred):
        settings.append(_setting("model", node.args[0], node.args[0], names))
    for keyword in node.keywords:
        known, spread = _value(keyword.value, names) if keyword.arg is None else (False, None)
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
    known, constant = _value(value, names)
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


def _value(node: ast.expr, names: dict[str, Any]) -> tuple[bool, Any]:
    """Return whether a value is written down in the file, and the value."""
    if isinstance(node, ast.Name) and node.id in names:
        return True, names[node.id]
    if isinstance(node, ast.Call) and _name(node.func) in ("dict", "AttentionConfig") and not node.args:
        pairs = [(k.arg, _value(k.value, names)) for k in node.keywords]
        if all(arg is not None and value[0] for arg, value in pairs):
            return True, {arg: value[1] for arg, value in pairs}
        return False, None
    if isinstance(node, ast.Attribute) and _name(node.value) in ("AttentionBackendEnum", "torch"):
        return True, node.attr
    try:
        return True, ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False, None


def _constants(nodes: list[ast.AST]) -> dict[str, Any]:
    """Return the names that the file assigns exactly once, to a constant."""
    values: dict[str, list[tuple[bool, Any]]] = {}
    for node in nodes:
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
                values.setdefault(target.id, []).append(_value(node.value, {}))
            elif isinstance(target, ast.Subscript):
                values.setdefault(_name(target.value), []).append((False, None))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
            values.setdefault(_name(node.func.value), []).append((False, None))
        if isinstance(node, (ast.For, ast.AugAssign)) and isinstance(node.target, ast.Name):
            values.setdefault(node.target.id, []).append((False, None))
    return {name: found[0][1] for name, found in values.items() if len(found) == 1 and found[0][0]}


def _environment(nodes: list[ast.AST]) -> dict[str, Word]:
    """Return `os.environ["NAME"] = value` and `os.environ.setdefault("NAME", value)` of the file."""
    found: dict[str, Word] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
            target = node.targets[0]
            if _name(target.value) == "environ" and isinstance(target.slice, ast.Constant):
                found[str(target.slice.value)] = _word(node.value, {})
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 2:
            key = node.args[0]
            default = node.func.attr == "setdefault" and _name(node.func.value) == "environ"
            if default and isinstance(key, ast.Constant):
                found[str(key.value)] = _word(node.args[1], {})
    return found


def _word(node: ast.expr, names: dict[str, Any]) -> Word:
    known, value = _value(node, names)
    usable = known and isinstance(value, (str, int, float))
    return Word(str(value) if usable else ast.unparse(node)[:80], node.lineno, node.col_offset + 1, not usable)
