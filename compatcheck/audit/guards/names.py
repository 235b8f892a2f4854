"""What a name means in a release's text, as far as fingerprints need it: functions, classes, constants, modules.

Nothing is evaluated; a name that cannot be followed is part of the text that is fingerprinted all the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from compatcheck.audit.reading.source import Module, Program

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_HOPS = 12


class Found(NamedTuple):
    """A definition: `node` is a function, a class, or None for the statements that make a constant or for a module."""

    module: Module
    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None
    statements: tuple[ast.stmt, ...] = ()


class Names:
    """Looks names up in the modules of one package."""

    def __init__(self, program: Program, top: str) -> None:
        self.program = program
        self.top = top

    def module(self, name: str) -> Module | None:
        """Return a module of the package, or None."""
        return self.program.module(name) if name.partition(".")[0] == self.top else None

    def find(self, module: str, name: str, hops: int = _HOPS) -> Found | None:
        """Return what a module-level name is; None where it is outside the package or cannot be found."""
        parsed = self.module(module)
        if parsed is None or hops == 0:
            return None
        statements = parsed.touching.get(name, [])
        for statement in reversed(statements):
            for node in _inside(statement):
                if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and node.name == name:
                    return Found(parsed, name, node)
                target = imported(parsed, node, name)
                if target is not None:
                    return self.target(*target, hops - 1)
        if statements:
            return Found(parsed, name, None, tuple(statements))
        for star in parsed.stars:
            found = self.find(parsed.absolute(star.level, star.module), name, hops - 1)
            if found is not None:
                return found
        inner = self.module(f"{module}.{name}")
        return Found(inner, "", None) if inner is not None else None

    def target(self, module: str, name: str | None, hops: int = _HOPS) -> Found | None:
        """Return what an import brings."""
        if name is not None:
            return self.find(module, name, hops)
        parsed = self.module(module)
        return Found(parsed, "", None) if parsed is not None else None

    def bases(self, cls: Found) -> Iterator[Found]:
        """Yield a class and its bases inside the package, the nearest first."""
        pending, seen = [cls], set()
        while pending:
            here = pending.pop(0)
            if not isinstance(here.node, ast.ClassDef) or (here.module.name, here.name) in seen:
                continue
            seen.add((here.module.name, here.name))
            yield here
            for base in here.node.bases:
                base = base.value if isinstance(base, ast.Subscript) else base
                found = self.dotted(here.module, base)
                if found is not None:
                    pending.append(found)

    def dotted(self, module: Module, node: ast.AST) -> Found | None:
        """Return what `a` or `a.b.c` at a module's level is."""
        if isinstance(node, ast.Name):
            return self.find(module.name, node.id)
        if isinstance(node, ast.Attribute):
            above = self.dotted(module, node.value)
            if above is not None and above.node is None and not above.statements:
                return self.find(above.module.name, node.attr)
        return None

    def method(self, cls: Found, name: str) -> tuple[Found, ast.FunctionDef | ast.AsyncFunctionDef] | None:
        """Return the class that defines a method, and the method."""
        for base in self.bases(cls):
            for item in reversed(base.node.body if isinstance(base.node, ast.ClassDef) else []):
                if isinstance(item, FUNCTIONS) and item.name == name:
                    return base, item
        return None


def imported(module: Module, node: ast.AST, name: str) -> tuple[str, str | None] | None:
    """Return (module, name) that an import statement binds to a name; None where it does not bind it."""
    if isinstance(node, ast.ImportFrom):
        for alias in node.names:
            if (alias.asname or alias.name) == name:
                return module.absolute(node.level, node.module), alias.name
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname == name:
                return alias.name, None
            if alias.asname is None and alias.name.partition(".")[0] == name:
                return name, None
    return None


def _inside(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield a statement and the statements under its branches, not those inside functions."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop(0)
        yield node
        if isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.While, ast.ExceptHandler)):
            pending += [
                child for child in ast.iter_child_nodes(node) if isinstance(child, (ast.stmt, ast.ExceptHandler))
            ]
