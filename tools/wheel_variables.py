"""The environment variables that one unpacked vLLM wheel asks for; see generate_flags.py."""

from __future__ import annotations

import ast
import re
from pathlib import Path

_DIRECT = re.compile(
    r"""(?:os\.getenv|os\.environ\.get|environ\.get|getenv|os\.environ\.setdefault|os\.environ\.pop)"""
    r"""\(\s*["'](\w+)["']|os\.environ\[\s*["'](\w+)["']\s*\](?!\s*=[^=])|["'](\w+)["']\s+(?:not\s+)?in\s+os\.environ"""
)
_ATTRIBUTE = re.compile(r"\benvs\.([A-Z][A-Z0-9_]+)\b|\benvs\.is_set\(\s*[\"'](\w+)[\"']|[\"'](VLLM_\w+)[\"']")
_IMPORTED = re.compile(r"from vllm\.envs import \(?([^)\n]+|[^)]+\))")
_NAME = re.compile(r"(VLLM|FLASHINFER|FLASH)_[A-Z0-9_]+")


def variables_of(root: Path) -> list[str]:
    """Return the environment variables that a release asks for: declared in envs.py and used, or read directly.

    A name that stands as a text anywhere counts as used: better one too many than a false "this release ignores it".
    """
    envs = (root / "envs.py").read_text("utf-8")
    declared = _declared(envs)
    used = _inside(envs, declared)
    for file in sorted(root.rglob("*.py")):
        text = file.read_text("utf-8", errors="replace")
        if file == root / "envs.py" or not any(mark in text for mark in ("VLLM_", "environ", "getenv", "envs.")):
            continue
        for pattern in (_DIRECT, _ATTRIBUTE):
            used.update(next(group for group in match.groups() if group) for match in pattern.finditer(text))
        for match in _IMPORTED.finditer(text):
            used.update(re.findall(r"[A-Z][A-Z0-9_]+", match[1]))
    return sorted(name for name in used if _NAME.fullmatch(name))


def _declared(envs: str) -> set[str]:
    for node in ast.parse(envs).body:
        targets: list[ast.expr] = []
        value: ast.expr | None = None
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign):
            targets, value = [node.target], node.value
        named = any(isinstance(t, ast.Name) and t.id == "environment_variables" for t in targets)
        if named and isinstance(value, ast.Dict):
            return {str(key.value) for key in value.keys if isinstance(key, ast.Constant)}
    return set()


def _inside(envs: str, declared: set[str]) -> set[str]:
    """Return the names that envs.py itself uses besides declaring them."""
    used = set(re.findall(r"\b(?:maybe_convert_\w+|get_\w+|use_\w+)\(\s*[\"'](\w+)[\"']", envs)) - declared
    return used | {n for n in declared if re.search(rf"\b{n}\b(?=\s*(?:,|\)|/|\]|\.| or | and | if ))", envs)}
