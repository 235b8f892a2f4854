"""Answer `from MODULE import NAME` for a package on disk from its syntax trees, never by importing it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from compatcheck.host.source_files import UnreadableSourceError, parse_source, read_source

_COMPILED = (".so", ".pyd", ".pyc")


class Names:
    """Answers `from MODULE import NAME` for one package on disk, following its own re-exports."""

    def __init__(self, package: Path) -> None:
        self.package = package
        self.unreadable: dict[str, str] = {}
        self._texts: dict[str, str | None] = {}
        self._trees: dict[str, ast.Module | None] = {}

    def binds(self, module: str, name: str, _seen: frozenset[tuple[str, str]] = frozenset()) -> bool | None:
        """Return whether a module of the package would have a name; None where only running it would tell.

        A name bound only under `if`, or only inside `try`/`with suppress`, or served by a module-level
        `__getattr__`, cannot be told from the text.
        """
        if (module, name) in _seen:
            return None
        seen = _seen | {(module, name)}
        if self._text(module) is None:
            return None if module in self.unreadable or self._compiled(module) else False
        if self._submodule(module, name):
            return True
        tree = self._tree(module)
        if tree is None:
            return None
        result = self._in_body(tree.body, module, name, seen)
        if result is False and _may_serve(tree, name):
            return None
        return result

    def _submodule(self, module: str, name: str) -> bool:
        """Return whether MODULE has a submodule of this name, which `from … import` accepts too."""
        file = self._file(module)
        if file is None or file.name != "__init__.py":
            return False
        return (file.parent / f"{name}.py").is_file() or (file.parent / name / "__init__.py").is_file()

    def _in_body(
        self, body: Sequence[ast.stmt], module: str, name: str, seen: frozenset[tuple[str, str]]
    ) -> bool | None:
        result: bool | None = False
        for node in body:
            found = self._in_statement(node, module, name, seen)
            if found:
                return True
            if found is None:
                result = None
        return result

    def _in_statement(self, node: ast.stmt, module: str, name: str, seen: frozenset[tuple[str, str]]) -> bool | None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return node.name == name
        if isinstance(node, ast.Assign):
            return any(_is_target(target, name) for target in node.targets)
        if isinstance(node, ast.AnnAssign):
            return node.value is not None and _is_target(node.target, name)
        if isinstance(node, ast.Import):
            return any((alias.asname or alias.name.partition(".")[0]) == name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            return self._imported(node, module, name, seen)
        branches: list[Sequence[ast.stmt]] = []
        if isinstance(node, ast.If):
            branches = [node.body, node.orelse]
        elif isinstance(node, ast.Try):
            branches = [[*node.body, *node.orelse], *(handler.body for handler in node.handlers)]
            if self._in_body(node.finalbody, module, name, seen):
                return True
        elif isinstance(node, (ast.With, ast.For, ast.While)):
            branches = [node.body, []]  # a `with suppress(...)` may leave early, a loop may not run
        answers = [self._in_body(branch, module, name, seen) for branch in branches]
        if answers and all(answer is True for answer in answers):
            return True
        return None if any(answer is not False for answer in answers) else False

    def _imported(self, node: ast.ImportFrom, module: str, name: str, seen: frozenset[tuple[str, str]]) -> bool | None:
        source = self._absolute(node, module)
        for alias in node.names:
            if alias.name == "*" and source is not None:
                if name.startswith("_"):
                    continue
                starred = self.binds(source, name, seen)
                if starred is not False:
                    return starred
            elif (alias.asname or alias.name) == name:
                # A name from another package is there if that package is, which the text cannot say.
                return None if source is None else self.binds(source, alias.name, seen)
        return False

    def _absolute(self, node: ast.ImportFrom, module: str) -> str | None:
        """Return the absolute module of an import statement, or None if it lies outside the package."""
        root = self.package.name
        if node.level == 0:
            inside = node.module == root or (node.module or "").startswith(f"{root}.")
            return node.module if inside else None
        file = self._file(module)
        parts = module.split(".")
        drop = node.level - 1 if file is not None and file.name == "__init__.py" else node.level
        base = parts[: len(parts) - drop] if drop else parts
        return ".".join([*base, *([node.module] if node.module else [])]) if base else None

    def _file(self, module: str) -> Path | None:
        parts = module.split(".")
        if parts[0] != self.package.name:
            return None
        base = self.package.joinpath(*parts[1:])
        if (base / "__init__.py").is_file():
            return base / "__init__.py"
        file = base.with_name(f"{base.name}.py")
        return file if len(parts) > 1 and file.is_file() else None

    def _compiled(self, module: str) -> bool:
        """Return whether a module exists only in a form that has no text."""
        base = self.package.joinpath(*module.split(".")[1:])
        return any(path.suffix in _COMPILED for path in base.parent.glob(f"{base.name}.*"))

    def _text(self, module: str) -> str | None:
        if module not in self._texts:
            self._texts[module] = None
            file = self._file(module)
            if file is not None:
                try:
                    self._texts[module] = read_source(file)
                except FileNotFoundError:
                    pass
                except UnreadableSourceError as error:
                    self.unreadable[module] = str(error)
        return self._texts[module]

    def _tree(self, module: str) -> ast.Module | None:
        if module not in self._trees:
            self._trees[module] = None
            try:
                self._trees[module] = parse_source(self._text(module) or "")
            except UnreadableSourceError as error:
                self.unreadable[module] = str(error)
        return self._trees[module]


def _is_target(target: ast.expr, name: str) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return any(_is_target(element, name) for element in target.elts)
    return isinstance(target, ast.Name) and target.id == name


def _may_serve(tree: ast.Module, name: str) -> bool:
    """Return whether a module-level `__getattr__` could answer for a name.

    One that begins with `if name not in NAMES: raise …` serves only what the module quotes somewhere.
    """
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__getattr__":
            first = next((s for s in node.body if not _is_docstring(s)), None)
            closed = (
                isinstance(first, ast.If)
                and isinstance(first.test, ast.Compare)
                and isinstance(first.test.ops[0], ast.NotIn)
                and any(isinstance(inner, ast.Raise) for inner in first.body)
            )
            quoted = any(isinstance(n, ast.Constant) and n.value == name for n in ast.walk(tree))
            return quoted or not closed
    return False


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
