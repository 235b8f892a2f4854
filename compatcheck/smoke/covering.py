"""A small set of points that holds every allowed pair of values: deterministic, greedy, in the order of the axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from typing import Any

Point = dict[str, Any]
_EXHAUSTIVE = 20_000


def covering(axes: Mapping[str, Sequence[Any]], allowed: Callable[[Point], bool]) -> list[Point]:
    """Return points such that every pair of values of two axes that occurs in an allowed point occurs in one of them.

    The first point is the first allowed one in the order of the values, so the first value of each axis should be the
    usual one. The same axes give the same points in the same order. Raises ValueError where the full product has more
    than 20,000 points: then there are too many values for a greedy search over all of them.
    """
    names = list(axes)
    size = 1
    for values in axes.values():
        size *= max(len(values), 1)
    if size > _EXHAUSTIVE:
        raise ValueError(f"{size} combinations of {', '.join(names)} are more than {_EXHAUSTIVE}")
    points = [dict(zip(names, values, strict=True)) for values in product(*axes.values())]
    points = [point for point in points if allowed(point)]
    # Each pair of values is one bit, so that what a point still adds is one AND and a count.
    bits: dict[tuple[str, Any, str, Any], int] = {}
    masks = [_mask(point, names, bits) for point in points]
    chosen: list[int] = []
    if not points:
        return []
    uncovered = (1 << len(bits)) - 1
    best = 0
    while uncovered or not chosen:
        if chosen:
            best = max(range(len(points)), key=lambda i: ((masks[i] & uncovered).bit_count(), -i))
        chosen.append(best)
        uncovered &= ~masks[best]
    return [points[i] for i in chosen]


def _mask(point: Point, names: list[str], bits: dict[tuple[str, Any, str, Any], int]) -> int:
    mask = 0
    pairs = combinations(names, 2) if len(names) > 1 else [(names[0], names[0])]
    for a, b in pairs:
        mask |= 1 << bits.setdefault((a, point[a], b, point[b]), len(bits))
    return mask
