"""Kernels that behave, refuse, or give a wrong answer; and modules that build or do not."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compatcheck.matrix.model import Kernel
from compatcheck.smoke.cell import SmokeCell
from compatcheck.smoke.kernels.base import SmokeKernel
from compatcheck.smoke.measure import Measured


def journal(line: str) -> None:
    """Append to the file that the test reads, if it named one."""
    path = os.environ.get("SMOKE_TEST_JOURNAL")
    if path:
        with Path(path).open("a") as stream:
            stream.write(f"{line}\n")


def right(level: str = "correct") -> Measured:
    done = Measured()
    done.level, done.outcome = level, "correct"
    done.errors = {"out": 0.001}
    return done


class Fake(SmokeKernel):
    own_shapes = ("ragged",)

    def axes(self, kernel: Kernel) -> dict[str, Sequence[Any]]:
        return {"group": [None]}

    def run(self, cell: SmokeCell, level: str, device: str) -> Measured:
        journal(f"run {cell.id} pid={os.getpid()}")
        print("noise on the worker's stdout")
        print("noise on the worker's stderr", file=sys.stderr)
        return self.behave(cell)

    def behave(self, cell: SmokeCell) -> Measured:
        return right()


class Fine(Fake):
    name = "fine"
    ids: tuple[str, ...] = ("fake.fine",)
    cpu = True

    def modules(self, cell: SmokeCell) -> tuple[str, ...]:
        return (f"module-{cell.head_size}",) if cell.head_size else ()

    def build(self, module: str, cell: SmokeCell) -> None:
        journal(f"build {module}")
        time.sleep(0.05)


class Heavy(Fine):
    name = "heavy"
    ids = ("fake.heavy",)
    cpu = False

    def dear(self, cell: SmokeCell) -> bool:
        return True

    def modules(self, cell: SmokeCell) -> tuple[str, ...]:
        return (f"dear-{cell.head_size}",)

    def build(self, module: str, cell: SmokeCell) -> None:
        journal(f"start {module}")
        time.sleep(0.2)
        journal(f"end {module}")


class Wrong(Fake):
    name = "wrong"
    ids = ("fake.wrong",)
    cpu = True

    def behave(self, cell: SmokeCell) -> Measured:
        done = Measured()
        done.level, done.outcome = "launch", "wrong"
        done.errors = {"out": 0.5}
        return done


class Miscounting(Fake):
    """Wrong in the first process that runs it, right in any other: what ran before is to blame."""

    name = "miscounting"
    ids = ("fake.miscounting",)

    def behave(self, cell: SmokeCell) -> Measured:
        mark = Path(os.environ["SMOKE_TEST_MARK"])
        if mark.exists():
            return right()
        mark.touch()
        return Wrong().behave(cell)


class Refusing(Fake):
    name = "refusing"
    ids = ("fake.refusing",)
    cpu = True

    def behave(self, cell: SmokeCell) -> Measured:
        raise ValueError("head 7 is not for us: file /home/someone/secret/kernel.py on build-host.internal")


class Unbuildable(Fine):
    name = "unbuildable"
    ids = ("fake.unbuildable",)

    def modules(self, cell: SmokeCell) -> tuple[str, ...]:
        return ("unbuildable",)

    def build(self, module: str, cell: SmokeCell) -> None:
        journal("build unbuildable")
        raise RuntimeError("Ninja build failed. Ninja output:\n" + "note\n" * 2000 + "x.cu(3): error: static assertion")
