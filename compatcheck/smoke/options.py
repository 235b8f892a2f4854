"""What a smoke run is asked to do."""

from __future__ import annotations

from pathlib import Path

import msgspec


class SmokeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of `run_smoke`. Times in seconds.

    `only` and `skip` are glob patterns over cell ids; any of `only` selects, any of `skip` removes. `shard` (i, n)
    takes every n-th configuration starting at i (0-based), for several machines. `jobs` bounds the compilers running
    at once (None: by cores and memory). `budget` ends the run early; what was not run is left to `resume`.
    """

    level: str = "correct"
    sm: str | None = None
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    shard: tuple[int, int] | None = None
    list_only: bool = False
    timeout: float = 60.0
    compile_timeout: float = 900.0
    budget: float | None = None
    jobs: int | None = None
    record: Path | None = None
    resume: bool = False
    evidence: Path | None = None
    junit: Path | None = None
    matrix: Path | None = None
    overlays: tuple[Path, ...] = ()
    quiet: bool = False
    format: str = "text"
    kernels: str = "compatcheck.smoke.kernels:KERNELS"
    rerun: bool = True
