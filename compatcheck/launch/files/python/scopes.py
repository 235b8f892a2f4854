"""Where everything of a Python file stands, and what its names mean there: one pass over the syntax tree."""

from __future__ import annotations

import ast
from functools import cached_property

from compatcheck.launch.files.python.bindings import Binding, Place, Scope, bindings

MAX_BINDINGS = 50
"""Assignments of one name that are followed; what one holds that has more is not known."""
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


class Scopes:
    """The places of all nodes and the bindings of all names."""

    def __init__(self, tree: ast.Module) -> None:
        self.at: dict[int, Place] = {}
        self.nodes: list[ast.AST] = []
        """Every node, in the order of the text."""
        self.loops: set[int] = set()
        """Blocks that may be run again."""
        self.ends: dict[int, int] = {}
        """Statements that hold others, by the identity of their place: the number of the last one inside."""
        self.module = Scope("module", "", None)
        self._count = 0
        self._blocks = 0
        self._body(tree.body, self.module, (0,))

    # --------------------------------------------------------------------------------------------- names

    def lookup(self, name: str, scope: Scope) -> list[Binding]:
        """Return what binds a name where it is used in a scope; nothing for a builtin."""
        inner: Scope | None = scope
        while inner is not None:
            if name in inner.elsewhere:
                inner = inner.elsewhere[name]
            if name in inner.bindings and (inner is scope or inner.kind != "class"):
                return inner.bindings[name]
            inner = inner.parent
        return []

    def binding(self, name: str, place: Place) -> Binding | None:
        """Return the one assignment whose value a name holds at a place, or None where it may be another's."""
        found = self.lookup(name, place.scope)
        found = [one for one in found if not one.grows] if len(found) <= MAX_BINDINGS else found
        here = place.scope.function()
        if 1 < len(found) <= MAX_BINDINGS and all(one.place.scope.function() is here for one in found):
            before = [one for one in found if place.after(one.place)]
            last = before[-1] if before else None
            if last is None or any(self.reaches(one.place, place, last.place) for one in found if one is not last):
                return None
        else:
            last = found[0] if len(found) == 1 else None
        if last is None or any(order > last.place.order for _, order in self.module.stars):
            return None  # a module from which everything is imported may bind it anew
        return last

    def reaches(self, site: Place, place: Place, since: Place) -> bool:
        """Return whether a statement of the same scope may be run between `since` and a place."""
        again = self.loops.intersection(site.blocks).intersection(place.blocks).difference(since.blocks)
        return since.order < site.order < place.order or bool(again and site.order > since.order)

    def dotted(self, node: ast.expr | None) -> str:
        """Return the full name of what an expression refers to (`v.LLM` after `import vllm as v`), or nothing."""
        return self._dotted(node, 0)

    def _dotted(self, node: ast.expr | None, depth: int) -> str:
        if isinstance(node, ast.Attribute):
            owner = self._dotted(node.value, depth + 1)
            return f"{owner}.{node.attr}" if owner else ""
        place = self.at.get(id(node))
        if not isinstance(node, ast.Name) or place is None or depth > 20:
            return ""
        found = self.lookup(node.id, place.scope)
        imported = [one.imported for one in found[:MAX_BINDINGS] if one.imported is not None]
        if imported:
            return next((one for one in imported if one.split(".")[0] == "vllm"), imported[0])
        if not found:
            star = next((module for module, _ in self.module.stars if module.split(".")[0] == "vllm"), None)
            return f"{star}.{node.id}" if star is not None else node.id
        value = found[0].value if len(found) == 1 else None
        if isinstance(value, ast.Call) and len(value.args) >= 1 and isinstance(value.args[0], ast.Constant):
            name = value.func.attr if isinstance(value.func, ast.Attribute) else ""
            return str(value.args[0].value) if name in ("import_module", "importorskip") else ""
        return self._dotted(value, depth + 1)

    @cached_property
    def imports_vllm(self) -> bool:
        """Whether anything of vLLM is imported anywhere."""
        modules = [node.module or "" for node in self.nodes if isinstance(node, ast.ImportFrom)]
        modules += [alias.name for node in self.nodes if isinstance(node, ast.Import) for alias in node.names]
        return any(module.split(".")[0] == "vllm" for module in modules)

    # --------------------------------------------------------------------------------------------- the pass

    def _body(self, body: list[ast.stmt], scope: Scope, blocks: tuple[int, ...]) -> None:
        for statement in body:
            self._statement(statement, scope, blocks)

    def _inner(self, body: list[ast.stmt], scope: Scope, blocks: tuple[int, ...], *, loop: bool = False) -> None:
        self._blocks += 1
        if loop:
            self.loops.add(self._blocks)
        self._body(body, scope, (*blocks, self._blocks))

    def _statement(self, node: ast.stmt, scope: Scope, blocks: tuple[int, ...]) -> None:
        self._count += 1
        place = Place(scope, self._count, blocks)
        self._bound(node, place)
        self.nodes.append(node)
        self.at[id(node)] = place
        inner: list[tuple[str, list[ast.stmt]]] = []
        for field, value in ast.iter_fields(node):
            children = value if isinstance(value, list) else [value]
            if children and isinstance(children[0], (ast.stmt, ast.ExceptHandler, ast.match_case)):
                inner.append((field, children))
            elif not (isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and field == "args"):
                for child in children:
                    self._expression(child, place)
        for field, children in inner:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._inner(node.body, self._function(node, node.args, place), blocks)
            elif isinstance(node, ast.ClassDef):
                self._body(node.body, Scope("class", node.name, scope), blocks)
            elif isinstance(node, (ast.With, ast.AsyncWith)) or field == "finalbody" or _is_main(node, field):
                self._body(children, scope, blocks)
            elif field in ("handlers", "cases"):
                for child in children:
                    self._part(child, place)
            else:
                self._inner(children, scope, blocks, loop=isinstance(node, _LOOPS) and field == "body")
        self.ends[id(place)] = self._count

    def _part(self, node: ast.AST, place: Place) -> None:
        """Read an exception handler or a case: its expressions, then its block."""
        self._bound(node, place)
        for field, value in ast.iter_fields(node):
            if field == "body":
                self._inner(value, place.scope, place.blocks)
            elif isinstance(value, ast.AST):
                self._expression(value, place)

    def _function(self, node: ast.AST, arguments: ast.arguments, place: Place) -> Scope:
        """Return the scope of a function; what its arguments default to belongs outside."""
        scope = Scope("function", getattr(node, "name", "<lambda>"), place.scope)
        inner = Place(scope, place.order, place.blocks)
        for argument in ast.walk(arguments):
            if isinstance(argument, ast.arg):
                scope.bindings.setdefault(argument.arg, []).append(Binding(inner))
        for default in (*arguments.defaults, *arguments.kw_defaults):
            self._expression(default, place)
        return scope

    def _expression(self, node: object, place: Place) -> None:
        if not isinstance(node, ast.AST):
            return
        self.nodes.append(node)
        self.at[id(node)] = place
        self._bound(node, place)
        if isinstance(node, ast.Lambda):
            scope = self._function(node, node.args, place)
            self._expression(node.body, Place(scope, place.order, place.blocks))
            return
        for child in ast.iter_child_nodes(node):
            self._expression(child, place)

    def _bound(self, node: ast.AST, place: Place) -> None:
        for name, binding in bindings(node, place):
            scope = place.scope.elsewhere.get(name, place.scope)
            scope.bindings.setdefault(name, []).append(binding)
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            self.module.stars.append((node.module or "", place.order))
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            around = place.scope.functions()
            outer = around[-1] if isinstance(node, ast.Global) else around[min(1, len(around) - 1)]
            for name in node.names:
                if outer is not place.scope:
                    place.scope.elsewhere[name] = outer
                outer.bindings.setdefault(name, []).append(Binding(place))


def _is_main(node: ast.AST, field: str) -> bool:
    """Return whether a block is that of `if __name__ == "__main__":`, which is run where the file is."""
    return isinstance(node, ast.If) and field == "body" and ast.unparse(node.test).startswith("__name__ == ")
