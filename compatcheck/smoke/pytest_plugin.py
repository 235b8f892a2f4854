"""pytest plugin: `pytest --compatcheck` collects the cells of the local GPU as test items with their ids.

A declared refusal is a strict xfail: it passes the run by failing in the declared way, and breaks it by working. An
advisory is an xfail that is not strict, since one shape of several may be right. torch is imported only in the worker.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from compatcheck.smoke.levels import LEVELS

if TYPE_CHECKING:
    from compatcheck.smoke.cell import SmokeCell
    from compatcheck.smoke.outcome import Result
    from compatcheck.smoke.process import WorkerProcess

_WORKER: pytest.StashKey[Any] = pytest.StashKey()


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 1 <= seconds < float("inf"):
        raise ValueError(text)
    return seconds


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("compatcheck", "compatcheck kernel cells")
    group.addoption("--compatcheck", action="store_true", help="collect the kernel cells of the local GPU")
    group.addoption(
        "--compatcheck-only", action="append", default=[], metavar="GLOB", help="only cells whose id matches"
    )
    group.addoption("--compatcheck-level", choices=LEVELS, default="correct", help="how far to take each cell")
    group.addoption("--compatcheck-matrix", default=None, help="another matrix than the packaged one")
    group.addoption(
        "--compatcheck-kernels", default="compatcheck.smoke.kernels:KERNELS", help="module:name of the kernels"
    )
    group.addoption("--compatcheck-timeout", type=_seconds, default=60.0, help="seconds for one cell")


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add one item per cell."""
    if not config.getoption("--compatcheck"):
        return
    root = CellCollector.from_parent(session, name="compatcheck", nodeid="compatcheck")
    items.extend(root.collect())


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the worker."""
    worker = config.stash.get(_WORKER, None)
    if worker is not None:
        worker.close()


class CellCollector(pytest.Collector):
    """Collects the cells of the local GPU, in the order in which they would run."""

    def collect(self) -> Iterator[CellItem]:
        """Plan the cells; nothing is run and no library imported."""
        from pathlib import Path

        from compatcheck.matrix.errors import MatrixError
        from compatcheck.smoke.command import Here, UsageError, plan_cells
        from compatcheck.smoke.options import SmokeOptions
        from compatcheck.smoke.worker import load_kernels

        matrix = self.config.getoption("--compatcheck-matrix")
        options = SmokeOptions(
            only=tuple(self.config.getoption("--compatcheck-only")),
            level=self.config.getoption("--compatcheck-level"),
            matrix=Path(matrix) if matrix else None,
            kernels=self.config.getoption("--compatcheck-kernels"),
        )
        from compatcheck.matrix.load import load

        try:
            loaded = load(options.matrix)
            here = Here(options, loaded)
            cells = plan_cells(options, loaded, here, load_kernels(options.kernels)).cells
        except (MatrixError, UsageError) as error:
            raise pytest.UsageError(str(error)) from error
        except (ImportError, AttributeError) as error:
            raise pytest.UsageError(f"--compatcheck-kernels {options.kernels}: {error}") from error
        device = here.devices()[0]
        for cell in cells:
            item = CellItem.from_parent(self, name=cell.id, cell=cell, device=device)
            mark = _mark(cell)
            if mark is not None:
                item.add_marker(mark)
            yield item


class CellItem(pytest.Item):
    """One cell."""

    def __init__(self, *, cell: SmokeCell, device: tuple[str, dict[str, str]], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cell = cell
        self.device = device

    def runtest(self) -> None:
        """Run the cell in the worker; raise what it did where that is no success."""
        from compatcheck.smoke.judge import judge

        result, kind = self._result(), self.cell.expected.kind
        judgement, why = judge(self.cell.expected, result)
        if judgement == "unproven" and (result.outcome != "passed" or kind in ("refused", "compile-error")):
            # A refusal that comes at launch is not there at a lower level: neither kept nor broken.
            pytest.skip(why)
        if result.outcome in ("correct", "passed"):
            return
        if kind not in ("supported", "unknown") and judgement == "confirmed":
            raise AsDeclaredError(why)
        raise CellError(f"{why}\n{result.exception or ''}: {result.text or ''}\n{result.errors or ''}".strip())

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """Show the reason, no traceback into pytest."""
        return str(excinfo.value)

    def reportinfo(self) -> tuple[str, None, str]:
        """The cell's id."""
        return "compatcheck", None, self.cell.id

    def _result(self) -> Result:
        from compatcheck.smoke.runner import RunnerOptions, run_one

        worker = self._worker()
        options = RunnerOptions(
            level=self.config.getoption("--compatcheck-level"),
            timeout=self.config.getoption("--compatcheck-timeout"),
        )
        return run_one(worker, self.cell, self.device[0], options)

    def _worker(self) -> WorkerProcess:
        from compatcheck.smoke.process import WorkerProcess

        worker = self.config.stash.get(_WORKER, None)
        if worker is None:
            worker = WorkerProcess(kernels=self.config.getoption("--compatcheck-kernels"), environ=self.device[1])
            self.config.stash[_WORKER] = worker
        made: WorkerProcess = worker
        return made


class AsDeclaredError(AssertionError):
    """The cell failed in the way that the matrix declares."""


class CellError(AssertionError):
    """The cell did something else than the matrix says."""


def _mark(cell: SmokeCell) -> pytest.MarkDecorator | None:
    expected = cell.expected
    if expected.kind in ("refused", "compile-error", "absent"):
        return pytest.mark.xfail(raises=AsDeclaredError, strict=True, reason=expected.code or expected.reason or "")
    if expected.kind in ("wrong", "varies"):
        return pytest.mark.xfail(raises=AsDeclaredError, strict=False, reason=expected.code or "")
    return None
