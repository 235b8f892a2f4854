"""What the parts of the evaluator share: names of modules and classes, and where an expression stands."""

from __future__ import annotations

import ast
import builtins
from typing import Any, NoReturn, Protocol

from compatcheck.audit.reading import classes
from compatcheck.audit.reading.machine import Machine
from compatcheck.audit.reading.source import Module, Program
from compatcheck.audit.reading.values import (
    Bound,
    ClassValue,
    EnumMember,
    External,
    FunctionValue,
    ModuleValue,
    NotUnderstoodError,
    Place,
    RaisedError,
    Scope,
    Unknown,
)

MISSING = object()
_KEPT = (ClassValue, FunctionValue, External, ModuleValue, str, int, type(None))
"""Kinds of module-level values that no run changes."""


class Environment(Protocol):
    """Answers for what only a running engine has: the platform, the configuration, other packages."""

    def name(self, core: Core, module: str, name: str) -> Any:
        """Return the value of a module's name, or `MISSING` where the text decides."""

    def attribute(self, core: Core, value: Any, name: str) -> Any:
        """Return an attribute of a value, or `MISSING`."""

    def importable(self, module: str) -> bool | None:
        """Return whether a package outside the release is installed; None where it cannot be told."""


class Core:
    """Resolves names. Module-level code runs only as far as it binds a name that is asked for."""

    def __init__(self, program: Program, machine: Machine, environment: Environment) -> None:
        self.program = program
        self.machine = machine
        self.environment = environment
        self.entered: dict[str, FunctionValue] = {}
        """Functions whose text took part in the answer, by file and line."""
        self.at: tuple[ast.AST, Scope] | None = None
        """The statement that is being run, and where."""
        self._modules: dict[str, Scope] = {}
        self._running: set[tuple[str, str]] = set()

    # --------------------------------------------------------------------------------- to be provided

    def execute(self, body: list[ast.stmt], scope: Scope) -> None:
        """Run statements."""
        raise NotImplementedError

    def evaluate(self, node: ast.expr, scope: Scope) -> Any:
        """Return the value of an expression."""
        raise NotImplementedError

    def call(self, function: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
        """Call something."""
        raise NotImplementedError

    # ----------------------------------------------------------------------------------------- places

    def place(self, node: ast.AST, scope: Scope) -> Place:
        """Return where a node stands."""
        module = self.program.module(scope.module)
        try:
            text = ast.unparse(node)
        except (ValueError, RecursionError, AttributeError):
            text = type(node).__name__
        text = " ".join(text.split())
        file = module.file if module else scope.module
        return Place(file, getattr(node, "lineno", 0), text if len(text) <= 300 else text[:297] + "...")

    def unknown(self, node: ast.AST, scope: Scope, why: str) -> Unknown:
        """Return a value that cannot be told."""
        return Unknown(self.place(node, scope), why)

    def refuse(self, node: ast.AST, scope: Scope, why: str) -> NoReturn:
        """Stop this run."""
        raise NotUnderstoodError(self.place(node, scope), why)

    # ------------------------------------------------------------------------------------------ names

    def module_scope(self, name: str) -> Scope:
        """Return the scope of a module's own names."""
        scope = self._modules.get(name)
        if scope is None:
            scope = self._modules[name] = Scope(name)
            file = self.program.file_of(name)
            scope.names.update({"__name__": name, "__file__": file or "", "TYPE_CHECKING": False})
        return scope

    def global_name(self, module: str, name: str) -> Any:
        """Return a module's name, or `MISSING`. Raises `RaisedError` as importing it would."""
        answered = self.environment.name(self, module, name)
        if answered is not MISSING:
            return answered
        scope = self.module_scope(module)
        if name in scope.names:
            return scope.names[name]
        parsed = self.program.module(module)
        if parsed is None:
            return MISSING
        key = (module, name)
        kept = self.program.kept.get(key)
        if kept is not None:
            scope.names[name] = kept[0]
            self.entered.update(kept[1])
            return kept[0]
        if key in self._running:
            return MISSING
        self._running.add(key)
        outer, self.entered = self.entered, {}
        before = (len(self.machine.open), len(self.machine.given), set(self._running))
        try:
            value = self._bind(parsed, name, scope)
            after = (len(self.machine.open), len(self.machine.given), set(self._running))
            if before == after and isinstance(value, _KEPT):
                self.program.kept[key] = (value, self.entered)
            return value
        finally:
            self._running.discard(key)
            outer.update(self.entered)
            self.entered = outer

    def _bind(self, parsed: Module, name: str, scope: Scope) -> Any:
        statements = parsed.touching.get(name, [])
        if not statements:
            for star in parsed.stars:
                found = self.global_name(parsed.absolute(star.level, star.module), name)
                if found is not MISSING:
                    scope.names[name] = found
                    return found
            return MISSING
        local = Scope(parsed.name, scope)
        local.names = scope.names
        try:
            for statement in statements:
                self.execute([statement], local)
        except NotUnderstoodError as error:
            scope.names[name] = Unknown(error.place, error.why)
        return scope.names.get(name, MISSING)

    def imported(self, module: str, name: str | None, node: ast.AST, scope: Scope) -> Any:
        """Return what `import module` or `from module import name` gives; raises `RaisedError` for ImportError."""
        if self.program.holds(module):
            if self.program.file_of(module) is None and self.program.made_up(module):
                return self.unknown(node, scope, f"a package above {module} makes its modules as they are asked for")
            if self.program.may_be_compiled(f"{module}.{name}" if name else module) and not self.program.file_of(
                module
            ):
                return self.unknown(
                    node, scope, f"whether {module} is compiled: the tree has neither RECORD nor compiled files"
                )
            if name is None:
                return self._module_value(module)
            if self.program.compiled(module):
                return self.unknown(node, scope, f"{module} is compiled")
            if self.program.file_of(module) is not None:
                found = self.global_name(module, name)
                if found is not MISSING:
                    return found
            inner = f"{module}.{name}"
            if self.program.file_of(inner) or self.program.compiled(inner):
                return ModuleValue(inner)
            if self.program.may_be_compiled(inner):
                return self.unknown(
                    node, scope, f"whether {inner} is compiled: the tree has neither RECORD nor compiled files"
                )
            file = self.program.file_of(module)
            if file in self.program.unreadable:
                return self.unknown(node, scope, f"{file} {self.program.unreadable[file]}")
            if file is not None and "__getattr__" in getattr(self.program.module(module), "touching", {}):
                return self.unknown(node, scope, f"{module} makes its names as they are asked for")
            if file is None and not self.program.exists(module.replace(".", "/")):
                raise RaisedError("ModuleNotFoundError", f"No module named {module!r}")
            raise RaisedError("ImportError", f"cannot import name {name!r} from {module!r}")
        there = self.environment.importable(module.partition(".")[0])
        if there is None:
            return self.unknown(node, scope, f"whether {module} is installed")
        if not there:
            raise RaisedError("ModuleNotFoundError", f"No module named {module.partition('.')[0]!r}")
        return External(f"{module}.{name}" if name else module, imported=True)

    def _module_value(self, module: str) -> ModuleValue:
        if (
            self.program.file_of(module)
            or self.program.compiled(module)
            or self.program.exists(module.replace(".", "/"))
        ):
            return ModuleValue(module)
        raise RaisedError("ModuleNotFoundError", f"No module named {module!r}")

    def lookup(self, name: str, node: ast.AST, scope: Scope) -> Any:
        """Return what a name means here."""
        found = scope.find(name)
        if found is not None and found.parent is not None:
            return found.names[name]
        value = self.global_name(scope.module, name)
        if value is not MISSING:
            return value
        if hasattr(builtins, name):
            return External(f"builtins.{name}")
        return self.unknown(node, scope, "a name that is not bound in the text")

    # ---------------------------------------------------------------------------------------- classes

    def class_attribute(self, cls: ClassValue, name: str, first: Any, after: ClassValue | None = None) -> Any:
        """Return an attribute of a class as seen through `first` (the class or an instance), or `MISSING`.

        `after` starts the search behind that class, as `super()` does.
        """
        order = classes.linearise(cls)
        if after is not None:
            order = order[order.index(after) + 1 :] if after in order else []
        for base in order:
            if not isinstance(base, ClassValue):
                if isinstance(base, External) and base.name in classes.HARMLESS:
                    continue
                place = Place(base.place.file, base.place.line, base.place.text) if isinstance(base, Unknown) else None
                where = place or self.place(cls.node, Scope(cls.module))
                return Unknown(where, f"{name} may come from a base class outside the release")
            value = self._own_attribute(base, name)
            if value is not MISSING:
                return self._bound(value, base, first)
        return MISSING

    def _own_attribute(self, cls: ClassValue, name: str) -> Any:
        if name in cls.cells:
            return cls.cells[name]
        kept = cls.kept.get(name, MISSING)
        if kept is not MISSING:
            return kept
        before = (len(self.machine.open), len(self.machine.given), len(self.entered))
        value = self._body_attribute(cls, name)
        if before == (len(self.machine.open), len(self.machine.given), len(self.entered)) and (
            value is MISSING or isinstance(value, (*_KEPT, EnumMember))
        ):
            cls.kept[name] = value
        return value

    def _body_attribute(self, cls: ClassValue, name: str) -> Any:
        answered = self.environment.name(self, cls.module, f"{cls.name}.{name}")
        if answered is not MISSING:
            return answered
        statements = classes.bindings(cls.node).get(name)
        if not statements:
            return MISSING
        body = Scope(cls.module, cls.scope or self.module_scope(cls.module))
        body.names["__owner__"] = cls
        if not isinstance(statements[0], (ast.FunctionDef, ast.AsyncFunctionDef)):
            for other, found in classes.bindings(cls.node).items():
                if (
                    other != name
                    and isinstance(found[0], (ast.Assign, ast.AnnAssign))
                    and self._used(statements, other)
                ):
                    self.execute(list(found), body)
        self.execute(list(statements), body)
        value = body.names.get(name, MISSING)
        if classes.is_enum(cls) and value is not MISSING and not isinstance(value, FunctionValue):
            value = EnumMember(cls, name, value, classes.is_plain_enum(cls))
        return value

    @staticmethod
    def _used(statements: list[ast.stmt], name: str) -> bool:
        return any(isinstance(n, ast.Name) and n.id == name for s in statements for n in ast.walk(s))

    def _bound(self, value: Any, owner: ClassValue, first: Any) -> Any:
        if not isinstance(value, FunctionValue) or value.owner is None:
            return value
        if value.kind == "static":
            return value
        if value.kind == "class":
            return Bound(value, first if isinstance(first, ClassValue) else getattr(first, "cls", first))
        if isinstance(first, ClassValue):
            return value
        bound = Bound(value, first)
        return self.call(bound, [], {}, value.node, Scope(value.module)) if value.kind == "property" else bound

    def members(self, cls: ClassValue) -> list[EnumMember]:
        """Return the members of an enumeration, in order."""
        found: list[EnumMember] = []
        for name in classes.bindings(cls.node):
            if name.startswith("_"):
                continue
            value = self._own_attribute(cls, name)
            if isinstance(value, EnumMember):
                found.append(value)
        return found
