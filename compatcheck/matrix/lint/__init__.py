"""Lint: what a matrix says that cannot be true, cannot be used, or would be read otherwise than it was meant."""

from __future__ import annotations

from compatcheck.matrix.lint.run import READ_CODES, lint_files

__all__ = ["READ_CODES", "lint_files"]
