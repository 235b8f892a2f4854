"""Compute capabilities: the ways people write them, and the one way the matrix does."""

from __future__ import annotations

import re

_WRITTEN = re.compile(r"^(?:sm_?|compute_?)?([0-9]{1,2})\.?([0-9])[af]?$", re.IGNORECASE)
_WORDS = re.compile(r"[a-z0-9]+")
_NOISE = frozenset(
    {"nvidia", "geforce", "tesla", "quadro", "gpu", "graphics", "card", "generation", "with", "design", "edition"}
    | {"laptop", "mobile", "max", "q", "maxq", "sff", "workstation", "server", "dgx", "hgx", "developer", "kit"}
)
"""Words that do not change which chip a name means."""
_WORKSTATION = re.compile(r"rtxa[2-6]\d00")
"""Chips that clusters name without `RTX`: A6000."""
_BARE_SIZE = re.compile(r"(?<=\d)[-_ ](\d{2,3})\s*$")
"""A memory size that clusters write behind a chip without a unit: `h100-96`."""
_VARIANT = re.compile(r"(?:[1-9]\d{0,2}gb?|ti|super|d|v2|pcie|sxm\d?|hbm\d?e?|nvl\d*|ac|3e|industrial|active)*")
"""What may follow a listed name: memory size and kind, form factor, bin."""


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
    """Return a GPU's name without vendor words, form factors, spaces and case: 'GeForce RTX 5090' -> 'rtx5090'."""
    return "".join(word for word in _WORDS.findall(name.lower()) if word not in _NOISE)


def find_gpu(name: str, gpus: dict[str, list[str]]) -> str | None:
    """Return the compute capability of a GPU's marketing name, or None.

    `gpus` maps a compute capability to the names it is sold under. The given name must be a listed one, but for
    words that never change the chip ('NVIDIA', 'Laptop GPU', 'Max-Q') and, at its end, memory sizes, form factors
    and bins ('80GB HBM3', 'PCIe', 'Ti'). Anything else is another GPU: an RTX 4000 Ada is no RTX 4000.
    """
    wanted = gpu_key(_BARE_SIZE.sub(r" \1gb", name))
    best: tuple[int, str] | None = None
    for sm, names in gpus.items():
        for key in (gpu_key(one) for one in names):
            if _WORKSTATION.fullmatch(key) and wanted.startswith("a"):
                key = key.removeprefix("rtx")
            known = bool(key) and wanted.startswith(key) and _VARIANT.fullmatch(wanted[len(key) :]) is not None
            if known and (best is None or len(key) > best[0]):
                best = (len(key), sm)
    return best[1] if best else None
