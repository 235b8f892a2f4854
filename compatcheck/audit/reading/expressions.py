"""Expressions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterator
from typing import Any

from compatcheck.audit.reading import classes
from compatcheck.audit.reading.core import MISSING, Core
from compatcheck.audit.reading.operators import (
    ARITHMETIC,
    COMPARISONS,
    LARGEST,
    PLAIN,
    PLAIN_TYPES,
    as_text,
    holds_open,
    is_open,
    plain_members,
)
from compatcheck.audit.reading.values import (
    Bound,
    Capability,
    ClassValue,
    EnumMember,
    External,
    FunctionValue,
    Instance,
    Method,
    ModuleValue,
    Proxy,
    RaisedError,
    Record,
    Scope,
    Super,
    Sym,
    Template,
    Unknown,
    unwrap,
)


class Expressions(Core):
    """Evaluates expressions to values that may depend on inputs."""

    def evaluate(self, node: ast.expr, scope: Scope) -> Any:
        self.machine.step(lambda: self.place(node, scope))
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            return self.unknown(node, scope, "a kind of expression that is not evaluated")
        return method(node, scope)

    def _constant(self, node: ast.Constant, scope: Scope) -> Any:
        return node.value

    def _name(self, node: ast.Name, scope: Scope) -> Any:
        return self.lookup(node.id, node, scope)

    def _namedexpr(self, node: ast.NamedExpr, scope: Scope) -> Any:
        value = scope.names[node.target.id] = self.evaluate(node.value, scope)
        return value

    def _lambda(self, node: ast.Lambda, scope: Scope) -> Any:
        return FunctionValue(node, scope.module, scope)

    # -------------------------------------------------------------------------------------- containers

    def _elements(self, nodes: list[ast.expr], scope: Scope) -> list[Any]:
        found: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found += list(self.iterate(self.evaluate(node.value, scope), node, scope))
            else:
                found.append(self.evaluate(node, scope))
        return found

    def _list(self, node: ast.List, scope: Scope) -> Any:
        return self._elements(node.elts, scope)

    def _tuple(self, node: ast.Tuple, scope: Scope) -> Any:
        return tuple(self._elements(node.elts, scope))

    def _set(self, node: ast.Set, scope: Scope) -> Any:
        return {unwrap(self.machine.concrete(value)) for value in self._elements(node.elts, scope)}

    def _dict(self, node: ast.Dict, scope: Scope) -> Any:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                inner = self.machine.concrete(self.evaluate(value, scope))
                if not isinstance(inner, dict):
                    return self.unknown(node, scope, "what is spread here is no mapping")
                found.update(inner)
            else:
                found[unwrap(self.machine.concrete(self.evaluate(key, scope)))] = self.evaluate(value, scope)
        return found

    def iterate(self, value: Any, node: ast.AST, scope: Scope) -> Iterator[Any]:
        """Yield the elements of a value. Raises `NotUnderstoodError`."""
        value = self.machine.concrete(value)
        if isinstance(value, ClassValue) and classes.is_enum(value):
            value = self.members(value)
        if isinstance(value, (list, tuple, set, frozenset, dict, range, str)) or hasattr(value, "__next__"):
            for count, item in enumerate(value):
                if count > LARGEST:
                    self.refuse(node, scope, "too many elements")
                yield item
            return
        self.refuse(node, scope, "what is walked through here")

    def _comprehended(self, generators: list[ast.comprehension], scope: Scope) -> Iterator[Scope]:
        if not generators:
            yield scope
            return
        first, *rest = generators
        for item in self.iterate(self.evaluate(first.iter, scope), first.iter, scope):
            inner = Scope(scope.module, scope)
            inner.function, inner.first = scope.function, scope.first
            self.assign(first.target, item, inner)
            if all(self.machine.truth(self.evaluate(test, inner)) for test in first.ifs):
                yield from self._comprehended(rest, inner)

    def assign(self, target: ast.expr, value: Any, scope: Scope) -> None:
        """Bind a target."""
        raise NotImplementedError

    def _listcomp(self, node: ast.ListComp, scope: Scope) -> Any:
        return [self.evaluate(node.elt, inner) for inner in self._comprehended(node.generators, scope)]

    def _setcomp(self, node: ast.SetComp, scope: Scope) -> Any:
        return {
            unwrap(self.machine.concrete(self.evaluate(node.elt, i)))
            for i in self._comprehended(node.generators, scope)
        }

    def _generatorexp(self, node: ast.GeneratorExp, scope: Scope) -> Any:
        return (self.evaluate(node.elt, inner) for inner in self._comprehended(node.generators, scope))

    def _dictcomp(self, node: ast.DictComp, scope: Scope) -> Any:
        return {
            unwrap(self.machine.concrete(self.evaluate(node.key, inner))): self.evaluate(node.value, inner)
            for inner in self._comprehended(node.generators, scope)
        }

    # --------------------------------------------------------------------------------------- operators

    def _boolop(self, node: ast.BoolOp, scope: Scope) -> Any:
        value: Any = None
        for operand in node.values:
            value = self.evaluate(operand, scope)
            if operand is node.values[-1]:
                break
            if self.machine.truth(value) is isinstance(node.op, ast.Or):
                break
        return value

    def _unaryop(self, node: ast.UnaryOp, scope: Scope) -> Any:
        value = self.evaluate(node.operand, scope)
        if isinstance(node.op, ast.Not):
            return not self.machine.truth(value)
        return self.machine.lift(lambda v: -unwrap(v) if isinstance(node.op, ast.USub) else +unwrap(v), value)

    def _binop(self, node: ast.BinOp, scope: Scope) -> Any:
        left, right = self.evaluate(node.left, scope), self.evaluate(node.right, scope)
        function = ARITHMETIC.get(type(node.op))
        if function is None:
            return self.unknown(node, scope, "an operator that is not evaluated")
        if isinstance(left, Template) or isinstance(right, Template):
            return (
                Template([left, right])
                if isinstance(node.op, ast.Add)
                else self.unknown(node, scope, "an operator on a text")
            )

        for value in (left, right):
            if not isinstance(unwrap(value), (*PLAIN, Sym, Unknown, type(None))):
                return self.unknown(node, scope, "an operator on something that is no plain value")

        def apply(left: Any, right: Any) -> Any:
            a: Any = unwrap(left)
            b: Any = unwrap(right)
            if not isinstance(a, PLAIN_TYPES) or not isinstance(b, PLAIN_TYPES):
                raise TypeError("operands that are no plain values")
            if isinstance(node.op, ast.Mult) and not (isinstance(a, (int, float)) and isinstance(b, (int, float))):
                raise TypeError("a repetition")
            if isinstance(node.op, ast.LShift) and not 0 <= b <= 64:
                raise ValueError("a shift that is too wide")
            if isinstance(node.op, ast.Mod) and isinstance(a, str):
                raise TypeError("a formatted text")
            result = function(a, b)
            if isinstance(result, int) and result.bit_length() > 256:
                raise OverflowError("a number that grows")
            return result

        return self.machine.lift(apply, left, right)

    def _compare(self, node: ast.Compare, scope: Scope) -> Any:
        left = self.evaluate(node.left, scope)
        value: Any = True
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(right_node, scope)
            value = self._compared(op, left, right, node, scope)
            if right_node is not node.comparators[-1] and not self.machine.truth(value):
                return False
            left = right
        return value

    def _compared(self, op: ast.cmpop, left: Any, right: Any, node: ast.AST, scope: Scope) -> Any:
        for value in (left, right):
            if isinstance(value, Unknown):
                return value
            if isinstance(value, Template) and not isinstance(op, (ast.Is, ast.IsNot)):
                return self.unknown(node, scope, "a comparison with a text that depends on inputs")
        if isinstance(op, (ast.In, ast.NotIn)):
            if isinstance(right, ClassValue):
                right = self.members(right)
            if isinstance(right, (list, tuple, set, frozenset)) and (holds_open(right) or holds_open(left)):
                inside = any(self.machine.truth(self._compared(ast.Eq(), left, item, node, scope)) for item in right)
                return inside is isinstance(op, ast.In)
        elif type(left) is type(right) and type(left) in (list, tuple) and (holds_open(left) or holds_open(right)):
            same = len(left) == len(right) and all(
                self.machine.truth(self._compared(ast.Eq(), a, b, node, scope))
                for a, b in zip(left, right, strict=True)
            )
            if isinstance(op, (ast.Eq, ast.NotEq)):
                return same is isinstance(op, ast.Eq)
            return self.unknown(node, scope, "an order of several inputs")
        if holds_open(left) or holds_open(right):
            return self.unknown(node, scope, "a comparison of containers of inputs")
        self._note_outside(left, right)
        if isinstance(op, (ast.Is, ast.IsNot)) and right is None and isinstance(left, External) and left.imported:
            return isinstance(op, ast.IsNot)
        same = isinstance(op, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot))
        one = isinstance(left, External) and left.constant
        if one and same and not isinstance(right, (External, Sym)):
            return self.unknown(node, scope, "a comparison of a value outside the release")
        if isinstance(right, External) and not (same and right.constant and isinstance(left, (External, Sym))):
            return self.unknown(node, scope, "a comparison with a value outside the release")
        function = COMPARISONS[type(op)]
        kept = same or isinstance(op, (ast.In, ast.NotIn))
        return self.machine.lift(lambda a, b: function(unwrap(a), plain_members(b)), left, right, constants=kept)

    def _note_outside(self, left: Any, right: Any) -> None:
        """Remember a constant that an SM is compared with and that no known SM has."""
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Sym) and one.var == "sm" and not isinstance(other, Sym):
                known = {repr(one.at(point)) for point in self.machine.domains["sm"]}
                for item in other if isinstance(other, (list, set, frozenset)) or type(other) is tuple else [other]:
                    if (
                        isinstance(item, int)
                        and not isinstance(item, bool)
                        and repr(item) not in known
                        and "True" not in known
                    ):
                        self.machine.outside.add(("sm", repr(item)))

    def _ifexp(self, node: ast.IfExp, scope: Scope) -> Any:
        return self.evaluate(node.body if self.machine.truth(self.evaluate(node.test, scope)) else node.orelse, scope)

    def _joinedstr(self, node: ast.JoinedStr, scope: Scope) -> Any:
        parts: list[Any] = []
        for item in node.values:
            if isinstance(item, ast.FormattedValue):
                if item.format_spec is not None:
                    parts.append(self.unknown(item, scope, "a format"))
                    continue
                value = self.evaluate(item.value, scope)
                show = repr if item.conversion == ord("r") else as_text
                parts += (
                    self._shown(value)
                    if type(value) in (tuple, list) and any(map(is_open, value))
                    else [value if isinstance(value, Template) else self.machine.lift(show, value)]
                )
            else:
                parts.append(self.evaluate(item, scope))
        if all(isinstance(part, str) for part in parts):
            return "".join(parts)
        return Template(parts)

    def _shown(self, values: Any) -> list[Any]:
        """Return the parts of a tuple's or list's text."""
        opening, closing = "()" if isinstance(values, tuple) else "[]"
        parts: list[Any] = [opening]
        for value in values:
            parts += [
                value if isinstance(value, Template) else self.machine.lift(lambda v: repr(unwrap(v)), value),
                ", ",
            ]
        return [*parts[:-1], closing]

    # --------------------------------------------------------------------------- attributes and indices

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        return self.attribute(self.evaluate(node.value, scope), node.attr, node, scope)

    def attribute(self, value: Any, name: str, node: ast.AST, scope: Scope) -> Any:
        """Return an attribute. Raises `RaisedError` for AttributeError."""
        answered = self.environment.attribute(self, value, name)
        if answered is not MISSING:
            return answered
        if isinstance(value, Unknown):
            return Unknown(value.place, value.why)
        if isinstance(value, ModuleValue):
            if self.program.compiled(value.name):
                return self.unknown(node, scope, f"{value.name} is compiled")
            return self.imported(value.name, name, node, scope)
        if isinstance(value, External):
            return External(f"{value.name}.{name}")
        if isinstance(value, Record):
            return value.fields[name] if name in value.fields else self.unknown(node, scope, f"a part of {value.kind}")
        if isinstance(value, ClassValue):
            if name in ("__name__", "__qualname__"):
                return value.name
            if name == "__module__":
                return value.module
            found = self.class_attribute(value, name, value)
        elif isinstance(value, Super):
            cls = value.first if isinstance(value.first, ClassValue) else value.first.cls
            found = self.class_attribute(cls, name, value.first, after=value.owner)
        elif isinstance(value, EnumMember):
            if name in ("name", "value"):
                return getattr(value, name)
            found = self.class_attribute(value.cls, name, value)
            if found is MISSING and value.plain:
                return Method(value.value, name)
        elif isinstance(value, Instance):
            found = value.fields[name] if name in value.fields else self.class_attribute(value.cls, name, value)
        elif isinstance(value, Sym):
            if name in ("major", "minor"):
                return self.machine.lift(operator.attrgetter(name), value)
            return Method(value, name)
        elif isinstance(value, Capability) and name in ("major", "minor"):
            return getattr(value, name)
        elif isinstance(value, (Template, *PLAIN)):
            return Method(value, name)
        elif value is None:
            raise RaisedError("AttributeError", f"'NoneType' object has no attribute {name!r}")
        elif isinstance(value, (FunctionValue, Bound)) and name in ("__name__", "cache_clear"):
            return value.function.name if isinstance(value, Bound) else value.name
        else:
            return self.unknown(node, scope, "an attribute")
        if found is MISSING:
            raise RaisedError("AttributeError", name)
        return found

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        value = self.evaluate(node.value, scope)
        if isinstance(node.slice, ast.Slice):
            ends = [
                None if e is None else unwrap(self.machine.concrete(self.evaluate(e, scope)))
                for e in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            return self.machine.lift(lambda v: v[slice(*ends)], value)
        key = self.evaluate(node.slice, scope)
        if isinstance(value, ClassValue):
            if not classes.is_enum(value):
                return value  # a generic class with its parameters
            wanted = self.machine.concrete(key)
            found = next((m for m in self.members(value) if m.name == wanted), None)
            if found is None:
                raise RaisedError("KeyError", repr(wanted))
            return found
        if isinstance(value, External):
            return value
        if isinstance(value, (Proxy, Instance, ModuleValue)):
            return self.unknown(node, scope, "an element")
        if isinstance(value, (list, tuple, dict)) and isinstance(key, Sym):
            key = self.machine.concrete(key)
        return self.machine.lift(lambda v, k: v[unwrap(k)], value, key)
