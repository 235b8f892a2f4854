"""The worker process: imports the libraries, builds modules, runs cells. May be killed at any time.

    python -m compatcheck.smoke.worker READ_FD WRITE_FD KERNELS

KERNELS is `module:name` of the list of smoke kernels.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from typing import Any

from compatcheck.smoke import protocol
from compatcheck.smoke.build_watch import watch_builds
from compatcheck.smoke.classify import exhausted, out_of_memory, sticky
from compatcheck.smoke.kernels.base import SmokeKernel, symbol
from compatcheck.smoke.levels import reaches
from compatcheck.smoke.scrub import clip, scrub


class Worker:
    """Answers requests until told to exit or the pipe closes."""

    def __init__(self, reader: int, writer: int, kernels: list[SmokeKernel]) -> None:
        self._lines = os.fdopen(reader, "rb")
        self._out = os.fdopen(writer, "wb", buffering=0)
        self._kernels = {kernel.name: kernel for kernel in kernels}
        self._built: list[str] = []
        self._pid = os.getpid()
        self._number = 0

    def say(self, message: protocol.Message) -> None:
        """Write one line to the runner. A copy of this process that a library forked says nothing, and ends."""
        if os.getpid() != self._pid:
            os._exit(1)
        message.number = self._number
        self._out.write(protocol.encode(message))

    def serve(self) -> None:
        """Say ready, then answer."""
        self.say(protocol.Message(event="ready", facts={"pid": os.getpid()}))
        for line in self._lines:
            request = protocol.decode_request(line)
            if request.op == "exit":
                return
            self._number = request.number
            try:
                answer = self._answer(request)
                protocol.encode(answer)
            except BaseException as error:
                answer = self._failure(error)
            self.say(answer)
            if answer.poisoned:
                return

    def _answer(self, request: protocol.Request) -> protocol.Message:
        if request.op == "describe":
            from compatcheck.smoke.libraries import describe

            return protocol.Message(event="done", facts=describe(request.device))
        cell = request.cell
        assert cell is not None
        kernel = self._kernels[cell.driver]
        self._built.clear()
        self._stage("import")
        started = time.perf_counter()
        if cell.symbol:
            symbol(cell.symbol)
        timings = {"import": time.perf_counter() - started}
        watch_builds(self._on_build)
        if request.op == "compile":
            self._stage("compile")
            started = time.perf_counter()
            kernel.build(request.module or "", cell)
            return protocol.Message(event="done", timings={"compile": time.perf_counter() - started})
        return self._run(kernel, request, timings)

    def _run(self, kernel: SmokeKernel, request: protocol.Request, timings: dict[str, float]) -> protocol.Message:
        cell, level = request.cell, request.level
        assert cell is not None
        if not reaches(level, "compile"):
            return protocol.Message(event="done", outcome="passed", level="import", timings=timings)
        if not reaches(level, "launch"):
            self._stage("compile")
            started = time.perf_counter()
            for module in kernel.modules(cell):
                kernel.build(module, cell)
            timings["compile"] = time.perf_counter() - started
            return protocol.Message(event="done", outcome="passed", level="compile", timings=timings)
        self._stage("launch")
        self._seed(cell.seed)
        done = kernel.run(cell, level, request.device)
        notes = {**done.notes, **({"built_while_running": list(self._built)} if self._built else {})}
        return protocol.Message(
            event="done",
            outcome=done.outcome,  # type: ignore[arg-type]  # the runner refuses any other
            level=done.level,  # type: ignore[arg-type]
            errors=dict(done.errors),
            bounds=done.bounds,
            notes=notes,
            timings={**timings, **done.timings},
        )

    def _failure(self, error: BaseException) -> protocol.Message:
        text = _words(error)
        name, *bases = (speakable(base.__name__) for base in type(error).__mro__ if base is not object)
        fatal = sticky(text) or out_of_memory(name, text) or exhausted((name, *bases), text)
        return protocol.Message(
            event="failed",
            exception=name,
            bases=tuple(bases),
            text=scrub(text, 6000),
            stage=self._at,
            poisoned=fatal,
            notes={"built_while_running": list(self._built)} if self._built else {},
        )

    _at = "import"

    def _stage(self, name: str) -> None:
        self._at = name
        self.say(protocol.Message(event="stage", name=name))

    @staticmethod
    def _seed(seed: int) -> None:
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.manual_seed(1234 + seed)

    def _on_build(self, name: str, seconds: float | None) -> None:
        if seconds is not None:
            self._built.append(name)
        self.say(protocol.Message(event="build", name=name, seconds=seconds))


def _words(error: BaseException) -> str:
    try:
        return speakable(clip(str(error)))
    except Exception as second:
        return f"(its text cannot be had: {type(second).__name__})"


def speakable(text: str) -> str:
    """Return a text that JSON can hold: half characters (from undecodable bytes) become '?'."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def load_kernels(path: str) -> list[SmokeKernel]:
    """Return the list that `module:name` names."""
    module, _, name = path.partition(":")
    found: Any = getattr(importlib.import_module(module), name)
    return list(found)


def main(arguments: list[str]) -> None:
    """Serve on the two file descriptors given."""
    reader, writer, kernels = int(arguments[0]), int(arguments[1]), arguments[2]
    os.environ.setdefault("FLASHINFER_NO_DOWNLOAD", "1")
    Worker(reader, writer, load_kernels(kernels)).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
