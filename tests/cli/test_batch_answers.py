"""Answers of a part: each text is written once, and joined by number in the order of the lines."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compatcheck.cli import batch_answers
from compatcheck.cli.batch_answers import AT_ONCE, Answers, join
from compatcheck.resolve.verdict import Verdict

VERDICTS = [
    Verdict(verdict="supported", engine_accepts=True),
    Verdict(verdict="unsupported", engine_accepts=False, engine_reasons=("größe\n",)),
    Verdict(verdict="unknown", engine_accepts=None, missing=("sm",)),
    Verdict(verdict="degraded", engine_accepts=True, untested="x" * 5000),
]


def text(verdict: Verdict) -> bytes:
    return msgspec.json.encode(verdict) + b"\n"


def test_each_object_is_written_once() -> None:
    with tempfile.TemporaryFile() as file:
        answers = Answers(file)
        answers.write([VERDICTS[0], VERDICTS[1], VERDICTS[0]])
        answers.write([VERDICTS[1], VERDICTS[2]])
        told = answers.told()
        file.seek(0)
        assert file.read() == b"".join(map(text, VERDICTS[:3]))
    assert list(told.lines) == [0, 1, 0, 1, 2]
    assert list(told.ends) == [0, *(sum(len(text(v)) for v in VERDICTS[: n + 1]) for n in range(3))]
    assert told.seen == {"supported", "unsupported", "unknown"}


@settings(max_examples=40, deadline=None)
@given(
    runs=st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 3), max_size=40)), max_size=12),
    long=st.integers(0, 3 * AT_ONCE),
)
def test_joined_in_the_order_of_the_lines(runs: list[tuple[int, list[int]]], long: int) -> None:
    order = [*((part, [VERDICTS[n] for n in which]) for part, which in runs), (1, [VERDICTS[2]] * long)]
    order += [(part, [VERDICTS[3]]) for part in range(3)]  # an empty part has nothing to map
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        parts = [Answers(file) for file in files]
        for part, verdicts in order:
            parts[part].write(verdicts)
        out = io.BytesIO()
        told = [part.told() for part in parts]
        runs_of = [[at for at, (part, _) in enumerate(order) if part == one] for one in range(3)]
        join([len(verdicts) for _, verdicts in order], zip(files, told, runs_of, strict=True), out)
    assert out.getvalue() == b"".join(text(verdict) for _, verdicts in order for verdict in verdicts)


def test_objects_that_are_gone_are_not_taken_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """An id is used again as soon as its object is gone: what was written is kept alive, or forgotten with it."""
    monkeypatch.setattr(batch_answers, "KEPT", 3)

    def made() -> Iterator[Verdict]:
        for number in range(200):
            yield Verdict(verdict="unknown", engine_accepts=None, untested=str(number))

    with tempfile.TemporaryFile() as file:
        answers = Answers(file)
        answers.write(made())
        out = io.BytesIO()
        join([200], [(file, answers.told(), [0])], out)
    assert out.getvalue() == b"".join(map(text, made()))
