"""The one place where this package imports numpy, so that a missing numpy is explained."""

from __future__ import annotations

try:
    import numpy as np
except ImportError as error:
    raise ImportError(
        "compatcheck.kv_cache needs numpy for this helper, and numpy is not installed. "
        "Run `pip install compatcheck[gpu]`, or `pip install numpy` if you want no GPU packages."
    ) from error

__all__ = ["np"]
