"""GitHub workflow commands: what ends a line, a property or a percent sign is escaped."""

from __future__ import annotations

from compatcheck.report.diagnostic import Diagnostic
from compatcheck.report.github import render


def test_a_plain_one() -> None:
    found = Diagnostic(code="x-y", level="warning", message="careful", file="m.yaml", line=3, column=5)
    assert render([found]) == "::warning file=m.yaml,line=3,col=5,title=x-y::careful\n"


def test_without_a_place() -> None:
    assert render([Diagnostic(code="x", level="note", message="m")]) == "::notice title=x::m\n"


def test_escapes() -> None:
    found = Diagnostic(
        code="x", level="error", message="50%\r\nof a: b, c", file="C:\\a,b\n::error::.yaml", line=1, help="wait\nmore"
    )
    assert render([found]) == (
        "::error file=C%3A\\a%2Cb%0A%3A%3Aerror%3A%3A.yaml,line=1,title=x::50%25%0D%0Aof a: b, c%0AFix: wait%0Amore\n"
    )


def test_one_line_each() -> None:
    found = [Diagnostic(code=str(n), level="error", message="a\nb") for n in range(3)]
    assert render(found).count("\n") == 3
    assert render([]) == ""
