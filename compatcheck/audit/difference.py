"""One difference between the matrix and a release, and the whole result of an audit."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Kind = Literal[
    "release",
    "pin",
    "vocabulary",
    "new-backend",
    "removed-backend",
    "gate",
    "selector",
    "order",
    "linear-kernel",
    "symbol",
    "capability",
    "parameters",
    "requirement",
    "executed",
]


class Difference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the matrix says, what the library says, what a GPU has shown."""

    kind: Kind
    subject: str
    aspect: str = ""
    where: str = ""
    """For which inputs."""
    matrix: str
    library: str
    evidence: str = ""
    place: str = ""
    """file:line in the release."""
    read: Literal["read", "executed"] = "read"
    values: dict[str, Any] = {}
    """For a patch: what would have to be written."""


class NotUnderstood(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A gate, or a part of one, that could not be evaluated. `known` says which fact of the matrix covers it."""

    subject: str
    aspect: str
    place: str
    expression: str
    why: str
    digest: str
    where: str = ""
    known: str | None = None


class Audit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result. `not_understood` holds acknowledged gates, too, with `known` set."""

    schema: int = 1
    vllm: str | None = None
    flashinfer: str | None = None
    way: Literal["read", "executed"] = "read"
    differences: tuple[Difference, ...] = ()
    not_understood: tuple[NotUnderstood, ...] = ()
    compared: int = 0
    """Answers that were compared."""
    guards: int = 0
    """Pieces that nothing evaluates and that were compared by fingerprint."""
    assumed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def unknown(self) -> tuple[NotUnderstood, ...]:
        """Return the gates that nothing acknowledges."""
        return tuple(item for item in self.not_understood if item.known is None)
