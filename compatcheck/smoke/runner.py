"""Compile ahead in parallel, run on each GPU one at a time, believe no failure that was not seen twice.

Threads only wait for workers; all state is guarded by one condition. A crash, hang or fault of a cell costs that cell
and its worker, never the run.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from compatcheck.smoke import protocol
from compatcheck.smoke.cell import SmokeCell
from compatcheck.smoke.classify import build_failed, build_killed, classify
from compatcheck.smoke.judge import borne_out, settled
from compatcheck.smoke.kernels.base import SmokeKernel
from compatcheck.smoke.levels import reaches
from compatcheck.smoke.measure import INFINITE
from compatcheck.smoke.modules import Module, ModuleTable
from compatcheck.smoke.outcome import Result
from compatcheck.smoke.process import WorkerGoneError, WorkerProcess
from compatcheck.smoke.scrub import scrub

_TEXT = 1200


class RunnerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to run. Times in seconds; `budget` ends the run early, leaving the rest for --resume.

    `devices` are the device names as the worker's torch calls them, each with the environment that makes it visible.
    `compilers` is the number of modules built at once, `dear_compilers` of those that take minutes and gigabytes.
    """

    level: str = "correct"
    timeout: float = 60.0
    compile_timeout: float = 900.0
    budget: float | None = None
    compilers: int = 1
    dear_compilers: int = 1
    kernels: str = "compatcheck.smoke.kernels:KERNELS"
    devices: tuple[tuple[str, dict[str, str]], ...] = (("cpu", {}),)
    compile_environ: dict[str, str] = {}
    rerun: bool = True
    python: str | None = None


class Watcher:
    """What the runner tells of its progress; the base says nothing."""

    def compiling(self, keys: Sequence[str]) -> None:
        """These modules are being built now."""

    def compiled(self, key: str, seconds: float, failed: bool) -> None:
        """A module was built, or failed to."""

    def running(self, cell: SmokeCell) -> None:
        """A cell starts."""

    def finished(self, cell: SmokeCell, result: Result) -> None:
        """A cell is done."""


class Runner:
    """Runs cells in order. `on_result` is called under the lock for every result, in the order they come."""

    def __init__(
        self,
        cells: Sequence[SmokeCell],
        kernels: Mapping[str, SmokeKernel],
        options: RunnerOptions,
        on_result: Callable[[SmokeCell, Result], None],
        watcher: Watcher | None = None,
    ) -> None:
        self._options = options
        self._on_result = on_result
        self._watcher = watcher or Watcher()
        self._changed = threading.Condition()
        self._pending = list(cells)
        self._table = ModuleTable(
            cells if reaches(options.level, "compile") else [], dict(kernels), options.dear_compilers
        )
        self._workers: list[WorkerProcess] = []
        self._stop = False
        self._error: BaseException | None = None
        self.compile_seconds = 0.0
        self.worker_starts = 0
        self.modules_built = 0

    def run(self) -> bool:
        """Run everything; return False where the budget ended first. Raises KeyboardInterrupt after cleaning up."""
        threads = [
            threading.Thread(target=self._guard, args=(self._compile_loop,), name="compile")
            for _ in range(min(self._options.compilers, len(self._table.modules)))
        ]
        devices = self._options.devices if reaches(self._options.level, "launch") else self._options.devices[:1]
        threads += [
            threading.Thread(target=self._guard, args=(lambda d=device: self._device_loop(*d),), name=device[0])
            for device in devices
        ]
        started = time.monotonic()
        for thread in threads:
            thread.start()
        in_time = True
        try:
            while any(thread.is_alive() for thread in threads):
                for thread in threads:
                    thread.join(0.05)
                budget = self._options.budget
                if budget is not None and time.monotonic() - started > budget and not self._stop:
                    in_time = False
                    self._halt()
        except BaseException:
            self._halt()
            raise
        finally:
            for thread in threads:
                thread.join()
            for worker in self._workers:
                self.worker_starts += worker.starts
                worker.kill()
        if self._error is not None:
            raise self._error
        return in_time

    def _halt(self) -> None:
        with self._changed:
            self._stop = True
            workers = list(self._workers)
            self._changed.notify_all()
        for worker in workers:
            worker.interrupt()

    def _guard(self, loop: Callable[[], None]) -> None:
        try:
            loop()
        except BaseException as error:
            with self._changed:
                stopping = self._stop
            if not stopping:
                self._error = error
                self._halt()

    def _worker(self, environ: dict[str, str]) -> WorkerProcess:
        worker = WorkerProcess(kernels=self._options.kernels, environ=environ, python=self._options.python)
        with self._changed:
            self._workers.append(worker)
        return worker

    # ------------------------------------------------------------------------------------------ compilation

    def _compile_loop(self) -> None:
        worker = self._worker({**self._options.compile_environ})
        while (module := self._next_module()) is not None:
            self._build(worker, module)
        worker.close()

    def _next_module(self) -> Module | None:
        """Wait for a module that may be built now; None where none is left."""
        with self._changed:
            while not self._stop and self._table.open:
                module = self._table.next()
                if module is not None:
                    self._watcher.compiling(self._table.building)
                    return module
                self._changed.wait()
            return None

    def _build(self, worker: WorkerProcess, module: Module) -> None:
        started = time.monotonic()
        failure = self._try_build(worker, module)
        again = failure is not None and (failure.outcome in ("crashed", "timeout") or build_killed(failure.text or ""))
        if again and not self._stop:
            worker.kill()
            failure = self._try_build(worker, module)
        seconds = time.monotonic() - started
        with self._changed:
            if self._stop:
                return
            module.seconds, module.failure = seconds, failure
            module.state = "failed" if failure is not None else "built"
            self.compile_seconds += seconds
            self.modules_built += failure is None
            self._watcher.compiled(module.key, seconds, failure is not None)
            self._watcher.compiling(self._table.building)
            self._changed.notify_all()

    def _try_build(self, worker: WorkerProcess, module: Module) -> Result | None:
        request = protocol.Request(op="compile", cell=module.cell, module=module.key, device="cpu")
        limit = self._options.compile_timeout
        try:
            answer = worker.ask(request, limit, limit)
        except WorkerGoneError as gone:
            return Result(
                id=module.key, outcome="timeout" if gone.timeout else "crashed", stage="compile", text=str(gone)
            )
        return None if answer.event == "done" else _failed(module.cell, answer, 0)

    # -------------------------------------------------------------------------------------------- execution

    def _device_loop(self, device: str, environ: dict[str, str]) -> None:
        worker = self._worker(environ)
        while True:
            with self._changed:
                cell = self._take()
                while cell is None:
                    if self._stop or not self._pending:
                        worker.close()
                        return
                    self._changed.wait()
                    cell = self._take()
                self._watcher.running(cell)
            result = self._result(worker, cell, device)
            with self._changed:
                if self._stop:
                    return
                self._on_result(cell, result)
                self._watcher.finished(cell, result)

    def _take(self) -> SmokeCell | None:
        if self._stop:
            return None
        for index, cell in enumerate(self._pending):
            if cell.id not in self._table.needs or self._table.settled(cell):
                return self._pending.pop(index)
        return None

    def _result(self, worker: WorkerProcess, cell: SmokeCell, device: str) -> Result:
        built = self._from_modules(cell)
        if built is not None:
            return built
        result = run_one(worker, cell, device, self._options, lambda: self._stop)
        early = cell.expected.kind == "refused" and not reaches(self._options.level, "launch")
        if early and result.outcome in ("refused", "compile-error") and not settled(cell.expected, result):
            # What is built here need not be what the library builds before it refuses.
            return Result(id=cell.id, outcome="skipped", text="this refusal comes at launch")
        return result

    def _from_modules(self, cell: SmokeCell) -> Result | None:
        """Return the result that the modules alone decide: nvcc failed, or no more than compiling was asked."""
        if cell.id not in self._table.needs or not self._table.needs[cell.id]:
            return None
        module = self._table.failure(cell)
        if module is not None:
            assert module.failure is not None
            failure = msgspec.structs.replace(module.failure, id=cell.id)
            decides = build_failed(failure.text or "") or failure.outcome in ("timeout", "crashed")
            if decides or not reaches(self._options.level, "launch"):
                outcome, missing, what = failure.outcome, failure.missing, failure.missing_what
                if failure.exception:
                    outcome, missing, what = classify(
                        failure.exception, failure.bases, failure.text or "", cell.expected
                    )
                return msgspec.structs.replace(failure, outcome=outcome, missing=missing, missing_what=what)
            return None
        if reaches(self._options.level, "launch"):
            return None
        seconds = sum(self._table.modules[key].seconds for key in self._table.needs[cell.id])
        return Result(id=cell.id, outcome="passed", level="compile", timings={"compile": round(seconds, 2)})


def run_one(
    worker: WorkerProcess,
    cell: SmokeCell,
    device: str,
    options: RunnerOptions,
    stopped: Callable[[], bool] = lambda: False,
) -> Result:
    """Run one cell; a failure that the matrix does not declare is run once more, alone in a fresh process."""
    result = _once(worker, cell, device, options, 0)
    if settled(cell.expected, result) or not options.rerun or stopped():
        return result
    # A failure may be the fault of what ran before in the same process: only a fresh one is believed.
    worker.close()
    second = _once(worker, cell, device, options, 1)
    if second.outcome != result.outcome:
        first = {"outcome": result.outcome, "text": scrub(result.text or "", 200)}
        second = msgspec.structs.replace(second, notes={**second.notes, "first_attempt": first})
    if second.outcome not in ("correct", "passed"):
        worker.close()
    return second


def _once(worker: WorkerProcess, cell: SmokeCell, device: str, options: RunnerOptions, reruns: int) -> Result:
    request = protocol.Request(op="run", cell=cell, level=options.level, device=device)
    started = time.monotonic()
    try:
        answer = worker.ask(request, options.timeout, options.compile_timeout)
    except WorkerGoneError as gone:
        return Result(
            id=cell.id,
            outcome="timeout" if gone.timeout else "crashed",
            stage=gone.stage,
            text=str(gone),
            reruns=reruns,
        )
    seconds = time.monotonic() - started
    if answer.event == "failed":
        return _failed(cell, answer, reruns)
    timings = {name: round(value, 4) for name, value in answer.timings.items()}
    errors = {name: INFINITE if value is None else _rounded(value) for name, value in answer.errors.items()}
    outcome, level = borne_out(answer.outcome or "passed", answer.level, errors, answer.bounds, cell.tolerance)
    return Result(
        id=cell.id,
        outcome=outcome,
        level=level,
        errors=errors,
        tolerance=cell.tolerance if answer.errors else None,
        bounds=answer.bounds,
        notes=answer.notes,
        timings={**timings, "total": round(seconds, 4)},
        reruns=reruns,
    )


def _failed(cell: SmokeCell, answer: protocol.Message, reruns: int) -> Result:
    outcome, missing, what = classify(answer.exception, answer.bases, answer.text, cell.expected)
    return Result(
        id=cell.id,
        outcome=outcome,
        exception=answer.exception,
        bases=answer.bases,
        text=_short(answer.text, cell.expected.match),
        missing=missing,
        missing_what=scrub(what, 200) if what else None,
        stage=answer.stage,
        notes=answer.notes,
        reruns=reruns,
    )


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _short(text: str, match: str | None) -> str:
    """Shorten a long text (a compiler's output) and keep what the matrix looks for."""
    if len(text) <= _TEXT:
        return text
    found = re.search(match, text, re.DOTALL) if match else re.search(r"^.*\berror\b.*$", text, re.MULTILINE | re.I)
    if found is None:
        return scrub(text, _TEXT)
    head, around = text[:300], text[max(0, found.start() - 100) : min(len(text), found.end() + 300)]
    return f"{head}\n [...]\n{around}"[: 2 * _TEXT]
