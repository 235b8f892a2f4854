"""Compute capabilities: the ways people write them, and the one way the matrix does."""

from __future__ import annotations

import re
from itertools import accumulate

_WRITTEN = re.compile(r"^(?:sm_?|compute_?)?([0-9]{1,2})\.?([0-9])[af]?$", re.IGNORECASE)
_NOISE = re.compile(r"\b(nvidia|geforce|tesla|quadro|gpu|graphics|card|laptop|generation)\b|[^a-z0-9]+")


def parse_sm(value: str | int | float) -> str | None:
    """Return '9.0' for 9.0, 90, '90', 'sm_90', 'sm90', 'SM90a' or 'compute_90'; None if it is none of these.

    Only the spelling is judged here; whether such a compute capability exists is a fact of the matrix.
    """
    if isinstance(value, bool):
        return None
    text = repr(value) if isinstance(value, float) else str(value).strip()
    match = _WRITTEN.match(text)
    return f"{int(match[1])}.{match[2]}" if match else None


def family(sm: str) -> str:
    """Return the family of a compute capability: '8.x' for '8.9'."""
    return f"{sm.partition('.')[0]}.x"


def gpu_key(name: str) -> str:
    """Return a GPU's marketing name without vendor words, spaces and case: 'NVIDIA GeForce RTX 5090' -> 'rtx5090'."""
    return _NOISE.sub("", name.lower())


def find_gpu(name: str, gpus: dict[str, list[str]]) -> str | None:
    """Return the compute capability of a GPU's marketing name, or None.

    `gpus` maps a compute capability to the names it is sold under. The longest listed name that the given one
    starts with decides, so that 'NVIDIA H200 NVL' finds H200 and 'RTX 5090 D' finds RTX 5090. It must not end inside
    a number: 'A1000' is not an A100.
    """
    wanted = gpu_key(name)
    ends = set(accumulate(len(gpu_key(word)) for word in re.split(r"[^A-Za-z0-9]+", name)))
    best: tuple[int, str] | None = None
    for sm, names in gpus.items():
        for listed in names:
            key = gpu_key(listed)
            whole = len(key) in ends or not wanted[len(key) : len(key) + 1].isdigit()
            if key and wanted.startswith(key) and whole and (best is None or len(key) > best[0]):
                best = (len(key), sm)
    return best[1] if best else None
