"""SARIF 2.1.0, the part that code-scanning services read."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import msgspec

from compatcheck import __version__
from compatcheck.report.diagnostic import Diagnostic

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(diagnostics: list[Diagnostic]) -> bytes:
    """Return one SARIF run with a rule per code and a result per diagnostic."""
    codes = list(dict.fromkeys(d.code for d in diagnostics))
    rules = [{"id": code, "name": code, "shortDescription": {"text": _first(code, diagnostics)}} for code in codes]
    driver = {"name": "compatcheck", "version": __version__, "rules": rules}
    log: dict[str, Any] = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(d, codes.index(d.code)) for d in diagnostics]}],
    }
    return msgspec.json.format(msgspec.json.encode(log), indent=2) + b"\n"


def _first(code: str, diagnostics: list[Diagnostic]) -> str:
    return next(d.message for d in diagnostics if d.code == code)


def _result(diagnostic: Diagnostic, rule_index: int) -> dict[str, Any]:
    text = diagnostic.message + (f" Fix: {diagnostic.help}" if diagnostic.help else "")
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": rule_index,
        "level": diagnostic.level,
        "message": {"text": text},
    }
    if diagnostic.file:
        place: dict[str, Any] = {"artifactLocation": {"uri": quote(diagnostic.file)}}
        if diagnostic.line:
            region = {"startLine": diagnostic.line, "startColumn": diagnostic.column or 1}
            place["region"] = region
        result["locations"] = [{"physicalLocation": place}]
    return result
