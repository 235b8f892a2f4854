"""Run a launch and measure it: poisoned outputs, error against the reference, unwritten elements, graph replay."""

from __future__ import annotations

import math
import time
from typing import Any

from compatcheck.smoke.kernels.base import Check, Launch
from compatcheck.smoke.levels import reaches

INFINITE = 1e30
"""Stands for an error that is not a number, since JSON has none."""


class Measured:
    """Level reached, outcome, errors and bounds by output, notes, seconds by stage."""

    def __init__(self) -> None:
        self.level = "compile"
        self.outcome = "passed"
        self.errors: dict[str, float] = {}
        self.bounds: dict[str, float] = {}
        """What an error may be, for outputs that the cell's tolerance does not bound."""
        self.notes: dict[str, Any] = {}
        self.timings: dict[str, float] = {}


def measure(launch: Launch, level: str, tolerance: float, device: str) -> Measured:
    """Take a launch to a level; raises whatever the kernel raises."""
    import torch

    done = Measured()
    done.notes.update(launch.notes)
    launch.poison()
    _synchronize(torch, device)
    started = time.perf_counter()
    launch.call()
    _synchronize(torch, device)
    done.timings["launch"] = time.perf_counter() - started
    done.notes.update(launch.notes)
    done.level = "launch"
    if not reaches(level, "correct"):
        return done
    started = time.perf_counter()
    fine = _check(launch.checks, tolerance, done, "")
    done.timings["check"] = time.perf_counter() - started
    if not fine:
        done.outcome = "wrong"
        return done
    done.level, done.outcome = "correct", "correct"
    if reaches(level, "graph") and launch.capturable and device.startswith("cuda"):
        started = time.perf_counter()
        if _replay(torch, launch, tolerance, done):
            done.level = "graph"
        else:
            done.outcome = "wrong"
        done.timings["graph"] = time.perf_counter() - started
    return done


def _synchronize(torch: Any, device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def _check(checks: Any, tolerance: float, done: Measured, prefix: str) -> bool:
    fine = True
    for check in checks:
        error, notes = compare(check)
        done.errors[prefix + check.name] = error
        if notes:
            done.notes[prefix + check.name] = notes
        bound = check.allowed if check.exact else (tolerance if check.tolerance is None else check.tolerance)
        if bound != tolerance:
            done.bounds[prefix + check.name] = bound
        fine = fine and error <= bound
    return fine


def compare(check: Check) -> tuple[float, dict[str, Any]]:
    """Return the error of one output and what is remarkable about it.

    Exact checks: the fraction of bytes that differ. Else the relative error; infinite where an element is NaN or was
    not written (outputs are poisoned with NaN), or the shapes differ.
    """
    got, want = check.got(), check.want
    if tuple(got.shape) != tuple(want.shape):
        return INFINITE, {"shape": f"{tuple(got.shape)} instead of {tuple(want.shape)}"}
    if check.exact:
        differ = int((got != want).sum())
        return differ / max(got.numel(), 1), ({"bytes_that_differ": differ} if differ else {})
    got, want = got.double(), want.double().to(got.device)
    bad = int((~got.isfinite()).sum())
    if bad:
        return INFINITE, {"not_finite_or_unwritten": bad, "elements": got.numel()}
    scale = float(want.norm())
    error = float((got - want).norm()) / scale if scale else float(got.norm())
    notes: dict[str, Any] = {}
    if got.numel() and scale and float(got.abs().max()) == 0.0:
        notes["all_zero"] = True
    if got.dim() >= 2 and error > 1e-3:
        rows = (got - want).flatten(1).norm(dim=1) / want.flatten(1).norm(dim=1).clamp_min(1e-12)
        notes["worst_row"] = {"row": int(rows.argmax()), "error": round(float(rows.max()), 5)}
    return (error if math.isfinite(error) else INFINITE), notes


def _replay(torch: Any, launch: Launch, tolerance: float, done: Measured) -> bool:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        launch.call()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch.call()
    launch.poison()
    graph.replay()
    torch.cuda.synchronize()
    return _check(launch.checks, tolerance, done, "graph.")
