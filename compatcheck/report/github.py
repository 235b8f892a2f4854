"""GitHub Actions workflow commands, one line a diagnostic."""

from __future__ import annotations

import re

from compatcheck.printable import printable
from compatcheck.report.diagnostic import Diagnostic

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(diagnostics: list[Diagnostic]) -> str:
    """Return `::error file=F,line=L,col=C,title=CODE::message` lines; special characters escaped as GitHub wants."""
    return "".join(_line(diagnostic) for diagnostic in diagnostics)


def _line(diagnostic: Diagnostic) -> str:
    properties = [
        f"{name}={_escape(str(value), for_property=True)}"
        for name, value in (
            ("file", diagnostic.file),
            ("line", diagnostic.line),
            ("col", diagnostic.column),
            ("title", diagnostic.code),
        )
        if value is not None
    ]
    text = diagnostic.message + (f"\nFix: {diagnostic.help}" if diagnostic.help else "")
    return f"::{_COMMANDS[diagnostic.level]} {','.join(properties)}::{_escape(text, for_property=False)}\n"


def _escape(text: str, *, for_property: bool) -> str:
    parts = [part if part in ("\r", "\n") else printable(part) for part in re.split("([\r\n])", text)]
    text = "".join(parts).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if for_property else text
