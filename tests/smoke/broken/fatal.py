"""Kernels that take their process with them."""

from __future__ import annotations

import faulthandler
import os
import signal
import time

from compatcheck.smoke.cell import SmokeCell
from compatcheck.smoke.measure import Measured
from tests.smoke.broken.fine import Fake


class Segfaulting(Fake):
    name = "segfaulting"
    ids = ("fake.segfaulting",)

    def behave(self, cell: SmokeCell) -> Measured:
        faulthandler.disable()
        os.kill(os.getpid(), signal.SIGSEGV)
        raise AssertionError("unreachable")


class Aborting(Fake):
    name = "aborting"
    ids = ("fake.aborting",)

    def behave(self, cell: SmokeCell) -> Measured:
        os.abort()


class Exiting(Fake):
    name = "exiting"
    ids = ("fake.exiting",)

    def behave(self, cell: SmokeCell) -> Measured:
        os._exit(7)


class Hanging(Fake):
    """Ignores everything that can be ignored."""

    name = "hanging"
    ids = ("fake.hanging",)

    def behave(self, cell: SmokeCell) -> Measured:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while True:
            time.sleep(60)


class IllegalAddress(Fake):
    """What torch raises after a kernel read where it must not: every later CUDA call of the process fails too."""

    name = "illegal-address"
    ids = ("fake.illegal_address",)

    def behave(self, cell: SmokeCell) -> Measured:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")


class OutOfMemory(Fake):
    """A process that may not have what it asks for."""

    name = "out-of-memory"
    ids = ("fake.out_of_memory",)

    def behave(self, cell: SmokeCell) -> Measured:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        raise AssertionError(f"got {len(bytearray(1 << 34))} bytes")
