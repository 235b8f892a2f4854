"""Statements."""

from __future__ import annotations

import ast
import builtins
from typing import Any

from compatcheck.audit.reading import classes
from compatcheck.audit.reading.calls import Calls, ReturnedError
from compatcheck.audit.reading.values import (
    Bound,
    ClassValue,
    External,
    FunctionValue,
    Instance,
    RaisedError,
    Scope,
    Unknown,
    unwrap,
)

_QUIET = frozenset({"logger", "logging", "warnings", "log"})
"""Names whose calls say something and change nothing."""
_PASSING = frozenset(
    [
        "functools.cache",
        "functools.lru_cache",
        "cache",
        "lru_cache",
        "abc.abstractmethod",
        "abstractmethod",
        "typing.override",
        "typing_extensions.override",
        "override",
        "typing.final",
        "final",
        "torch.inference_mode",
        "torch.no_grad",
        "typing.overload",
        "dataclasses.dataclass",
        "dataclass",
        "typing.runtime_checkable",
        "torch.compiler.assume_constant_result",
    ]
)
"""Decorators that leave the answer of a call, or a class, as it is."""
_KINDS = {
    "builtins.staticmethod": "static",
    "builtins.classmethod": "class",
    "builtins.property": "property",
    "functools.cached_property": "property",
}


class _LoopError(Exception):
    """Control flow: `break` or `continue`."""

    def __init__(self, leave: bool) -> None:
        super().__init__()
        self.leave = leave


class Evaluator(Calls):
    """Runs statements."""

    def execute(self, body: list[ast.stmt], scope: Scope) -> None:
        for node in body:
            self.machine.step(lambda node=node: self.place(node, scope))  # type: ignore[misc]
            method = getattr(self, f"_do_{type(node).__name__.lower()}", None)
            if method is None:
                self.refuse(node, scope, "a kind of statement that is not evaluated")
            self.at = (node, scope)
            method(node, scope)

    def _do_pass(self, node: ast.Pass, scope: Scope) -> None:
        return

    def _do_return(self, node: ast.Return, scope: Scope) -> None:
        raise ReturnedError(None if node.value is None else self.evaluate(node.value, scope))

    def _do_expr(self, node: ast.Expr, scope: Scope) -> None:
        value = node.value
        if isinstance(value, ast.Constant):
            return
        root: ast.AST = value
        while isinstance(root, (ast.Call, ast.Attribute)):
            root = root.func if isinstance(root, ast.Call) else root.value
        if isinstance(root, ast.Name) and root.id in _QUIET:
            return
        result = self.evaluate(value, scope)
        if isinstance(result, Unknown):
            self.refuse(node, scope, f"an effect that cannot be told ({result.why})")

    def _do_if(self, node: ast.If, scope: Scope) -> None:
        self.execute(node.body if self.machine.truth(self.evaluate(node.test, scope)) else node.orelse, scope)

    # -------------------------------------------------------------------------------------- assignments

    def _do_assign(self, node: ast.Assign, scope: Scope) -> None:
        value = self.evaluate(node.value, scope)
        for target in node.targets:
            self.assign(target, value, scope)

    def _do_annassign(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value, scope), scope)

    def _do_augassign(self, node: ast.AugAssign, scope: Scope) -> None:
        if not isinstance(node.target, ast.Name):
            self.refuse(node, scope, "a change of something's part")
        read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
        self.assign(node.target, self.evaluate(value, scope), scope)

    def assign(self, target: ast.expr, value: Any, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)) and not any(isinstance(t, ast.Starred) for t in target.elts):
            if isinstance(value, Unknown):
                items: list[Any] = [value] * len(target.elts)
            else:
                items = list(self.iterate(value, target, scope))
            if len(items) != len(target.elts):
                raise RaisedError("ValueError", "not enough values to unpack")
            for part, item in zip(target.elts, items, strict=True):
                self.assign(part, item, scope)
        elif isinstance(target, ast.Attribute):
            owner = self.evaluate(target.value, scope)
            if isinstance(owner, Instance):
                owner.fields[target.attr] = value
            elif isinstance(owner, ClassValue):
                if target.attr not in ("__name__", "__qualname__", "__module__", "__doc__"):
                    owner.cells[target.attr] = value
            elif not isinstance(owner, (FunctionValue, Bound, External)):
                self.refuse(target, scope, "a change of something that is not followed")
        elif isinstance(target, ast.Subscript):
            owner = self.evaluate(target.value, scope)
            if not isinstance(owner, (dict, list)):
                self.refuse(target, scope, "a change of something that is not followed")
            owner[unwrap(self.machine.concrete(self.evaluate(target.slice, scope)))] = value
        else:
            self.refuse(target, scope, "a target that is not evaluated")

    # -------------------------------------------------------------------------------------------- loops

    def _do_for(self, node: ast.For, scope: Scope) -> None:
        for item in self.iterate(self.evaluate(node.iter, scope), node.iter, scope):
            self.assign(node.target, item, scope)
            try:
                self.execute(node.body, scope)
            except _LoopError as control:
                if control.leave:
                    return
        self.execute(node.orelse, scope)

    def _do_while(self, node: ast.While, scope: Scope) -> None:
        while self.machine.truth(self.evaluate(node.test, scope)):
            self.machine.step(lambda: self.place(node, scope))
            try:
                self.execute(node.body, scope)
            except _LoopError as control:
                if control.leave:
                    return
        self.execute(node.orelse, scope)

    def _do_break(self, node: ast.Break, scope: Scope) -> None:
        raise _LoopError(True)

    def _do_continue(self, node: ast.Continue, scope: Scope) -> None:
        raise _LoopError(False)

    # --------------------------------------------------------------------------------------- exceptions

    def _do_raise(self, node: ast.Raise, scope: Scope) -> None:
        if node.exc is None:
            self.refuse(node, scope, "an exception raised again")
        name = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        text = ""
        if isinstance(node.exc, ast.Call) and node.exc.args and isinstance(node.exc.args[0], ast.Constant):
            text = str(node.exc.args[0].value)
        raise RaisedError(ast.unparse(name).rpartition(".")[2], text)

    def _do_assert(self, node: ast.Assert, scope: Scope) -> None:
        if not self.machine.truth(self.evaluate(node.test, scope)):
            raise RaisedError("AssertionError", "")

    def _do_try(self, node: ast.Try, scope: Scope) -> None:
        try:
            try:
                self.execute(node.body, scope)
            except RaisedError as error:
                handler = next((h for h in node.handlers if self._catches(h, error, scope)), None)
                if handler is None:
                    raise
                if handler.name:
                    scope.names[handler.name] = Unknown(self.place(handler, scope), "an exception's text")
                self.execute(handler.body, scope)
            else:
                self.execute(node.orelse, scope)
        finally:
            self.execute(node.finalbody, scope)

    def _catches(self, handler: ast.ExceptHandler, error: RaisedError, scope: Scope) -> bool:
        if handler.type is None:
            return True
        named = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        raised = getattr(builtins, error.name, None)
        for node in named:
            name = ast.unparse(node).rpartition(".")[2]
            caught = getattr(builtins, name, None)
            if name == error.name or (
                isinstance(caught, type) and isinstance(raised, type) and issubclass(raised, caught)
            ):
                return True
            if name in ("Exception", "BaseException"):
                return True
        return False

    def _do_with(self, node: ast.With, scope: Scope) -> None:
        suppressed: list[str] = []
        for item in node.items:
            call = item.context_expr
            name = ast.unparse(call.func).rpartition(".")[2] if isinstance(call, ast.Call) else ""
            if name != "suppress" or not isinstance(call, ast.Call):
                self.refuse(node, scope, "a context that is not evaluated")
            suppressed += [ast.unparse(argument) for argument in call.args]
        try:
            self.execute(node.body, scope)
        except RaisedError as error:
            text = ", ".join(suppressed)
            handler = ast.ExceptHandler(ast.parse(f"({text},)", mode="eval").body, None, [])
            if not self._catches(handler, error, scope):
                raise

    # ------------------------------------------------------------------------------ imports, definitions

    def _do_import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            value = self.imported(alias.name, None, node, scope)
            if alias.asname is None and "." in alias.name:
                value = self.imported(alias.name.partition(".")[0], None, node, scope)
            scope.names[alias.asname or alias.name.partition(".")[0]] = value

    def _do_importfrom(self, node: ast.ImportFrom, scope: Scope) -> None:
        parsed = self.program.module(scope.module)
        module = parsed.absolute(node.level, node.module) if parsed else node.module or ""
        for alias in node.names:
            if alias.name != "*":
                scope.names[alias.asname or alias.name] = self.imported(module, alias.name, node, scope)

    def _decorated(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, scope: Scope
    ) -> tuple[str, str | None]:
        kind, unknown = "plain", None
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            text = ast.unparse(called)
            value = self.evaluate(called, scope)
            name = value.name if isinstance(value, External) else text
            if name in _KINDS:
                kind = _KINDS[name]
            elif name not in _PASSING and text not in _PASSING:
                unknown = f"a function that {text} decorates"
        return kind, unknown

    def _do_functiondef(self, node: ast.FunctionDef, scope: Scope) -> None:
        kind, unknown = self._decorated(node, scope)
        owner = scope.names.get("__owner__")
        if isinstance(owner, ClassValue):
            outer = owner.scope
        else:
            outer = (
                scope if scope.function is not None or (scope.parent is not None and scope.parent.function) else None
            )
            owner = None
        scope.names[node.name] = FunctionValue(node, scope.module, outer, owner, kind, unknown)

    _do_asyncfunctiondef = _do_functiondef

    def _do_classdef(self, node: ast.ClassDef, scope: Scope) -> None:
        bases: list[Any] = []
        for base in node.bases:
            inner = base.value if isinstance(base, ast.Subscript) else base
            value = self.evaluate(inner, scope)
            if isinstance(value, (ClassValue, External, Unknown)):
                bases.append(External(value.name.removeprefix("builtins.")) if isinstance(value, External) else value)
            else:
                bases.append(self.unknown(base, scope, "a base class"))
        _, unknown = self._decorated(node, scope)
        inside = scope if scope.function is not None else None
        cls = ClassValue(node, scope.module, inside, bases)
        if unknown is not None:
            bases.append(self.unknown(node, scope, f"a class that is decorated: {unknown}"))
        try:
            classes.linearise(cls)
        except ValueError as error:
            raise RaisedError("TypeError", str(error)) from None
        scope.names[node.name] = cls

    def _do_delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name):
                self.refuse(node, scope, "a removal of something's part")
            scope.names.pop(target.id, None)
