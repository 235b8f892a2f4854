"""A resolver that asks only some rules, for a caller who knows that the others answer false."""

from __future__ import annotations

from compatcheck.resolve.resolver import Resolver
from compatcheck.resolve.rules import RuleGroups, RuleProgram


class Narrowed(Resolver):
    """Asks only these rules, compiled for one release; shares everything that the resolver keeps.

    It answers for that release alone, and only what the resolver would where every other rule is false.
    """

    def __init__(self, resolver: Resolver, rules: list[RuleProgram]) -> None:
        self.__dict__.update(resolver.__dict__)
        self._narrow_rules = RuleGroups(rules)

    def rules(self, name: str, release: str) -> RuleGroups:
        """Return the rules that are asked, whatever the release."""
        return self._narrow_rules
