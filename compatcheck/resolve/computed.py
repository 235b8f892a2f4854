"""Facts that follow from an engine's own lists, for rules to ask: the route taken, the MLA prefill backend picked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.resolve.conditions import UNKNOWN

if TYPE_CHECKING:
    from compatcheck.resolve.backend import BackendProgram
    from compatcheck.resolve.conditions import Predicate
    from compatcheck.resolve.engine import EngineProgram

ROUTE = "route"
MLA_PREFILL = "mla_prefill"
FORCED_PREFILL = frozenset({"mla_prefill_backend"})
NO_PREFILL = "none"
"""Value of `mla_prefill` where the prefill selector refuses every backend, or the release has no such selector."""
HEADS_PER_KV = "heads_per_kv"
"""Query heads for each KV head, 0 where they do not divide; nothing where either count is not given."""
COMPUTED = (ROUTE, MLA_PREFILL, HEADS_PER_KV)


class HeadGroup:
    """How many query heads share a KV head, on one rank."""

    fields = frozenset({"num_qo_heads", "num_kv_heads"})
    values = (0, 1)

    def value(self, facts: Any) -> int | None:
        """Return the group size, 0 where the heads do not divide, None where a count is not given."""
        queries, shared = facts.num_qo_heads, facts.num_kv_heads
        if not queries or not shared:
            return None
        return 0 if queries % shared else int(queries // shared)

    def missing(self, facts: Any) -> frozenset[str]:
        """Return nothing: a rule that needs the counts asks for them by name."""
        return frozenset()


class PrefillChoice:
    """The MLA prefill backend that a release picks by itself, or the forced one where it is not refused."""

    def __init__(self, engine: EngineProgram) -> None:
        self._engine = engine
        self.order, programs = engine.prefill_choice()
        self.checks = [check for program in programs for check in program.checks]
        self.fields = self.order.fields.union(FORCED_PREFILL, *(check.fields for check in self.checks))
        self.values = (NO_PREFILL, *engine.prefill_backends)

    @property
    def walks(self) -> list[tuple[Predicate, list[BackendProgram]]]:
        """For each case of the order, in turn: when it holds, and the backends that are tried then."""
        return self._engine.prefill_walks()

    def value(self, facts: Any) -> Any:
        """Return the backend's name, "none", or `UNKNOWN`."""
        selection = self._engine.select_prefill(facts)
        if selection.selected is not None:
            return selection.selected
        return UNKNOWN if selection.missing else NO_PREFILL

    def missing(self, facts: Any) -> frozenset[str]:
        """Return the missing facts that leave the pick open."""
        return self._engine.select_prefill(facts).missing
