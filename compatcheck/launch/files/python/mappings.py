"""Dictionaries of a Python file as they are where they are used: literals, `dict(...)`, spread ones, changed ones.

An item that may have been set is there and not sure; a part that is not written down is named in `elsewhere`.
"""

from __future__ import annotations

import ast

import msgspec

from compatcheck.launch.files.python.bindings import Place
from compatcheck.launch.files.python.changes import PROCESS, Change, Changes, Key
from compatcheck.launch.files.python.scopes import Scopes
from compatcheck.launch.files.python.timing import certainty
from compatcheck.launch.files.python.values import Values, name_of

_MADE = frozenset({"dict", "OrderedDict", "ModelLoadingConfig"})
_COPIES = frozenset({"copy", "deepcopy", "asdict"})
MAX_DEPTH = 20
MAX_READS = 5000
"""Mappings that one mapping may be made of."""
MAX_CHANGES = 100
"""Changes of one mapping that are followed; what is beyond them is elsewhere."""


class Item(msgspec.Struct, frozen=True):
    """A value with the node that says where it stands; not `sure` where it may be another's or not there."""

    value: ast.expr
    place: ast.expr | ast.keyword
    sure: bool = True


class Held(msgspec.Struct):
    """The items of a mapping, and the parts of it that are known only where it is run."""

    items: dict[str, Item] = {}
    elsewhere: list[ast.expr] = []
    inherits: bool = False
    """The environment of the process is in it."""

    def set(self, name: str, item: Item, *, sure: bool = True) -> None:
        """Set an item, or note that it may have been set."""
        old = self.items.get(name)
        same = old is not None and item.sure and ast.dump(old.value) == ast.dump(item.value)
        if not sure and same:
            return
        self.items[name] = item if sure and item.sure else Item(item.value, item.place, sure=False)

    def merge(self, other: Held, *, sure: bool = True, apart: bool = False) -> None:
        """Set what another mapping holds; `apart`: no name may be in both, as among the keywords of a call."""
        if other.elsewhere and not apart:
            self.doubt()
        for name, item in other.items.items():
            self.set(name, item, sure=sure)
        self.elsewhere += other.elsewhere
        self.inherits = self.inherits or other.inherits

    def doubt(self) -> None:
        """Note that any item may have been replaced."""
        self.items = {name: Item(item.value, item.place, sure=False) for name, item in self.items.items()}


class Mappings:
    """Reads mappings where they are used."""

    def __init__(self, scopes: Scopes, values: Values, changes: Changes) -> None:
        self.scopes = scopes
        self.values = values
        self.changes = changes
        self._left = MAX_READS

    def read(self, node: ast.expr, *, exact: bool = False, depth: int = 0) -> Held | None:
        """Return what a mapping holds where it stands, or None where it is none that is written down."""
        self._left = MAX_READS if depth == 0 else self._left - 1
        if depth > MAX_DEPTH or self._left < 0:
            return None
        if isinstance(node, ast.Dict):
            return self._literal(node, exact=exact, depth=depth)
        if isinstance(node, ast.Call):
            return self._called(node, exact=exact, depth=depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            sides = [self.read(side, exact=exact, depth=depth + 1) for side in (node.left, node.right)]
            held = Held()
            for side, read in zip((node.left, node.right), sides, strict=True):
                held.merge(read or Held(elsewhere=[side]))
            return held
        key = self.changes.key(node)
        place = self.scopes.at.get(id(node))
        if key is None or place is None:
            return None
        return self.environment(place, exact=exact, depth=depth) if key == PROCESS else self._named(node, key, depth)

    def keywords(self, node: ast.Call, *, exact: bool = False, depth: int = 0) -> Held:
        """Return the keywords of a call, with those that a mapping spreads."""
        held = Held()
        for keyword in node.keywords:
            if keyword.arg is not None:
                held.set(keyword.arg, Item(keyword.value, keyword))
                continue
            spread = self.read(keyword.value, exact=exact, depth=depth + 1)
            held.merge(spread or Held(elsewhere=[keyword.value]), apart=True)
        return held

    def environment(self, place: Place, *, exact: bool, depth: int = 0) -> Held:
        """Return the variables that the file sets for its process, as they are at a place."""
        held = Held(inherits=True)
        self._left = MAX_READS if depth == 0 else self._left
        self._make(held, self.changes.of.get(PROCESS, []), place, exact=exact, local=False, depth=depth)
        return held

    def _make(self, held: Held, changes: list[Change], place: Place, *, exact: bool, local: bool, depth: int) -> None:
        """Make the changes that have been made at a place."""
        again = not local and place.scope.function().parent is not None  # a function may be called once more
        said = [
            (change, certainty(change, place, self.scopes.loops, exact=exact and not again))
            for change in changes[:MAX_CHANGES]
        ]
        made = [(change, sure == "sure") for change, sure in said if sure != "never"]
        for change, sure in sorted(made, key=lambda one: (_rank(one[0].place, place), one[0].place.order)):
            self.apply(held, change, sure=sure, depth=depth)
        if len(changes) > MAX_CHANGES:
            held.merge(Held(elsewhere=[changes[MAX_CHANGES].node]))

    def _named(self, node: ast.expr, key: Key, depth: int) -> Held | None:
        place = self.scopes.at[id(node)]
        binding = self.scopes.binding(node.id, place) if isinstance(node, ast.Name) else None
        if binding is None or binding.value is None:
            return None
        base = self.read(binding.value, depth=depth + 1)
        if base is None:
            return None
        made, since = self.changes.of.get(key, []), binding.place
        late = [one for one in made if one.place.scope is not since.scope or one.place.order >= since.order]
        local = since.scope.function() is place.scope.function()
        self._make(base, late, place, exact=True, local=local, depth=depth)
        for change in self.changes.aliased(key)[:MAX_CHANGES]:
            self.apply(base, change, sure=False, depth=depth)
        return base

    def _literal(self, node: ast.Dict, *, exact: bool, depth: int) -> Held:
        held = Held()
        for key, value in zip(node.keys, node.values, strict=True):
            known, name = self.values.value(key) if key is not None else (False, None)
            if key is None:
                spread = self.read(value, exact=exact, depth=depth + 1)
                held.merge(spread or Held(elsewhere=[value]))
            elif known and isinstance(name, str):
                held.set(name, Item(value, value))
            else:
                held.merge(Held(elsewhere=[key]))
        return held

    def _called(self, node: ast.Call, *, exact: bool, depth: int) -> Held | None:
        called, owner = name_of(node.func), node.func.value if isinstance(node.func, ast.Attribute) else None
        if called in _MADE and len(node.args) <= 1:
            held = Held()
            for source in node.args:
                held.merge(self.read(source, exact=exact, depth=depth + 1) or Held(elsewhere=[source]))
            held.merge(self.keywords(node, exact=exact, depth=depth))
            return held
        if called not in _COPIES or node.keywords or len(node.args) > 1:
            return None
        copied = node.args[0] if node.args else owner
        return self.read(copied, exact=exact, depth=depth + 1) if copied is not None else None

    # ------------------------------------------------------------------------------------------ changes

    def apply(self, held: Held, change: Change, *, sure: bool, depth: int = 0) -> None:
        """Make a change, or note that it may have been made."""
        if change.whole is not None:
            whole = self.read(change.whole, depth=depth + 1) or Held(elsewhere=[change.whole])
            if change.kind == "default":
                whole.items = {name: item for name, item in whole.items.items() if name not in held.items}
            held.merge(whole, sure=sure)
            return
        if change.kind == "clear":
            held.doubt()
            if sure:
                held.items, held.elsewhere, held.inherits = {}, [], False
            return
        known, name = self.values.value(change.key) if change.key is not None else (change.attribute is not None, None)
        name = change.attribute or name
        if not known or not isinstance(name, str) or change.kind == "open":
            held.merge(Held(elsewhere=[change.node]))
        elif change.kind == "remove":
            old = held.items.pop(name, None)
            if old is not None and not sure:
                held.items[name] = Item(old.value, old.place, sure=False)
        elif change.value is not None and (change.kind == "set" or name not in held.items):
            held.set(name, Item(change.value, change.value), sure=sure)


def _rank(change: Place, place: Place) -> int:
    """Return when a change is taken to be made: by the module, by other functions, by the launch's own before it."""
    if change.scope.function() not in place.scope.functions():
        return 1
    if change.scope.function().parent is None:
        return 0
    return 2 if change.order < place.order else 1
