"""A cell that takes its process down costs itself only."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compatcheck.smoke.outcome import Expectation
from tests.smoke.conftest import drive, fake

WAYS = [
    ("segfaulting", "crashed", "SIGSEGV"),
    ("aborting", "crashed", "SIGABRT"),
    ("exiting", "crashed", "status 7"),
    ("illegal-address", "crashed", "illegal memory access"),
    ("out-of-memory", "crashed", ""),
    ("hanging", "timeout", "no answer within 2 s"),
    ("dying-with-a-child", "crashed", "status 3"),
    ("stopping", "timeout", "no answer within 2 s"),
    ("closing-its-pipes", "crashed", "closed its pipe"),
    ("without-descriptors", "crashed", "Too many open files"),
    ("recursing", "crashed", "recursion"),
    ("beyond", "crashed", "gone"),
    ("interrupted", "crashed", ""),
    ("unheard-of", "crashed", "splendid"),
]


@pytest.mark.parametrize(("driver", "outcome", "words"), WAYS)
def test_a_broken_kernel_costs_its_own_cell_only(driver: str, outcome: str, words: str) -> None:
    cells = [fake("fine", "before"), fake(driver, "broken"), fake("fine", "after")]
    results, runner = drive(cells, timeout=2.0)
    assert list(results) == ["before", "broken", "after"]
    assert [results[i].outcome for i in ("before", "broken", "after")] == ["correct", outcome, "correct"]
    assert words in (results["broken"].text or "")
    assert results["broken"].reruns == 1, "a failure is run once more before it is believed"
    assert runner.worker_starts == 3, "one for what came before, one for the second try, one for what comes after"


def test_all_five_in_one_run() -> None:
    cells = [fake(driver, driver) for driver, _, _ in WAYS] + [fake("fine", f"fine{i}") for i in range(4)]
    results, _ = drive(cells, timeout=2.0)
    assert {results[driver].outcome for driver, _, _ in WAYS} == {"crashed", "timeout"}
    assert all(results[f"fine{i}"].outcome == "correct" for i in range(4))


def test_out_of_memory_is_named() -> None:
    results, _ = drive([fake("out-of-memory", "oom")])
    assert results["oom"].exception == "MemoryError"


def test_one_process_serves_many_cells(journal: Callable[[], list[str]]) -> None:
    results, runner = drive([fake("fine", f"cell{i}") for i in range(12)])
    assert len(results) == 12
    assert len({line.rpartition("=")[2] for line in journal()}) == 1
    assert runner.worker_starts == 1


def test_a_failure_that_a_fresh_process_does_not_show_is_not_believed(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("SMOKE_TEST_MARK", str(tmp_path_factory.mktemp("mark") / "seen"))
    results, _ = drive([fake("miscounting", "flaky")])
    assert results["flaky"].outcome == "correct"
    assert results["flaky"].reruns == 1
    assert results["flaky"].notes["first_attempt"]["outcome"] == "wrong"


def test_a_declared_refusal_is_believed_at_once(journal: Callable[[], list[str]]) -> None:
    expected = Expectation(kind="refused", exception="ValueError", match=r"head \d+ is not for us")
    results, _ = drive([fake("refusing", "no", expected=expected)])
    assert results["no"].outcome == "refused"
    assert len(journal()) == 1
    text = results["no"].text or ""
    assert "someone" not in text
    assert "build-host" not in text


def test_the_libraries_output_does_not_disturb_the_protocol() -> None:
    results, _ = drive([fake("fine", "noisy")])
    assert results["noisy"].outcome == "correct"


def test_an_answer_is_never_taken_for_another_cells() -> None:
    cells = [fake("forking", "twice"), fake("stopping", "mute"), fake("fine", "after")]
    results, _ = drive(cells, timeout=2.0)
    assert [results[i].outcome for i in ("twice", "mute", "after")] == ["correct", "timeout", "correct"]


@pytest.mark.parametrize(
    ("driver", "outcome", "errors"),
    [
        ("too-far-off", "wrong", {"out": 5.0}),
        ("not-a-number", "wrong", {"out": 1e30}),
        ("uncompared", "passed", {}),
    ],
)
def test_right_is_only_what_its_errors_bear_out(driver: str, outcome: str, errors: dict[str, float]) -> None:
    results, _ = drive([fake(driver, "claim")], rerun=False)
    assert (results["claim"].outcome, results["claim"].errors) == (outcome, errors)


@pytest.mark.parametrize("driver", ["half-characters", "megabytes"])
def test_a_refusal_is_seen_whatever_its_text(driver: str) -> None:
    expected = Expectation(kind="refused", exception="ValueError", match=r"head \d+ is not for us")
    results, _ = drive([fake(driver, "no", expected=expected)])
    assert (results["no"].outcome, results["no"].reruns) == ("refused", 0)


def test_an_exception_without_words_is_told_apart_from_a_crash() -> None:
    results, _ = drive([fake("silent", "no")], rerun=False)
    assert (results["no"].outcome, results["no"].exception) == ("refused", "SilentError")
