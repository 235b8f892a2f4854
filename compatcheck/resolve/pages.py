"""The page that kernels get: the engine splits its blocks into pages of a size that the backend's kernels take."""

from __future__ import annotations

from typing import Any

from compatcheck.matrix.model import Grants
from compatcheck.resolve.conditions import Compiler, Predicate


class Pages:
    """A backend's kernel pages, in tokens. Source: vllm/v1/worker/utils.py:select_common_block_size@0.33.0."""

    def __init__(self, grants: Grants | None, compiler: Compiler) -> None:
        self._sizes: list[tuple[int, Predicate]] = [
            (size, compiler.stated(grant.when))
            for grant in grants or []
            for size in (grant.values if isinstance(grant.values, list) else [grant.values])
            if isinstance(size, int)
        ]
        self.fields = frozenset({"block_size"}).union(*(when.fields for _, when in self._sizes))
        """The fields that a page depends on."""

    def of(self, facts: Any) -> int | None:
        """Return the page for `block_size`: itself if listed, else the largest listed size that divides it."""
        block: int | None = facts.block_size
        fitting = [size for size, when in self._sizes if block and block % size == 0 and when.test(facts)]
        return block if block is None or block in fitting else max(fitting, default=block)
