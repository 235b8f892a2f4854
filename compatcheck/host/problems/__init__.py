"""Doctor checks over a collected host: one per file, listed in `registry`."""

from compatcheck.host.problems.registry import CHECKS, diagnose

__all__ = ["CHECKS", "diagnose"]
