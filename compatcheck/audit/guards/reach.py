"""Guards and what they call: every function, constant and environment variable within reach is a guard of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from compatcheck.audit.guards.item import Guard, fingerprint
from compatcheck.audit.guards.names import FUNCTIONS, Found, Names, imported
from compatcheck.audit.reading.source import Module

ENVIRONMENT = "vllm.envs"
LEFT_OUT = (
    "vllm.logger",
    "vllm.tracing",
    "vllm.distributed",
    "vllm.triton_utils",
    "vllm.version",
    "vllm._version",
    "flashinfer.jit",
)
"""Modules that every part of a release calls and that decide nothing here."""
EVALUATED = frozenset(["logger", "CacheDType", "_get_backend_priorities", "_POSSIBLE_NVFP4_KERNELS"])
"""Names whose values are evaluated and compared, and the logger."""


class Reach:
    """Collects guards by key; the first group that reaches one keeps it."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.found: dict[str, Guard] = {}
        self._depths: dict[str, int] = {}

    def put(self, group: str, module: Module, name: str, line: int, nodes: Iterable[ast.AST]) -> None:
        """Keep a guard of nodes, without what they call."""
        key = f"{module.file}:{name}"
        if key not in self.found:
            self.found[key] = Guard(group=group, key=key, line=line, digest=fingerprint(nodes))

    def name(self, group: str, module: str, name: str, depth: int) -> None:
        """Follow a module-level name, or `Class.method`. One that is not there is left out."""
        first, _, second = name.partition(".")
        found = self.names.find(module, first)
        if found is None:
            return
        if not second:
            self.definition(group, found, depth)
            return
        held = self.names.method(found, second)
        if held is not None:
            self.function(group, held[0].module, held[1], depth, held[0])

    def definition(self, group: str, found: Found, depth: int) -> None:
        """Follow a definition: a function, what makes an object of a class, or the statements of a constant."""
        if found.module.name.startswith(LEFT_OUT) or found.name in EVALUATED:
            return
        if isinstance(found.node, FUNCTIONS):
            self.function(group, found.module, found.node, depth, None)
        elif isinstance(found.node, ast.ClassDef):
            held = self.names.method(found, "__init__")
            if held is not None:
                self.function(group, held[0].module, held[1], depth, held[0])
            else:
                self.put(group, found.module, found.name, found.node.lineno, _fields(found.node))
        elif found.statements:
            if self._again(f"{found.module.file}:{found.name}", depth):
                return
            self.put(group, found.module, found.name, found.statements[0].lineno, found.statements)
            for statement in found.statements if depth else ():
                self.called(group, found.module, statement, depth - 1, None)

    def function(
        self,
        group: str,
        module: Module,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        depth: int,
        cls: Found | None,
    ) -> None:
        """Keep a function and follow what it names."""
        if module.name.startswith(LEFT_OUT):
            return
        name = f"{cls.name}.{node.name}" if cls is not None else node.name
        if self._again(f"{module.file}:{name}", depth):
            return
        same: list[ast.stmt] = [node]
        if cls is None and len(module.touching.get(node.name, [])) > 1:
            same = module.touching[node.name]
        if cls is not None and isinstance(cls.node, ast.ClassDef):
            same = [i for i in cls.node.body if isinstance(i, FUNCTIONS) and i.name == node.name] or same
        self.put(group, module, name, node.lineno, same)
        self.called(group, module, node, depth - 1, cls)

    def called(self, group: str, module: Module, node: ast.AST, depth: int, cls: Found | None) -> None:
        """Follow the names in a node; environment variables at any depth, the rest while depth is left."""
        local: dict[str, tuple[str, str | None]] = {}
        for inner in ast.walk(node):
            if isinstance(inner, (ast.Import, ast.ImportFrom)):
                for alias in inner.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    target = imported(module, inner, bound)
                    if target is not None:
                        local[bound] = target
        for inner in _used(node):
            self._use(group, module, inner, depth, cls, local)

    def _use(
        self,
        group: str,
        module: Module,
        node: ast.Name | ast.Attribute,
        depth: int,
        cls: Found | None,
        local: dict[str, tuple[str, str | None]],
    ) -> None:
        if isinstance(node, ast.Name):
            found = self.names.target(*local[node.id]) if node.id in local else self.names.find(module.name, node.id)
            if found is not None and depth >= 0 and not (isinstance(found.node, ast.ClassDef) and not _is_called(node)):
                self.definition(group, found, depth)
            return
        if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
            held = self.names.method(cls, node.attr) if cls is not None and depth >= 0 else None
            if held is not None:
                self.function(group, held[0].module, held[1], depth, held[0])
            return
        above = self._value(module, node.value, local)
        if above is None:
            return
        if isinstance(above.node, ast.ClassDef):
            held = self.names.method(above, node.attr) if depth >= 0 else None
            if held is not None:
                self.function(group, held[0].module, held[1], depth, held[0])
        elif above.node is None and not above.statements:
            if above.module.name == ENVIRONMENT:
                self.variable(group, node.attr)
                return
            found = self.names.find(above.module.name, node.attr) if depth >= 0 else None
            if found is not None and not (isinstance(found.node, ast.ClassDef) and not _is_called(node)):
                self.definition(group, found, depth)

    def _value(self, module: Module, node: ast.AST, local: dict[str, tuple[str, str | None]]) -> Found | None:
        if isinstance(node, ast.Name) and node.id in local:
            return self.names.target(*local[node.id])
        return self.names.dotted(module, node)

    def variable(self, group: str, name: str) -> None:
        """Keep what an environment variable is when it is not set."""
        table = self.names.find(ENVIRONMENT, "environment_variables")
        for statement in table.statements if table is not None else ():
            for inner in ast.walk(statement):
                if not isinstance(inner, ast.Dict):
                    continue
                for key, value in zip(inner.keys, inner.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == name and table is not None:
                        self.put(f"environment for {group}", table.module, name, key.lineno, [value])
                        return

    def _again(self, key: str, depth: int) -> bool:
        """Return whether a guard was followed at least as deep before."""
        if self._depths.get(key, -1) >= depth:
            return True
        self._depths[key] = depth
        return False


def _used(node: ast.AST) -> Iterator[ast.Name | ast.Attribute]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and isinstance(inner.func, (ast.Name, ast.Attribute)):
            inner.func._called = True  # type: ignore[union-attr]
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for decorator in inner.decorator_list:
                decorator._called = True  # type: ignore[attr-defined]
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Name, ast.Attribute)) and isinstance(inner.ctx, ast.Load):
            yield inner


def _is_called(node: ast.AST) -> bool:
    return getattr(node, "_called", False) is True


def _fields(node: ast.ClassDef) -> list[ast.stmt]:
    return [item for item in node.body if isinstance(item, (ast.Assign, ast.AnnAssign))] or [ast.Pass()]
