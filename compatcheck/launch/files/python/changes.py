"""What a Python file changes after it was made: items of dictionaries, attributes of objects, variables of the process.

Each change has a place, from which follows whether it has been made, may have been made, or comes too late for a
launch that stands elsewhere in the file.
"""

from __future__ import annotations

import ast
from typing import Literal

import msgspec

from compatcheck.launch.files.python.bindings import Place
from compatcheck.launch.files.python.changers import MAX_ALIASES, METHODS, changers
from compatcheck.launch.files.python.scopes import Scopes
from compatcheck.launch.files.python.values import name_of

ENVIRONMENT = "os.environ"
Key = tuple[int, str]
"""A scope and the name that it binds; 0 where it is the process's environment."""
PROCESS: Key = (0, ENVIRONMENT)


class Change(msgspec.Struct, frozen=True, eq=False):
    """One change: `key` and `value` are set; `whole` is merged; `clear` takes everything; else `node` says it."""

    place: Place
    node: ast.expr
    kind: Literal["set", "default", "remove", "merge", "clear", "open"]
    key: ast.expr | None = None
    value: ast.expr | None = None
    whole: ast.expr | None = None
    attribute: str | None = None
    until: int | None = None
    """The number of the last statement for which it holds, where it is taken back."""
    perhaps: bool = False
    """It holds where the file does not say: in containers of an image."""
    undone: bool = False
    """pytest takes it back after each test."""


class Changes:
    """Every change of a file by what is changed."""

    def __init__(self, scopes: Scopes) -> None:
        self.scopes = scopes
        self.of: dict[Key, list[Change]] = {}
        self._aliases: dict[Key, set[Key]] = {}
        bound = [one for several in scopes.module.bindings.values() for one in several]
        self._modal = any((one.imported or "").split(".")[0] == "modal" for one in bound)
        functions = changers(scopes)
        for node in scopes.nodes:
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)):
                self._statement(node)
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.withitem)):
                target = node.optional_vars if isinstance(node, ast.withitem) else node.target
                if isinstance(target, (ast.Subscript, ast.Attribute)):
                    self._open(target, target)
            elif isinstance(node, ast.Call):
                self._call(node)
                if name_of(node.func) in functions:
                    for argument in (*node.args, *(k.value for k in node.keywords)):
                        self._open(argument, node)

    def key(self, node: ast.expr | None, depth: int = 0) -> Key | None:
        """Return what an expression names: the same for all names of one thing."""
        if node is None or depth > MAX_ALIASES:
            return None
        if self.scopes.dotted(node) == ENVIRONMENT:
            return PROCESS
        place = self.scopes.at.get(id(node))
        if not isinstance(node, ast.Name) or place is None:
            return None
        found = self.scopes.lookup(node.id, place.scope)
        value = found[0].value if len(found) == 1 else None
        if isinstance(value, ast.Name) and value.id != node.id:
            return self.key(value, depth + 1)
        scope = found[0].place.scope if found else self.scopes.module
        return (id(scope), node.id)

    def aliased(self, key: Key) -> list[Change]:
        """Return the changes of what else may be the same thing: `other = name` where either has several values."""
        same = self._aliases.get(key, set())
        return [change for other in same if other != key for change in self.of.get(other, [])]

    # ------------------------------------------------------------------------------------------ reading

    def _add(self, target: ast.expr, change: Change) -> None:
        key = self.key(target)
        if key is not None:
            self.of.setdefault(key, []).append(change)

    def _item(self, target: ast.expr, change: Change) -> None:
        """Note an item; `for k, v in m.items(): target[k] = v` merges the whole of `m`."""
        loop = self._loop(change)
        if loop is None or not isinstance(loop.iter, ast.Call) or not isinstance(loop.iter.func, ast.Attribute):
            self._add(target, change)
        elif change.kind == "set":
            whole = loop.iter.func.value
            self._add(target, Change(self.scopes.at[id(loop)], whole, "merge", whole=whole))
        else:
            whole = loop.iter.func.value
            self._add(target, Change(self.scopes.at[id(loop)], whole, "default", whole=whole))

    def _loop(self, change: Change) -> ast.For | None:
        """Return the loop over a mapping's items that sets exactly what it goes through, or None."""
        value = change.value
        if isinstance(value, ast.Call) and name_of(value.func) == "str" and len(value.args) == 1:
            value = value.args[0]
        if not isinstance(change.key, ast.Name) or not isinstance(value, ast.Name):
            return None
        bound = self.scopes.lookup(change.key.id, change.place.scope)
        loop = bound[0].loop if len(bound) == 1 else None
        if loop is None or len(change.place.blocks) != len(self.scopes.at[id(loop)].blocks) + 1:
            return None
        names = [name_of(one) for one in loop.target.elts] if isinstance(loop.target, ast.Tuple) else []
        call = loop.iter
        whole = isinstance(call, ast.Call) and name_of(call.func) == "items" and not call.args
        return loop if whole and names == [change.key.id, value.id] else None

    def _open(self, target: ast.expr, node: ast.expr) -> None:
        """Note a change of which nothing more is known, of the thing at the root of a target."""
        while isinstance(target, (ast.Subscript, ast.Attribute)) and self.key(target) is None:
            target = target.value
        self._add(target, Change(self.scopes.at[id(node)], node, "open"))

    def _until(self, owner: ast.expr | None) -> int | None:
        """Return the last statement of `with monkeypatch.context() as m:`, for what `m` changes."""
        place = self.scopes.at.get(id(owner))
        found = self.scopes.lookup(owner.id, place.scope) if isinstance(owner, ast.Name) and place is not None else []
        since = found[0].place if len(found) == 1 else None
        end = self.scopes.ends.get(id(since), 0) if since is not None else 0
        return end if since is not None and place is not None and since.order < place.order <= end else None

    def _statement(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete) -> None:
        if isinstance(node, ast.AugAssign):
            if isinstance(node.op, ast.BitOr) and self.key(node.target) is not None:
                self._add(node.target, Change(self.scopes.at[id(node)], node.value, "merge", whole=node.value))
            elif not isinstance(node.target, ast.Name):
                self._open(node.target, node.target)
            return
        targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else [node.target]
        value = None if isinstance(node, ast.Delete) else node.value
        for target in targets:
            place = self.scopes.at[id(target)]
            if isinstance(target, ast.Name) and isinstance(value, ast.Name):
                one, two = self.key(target), self.key(value)
                if one is not None and two is not None and one != two:
                    both = self._aliases.get(one, {one}) | self._aliases.get(two, {two})
                    self._aliases |= dict.fromkeys(both, both)
            if isinstance(target, (ast.Tuple, ast.List)):
                for item in ast.walk(target):
                    if isinstance(item, (ast.Subscript, ast.Attribute)):
                        self._open(item, item)
            elif self.scopes.dotted(target) == ENVIRONMENT and value is not None:
                self._add(target, Change(place, value, "clear"))
                self._add(target, Change(place, value, "merge", whole=value))
            elif isinstance(target, ast.Subscript) and self.key(target.value) is not None:
                if isinstance(node, ast.Delete):
                    self._add(target.value, Change(place, target, "remove", key=target.slice))
                elif value is not None:
                    self._item(target.value, Change(place, target, "set", key=target.slice, value=value))
            elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and value is not None:
                self._add(target.value, Change(place, target, "set", value=value, attribute=target.attr))
            elif isinstance(target, (ast.Subscript, ast.Attribute)):
                self._open(target, target)

    def _call(self, node: ast.Call) -> None:
        called, place = name_of(node.func), self.scopes.at[id(node)]
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        args = node.args
        environment: ast.expr | None = None
        dotted = self.scopes.dotted(node.func)
        if dotted in ("os.putenv", "os.unsetenv") or (called in ("setenv", "delenv") and owner is not None and args):
            undone = called in ("setenv", "delenv")
            value = args[1] if len(args) > 1 else None
            kind: Literal["set", "remove"] = "remove" if called in ("delenv", "unsetenv") else "set"
            until = self._until(owner)
            variable = args[0] if args else None
            perhaps = not undone  # processes that vLLM starts may see it, this one, by its `os.environ`, does not
            change = Change(place, node, kind, variable, value, undone=undone, until=until, perhaps=perhaps)
            self.of.setdefault(PROCESS, []).append(change)
            return
        if called in ("setitem", "delitem") and len(args) > 1 and self.key(args[0]) is not None:
            value = args[2] if called == "setitem" and len(args) > 2 else None
            kind = "set" if called == "setitem" else "remove"
            self._add(args[0], Change(place, node, kind, key=args[1], value=value, undone=True))
            return
        if called == "env" and args and self._modal:
            self.of.setdefault(PROCESS, []).append(Change(place, args[0], "merge", whole=args[0], perhaps=True))
            return
        if called == "setattr" and args and isinstance(args[0], ast.Name):
            self._open(args[0], node)
            return
        if dotted.endswith("patch.dict") and args:
            environment = args[0]
            named = isinstance(environment, ast.Constant) and environment.value == ENVIRONMENT
            key = PROCESS if named else self.key(environment)
            whole = args[1] if len(args) > 1 else next((k.value for k in node.keywords if k.arg == "values"), None)
            if key is not None:
                until = self.scopes.ends.get(id(place))
                self.of.setdefault(key, []).append(Change(place, node, "merge", whole=whole, undone=True, until=until))
            return
        if owner is None or self.key(owner) is None:
            if isinstance(owner, (ast.Subscript, ast.Attribute)) and called in METHODS:
                self._open(owner, node)
            return
        if called == "update":
            for whole in args:
                self._add(owner, Change(place, whole, "merge", whole=whole))
            for keyword in node.keywords:
                if keyword.arg is None:
                    self._add(owner, Change(place, keyword.value, "merge", whole=keyword.value))
                else:
                    name = ast.copy_location(ast.Constant(keyword.arg), keyword)
                    self._add(owner, Change(place, keyword.value, "set", key=name, value=keyword.value))
        elif called == "setdefault" and len(args) == 2:
            self._item(owner, Change(place, node, "default", key=args[0], value=args[1]))
        elif called == "pop" and args:
            self._add(owner, Change(place, node, "remove", key=args[0]))
        elif called in ("clear", "popitem", "setdefault", "pop"):
            self._add(owner, Change(place, node, "clear" if called == "clear" else "open"))
