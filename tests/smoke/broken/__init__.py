"""Smoke kernels that break in every way a GPU kernel can, without a GPU; one file per way."""

from __future__ import annotations

from compatcheck.smoke.kernels.base import SmokeKernel
from tests.smoke.broken.fatal import Aborting, Exiting, Hanging, IllegalAddress, OutOfMemory, Segfaulting
from tests.smoke.broken.fine import Fine, Heavy, Miscounting, Refusing, Unbuildable, Wrong
from tests.smoke.broken.hostile import HOSTILE

KERNELS: list[SmokeKernel] = [
    Fine(),
    Heavy(),
    Miscounting(),
    Refusing(),
    Unbuildable(),
    Wrong(),
    Aborting(),
    Exiting(),
    Hanging(),
    IllegalAddress(),
    OutOfMemory(),
    Segfaulting(),
    *HOSTILE,
]
