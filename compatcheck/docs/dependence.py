"""What answers are made from, as a digest: everything in the matrix except what provably cannot matter.

For a backend, left out are other backends, rules and routes whose conditions are false for it whatever else holds, the
kernels of those routes, derived facts that nothing left names, what is said of linear layers, and the order in which
backends are tried: the tables force the backend. For linear layers, left out are attention backends, rules about
attention, kernels that no linear kernel is, and facts as above. A field that is added to the matrix later is part of
the digest until it is left out here.
"""

from __future__ import annotations

import hashlib
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import packaging

from compatcheck.resolve.resolver import PHASES

if TYPE_CHECKING:
    from compatcheck.docs.space import Space
    from compatcheck.matrix.model import Backend

_PACKAGE = Path(__file__).resolve().parent.parent
_CODE = ("docs/*.py", "matrix/*.py", "resolve/*.py")
"""Everything that decides what is asked and answered."""


class Part(NamedTuple):
    """A piece of the matrix: the digest of its text, and the derived facts that are named in it."""

    digest: bytes
    named: frozenset[str]


class Dependence:
    """Gives the digests of the backends of one engine, and of what is said of linear layers."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._code = _code()
        self._names = [(name, name.encode()) for name in space.engine.facts]

    def _part(self, value: object) -> Part:
        text = msgspec.json.encode(value)
        return Part(
            hashlib.sha256(text).digest(), frozenset([name for name, written in self._names if written in text])
        )

    @cached_property
    def _common(self) -> Part:
        """What all backends depend on."""
        space = self._space
        engine = msgspec.structs.replace(
            space.engine,
            backends={},
            routes={},
            routing=[],
            priorities=[],
            linear=None,
            other_backends={},
            plugin_backends={},
            facts={},
        )
        matrix = msgspec.structs.replace(
            space.matrix, engines={space.engine_name: engine}, kernels={}, rules={}, include=[]
        )
        return self._part((self._code, matrix))

    @cached_property
    def _facts(self) -> dict[str, Part]:
        return {name: self._part((name, fact)) for name, fact in self._space.engine.facts.items()}

    @cached_property
    def _rules(self) -> dict[str, Part]:
        rules = self._space.matrix.rules.items()
        return {code: self._part((code, rule)) for code, rule in rules if rule.kind == "attention"}

    def everything(self) -> str:
        """Return the digest of the whole matrix, and of what decides what is asked: where it stands, all others do."""
        return hashlib.sha256(f"{self._code}{self._space.loaded.digest}".encode()).hexdigest()

    def digest(self, backend: str) -> str:
        """Return the digest of everything that a backend's answers depend on."""
        space, engine = self._space, self._space.engine
        routing = [engine.routing[place] for place in space.routing_of(backend)]
        routes = {case.route: engine.routes[case.route] for case in routing}
        kernels = {getattr(route, phase) for route in routes.values() for phase in PHASES}
        parts = [
            backend,
            space.kind(backend).id,
            [(name, engine.backends[name]) for name in self._related(backend)],
            routing,
            sorted(routes.items()),
            [(name, kernel) for name, kernel in space.matrix.kernels.items() if name in kernels],
        ]
        rules = [self._rules[code] for code in space.rules_of(backend)]
        return self._digest([*map(self._part, parts), *rules])

    def linear(self) -> str:
        """Return the digest of everything that answers about linear layers depend on."""
        space, engine = self._space, self._space.engine
        named = {kernel.kernel for kernel in engine.linear.kernels.values()} if engine.linear is not None else set()
        parts = [
            engine.linear,
            engine.routing,
            [(name, kernel) for name, kernel in space.matrix.kernels.items() if name in named],
            [(code, rule) for code, rule in space.matrix.rules.items() if rule.kind == "linear"],
        ]
        return self._digest([*map(self._part, parts)])

    def _digest(self, parts: list[Part]) -> str:
        """Return the digest of parts, of what all depend on, and of the derived facts that any of these names."""
        every = [self._common, *parts]
        hashed = hashlib.sha256()
        for part in (*every, *[self._facts[name] for name in sorted(self._named(every))]):
            hashed.update(part.digest)
        return hashed.hexdigest()

    def _named(self, parts: list[Part]) -> set[str]:
        """Return the derived facts that are named in these parts, or in the facts that are."""
        found: set[str] = set()
        open_ = parts
        while open_:
            new = frozenset[str]().union(*[part.named for part in open_]) - found
            found |= new
            open_ = [self._facts[name] for name in new]
        return found

    def _related(self, backend: str) -> list[str]:
        """Return a backend, those whose facts it takes over, and its members with theirs."""
        found: dict[str, Backend] = {}
        open_ = [backend]
        while open_:
            name = open_.pop()
            if name not in found:
                entry = found[name] = self._space.engine.backends[name]
                open_ += [*([entry.extends] if entry.extends else []), *entry.members]
        return list(found)


@lru_cache(maxsize=1)
def _code() -> str:
    """Return the digest of the code that decides what is asked and answered."""
    hashed = hashlib.sha256(packaging.__version__.encode())
    for pattern in _CODE:
        for path in sorted(_PACKAGE.glob(pattern)):
            hashed.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return hashed.hexdigest()
