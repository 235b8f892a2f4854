"""Bitmaps say of every cell what the compiled condition says of its configuration, unknown answers included."""

from __future__ import annotations

from itertools import product
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from compatcheck.docs.bitmaps import Bitmaps, positions
from compatcheck.docs.formulas import Formulas
from compatcheck.matrix.records import FactCase
from compatcheck.resolve.conditions import Compiler
from compatcheck.resolve.configuration import FIELDS, Configuration
from compatcheck.resolve.derived import DecisionList
from compatcheck.resolve.refusals import FeatureRefused, FirstOf, NonCausalDcp, Refused

SMS = ["8.0", "9.0", "10.0", "12.0"]
VALUES: dict[str, tuple[str, list[Any]]] = {
    "sm": ("sm", SMS),
    "kv": ("kv_cache_dtype", ["auto", "fp8", "nvfp4"]),
    "shape": ("head_size", [64, 128, None]),
    "sink": ("has_sink", [False, True, None]),
}
BASE = Configuration(use_mla=True, use_dcp=True, use_non_causal=True, num_kv_heads=8)
REPLACE = msgspec.structs.replace

leaf = st.one_of(
    st.lists(st.sampled_from([*SMS, "9.x"]), min_size=1, max_size=2).map(lambda v: {"sm": v}),
    st.sampled_from(["auto", "fp8", {"prefix": "nv"}, {"not": "fp8"}]).map(lambda v: {"kv_cache_dtype": v}),
    st.sampled_from([64, {"le": 64}, {"multiple_of": 128}]).map(lambda v: {"head_size": v}),
    st.booleans().map(lambda v: {"has_sink": v}),
    st.sampled_from([8, 4]).map(lambda v: {"num_kv_heads": v}),
    st.just({"num_qo_heads": 32}),  # not given: unknown
    st.sampled_from([1, 2, {"not": 1}, {"absent": True}]).map(lambda v: {"fact": v}),
)
conditions = st.recursive(
    leaf,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"all_of": parts}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"any_of": parts}),
        inner.map(lambda part: {"not": part}),
    ),
    max_leaves=8,
)
cases = st.lists(st.tuples(conditions.filter(lambda c: "fact" not in repr(c)), st.sampled_from([1, 2])), max_size=3)


@settings(max_examples=150, deadline=None)
@given(cases, conditions, conditions, st.sampled_from(["plain", "refused", "feature", "dcp", "first"]))
def test_every_cell(fact: Any, one: Any, other: Any, kind: str) -> None:
    derived: dict[str, Any] = {}
    compiler = Compiler(dict.fromkeys(SMS), frozenset(FIELDS), derived)
    derived["fact"] = DecisionList([FactCase(value=value, when=when) for when, value in fact], compiler)
    predicate: Any = compiler.condition(one)
    if kind == "refused":
        predicate = Refused("head_size", predicate, None)
    elif kind == "feature":
        predicate = FeatureRefused("has_sink", predicate)
    elif kind == "dcp":
        predicate = NonCausalDcp(predicate)
    elif kind == "first":
        predicate = FirstOf([compiler.condition(other)], predicate)
    variants = {axis: [REPLACE(BASE, **{field: v}) for v in values] for axis, (field, values) in VALUES.items()}
    formulas = Formulas(BASE, variants, {field: axis for axis, (field, _) in VALUES.items()})
    formula = formulas.of(predicate)
    bitmaps = Bitmaps({axis: slice(0, len(values)) for axis, (_, values) in VALUES.items()}, [formula])
    holds, may = bitmaps.of(formula)
    missing: dict[Any, Any] = {}
    unknowns = list(bitmaps.unknowns(formula))
    for places in product(*[range(len(values)) for _, values in VALUES.values()]):
        at = dict(zip(VALUES, places, strict=True))
        facts = REPLACE(BASE, **{field: values[at[axis]] for axis, (field, values) in VALUES.items()})
        cell = bitmaps.full
        for axis, value in at.items():
            cell &= bitmaps.along(axis, [value])
        said = True if holds & cell else (None if may & cell else False)
        assert said is predicate.test(facts), facts
        if said is None:  # what is missing is the same where the same parts are unknown
            key = tuple([bool(mask & cell) for mask in unknowns])
            assert missing.setdefault(key, predicate.missing(facts)) == predicate.missing(facts)
    restricted = formulas.restrict(formula, {"sm": 1}, {})
    assert "sm" not in restricted.axes
    there = bitmaps.along("sm", [1])
    assert [mask & there for mask in bitmaps.of(restricted)] == [holds & there, may & there]


@given(st.lists(st.integers(0, 700), min_size=1, max_size=900))
def test_positions_of_groups(of: list[int]) -> None:
    """Zero stands for no group; more groups than a byte can number are parted, too."""
    masks: dict[int, int] = {}
    for cell, group in enumerate(of):
        masks[group] = masks.get(group, 0) | 1 << cell
    masks.pop(0, None)
    expected = [0 if group == 0 else list(masks).index(group) + 1 for group in of]
    assert positions(list(masks.values()), len(of)) == expected
