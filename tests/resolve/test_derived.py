"""Decision lists: first case that holds, unknown only where the open cases disagree, never taken back."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compatcheck.matrix.model import FactCase
from compatcheck.resolve.conditions import UNKNOWN, Compiler
from compatcheck.resolve.configuration import FIELDS, Configuration
from compatcheck.resolve.derived import DecisionList

from .test_conditions import COMPILER, COMPLETE, CONDITIONS, HIDDEN, SMS, holds, partly

CASES = st.lists(st.builds(FactCase, value=st.sampled_from(["a", "b", None]), when=CONDITIONS | st.none()), max_size=5)


@given(CASES, COMPLETE)
def test_first_case_that_holds(cases: list[FactCase], complete: dict[str, Any]) -> None:
    expected = next((c.value for c in cases if c.when is None or holds(c.when, complete)), None)
    assert DecisionList(cases, COMPILER).value(Configuration(**complete)) == expected


@given(CASES, COMPLETE, HIDDEN, HIDDEN)
def test_more_facts_never_flip_a_value(
    cases: list[FactCase], complete: dict[str, Any], hidden: set[str], revealed: set[str]
) -> None:
    decisions = DecisionList(cases, COMPILER)
    before = decisions.value(partly(complete, hidden))
    assert before is UNKNOWN or decisions.value(partly(complete, hidden - revealed)) == before


@given(CASES, COMPLETE, HIDDEN)
def test_missing_facts_are_named_and_suffice(cases: list[FactCase], complete: dict[str, Any], hidden: set[str]) -> None:
    decisions = DecisionList(cases, COMPILER)
    facts = partly(complete, hidden)
    missing = decisions.missing(facts)
    assert missing <= hidden & decisions.fields
    assert bool(missing) is (decisions.value(facts) is UNKNOWN)
    assert decisions.value(partly(complete, hidden - missing)) is not UNKNOWN


@given(CASES, CONDITIONS, COMPLETE, HIDDEN, HIDDEN)
def test_conditions_on_derived_facts_are_monotonic_too(
    cases: list[FactCase], condition: dict[str, Any], complete: dict[str, Any], hidden: set[str], revealed: set[str]
) -> None:
    compiler = Compiler(dict.fromkeys(SMS), frozenset(FIELDS), {"fact": DecisionList(cases, COMPILER)})
    predicate = compiler.condition({"any_of": [{"fact": "a"}, {"not": {"fact": ["b"]}, **condition}]})
    before = predicate.test(partly(complete, hidden))
    after = predicate.test(partly(complete, hidden - revealed))
    assert before is None or before is after
    missing = predicate.missing(partly(complete, hidden))
    assert bool(missing) is (before is None)
    assert predicate.test(partly(complete, hidden - missing)) is not None


def test_open_cases_that_agree_give_the_value() -> None:
    cases = [FactCase(value=1, when={"use_mla": True}), FactCase(value=1, when={"head_size": 64}), FactCase(value=1)]
    decisions = DecisionList(cases, COMPILER)
    assert decisions.value(Configuration()) == 1
    assert decisions.missing(Configuration()) == frozenset()


def test_open_cases_that_differ_name_what_is_missing() -> None:
    cases = [FactCase(value=1, when={"use_mla": True}), FactCase(value=2, when={"head_size": 64}), FactCase(value=2)]
    decisions = DecisionList(cases, COMPILER)
    assert decisions.value(Configuration()) is UNKNOWN
    assert decisions.missing(Configuration()) == {"use_mla", "head_size"}
    assert decisions.value(Configuration(use_mla=False)) == 2


def test_a_list_that_runs_out_gives_none_which_equals_nothing() -> None:
    decisions = DecisionList([FactCase(value="a", when={"use_mla": True})], COMPILER)
    compiler = Compiler(dict.fromkeys(SMS), frozenset(FIELDS), {"fact": decisions})
    facts = Configuration(use_mla=False)
    assert decisions.value(facts) is None
    assert compiler.condition({"fact": "a"}).test(facts) is False
    assert compiler.condition({"fact": {"not": "a"}}).test(facts) is True
    assert compiler.condition({"fact": {"absent": True}}).test(facts) is True
