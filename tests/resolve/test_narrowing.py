"""What is left of a condition: it tests as the condition does, and what is missing depends on nothing that is gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compatcheck.matrix.model import FactCase
from compatcheck.resolve.conditions import AllOf, AnyOf, Compiler, Constant, Derived, Leaf, Not, Predicate
from compatcheck.resolve.configuration import FIELDS, Configuration
from compatcheck.resolve.derived import DecisionList
from compatcheck.resolve.narrowing import narrow, narrow_cases, settled
from compatcheck.resolve.refusals import FeatureRefused, FirstOf, NonCausalDcp, Refused

from .test_conditions import COMPILER, COMPLETE, CONDITIONS, SMS

VALUES: dict[str, list[Any]] = {
    "sm": [None, *SMS],
    "head_size": [None, 64, 80, 128, 256],
    "use_mla": [None, True, False],
    "kv_cache_dtype": [None, "auto", "fp8", "nvfp4", "nvfp4_ds_mla"],
    "flashinfer_version": [None, "0.6.14", "0.6.15.dev1", "0.6.15"],
    "block_size": [None, 16, 32],
    "has_sink": [None, True, False],
    "sliding_window": [None, 128],
    "use_non_causal": [None, True, False],
    "use_dcp": [None, True, False],
    "dtype": [None, "bfloat16"],
}
FACTS = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in VALUES.items()})
CASES = st.lists(st.tuples(st.sampled_from(["a", "b", None]), CONDITIONS | st.none()), max_size=4)
Made = Callable[[Compiler], Predicate]


def compilers(first: list[tuple[Any, Any]], second: list[tuple[Any, Any]]) -> Compiler:
    """Return a compiler with two derived facts, the second of which asks about the first."""
    derived: dict[str, Derived] = {}
    compiler = Compiler(dict.fromkeys(SMS), frozenset(FIELDS), derived)
    derived["one"] = DecisionList([FactCase(value=value, when=when) for value, when in first], compiler)
    cases = [FactCase(value=value, when=when) for value, when in second]
    derived["two"] = DecisionList([FactCase(value="a", when={"one": "a"}), *cases], compiler)
    return compiler


CONSTRAINTS: list[Any] = ["a", ["a", "b"], {"not": "a"}, {"absent": True}, {"absent": False}]
DERIVED = st.builds(lambda name, asked: {name: asked}, st.sampled_from(["one", "two"]), st.sampled_from(CONSTRAINTS))
NESTED = st.one_of(
    CONDITIONS,
    DERIVED,
    st.builds(lambda a, b: {**a, **b}, CONDITIONS, DERIVED),
    st.builds(lambda parts: {"any_of": parts}, st.lists(CONDITIONS | DERIVED, min_size=2, max_size=3)),
    st.builds(lambda parts: {"not": {"all_of": parts}}, st.lists(CONDITIONS | DERIVED, min_size=2, max_size=3)),
)
COMPILED: st.SearchStrategy[Made] = NESTED.map(lambda condition: lambda compiler: compiler.condition(condition))


def refused(field: str, grants: Made, absent: bool | None) -> Made:
    return lambda compiler: Refused(field, grants(compiler), absent)


def feature(field: str, flag: Made) -> Made:
    return lambda compiler: FeatureRefused(field, flag(compiler))


def first_of(earlier: list[Made], own: Made) -> Made:
    return lambda compiler: FirstOf([made(compiler) for made in earlier], own(compiler))


PREDICATES: st.SearchStrategy[Made] = st.one_of(
    COMPILED,
    st.builds(refused, st.sampled_from(["sm", "head_size", "kv_cache_dtype"]), COMPILED, st.none()),
    st.builds(refused, st.just("block_size"), COMPILED, st.just(False)),
    st.builds(feature, st.sampled_from(["has_sink", "sliding_window"]), COMPILED),
    COMPILED.map(lambda made: lambda compiler: NonCausalDcp(made(compiler))),
    st.builds(first_of, st.lists(COMPILED, max_size=3), COMPILED),
    COMPILED.map(lambda made: lambda compiler: AllOf([Constant(None), made(compiler)])),
)


@settings(max_examples=250, deadline=None)
@given(
    made=PREDICATES,
    first=CASES,
    second=CASES,
    here=FACTS,
    others=st.lists(FACTS, min_size=1, max_size=5),
    free=st.sets(st.sampled_from(list(VALUES)), max_size=4),
)
def test_what_is_left_tests_as_the_whole(
    made: Made, first: Any, second: Any, here: dict[str, Any], others: list[dict[str, Any]], free: set[str]
) -> None:
    predicate = made(compilers(first, second))
    left = narrow(predicate, Configuration(**here), free)
    known = settled(predicate, Configuration(**here), free)
    assert left.fields <= predicate.fields
    for other in (here, *others):
        there = here | {field: other[field] for field in free}
        facts = Configuration(**there)
        answer = predicate.test(facts)
        assert left.test(facts) is answer
        assert known is None or known is answer
        if answer is None:
            # A batch repeats the missing facts for all configurations that have the narrowed fields in common.
            same = there | {field: other[field] for field in VALUES if field in free.difference(left.fields)}
            back = there | {field: here[field] for field in free.difference(left.fields)}
            for alike in (Configuration(**same), Configuration(**back)):
                assert predicate.missing(alike) == predicate.missing(facts)


@given(first=CASES, second=CASES, here=FACTS, other=FACTS, free=st.sets(st.sampled_from(list(VALUES)), max_size=4))
@settings(max_examples=60, deadline=None)
def test_cases_that_are_left_decide_as_all_do(
    first: Any, second: Any, here: dict[str, Any], other: dict[str, Any], free: set[str]
) -> None:
    compiler = compilers(first, second)
    fact = DecisionList([FactCase(value=1, when={"one": "a"}), FactCase(value=2, when={"two": ["a"]})], compiler)
    cases = narrow_cases(fact, Configuration(**here), free)
    assert cases[-1][0].test(None) is True
    facts = Configuration(**here | {field: other[field] for field in free})
    possible: list[Any] = []
    for condition, value in cases:
        holds = condition.test(facts)
        possible += [] if holds is False else [value]
        if holds:
            break
    assert possible == fact.possible(facts)


@given(CONDITIONS, COMPLETE)
def test_nothing_free_leaves_a_constant(condition: dict[str, Any], complete: dict[str, Any]) -> None:
    facts = Configuration(**complete)
    left = narrow(COMPILER.condition(condition), facts, ())
    assert isinstance(left, Constant)
    assert left.fields == frozenset()


def head(size: int) -> Leaf:
    return Leaf("head_size", size.__eq__, None)


HOPPER = Configuration(sm="9.0")
LEFT: list[tuple[dict[str, Any], set[str]]] = [
    ({"sm": "9.x", "head_size": 64}, {"head_size"}),
    ({"sm": "8.x", "head_size": 64}, set()),
    ({"any_of": [{"sm": "9.x"}, {"head_size": 64}]}, set()),
    ({"any_of": [{"sm": "8.x"}, {"head_size": 64}]}, {"head_size"}),
    ({"not": {"sm": "8.x", "head_size": 64}}, set()),
    ({"any_of": [{"sm": "8.x", "block_size": 16}, {"use_mla": True, "head_size": 64}]}, {"head_size"}),
]


@pytest.mark.parametrize(("condition", "fields"), LEFT)
def test_what_is_settled_is_not_asked_again(condition: dict[str, Any], fields: set[str]) -> None:
    left = narrow(COMPILER.condition(condition), HOPPER, {"head_size", "block_size"})
    assert left.fields == fields


def test_a_derived_fact_is_left_with_the_cases_that_may_decide() -> None:
    first = [("a", {"sm": "8.x", "head_size": 64}), ("a", {"sm": "9.x", "head_size": 80}), ("a", {"sm": "9.x"})]
    compiler = compilers(first, [("b", {"sm": "9.x", "block_size": 16}), (None, None)])
    free = {"head_size", "block_size"}
    assert settled(compiler.condition({"one": "a"}), HOPPER, free) is True  # whichever case it is
    other = Configuration(sm="10.0")
    assert settled(compiler.condition({"one": {"absent": True}}), other, free) is True
    assert narrow(compiler.condition({"two": "b"}), Configuration(sm="8.0"), free).fields == {"head_size"}
    assert narrow(compiler.condition({"one": "a"}), Configuration(), free).fields == {"head_size"}


def test_unknown_is_kept_beside_what_is_open() -> None:
    missing = Leaf("sm", lambda sm: True, None)
    left = narrow(AllOf([missing, head(64), missing]), Configuration(), {"head_size"})
    assert left.fields == {"head_size"}
    assert left.test(Configuration(head_size=64)) is None
    assert left.test(Configuration(head_size=80)) is False
    assert narrow(Not(AnyOf([missing, missing])), Configuration(), {"head_size"}).test(None) is None
