"""The order in which a release tries its backends, against the matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.audit.comparison import names
from compatcheck.audit.points import base, points, spelled

if TYPE_CHECKING:
    from compatcheck.audit.comparison import Comparison


def compare_order(run: Comparison) -> None:
    """Compare the order at every point that the release tells apart."""
    reading = run.read.priorities
    if reading is None:
        return
    fields = ("use_mla", "sm", "kv_cache_dtype", "use_non_causal", "use_mm_prefix")
    grouped: dict[tuple[str, str], list[Any]] = {}
    axes_seen: dict[str, tuple[Any, ...]] = {}
    for path in reading.paths:
        if path.gate is not None:
            run.strange("order", [path.gate], reading.digest)
            continue
        axes = {name: tuple(values) for name, values in path.given.items()}
        axes.update({name: run.domains[name] for name in fields if name not in axes})
        for name, values in axes.items():
            axes_seen[name] = tuple(dict.fromkeys((*axes_seen.get(name, ()), *values)))
        for point in points(base(**run.facts), axes):
            order, missing = run.program.order(point)
            run.compared += 1
            library = [name for name in path.result if name in run.read.backends]
            if order != library:
                said = names(order) if order is not None else f"unknown, for want of {', '.join(sorted(missing))}"
                grouped.setdefault((said, names(library)), []).append(dict(vars(point)))
    for (told, tried), at in grouped.items():
        run.add(
            kind="order",
            subject="backends",
            where=spelled(at, axes_seen),
            matrix=told,
            library=tried,
            place=f"{reading.file}:{reading.line}",
        )
