"""Messages on standard error: what they quote of foreign files is written out, so that it cannot pose as ours."""

from __future__ import annotations

import click

from compatcheck.printable import printable


def complain(text: str, *, lines: bool = False) -> None:
    """Print a message, on one line unless it has lines of its own."""
    click.echo(printable(text, lines=lines), err=True)
