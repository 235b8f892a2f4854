from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compatcheck.smoke.covering import covering

AXES = st.dictionaries(
    st.sampled_from("abcd"), st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True), min_size=1, max_size=4
)


def pairs(points: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    return {(a, p[a], b, p[b]) for p in points for a, b in combinations(sorted(p), 2)} or {
        tuple(p.items()) for p in points
    }


@given(AXES, st.integers(2, 7))
def test_every_allowed_pair_is_covered(axes: dict[str, list[int]], modulus: int) -> None:
    from itertools import product

    def allowed(point: dict[str, Any]) -> bool:
        return bool(sum(point.values()) % modulus != 1)

    chosen = covering(axes, allowed)
    everything = [dict(zip(axes, v, strict=True)) for v in product(*axes.values())]
    assert pairs(chosen) == pairs([p for p in everything if allowed(p)])
    assert all(allowed(p) for p in chosen)
    assert chosen == covering(axes, allowed)


def test_the_usual_point_comes_first() -> None:
    assert covering({"a": [3, 1], "b": ["x", "y"]}, lambda p: True)[0] == {"a": 3, "b": "x"}


def test_it_is_much_smaller_than_the_product() -> None:
    axes = {name: list(range(4)) for name in "abcdef"}
    assert len(covering(axes, lambda p: True)) < 40


def test_too_many_combinations_are_an_error() -> None:
    with pytest.raises(ValueError, match="more than 20000"):
        covering({name: list(range(30)) for name in "abc"}, lambda p: True)


def test_nothing_allowed_is_nothing() -> None:
    assert covering({"a": [1]}, lambda p: False) == []
