"""Rows that the matrix contradicts on purpose, each with its reason. Tested for being still needed.

A key is (release, kind, backend or model, reasons of the row); empty: the matrix and the wheels agree everywhere.
"""

from __future__ import annotations

CONTRADICTIONS: dict[tuple[str, str, str, tuple[str, ...]], str] = {}
