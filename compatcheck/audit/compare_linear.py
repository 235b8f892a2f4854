"""The NVFP4 linear kernels that a release has, their order and their gates, against the matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from compatcheck.audit.compare_gates import GateComparer
from compatcheck.audit.comparison import names
from compatcheck.audit.points import base, points
from compatcheck.resolve.linear import LinearProgram

if TYPE_CHECKING:
    from compatcheck.audit.comparison import Comparison
    from compatcheck.audit.difference import Difference


def compare_linear(run: Comparison) -> None:
    """Compare the order, and every gate of each kernel."""
    order = run.read.linear_order
    linear = run.engine.linear
    if order is None or linear is None:
        return
    program = LinearProgram(linear, run.version, run.program.compiler)
    listed = order.paths[0].result if len(order.paths) == 1 and order.paths[0].gate is None else None
    if listed is None:
        run.strange("linear", [p.gate for p in order.paths if p.gate], order.digest)
        return
    facts = base(**run.facts, linear="nvfp4_w4a4")
    facts["sm"] = "10.0"
    (point,) = points(facts, {})
    said = program.order(point)
    run.compared += 1
    if said != listed:
        run.add(
            kind="order",
            subject="NVFP4 linear kernels",
            matrix=names(said),
            library=names(listed),
            place=f"{order.file}:{order.line}",
            values={"order": listed},
        )
    comparer = GateComparer("linear", {**run.facts, "linear": "nvfp4_w4a4"}, run.domains)
    for name, reading in run.read.linear_kernels.items():
        if name not in program.kernels:
            run.add(
                kind="linear-kernel",
                subject=name,
                matrix="does not have it",
                library="has it",
                place=f"{reading.file}:{reading.line}",
            )
            continue
        comparer.subject = name
        found = comparer.compare("joint_rules", program.gates(name), reading, {})
        run.differences += [_renamed(d) for d in found.differences]
        run.not_understood += found.not_understood
        run.compared += found.answers
    for name in program.kernels:
        if name not in listed and name in (said or ()):
            run.add(kind="linear-kernel", subject=name, matrix="has it", library="does not have it")


def _renamed(found: Difference) -> Difference:
    return msgspec.structs.replace(found, kind="linear-kernel", aspect="is_supported")
