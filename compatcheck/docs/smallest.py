"""The smallest strip that holds some cells: it tells apart only the values that have different ones."""

from __future__ import annotations

from math import prod

from compatcheck.docs.sheets import Strip

Classes = tuple[tuple[int, ...], ...]
"""For each axis, the class of each of its values."""


def smallest(classes: Classes, sizes: tuple[int, ...], cells: tuple[int, ...]) -> Strip:
    """Return a strip in which values of an axis are one class where they have the same cells."""
    if len(set(cells)) == 1:
        return Strip(tuple([(0,) * len(of) for of in classes]), (1,) * len(sizes), cells[:1])
    for axis, size in enumerate(sizes):
        after = prod(sizes[axis + 1 :])
        starts = range(0, len(cells), size * after)
        rows = [
            tuple([cells[start + place : start + place + after] for start in starts])
            for place in range(0, size * after, after)
        ]
        numbers = {row: number for number, row in enumerate(dict.fromkeys(rows))}
        if len(numbers) < size:
            merged = [numbers[row] for row in rows]
            classes = tuple([tuple([merged[c] for c in of]) if n == axis else of for n, of in enumerate(classes)])
            cells = tuple([cell for at in range(len(starts)) for row in numbers for cell in row[at]])
            sizes = (*sizes[:axis], len(numbers), *sizes[axis + 1 :])
    return Strip(classes, sizes, cells)
