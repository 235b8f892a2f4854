"""Three-valued conditions: Kleene's laws, nothing decided is ever taken back, and what is missing is named."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compatcheck.resolve.conditions import AllOf, AnyOf, Compiler, ConditionError, Constant, Not, Predicate
from compatcheck.resolve.configuration import FIELDS, NULLABLE, Configuration

SMS = ("7.5", "8.0", "8.9", "9.0", "10.0", "10.3", "12.0")
COMPILER = Compiler(dict.fromkeys(SMS), frozenset(FIELDS))
MISSABLE: dict[str, list[Any]] = {
    "sm": list(SMS),
    "head_size": [64, 80, 128, 256],
    "use_mla": [True, False],
    "kv_cache_dtype": ["auto", "fp8", "fp8_e4m3", "nvfp4", "nvfp4_ds_mla"],
    "flashinfer_version": ["0.6.14", "0.6.15.dev1", "0.6.15", "0.7.0+cu130"],
}
"""Fields whose absence means not known, with values to try."""


class Known(Constant):
    """A predicate with a fixed answer, unknown included."""

    def __init__(self, value: bool | None) -> None:
        super().__init__(bool(value))
        self.answer = value

    def test(self, facts: Any) -> bool | None:
        return self.answer

    def missing(self, facts: Any) -> frozenset[str]:
        return frozenset({"x"}) if self.answer is None else frozenset()


THREE: tuple[bool | None, ...] = (True, False, None)
ORDER: dict[bool | None, int] = {False: 0, None: 1, True: 2}


@pytest.mark.parametrize(("a", "b", "c"), list(product(THREE, repeat=3)))
def test_kleene(a: bool | None, b: bool | None, c: bool | None) -> None:
    one, two, three = Known(a), Known(b), Known(c)

    def value(predicate: Predicate) -> bool | None:
        return predicate.test(None)

    assert value(AllOf([one, two, three])) is min(a, b, c, key=ORDER.__getitem__)
    assert value(AnyOf([one, two, three])) is max(a, b, c, key=ORDER.__getitem__)
    assert value(Not(Not(one))) is a
    assert value(Not(AllOf([one, two]))) is value(AnyOf([Not(one), Not(two)]))
    assert value(Not(AnyOf([one, two]))) is value(AllOf([Not(one), Not(two)]))
    assert value(AllOf([one, AnyOf([two, three])])) is value(AnyOf([AllOf([one, two]), AllOf([one, three])]))
    for whole in (AllOf([one, two, three]), AnyOf([one, two, three])):
        assert (whole.missing(None) == frozenset()) is (whole.test(None) is not None)


def test_empty_conjunction_holds_and_empty_disjunction_does_not() -> None:
    assert AllOf([]).test(None) is True
    assert AnyOf([]).test(None) is False
    assert COMPILER.condition(None).test(None) is True
    assert COMPILER.condition({}).test(None) is True


# ------------------------------------------------------------------------------- random conditions

NUMBERS = st.integers(32, 300)
KV = st.sampled_from(MISSABLE["kv_cache_dtype"])
SM = st.sampled_from([*SMS, "8.x", "10.x"])


def one_or_list(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return items | st.lists(items, min_size=1, max_size=3)


LEAVES = st.one_of(
    st.fixed_dictionaries({"sm": one_or_list(SM) | st.fixed_dictionaries({"not": one_or_list(SM)})}),
    st.fixed_dictionaries({"use_mla": st.booleans()}),
    st.fixed_dictionaries({"kv_cache_dtype": one_or_list(KV) | st.fixed_dictionaries({"not": one_or_list(KV)})}),
    st.fixed_dictionaries(
        {"kv_cache_dtype": st.sampled_from([{"prefix": "nvfp4"}, {"suffix": "ds_mla", "prefix": "nv"}])}
    ),
    st.fixed_dictionaries(
        {
            "head_size": one_or_list(st.sampled_from([64, 128]))
            | st.dictionaries(st.sampled_from(["lt", "le", "gt", "ge", "multiple_of"]), NUMBERS, min_size=1, max_size=2)
            | st.fixed_dictionaries({"not": st.fixed_dictionaries({"multiple_of": st.sampled_from([64, 128])})})
        }
    ),
    st.fixed_dictionaries(
        {"flashinfer_version": st.sampled_from([">=0.6.15", "<0.6.15.dev0", "==0.6.*", ">=0.6.15.dev0,<0.7"])}
    ),
    st.fixed_dictionaries({"block_size": st.sampled_from([{"absent": True}, {"absent": False}, 16, {"not": 16}])}),
)
CONDITIONS: st.SearchStrategy[dict[str, Any]] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"all_of": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"any_of": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"not": inner}),
        st.tuples(inner, inner).map(lambda pair: {**pair[0], **pair[1]}),
    ),
    max_leaves=8,
)
COMPLETE = st.fixed_dictionaries(
    {name: st.sampled_from(values) for name, values in MISSABLE.items()}
    | {"block_size": st.sampled_from([None, 16, 32])}
)
HIDDEN = st.sets(st.sampled_from(list(MISSABLE)))


def partly(complete: dict[str, Any], hidden: set[str]) -> Configuration:
    return Configuration(**{name: value for name, value in complete.items() if name not in hidden})


@given(CONDITIONS, COMPLETE)
def test_all_facts_decide(condition: dict[str, Any], complete: dict[str, Any]) -> None:
    predicate = COMPILER.condition(condition)
    facts = Configuration(**complete)
    assert predicate.test(facts) is holds(condition, complete)
    assert predicate.missing(facts) == frozenset()


@given(CONDITIONS, COMPLETE, HIDDEN, HIDDEN)
def test_more_facts_never_flip_an_answer(
    condition: dict[str, Any], complete: dict[str, Any], hidden: set[str], revealed: set[str]
) -> None:
    predicate = COMPILER.condition(condition)
    before = predicate.test(partly(complete, hidden))
    after = predicate.test(partly(complete, hidden - revealed))
    assert before is None or after is before


@given(CONDITIONS, COMPLETE, HIDDEN)
def test_missing_facts_are_named_and_suffice(
    condition: dict[str, Any], complete: dict[str, Any], hidden: set[str]
) -> None:
    predicate = COMPILER.condition(condition)
    facts = partly(complete, hidden)
    missing = predicate.missing(facts)
    assert missing <= hidden & predicate.fields
    assert bool(missing) is (predicate.test(facts) is None)
    assert predicate.test(partly(complete, hidden - missing)) is not None


@given(CONDITIONS, COMPLETE, HIDDEN)
def test_negation_turns_around(condition: dict[str, Any], complete: dict[str, Any], hidden: set[str]) -> None:
    facts = partly(complete, hidden)
    answer = COMPILER.condition(condition).test(facts)
    assert COMPILER.condition({"not": condition}).test(facts) is (None if answer is None else not answer)


@given(CONDITIONS, COMPLETE, st.sampled_from(list(MISSABLE)), st.data())
def test_facts_that_are_not_asked_do_not_matter(
    condition: dict[str, Any], complete: dict[str, Any], field: str, data: st.DataObject
) -> None:
    predicate = COMPILER.condition(condition)
    if field not in predicate.fields:
        other = {**complete, field: data.draw(st.sampled_from(MISSABLE[field]))}
        assert predicate.test(Configuration(**complete)) is predicate.test(Configuration(**other))


def holds(condition: dict[str, Any], facts: dict[str, Any]) -> bool:
    """A second, slow and plain reading of conditions, for complete facts."""
    return all(entry_holds(key, constraint, facts) for key, constraint in condition.items())


def entry_holds(key: str, constraint: Any, facts: dict[str, Any]) -> bool:
    if key == "all_of":
        return all(holds(part, facts) for part in constraint)
    if key == "any_of":
        return any(holds(part, facts) for part in constraint)
    if key == "not":
        return not holds(constraint, facts)
    value = facts[key]
    if key == "flashinfer_version":
        from packaging.specifiers import SpecifierSet

        return SpecifierSet(constraint).contains(value.partition("+")[0], prereleases=True)
    return fits(value, constraint, key)


def fits(value: Any, constraint: Any, key: str) -> bool:
    if isinstance(constraint, list):
        return any(fits(value, item, key) for item in constraint)
    if not isinstance(constraint, dict):
        if key == "sm" and constraint.endswith("x"):
            return bool(value.startswith(constraint[:-1]))
        return bool(value == constraint)
    tests: dict[str, Callable[[Any], bool]] = {
        "not": lambda x: not fits(value, x, key),
        "absent": lambda x: (value is None) is x,
        "prefix": lambda x: value[: len(x)] == x,
        "suffix": lambda x: value[-len(x) :] == x,
        "lt": lambda x: value < x,
        "le": lambda x: value <= x,
        "gt": lambda x: value > x,
        "ge": lambda x: value >= x,
        "multiple_of": lambda x: value // x * x == value,
    }
    return all(tests[name](operand) for name, operand in constraint.items())


# -------------------------------------------------------------------------------------- by example


@pytest.mark.parametrize(
    ("constraint", "of_absent", "of_16"),
    [
        ({"absent": True}, True, False),
        ({"absent": False}, False, True),
        (16, False, True),
        ([16, 32], False, True),
        ({"not": 16}, True, False),
        ({"not": {"multiple_of": 32}}, True, True),
        ({"not": {"absent": True}}, False, True),
        ({"not": 32, "absent": False}, False, True),
        ({"multiple_of": 16}, False, True),
    ],
)
def test_absence_that_is_an_answer(constraint: Any, of_absent: bool, of_16: bool) -> None:
    assert "block_size" in NULLABLE
    predicate = COMPILER.condition({"block_size": constraint})
    assert predicate.test(Configuration()) is of_absent
    assert predicate.test(Configuration(block_size=16)) is of_16


def test_text_never_equals_a_number() -> None:
    assert COMPILER.condition({"head_size": "64"}).test(Configuration(head_size=64)) is False


@pytest.mark.parametrize(
    ("condition", "path", "says"),
    [
        ({"hed_size": 1}, ("hed_size",), "unknown field"),
        ({"sm": "13.0"}, ("sm",), "neither"),
        ({"sm": {"ge": 100}}, ("sm",), "never a bound"),
        ({"sm": 9.0}, ("sm",), "neither"),
        ({"head_size": {"above": 1}}, ("above",), "unknown comparison"),
        ({"flashinfer_version": "new"}, ("flashinfer_version",), "PEP 440"),
        ({"flashinfer_version": 0.6}, ("flashinfer_version",), "quoted"),
        ({"any_of": {}}, ("any_of",), "list of conditions"),
        ({"any_of": [{"sm": "9.0"}, 5]}, ("any_of", 1), "expected a condition"),
        ({"all_of": [{"not": {"x": 1}}]}, ("all_of", 0, "not", "x"), "unknown field"),
    ],
)
def test_errors_lead_to_their_place(condition: dict[str, Any], path: tuple[str | int, ...], says: str) -> None:
    with pytest.raises(ConditionError, match=says) as caught:
        COMPILER.condition(condition)
    assert caught.value.path == path
