"""The files of a release as the evaluator sees them: texts of modules, and the names of everything else."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Protocol

from compatcheck.host.source_files import UnreadableSourceError, parse_source


class Files(Protocol):
    """Where texts come from: a wheel, or an unpacked tree."""

    names: frozenset[str]
    """Every file of the release, as posix paths from the root, compiled ones too."""
    partial: bool
    """Whether compiled files may be missing from `names`: a tree without RECORD in which none lies."""

    def text(self, name: str) -> str:
        """Return a file's text. Raises `UnreadableSourceError` or FileNotFoundError."""


class Module:
    """A parsed module, and which of its statements bind or change which name."""

    def __init__(self, name: str, file: str, tree: ast.Module) -> None:
        self.name = name
        self.file = file
        self.tree = tree
        self.package = file.endswith("/__init__.py")
        self.touching: dict[str, list[ast.stmt]] = {}
        self.stars: list[ast.ImportFrom] = []
        self.replaces_modules = any(
            isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.modules", "sys.meta_path")
            for node in ast.walk(tree)
        )
        """Whether it changes what importing means, as an alias package does."""
        for statement in tree.body:
            for touched in _touched(statement):
                self.touching.setdefault(touched, []).append(statement)
            if isinstance(statement, ast.ImportFrom) and any(alias.name == "*" for alias in statement.names):
                self.stars.append(statement)

    def absolute(self, level: int, name: str | None) -> str:
        """Return the absolute name of an import."""
        if level == 0:
            return name or ""
        parts = self.name.split(".")
        drop = level - 1 if self.package else level
        base = parts[: len(parts) - drop] if drop else parts
        return ".".join([*base, *([name] if name else [])])


class Program:
    """Parsed modules of one or more releases, kept between runs."""

    def __init__(self, files: Mapping[str, Files]) -> None:
        self.files = dict(files)
        """Top-level package -> where its files are."""
        self.unreadable: dict[str, str] = {}
        self._modules: dict[str, Module | None] = {}
        self._files: dict[str, str | None] = {}
        self.kept: dict[tuple[str, str], tuple[Any, dict[str, Any]]] = {}
        """Module-level values that depend on no input, with the functions that made them."""
        self.tables: dict[Any, Any] = {}
        """Calls as functions of one input, with the functions that took part."""
        names = [name for one in {id(f): f for f in files.values()}.values() for name in one.names]
        self._compiled = frozenset(
            f"{folder}/{base.partition('.')[0]}"
            for folder, _, base in (name.rpartition("/") for name in names)
            if base.endswith((".so", ".pyd"))
        )
        self._folders = frozenset(str(parent) for name in names for parent in PurePosixPath(name).parents)

    def holds(self, module: str) -> bool:
        """Return whether a module belongs to one of the releases."""
        return module.partition(".")[0] in self.files

    def file_of(self, module: str) -> str | None:
        """Return the file of a module, or None."""
        if module not in self._files:
            files = self.files.get(module.partition(".")[0])
            base = module.replace(".", "/")
            there = files.names if files is not None else frozenset()
            self._files[module] = next((n for n in (f"{base}/__init__.py", f"{base}.py") if n in there), None)
        return self._files[module]

    def may_be_compiled(self, module: str) -> bool:
        """Return whether a module that is not there may be one that was left out when the release was unpacked."""
        files = self.files.get(module.partition(".")[0])
        return files is not None and files.partial and module.rpartition(".")[2].startswith("_")

    def made_up(self, module: str) -> bool:
        """Return whether a package above a module decides by running what its submodules are."""
        parts = module.split(".")
        above = (self.module(".".join(parts[:depth])) for depth in range(1, len(parts)))
        return any(package is not None and package.package and package.replaces_modules for package in above)

    def compiled(self, module: str) -> bool:
        """Return whether a module is there without a text."""
        return module.replace(".", "/") in self._compiled

    def exists(self, path: str) -> bool:
        """Return whether a file or folder is part of a release."""
        files = self.files.get(path.partition("/")[0])
        return files is not None and (path in files.names or path in self._folders)

    def module(self, name: str) -> Module | None:
        """Return a parsed module; None where it is not there or cannot be read (then `unreadable` says why)."""
        if name not in self._modules:
            self._modules[name] = None
            file = self.file_of(name)
            if file is not None:
                try:
                    text = self.files[name.partition(".")[0]].text(file)
                    self._modules[name] = Module(name, file, parse_source(text))
                except (UnreadableSourceError, FileNotFoundError) as error:
                    self.unreadable[file] = str(error)
        return self._modules[name]


_CHANGING = frozenset(
    [
        "append",
        "extend",
        "insert",
        "remove",
        "pop",
        "clear",
        "update",
        "setdefault",
        "add",
        "discard",
        "sort",
        "reverse",
    ]
)


def _touched(statement: ast.stmt) -> set[str]:
    """Return the module-level names that a statement binds, changes or hangs something on."""
    found: set[str] = set()
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
            pending += node.decorator_list
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found.add(node.id)
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            root = _root(node)
            if root:
                found.add(root)
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
                root = _root(node.func)
                if root:
                    found.add(root)
            elif isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr") and node.args:
                root = _root(node.args[0])
                if root:
                    found.add(root)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        pending += ast.iter_child_nodes(node)
    return found


def _root(node: ast.AST) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
