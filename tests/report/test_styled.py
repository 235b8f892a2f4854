"""Colour on a terminal only, and never where NO_COLOR or a dumb terminal says otherwise."""

from __future__ import annotations

import io

import pytest

from compatcheck.report.styled import STYLES, Line, line, write

LINES = [Line((("supported", "supported"), (" [bold]text[/bold]  ", ""))), line(), line("é 日本", "dim")]
PLAIN = "supported [bold]text[/bold]\n\né 日本\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def written(out: io.StringIO) -> str:
    write(LINES, out)
    return out.getvalue()


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def test_a_pipe_gets_plain_text() -> None:
    assert written(io.StringIO()) == PLAIN


def test_a_terminal_gets_colours_and_markup_is_not_read() -> None:
    text = written(Terminal())
    assert "\x1b[1;32msupported\x1b[0m" in text
    assert "[bold]text[/bold]" in text


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("NO_COLOR", ""), ("TERM", "dumb")])
def test_a_terminal_that_wants_none(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert written(Terminal()) == PLAIN


def test_long_lines_are_not_broken() -> None:
    out = Terminal()
    write([line("word " * 100)], out)
    assert out.getvalue().count("\n") == 1


def test_every_style_is_one_of_rich() -> None:
    from rich.style import Style

    for style in STYLES.values():
        assert Style.parse(style)
