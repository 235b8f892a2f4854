"""How many compilers may run at once: by cores and by memory."""

from __future__ import annotations

import os
from pathlib import Path

_GIB_PER_COMPILER = 3.0
"""One nvcc of an attention module peaks at 2 to 3 GiB; fa3 (CUTLASS) modules at more, see `dear`."""
_GIB_PER_DEAR_MODULE = 16.0
_JOBS_PER_MODULE = 4


class Bounds:
    """`modules` built at once, `dear` ones among them, and `jobs` compilers for each (MAX_JOBS)."""

    def __init__(self, modules: int, dear: int, jobs: int) -> None:
        self.modules = modules
        self.dear = dear
        self.jobs = jobs


def bounds(jobs: int | None = None, cores: int | None = None, memory_gib: float | None = None) -> Bounds:
    """Return the bounds for this machine; `jobs` is the user's bound on compilers."""
    cores = cores or usable_cores()
    memory = available_gib() if memory_gib is None else memory_gib
    total = jobs or max(1, min(cores, int(memory / _GIB_PER_COMPILER)))
    per_module = max(1, min(_JOBS_PER_MODULE, total))
    modules = max(1, total // per_module)
    # Some machines show more memory only as it is used, so a bound that was given is taken at its word.
    dear = modules if jobs else max(1, min(modules, int(memory / _GIB_PER_DEAR_MODULE)))
    return Bounds(modules, dear, per_module)


def usable_cores() -> int:
    """Return the cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_gib() -> float:
    """Return the memory that is free, or that the cgroup allows, whichever is less; 4 where neither can be read."""
    found: list[float] = []
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [int(line.split()[1]) / 2**20 for line in lines if line.startswith("MemAvailable:")]
    except OSError:
        pass
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text().strip()
        if limit != "max":
            found.append((int(limit) - int(used)) / 2**30)
    except (OSError, ValueError):
        pass
    return min(found) if found else 4.0
