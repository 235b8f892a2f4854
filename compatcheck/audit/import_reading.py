"""Which packages a backend's module cannot be imported without (runs in the reading process).

The engine turns a failing import into a refusal by the selector, so this is a gate without a line of code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from compatcheck.audit.reading.source import Module, Program

FOLLOWED = ("vllm.v1.attention.", "vllm.models.")
"""Modules in which backends lie: their own imports are followed. What else vLLM imports, every backend imports."""


def needs_at_import(program: Program, module: str, package: str) -> str:
    """Return the file and line that import a package whenever a module is imported; an empty text if none does."""
    pending, seen = [module], {module}
    while pending:
        parsed = program.module(pending.pop(0))
        if parsed is None:
            continue
        for line, name in _imports(parsed):
            if name.partition(".")[0] == package:
                return f"{parsed.file}:{line}"
            if name.startswith(FOLLOWED) and name not in seen:
                seen.add(name)
                pending.append(name)
    return ""


def _imports(module: Module) -> Iterator[tuple[int, str]]:
    """Yield what is imported unconditionally: not under an `if`, and not where a failure is caught."""
    for statement in module.tree.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                yield statement.lineno, alias.name
        elif isinstance(statement, ast.ImportFrom):
            base = module.absolute(statement.level, statement.module)
            yield statement.lineno, base
            for alias in statement.names:
                yield statement.lineno, f"{base}.{alias.name}"
