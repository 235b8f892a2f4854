"""Clusters: every question answered as it answers alone, in order, and the same answers as one object."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compatcheck.resolve.clusters import SIZES, cluster, in_order
from compatcheck.resolve.configuration import Configuration


class Ask:
    """Holds where a field is above a bound, cannot tell where it is missing; its text names one more field."""

    def __init__(self, field: str, bound: int, named: str) -> None:
        self.told = frozenset({field, named})
        self.key = attrgetter(*sorted(self.told))
        self.text = attrgetter(named)
        self._field = field
        self._get = attrgetter(field)
        self._bound = bound

    def holds(self, facts: Any) -> bool | None:
        value = self._get(facts)
        return None if value is None else bool(value > self._bound)

    def never(self, facts: Any) -> bool:
        return False if self._field in SIZES else self.holds(facts) is False


QUESTIONS = [
    Ask("head_size", 64, "block_size"),
    Ask("use_mla", 0, "use_sparse"),
    Ask("block_size", 16, "head_size"),
    Ask("head_size", 128, "head_size"),
    Ask("num_qo_heads", 8, "use_mla"),
    Ask("head_size", 32, "kv_cache_dtype"),
]
FACTS = st.builds(
    Configuration,
    head_size=st.sampled_from([None, 64, 80, 256]),
    block_size=st.sampled_from([None, 16, 32]),
    use_mla=st.sampled_from([None, True, False]),
    num_qo_heads=st.sampled_from([None, 8, 32]),
    kv_cache_dtype=st.sampled_from(["auto", "fp8"]),
)


@given(rows=st.lists(FACTS, min_size=1, max_size=12))
def test_together_as_alone_and_in_order(rows: list[Configuration]) -> None:
    clusters = cluster(QUESTIONS, Ask.holds)
    assert 1 < len(clusters) < len(QUESTIONS)
    for facts in rows:
        together = [(at, holds) for at, _, holds in in_order(c.answer(facts) for c in clusters)]
        alone = [(at, q.holds(facts)) for at, q in enumerate(QUESTIONS)]
        assert together == [(at, holds) for at, holds in alone if holds is not False]


def test_equal_answers_are_one_object_and_a_named_field_tells_them_apart() -> None:
    (only,) = cluster([QUESTIONS[5]], Ask.holds)
    small, smaller = Configuration(head_size=16), Configuration(head_size=8)
    assert only.answer(small) is only.answer(smaller)
    large = only.answer(Configuration(head_size=64, kv_cache_dtype="fp8"))
    assert large is only.answer(Configuration(head_size=80, kv_cache_dtype="fp8", num_qo_heads=8))
    assert large is not only.answer(Configuration(head_size=64, kv_cache_dtype="auto"))
    unknown = only.answer(Configuration(kv_cache_dtype="fp8"))
    assert [holds for _, _, holds in unknown.open] == [None]
    assert unknown is not large
