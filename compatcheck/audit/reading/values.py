"""The values that the evaluator computes with: plain Python values, and stand-ins for everything else."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NamedTuple


class Place(NamedTuple):
    """Where an expression stands, and the expression."""

    file: str
    line: int
    text: str


class NotUnderstoodError(Exception):
    """The answer depends on something that the text alone does not tell."""

    def __init__(self, place: Place, why: str) -> None:
        super().__init__(f"{place.file}:{place.line}: {why}: {place.text}")
        self.place = place
        self.why = why


class RaisedError(Exception):
    """The evaluated code raises: `name` is the exception's class."""

    def __init__(self, name: str, text: str = "") -> None:
        super().__init__(f"{name}: {text}")
        self.name = name
        self.text = text


class Unknown:
    """A value that cannot be told; harmless until something depends on it."""

    def __init__(self, place: Place, why: str) -> None:
        self.place = place
        self.why = why


class Sym:
    """A function of one input: `at(value of the input)` is the value here."""

    __slots__ = ("at", "var")

    def __init__(self, var: str, at: Callable[[Any], Any]) -> None:
        self.var = var
        self.at = at


class Template:
    """A text with values in it that depend on inputs."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts


class Capability(NamedTuple):
    """A compute capability, as the engine's own class compares it."""

    major: int
    minor: int

    def to_int(self) -> int:
        return self.major * 10 + self.minor

    def as_version_str(self) -> str:
        return f"{self.major}.{self.minor}"

    def __str__(self) -> str:
        return f"DeviceCapability(major={self.major}, minor={self.minor})"


class External(NamedTuple):
    """Something outside the release: `torch.bfloat16`. Equal by name; `imported` where an import gave it."""

    name: str
    imported: bool = False

    @property
    def constant(self) -> bool:
        """Whether two different names are two different values: dtypes, and the kinds of parameters."""
        head, _, tail = self.name.rpartition(".")
        return (head == "torch" and not tail.startswith("_")) or head == "inspect.Parameter"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, External) and other.name == self.name

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name


class ModuleValue(NamedTuple):
    """A module of the release."""

    name: str


class Scope:
    """Names of a function's call or a class's body, and what encloses it."""

    def __init__(self, module: str, parent: Scope | None = None) -> None:
        self.module = module
        self.parent = parent
        self.names: dict[str, Any] = {}
        self.function: FunctionValue | None = None
        self.first: Any = None

    def find(self, name: str) -> Scope | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope
            scope = scope.parent
        return None


class ClassValue:
    """A class of the release."""

    def __init__(self, node: ast.ClassDef, module: str, scope: Scope | None, bases: list[Any]) -> None:
        self.node = node
        self.name = node.name
        self.module = module
        self.scope = scope
        self.bases = bases
        self.cells: dict[str, Any] = {}
        """What is set on the class from outside its body."""
        self.order: list[Any] | None = None
        self.kept: dict[str, Any] = {}
        """What its body says, where that depends on no input."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClassValue) and other.node is self.node and other.scope is self.scope

    def __hash__(self) -> int:
        return hash(id(self.node))

    def __repr__(self) -> str:
        return self.name


class FunctionValue:
    """A function of the release; `kind` is plain, class, static or property."""

    def __init__(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        module: str,
        scope: Scope | None,
        owner: ClassValue | None = None,
        kind: str = "plain",
        unknown: str | None = None,
    ) -> None:
        self.node = node
        self.module = module
        self.scope = scope
        self.owner = owner
        self.kind = kind
        self.unknown = unknown
        """Why a call cannot be told: a decorator that is not known."""

    @property
    def name(self) -> str:
        name = getattr(self.node, "name", "<lambda>")
        return f"{self.owner.name}.{name}" if self.owner else name


class Bound:
    """A function with its first argument."""

    def __init__(self, function: FunctionValue, first: Any) -> None:
        self.function = function
        self.first = first


class Super:
    """What `super()` is in a method."""

    def __init__(self, owner: ClassValue, first: Any) -> None:
        self.owner = owner
        self.first = first


class Instance:
    """An object of a class of the release."""

    def __init__(self, cls: ClassValue, fields: dict[str, Any]) -> None:
        self.cls = cls
        self.fields = fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instance) and other.cls == self.cls and other.fields == self.fields

    def __hash__(self) -> int:
        return hash(self.cls)

    def __repr__(self) -> str:
        return f"{self.cls.name}({', '.join(map(str, self.fields.values()))})"


class EnumMember(NamedTuple):
    """A member of an enumeration; `plain` where it equals its value (str and int enumerations)."""

    cls: ClassValue
    name: str
    value: Any
    plain: bool

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EnumMember) and (other.cls, other.name) == (self.cls, self.name)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.cls, self.name))


class Record(NamedTuple):
    """An object with given attributes."""

    kind: str
    fields: dict[str, Any]


class Method(NamedTuple):
    """A method of a plain value."""

    of: Any
    name: str


class Proxy(NamedTuple):
    """An object of the running engine that the environment answers for, by its path."""

    path: str


class Intrinsic:
    """A function that the environment answers for."""

    def __init__(self, name: str, call: Callable[[list[Any], dict[str, Any]], Any]) -> None:
        self.name = name
        self.call = call


def unwrap(value: Any) -> Any:
    """Return the value that a member of a str or int enumeration equals."""
    return value.value if isinstance(value, EnumMember) and value.plain else value
