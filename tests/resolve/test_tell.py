"""What tells sizes apart: equal numbers mean equal answers, whatever was asked before, and the answers are repeated."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compatcheck.resolve import tell
from compatcheck.resolve.tell import Left, Part, Plan, Tell

NAMES = ("head", "block", "heads")
OTHERS = ("sm", "sink")
VALUES = st.integers(0, 2)


def answer(table: dict[tuple[int, ...], Hashable], fields: tuple[str, ...], facts: Any) -> Hashable:
    return table.get(tuple(getattr(facts, field) for field in fields), False)


def left(
    table: dict[tuple[int, ...], Hashable], fields: tuple[str, ...], facts: Any, free: frozenset[str]
) -> Left | None:
    """Fix the fields that are not free; drop those of the free ones that make no difference."""
    rows = {
        tuple(value for value, field in zip(key, fields, strict=True) if field in free): said
        for key, said in table.items()
        if all(field in free or value == getattr(facts, field) for value, field in zip(key, fields, strict=True))
    }
    if all(said is False for said in rows.values()):
        return None
    open_ = tuple(field for field in fields if field in free)
    if len(rows) == 3 ** len(open_) and len(set(rows.values())) == 1:
        return Left(frozenset(), lambda facts: next(iter(rows.values())))
    return Left(frozenset(open_), partial(answer, rows, open_))


@st.composite
def parts(draw: st.DrawFn) -> Part:
    fields = tuple(draw(st.lists(st.sampled_from([*NAMES, *OTHERS]), max_size=3, unique=True)))
    said: st.SearchStrategy[Hashable] = st.sampled_from([False, None, True, "text", ("a", 1)])
    table: dict[tuple[int, ...], Hashable] = draw(
        st.dictionaries(st.tuples(*[VALUES for _ in fields]), said, max_size=9)
    )
    narrow: Callable[[Any, frozenset[str]], Left | None] | None = partial(left, table, fields)
    return Part(
        frozenset(fields), partial(answer, table, fields), narrow if draw(st.booleans()) else None, draw(VALUES)
    )


@settings(max_examples=120, deadline=None)
@given(
    asked=st.lists(parts(), max_size=8),
    lines=st.lists(st.tuples(VALUES, VALUES, VALUES, VALUES, VALUES), min_size=1, max_size=40),
)
def test_equal_numbers_mean_equal_answers(asked: list[Part], lines: list[tuple[int, ...]]) -> None:
    plan = Plan(NAMES, asked)
    tells: dict[tuple[int, ...], Tell] = {}
    known: dict[tuple[int, ...], list[Hashable]] = {}
    for line in lines:
        sizes, others = line[:3], line[3:]

        def facts(sizes: tuple[Any, ...], others: tuple[int, ...] = others) -> Any:
            return SimpleNamespace(**dict(zip((*NAMES, *OTHERS), (*sizes, *others), strict=True)))

        if others not in tells:
            tells[others] = Tell(plan, facts(sizes))
        told = tells[others](sizes, facts)
        answers = [part.ask(facts(sizes)) for part in asked]
        assert known.setdefault(told, answers) == answers
        assert tells[others].said(told) == tuple((at, one) for at, one in enumerate(answers) if one is not False)
        assert tells[others](sizes, facts) == told


def counted(asked: list[Any], fields: set[str], ask: Callable[[Any], Hashable], **more: Any) -> Part:
    """Return a part that notes the facts that it is asked about."""

    def noted(facts: Any) -> Hashable:
        asked.append(facts)
        return ask(facts)

    return Part(frozenset(fields), noted, **more)


def make(sm: int) -> Callable[[tuple[Any, ...]], Any]:
    return lambda sizes: SimpleNamespace(**dict(zip(NAMES, sizes, strict=True)), sm=sm)


def test_a_question_is_asked_once_for_the_sizes_that_it_depends_on() -> None:
    asked: list[Any] = []
    plan = Plan(NAMES, [counted(asked, {"head", "sm"}, lambda facts: facts.head > 1)])
    told = [Tell(plan, make(9)((0, 0, 0)))((head, block, 0), make(9)) for head in (1, 2) for block in range(5)]
    assert len(asked) == 2
    assert len(set(told)) == 2
    Tell(plan, make(8)((0, 0, 0)))((1, 0, 0), make(8))
    assert len(asked) == 3


def test_what_sizes_do_not_open_is_asked_of_the_first_alone() -> None:
    asked: list[Any] = []
    tells = Tell(Plan(NAMES, [counted(asked, {"sm"}, lambda facts: facts.sm)]), make(9)((0, 0, 0)))
    assert len({tells((head, 0, 0), make(9)) for head in range(5)}) == 1
    assert len(asked) == 1


def test_a_question_that_is_settled_is_not_asked() -> None:
    asked: list[Any] = []
    plan = Plan(NAMES, [counted(asked, {"head", "sm"}, lambda facts: True, narrow=lambda facts, free: None)])
    tells = Tell(plan, make(9)((0, 0, 0)))
    assert tells.said(tells((1, 0, 0), make(9))) == ()
    assert asked == []


def test_other_questions_have_other_numbers() -> None:
    """On one GPU the first question is left, on the other the second: the same answer is not the same thing."""

    def left_on(sm: int) -> Callable[[Any, frozenset[str]], Left | None]:
        here = Left(frozenset({"head"}), lambda facts: facts.head)
        return lambda facts, free: here if facts.sm == sm else None

    parts = [Part(frozenset({"head", "sm"}), lambda facts: facts.head, left_on(sm)) for sm in (8, 9)]
    plan = Plan(NAMES, parts)
    first, second = (Tell(plan, make(sm)((0, 0, 0))) for sm in (8, 9))
    one, other = first((1, 0, 0), make(8)), second((1, 0, 0), make(9))
    assert one != other
    assert (first.said(one), second.said(other)) == (((0, 1),), ((1, 1),))


def test_numbers_stay_when_what_is_known_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tell, "_MANY", 3)
    asked: list[Any] = []
    plan = Plan(NAMES, [counted(asked, {"head", "sm"}, lambda facts: (facts.head % 2, facts.sm % 2))])
    told: dict[Any, set[tuple[int, ...]]] = {}
    for _ in range(2):
        for sm in range(8):
            tells = Tell(plan, make(sm)((0, 0, 0)))
            for head in range(8):
                numbers = tells((head, 0, 0), make(sm))
                told.setdefault((head % 2, sm % 2), set()).add(numbers)
                assert tells.said(numbers) == ((0, (head % 2, sm % 2)),)
    assert len(asked) > 64  # some were asked again
    assert [len(numbers) for numbers in told.values()] == [1] * 4
    assert len(set[tuple[int, ...]]().union(*told.values())) == 4
