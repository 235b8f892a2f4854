"""Problem sizes: lengths of the sequences in a batch for each named shape."""

from __future__ import annotations

from typing import NamedTuple

NEEDLE_KEYS = 2048


class Lengths(NamedTuple):
    """Query and key lengths of each sequence; `needles` are the positions of the dominant key, one per sequence."""

    q: tuple[int, ...]
    kv: tuple[int, ...]
    needles: tuple[int, ...] = ()


def lengths(shape: str, page: int, *, decode: bool) -> Lengths:
    """Return the batch of a shape.

    Every batch is ragged and has a sequence whose last page holds one entry. short: at most 8 query tokens. long: more
    than one 128-row tile of queries, the last tile partly filled. ragged: decode, one query token each, one sequence of
    a single key. needle: 2,048 keys (2,049 where the needle is alone on the last page), one needle in each class of
    page position: first and last entry of the first page, first entry of the second, inside a middle page, first and
    last entry of the last full page, alone on the last page.
    """
    if shape == "needle":
        return _needle(page, decode)
    if decode or shape == "ragged":
        kv = (1, page + 1, 97, 8 * page + 1, 611)
        return Lengths((1,) * len(kv), kv)
    if shape == "short":
        return Lengths((1, 5, 8), (2 * page + 1, 97, 200))
    if shape == "long":
        return Lengths((201, 131), (-(-512 // page) * page + 1, 397))
    raise ValueError(f"no such shape: {shape!r}; there are short, long, ragged, needle")


def _needle(page: int, decode: bool) -> Lengths:
    last = NEEDLE_KEYS - page
    middle = NEEDLE_KEYS // 2 + page // 2
    places = dict.fromkeys((0, page - 1, page, middle, last, NEEDLE_KEYS - 1))
    kv = [NEEDLE_KEYS] * len(places)
    needles = list(places)
    if NEEDLE_KEYS % page == 0:
        kv.append(NEEDLE_KEYS + 1)
        needles.append(NEEDLE_KEYS)
    return Lengths(((1,) if decode else (3,)) * len(kv), tuple(kv), tuple(needles))
