"""Conditions that are false for a backend whatever else holds, told from the condition as it is written.

Only fields with one value in all of a backend's tables are looked at. In three-valued logic what is false with
everything else unknown stays false, so such a condition may be left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.resolve.configuration import Configuration

if TYPE_CHECKING:
    from compatcheck.docs.axes import Kind
    from compatcheck.resolve.conditions import Compiler

_FIXED = ("backend", "use_mla", "use_sparse")


class Never:
    """Tells for one backend at a time; `kind` says which fixed values go with it."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._tests: dict[tuple[str, str], Any] = {}

    def of(self, condition: dict[str, Any] | None, backend: str, kind: Kind) -> bool:
        """Return whether a condition never holds for a backend."""
        return self._never(condition, Configuration(backend=backend, use_mla=kind.use_mla, use_sparse=kind.use_sparse))

    def _never(self, condition: dict[str, Any] | None, facts: Configuration) -> bool:
        for key, constraint in (condition or {}).items():
            if key == "all_of":
                if any(self._never(part, facts) for part in constraint):
                    return True
            elif key == "any_of":
                if all(self._never(part, facts) for part in constraint):
                    return True
            elif key in _FIXED and self._test(key, constraint)(facts) is False:
                return True
        return False

    def _test(self, key: str, constraint: Any) -> Any:
        written = (key, repr(constraint))
        test = self._tests.get(written)
        if test is None:
            test = self._tests[written] = self._compiler.condition({key: constraint}).test
        return test
