"""One worker process: started, asked, timed, killed, replaced. No torch in here."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

import msgspec

from compatcheck.smoke import protocol
from compatcheck.smoke.scrub import scrub

_READY_SECONDS = 120.0
_TAIL = 2000


class WorkerGoneError(Exception):
    """The process ended, was killed, or did not answer in time."""

    def __init__(self, message: str, *, timeout: bool = False, stage: str = "launch") -> None:
        super().__init__(message)
        self.timeout = timeout
        self.stage = stage


class WorkerProcess:
    """A worker for one device. Not thread-safe: one thread asks, any thread may `kill`.

    `environ` is added to this process's environment. `kernels` is the `module:name` of the kernel list.
    """

    def __init__(
        self,
        *,
        kernels: str,
        environ: Mapping[str, str] | None = None,
        python: str | None = None,
    ) -> None:
        self._kernels = kernels
        self._environ = {**os.environ, "PYTHONUNBUFFERED": "1", **(environ or {})}
        self._python = python or sys.executable
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._write = -1
        self._read = -1
        self._buffer = b""
        self._interrupted = False
        self._number = 0
        self.starts = 0

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def ask(
        self,
        request: protocol.Request,
        timeout: float,
        compile_timeout: float,
        on_message: Callable[[protocol.Message], None] | None = None,
    ) -> protocol.Message:
        """Return the answer; raises `WorkerGoneError`. While a module builds, `compile_timeout` counts instead.

        A process that says it is poisoned is gone after its answer; the next question starts a fresh one.
        """
        if not self.alive:
            self._start()
        if self._interrupted:
            self.kill()
            raise WorkerGoneError("the run was stopped", stage="import")
        self._number += 1
        request = msgspec.structs.replace(request, number=self._number)
        try:
            os.write(self._write, protocol.encode(request))
        except OSError as error:
            raise WorkerGoneError(self._epitaph(), stage="import") from error
        stage = "compile" if request.op == "compile" else "import"
        allowance = compile_timeout if request.op == "compile" else timeout
        deadline = time.monotonic() + allowance
        building = False
        while True:
            message = self._next(deadline, stage, compile_timeout if building else allowance)
            if message.number != self._number:
                self.kill()
                raise WorkerGoneError("the worker answered what it was not asked", stage=stage)
            if message.event == "stage":
                stage = message.name
            elif message.event == "build":
                building = message.seconds is None
                stage = "compile" if building else "launch"
                deadline = time.monotonic() + (compile_timeout if building else allowance)
            if on_message is not None:
                on_message(message)
            if message.event in ("done", "failed"):
                if message.poisoned:
                    self.close()
                return message

    def close(self) -> None:
        """Ask the process to end; kill it if it does not."""
        if self.alive:
            with contextlib.suppress(OSError):
                os.write(self._write, protocol.encode(protocol.Request(op="exit")))
            assert self._process is not None
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(3)
        self.kill()

    def interrupt(self) -> None:
        """From another thread: end the process for good; whoever waits for an answer gets `WorkerGoneError`."""
        self._interrupted = True
        process = self._process
        if process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

    def kill(self) -> None:
        """End the process and everything it started."""
        process, self._process = self._process, None
        if process is not None:
            # The group outlives its leader where compilers are still running.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
        for descriptor in (self._write, self._read):
            if descriptor >= 0:
                with contextlib.suppress(OSError):
                    os.close(descriptor)
        self._write = self._read = -1
        self._buffer = b""
        if self._log is not None:
            self._log.close()
            self._log = None

    # ------------------------------------------------------------------------------------------- internals

    def _start(self) -> None:
        self.kill()
        down_read, down_write = os.pipe()
        up_read, up_write = os.pipe()
        self._log = tempfile.TemporaryFile(prefix="compatcheck-worker-")  # noqa: SIM115 (lives as long as the worker)
        root = str(Path(__file__).resolve().parents[2])
        path = self._environ.get("PYTHONPATH")
        environ = {**self._environ, "PYTHONPATH": f"{root}{os.pathsep}{path}" if path else root}
        try:
            self._process = subprocess.Popen(  # noqa: S603 (our own interpreter and module)
                [self._python, "-m", "compatcheck.smoke.worker", str(down_read), str(up_write), self._kernels],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=(down_read, up_write),
                env=environ,
                start_new_session=True,
            )
        finally:
            os.close(down_read)
            os.close(up_write)
        self._write, self._read = down_write, up_read
        self.starts += 1
        message = self._next(time.monotonic() + _READY_SECONDS, "import", _READY_SECONDS)
        if message.event != "ready":
            raise WorkerGoneError(f"the worker said {message.event} before ready", stage="import")

    def _next(self, deadline: float, stage: str, allowance: float) -> protocol.Message:
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                self.kill()
                raise WorkerGoneError(f"no answer within {allowance:g} s in stage {stage}", timeout=True, stage=stage)
            read = self._read
            if read < 0:
                raise WorkerGoneError("the worker was stopped", stage=stage)
            ready, _, _ = select.select([read], [], [], min(left, 1.0))
            if not ready:
                process = self._process
                if process is not None and process.poll() is not None and not select.select([read], [], [], 0)[0]:
                    # A child of its own keeps the pipe open; nobody will answer.
                    raise WorkerGoneError(self._epitaph(), stage=stage)
                continue
            chunk = os.read(read, 1 << 16)
            if not chunk:
                raise WorkerGoneError(self._epitaph(), stage=stage)
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            return protocol.decode_message(line)
        except msgspec.MsgspecError as error:
            self.kill()
            raise WorkerGoneError(f"the worker's answer cannot be read: {error}", stage=stage) from error

    def _epitaph(self) -> str:
        process = self._process
        code = None
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(5)
        tail = ""
        if self._log is not None:
            self._log.seek(0, os.SEEK_END)
            size = self._log.tell()
            self._log.seek(max(0, size - _TAIL))
            tail = scrub(self._log.read().decode("utf-8", "replace"), 600)
        self.kill()
        last = f"; last words: {tail}" if tail else ""
        if code is None:
            return f"the worker closed its pipe without an answer{last}"
        if code >= 0:
            return f"the worker ended with status {code}{last}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        hint = " (the system may have run out of memory)" if name == "SIGKILL" else ""
        return f"the worker was killed by {name}{hint}{last}"
