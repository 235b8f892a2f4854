"""compatcheck: one matrix of attention backends, KV-cache dtypes and GPUs; validators, probe, smoke tests and docs.

`check` returns a verdict for a configuration, `validate` raises where it does not work. Importing this package imports
nothing else: no torch, flashinfer or vllm, ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compatcheck.api import CompatibilityError, check, validate
    from compatcheck.resolve.configuration import Configuration
    from compatcheck.resolve.verdict import Finding, Verdict

__version__ = "0.1.0"

__all__ = ["CompatibilityError", "Configuration", "Finding", "Verdict", "__version__", "check", "validate"]

_HOMES = {
    "check": "compatcheck.api",
    "validate": "compatcheck.api",
    "CompatibilityError": "compatcheck.api",
    "Configuration": "compatcheck.resolve.configuration",
    "Finding": "compatcheck.resolve.verdict",
    "Verdict": "compatcheck.resolve.verdict",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'compatcheck' has no attribute {name!r}")
