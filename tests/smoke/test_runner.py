from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from compatcheck.smoke.outcome import Expectation
from compatcheck.smoke.runner import Watcher
from tests.smoke.conftest import drive, fake


def test_no_module_is_built_twice(journal: Callable[[], list[str]]) -> None:
    cells = [fake("fine", f"cell{i}", head_size=64 + i % 3) for i in range(12)]
    results, runner = drive(cells, compilers=3)
    builds = [line for line in journal() if line.startswith("build")]
    assert sorted(builds) == ["build module-64", "build module-65", "build module-66"]
    assert runner.modules_built == 3
    assert runner.compile_seconds >= 0.15
    assert all(r.outcome == "correct" for r in results.values())


def test_cells_without_modules_do_not_wait_for_compilers(journal: Callable[[], list[str]]) -> None:
    drive([fake("heavy", "slow", head_size=64), fake("fine", "quick")])
    runs = [line.split()[1] for line in journal() if line.startswith("run")]
    assert runs == ["quick", "slow"]


def test_dear_modules_are_built_one_at_a_time(journal: Callable[[], list[str]]) -> None:
    drive([fake("heavy", f"c{i}", head_size=i) for i in range(3)], compilers=3, dear_compilers=1)
    steps = [line.split()[0] for line in journal() if line.split()[0] in ("start", "end")]
    assert steps == ["start", "end"] * 3


def test_a_build_that_fails_decides_every_cell_that_needs_it(journal: Callable[[], list[str]]) -> None:
    cells = [fake("unbuildable", f"cell{i}") for i in range(3)] + [fake("fine", "other", head_size=64)]
    results, _ = drive(cells)
    assert [results[f"cell{i}"].outcome for i in range(3)] == ["compile-error"] * 3
    assert results["other"].outcome == "correct"
    assert journal().count("build unbuildable") == 1
    text = results["cell0"].text or ""
    assert len(text) < 2500
    assert "static assertion" in text, "the compiler's error survives the shortening"


def test_a_refused_cell_builds_nothing_ahead(journal: Callable[[], list[str]]) -> None:
    expected = Expectation(kind="refused", exception="ValueError", match="never")
    drive([fake("unbuildable", "no", expected=expected)])
    assert not [line for line in journal() if line.startswith("build")]


def test_level_compile_runs_nothing(journal: Callable[[], list[str]]) -> None:
    results, _ = drive([fake("fine", "a", head_size=64), fake("unbuildable", "b")], level="compile")
    assert (results["a"].outcome, results["a"].level) == ("passed", "compile")
    assert results["b"].outcome == "compile-error"
    assert not [line for line in journal() if line.startswith("run")]


def test_level_import_builds_nothing(journal: Callable[[], list[str]]) -> None:
    results, _ = drive([fake("fine", "a", head_size=64)], level="import")
    assert (results["a"].outcome, results["a"].level) == ("passed", "import")
    assert not journal()


def test_the_budget_ends_a_run_and_kills_what_hangs() -> None:
    started = time.monotonic()
    results, _ = drive([fake("fine", "a"), fake("hanging", "b"), fake("fine", "c")], budget=3.0, timeout=600.0)
    assert time.monotonic() - started < 30
    assert "a" in results
    assert "b" not in results, "a cell that was cut off has no result, so that --resume runs it"


def test_several_devices_share_the_cells(journal: Callable[[], list[str]]) -> None:
    devices = (("cpu", {"WHO": "0"}), ("cpu", {"WHO": "1"}))
    results, _ = drive([fake("fine", f"c{i}", head_size=64) for i in range(20)], devices=devices)
    assert len(results) == 20
    assert len({line.rpartition("=")[2] for line in journal() if line.startswith("run")}) == 2


def test_the_watcher_hears_of_everything() -> None:
    heard: list[str] = []
    lock = threading.Lock()

    class Ear(Watcher):
        def compiling(self, keys: Sequence[str]) -> None:
            with lock:
                heard.append(f"compiling {','.join(keys)}")

        def compiled(self, key: str, seconds: float, failed: bool) -> None:
            with lock:
                heard.append(f"compiled {key} {failed}")

    drive([fake("fine", "a", head_size=64), fake("unbuildable", "b")], watcher=Ear())
    assert "compiling module-64" in heard
    assert "compiled module-64 False" in heard
    assert "compiled unbuildable True" in heard
