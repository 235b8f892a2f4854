"""Guards of a module: what it does as it is imported, and which packages it cannot be imported without."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator

from compatcheck.audit.engine_environment import INSTALLED
from compatcheck.audit.guards.names import FUNCTIONS
from compatcheck.audit.guards.reach import EVALUATED, Reach
from compatcheck.audit.import_reading import FOLLOWED
from compatcheck.audit.reading.source import Module, Program

_PLAIN = (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)
_KNOWN = INSTALLED | {"typing_extensions"} | sys.stdlib_module_names
"""Packages that every backend may import: the engine requires them, or they are part of Python."""


def imported_with(program: Program, modules: Iterable[str]) -> list[str]:
    """Return modules, what they import of the packages in which backends lie, and the packages above; sorted."""
    pending, seen = list(modules), set(modules)
    while pending:
        parsed = program.module(pending.pop())
        for _, name in imports(parsed.tree.body, parsed) if parsed is not None else ():
            if name.startswith(FOLLOWED) and name not in seen and program.file_of(name) is not None:
                seen.add(name)
                pending.append(name)
    parts = [name.split(".") for name in seen]
    return sorted(seen | {".".join(part[:depth]) for part in parts for depth in range(1, len(part))})


def watch(reach: Reach, group: str, module: Module) -> None:
    """Watch one module."""
    statements = [statement for statement in module.tree.body if not _quiet(statement)]
    if statements:
        reach.put(group, module, "<module>", statements[0].lineno, statements)
        for statement in statements:
            if isinstance(statement, ast.Expr):
                reach.called(group, module, statement, 1, None)
    for line, name in imports(module.tree.body, module):
        top = name.partition(".")[0]
        if top != reach.names.top and top not in _KNOWN:
            reach.put(group, module, f"import {top}", line, [])
        elif top == reach.names.top and missing(reach.names.program, name):
            reach.put(group, module, f"import {name}", line, [])


def missing(program: Program, name: str) -> bool:
    """Return whether an imported module of the release, or a package's name, is neither there nor compiled."""
    if program.file_of(name) is not None or program.compiled(name) or program.exists(name.replace(".", "/")):
        return False
    above, _, last = name.rpartition(".")
    parsed = program.module(above)
    if parsed is None:
        return not (program.compiled(above) or program.may_be_compiled(above) or program.made_up(above))
    return not (last in parsed.touching or parsed.stars or program.may_be_compiled(name) or last == "__getattr__") and (
        "__getattr__" not in parsed.touching
    )


def imports(body: list[ast.stmt], module: Module) -> Iterator[tuple[int, str]]:
    """Yield what is imported unconditionally."""
    for statement in body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                yield statement.lineno, alias.name
        elif isinstance(statement, ast.ImportFrom):
            base = module.absolute(statement.level, statement.module)
            if statement.level == 0 and base.partition(".")[0] in sys.stdlib_module_names:
                continue
            for alias in statement.names:
                yield statement.lineno, base if alias.name == "*" else f"{base}.{alias.name}"


def _quiet(statement: ast.stmt) -> bool:
    """Return whether a statement only defines, imports, says something, or names the logger or what is exported."""
    if isinstance(statement, _PLAIN):
        return True
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.If):
        return ast.unparse(statement.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING") and not statement.orelse
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    targets = [statement.target] if isinstance(statement, ast.AnnAssign) else targets
    return bool(targets) and all(isinstance(t, ast.Name) and (t.id in EVALUATED or t.id == "__all__") for t in targets)
