"""Which GPUs CUDA_VISIBLE_DEVICES lets a process see.

CUDA reads the list from the left and stops at the first entry that is no device: a missing index, -1, a wrong
UUID. An empty value hides every GPU, and a repeated entry hides them all too. (CUDA C++ Programming Guide,
"CUDA environment variables"; torch/cuda/__init__.py:_parse_visible_devices@2.13.0.)
"""

from __future__ import annotations

from collections.abc import Sequence


def visible_gpus(value: str | None, uuids: Sequence[Sequence[str]], *, order_known: bool) -> tuple[bool | None, ...]:
    """Return for each GPU whether it is visible, or None where only CUDA's own order would tell.

    `uuids` holds, per GPU in NVML order, its UUID and those of its MIG instances; empty where NVML would not
    say. `order_known` is false where an index cannot be matched to a GPU: CUDA enumerates the fastest GPU
    first unless CUDA_DEVICE_ORDER=PCI_BUS_ID, so with different GPUs index 0 need not be NVML's 0.
    """
    count = len(uuids)
    if value is None:
        return (True,) * count
    entries = [entry.strip() for entry in value.split(",")]
    if len(set(entries)) != len(entries):
        return (False,) * count
    seen: list[bool | None] = [False] * count
    by_index = 0
    for entry in entries:
        if entry.isdigit() and entry.isascii():
            if int(entry) >= count:
                break
            by_index += 1
            seen[int(entry)] = True
        elif entry.startswith(("GPU-", "MIG-")):
            owners = [i for i, names in enumerate(uuids) if any(name.startswith(entry) for name in names)]
            if len(owners) != 1:
                # An unknown UUID ends the list, but where NVML withheld a UUID the owner may be any of those.
                return tuple(None if not names and not seen[i] else seen[i] for i, names in enumerate(uuids))
            seen[owners[0]] = True
        else:
            break
    if by_index and not order_known and by_index < count:
        return (None,) * count
    return tuple(seen)
