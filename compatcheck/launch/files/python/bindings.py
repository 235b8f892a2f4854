"""What binds the names of a Python file: scopes, places of statements, and each binding.

A name is bound by whatever Python lets bind one: assignments of every kind, arguments, loops, comprehensions, `with`,
`except`, `import`, `match`, `del`, functions and classes. Only the plain assignment of one value says what it holds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

import msgspec


class Scope:
    """A module, function or class with the names that it binds."""

    def __init__(self, kind: Literal["module", "function", "class"], name: str, parent: Scope | None) -> None:
        self.kind = kind
        self.name = name
        self.parent = parent
        self.bindings: dict[str, list[Binding]] = {}
        self.stars: list[tuple[str, int]] = []
        """`from module import *`: the module, and when."""
        self.elsewhere: dict[str, Scope] = {}
        """Names that `global` and `nonlocal` bind in another scope."""

    def function(self) -> Scope:
        """Return the function that runs this scope's statements, or the module."""
        scope = self
        while scope.kind == "class" and scope.parent is not None:
            scope = scope.parent
        return scope

    def functions(self) -> list[Scope]:
        """Return the functions around a scope with its own, and the module."""
        found: list[Scope] = []
        scope: Scope | None = self
        while scope is not None:
            found += [scope] if scope.kind != "class" else []
            scope = scope.parent
        return found


class Place(msgspec.Struct, frozen=True, eq=False):
    """A statement: its scope, its number in the file, and the blocks around it; an inner one need not be run."""

    scope: Scope
    order: int
    blocks: tuple[int, ...]

    def after(self, other: Place) -> bool:
        """Return whether the other has been run whenever this is."""
        return other.order < self.order and other.blocks[-1] in self.blocks


class Binding(msgspec.Struct, frozen=True, eq=False):
    """One thing that binds a name: the value that is assigned, what is imported, the loop, or none that says more."""

    place: Place
    value: ast.expr | None = None
    imported: str | None = None
    loop: ast.For | None = None
    grows: bool = False
    """`name |= value` and `name += value`: what it held before stays."""


def bindings(node: ast.AST, place: Place) -> Iterator[tuple[str, Binding]]:
    """Yield the names that a node binds itself, without what stands inside it; plain targets with their value."""
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name) and node.value is not None:
                yield target.id, Binding(place, value=node.value)
            elif not isinstance(target, ast.Name):
                yield from ((name, Binding(place)) for name in _stored(target))
    elif isinstance(node, ast.AugAssign):
        grows = isinstance(node.op, (ast.BitOr, ast.Add))
        yield from ((name, Binding(place, grows=grows)) for name in _stored(node.target))
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        loop = node if isinstance(node, ast.For) else None
        yield from ((name, Binding(place, loop=loop)) for name in _stored(node.target))
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from ((name, Binding(place)) for name in _stored(node.optional_vars))
    elif isinstance(node, ast.Delete):
        yield from ((name, Binding(place)) for target in node.targets for name in _stored(target))
    elif isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.asname or alias.name.split(".")[0]
            yield name, Binding(place, imported=alias.name if alias.asname else name)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, Binding(place, imported=f"{'.' * node.level}{node.module}.{alias.name}")
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)):
        if node.name is not None:
            yield node.name, Binding(place)
    elif isinstance(node, (ast.MatchAs, ast.MatchStar, ast.MatchMapping)):
        captured = node.rest if isinstance(node, ast.MatchMapping) else node.name
        if captured is not None:
            yield captured, Binding(place)


def _stored(target: ast.AST) -> list[str]:
    nodes = ast.walk(target)
    return [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del))]
