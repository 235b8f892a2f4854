"""Pages made and rendered, module by module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from compatcheck.docs import header
from compatcheck.docs.environment import render
from compatcheck.docs.pages import with_answers, without_answers

if TYPE_CHECKING:
    from jinja2 import Environment

    from compatcheck.docs.site import Site


class Making:
    """Makes pages, and renders them."""

    def __init__(self, site: Site, env: Environment) -> None:
        self._site = site
        self._env = env
        self._makers = without_answers() | with_answers(site)

    def files(self, name: str) -> dict[str, str]:
        """Return what the pages of a module are on disk: path below the output folder -> text."""
        files: dict[str, str] = {}
        for page in self._makers[name](self._site):
            body = render(self._env, page.template, page.variables)
            html = page.path.endswith(".html")
            files[page.path] = header.with_header(_tidy(body), f"templates/{page.template}", html=html)
        return files


def make(making: Making, name: str) -> bytes:
    """Return `Making.files` as one process hands it to another."""
    return msgspec.msgpack.encode(making.files(name))


def _tidy(body: str) -> str:
    """Return a text without trailing spaces and without more than one blank line in a row, ended by one newline."""
    lines: list[str] = []
    for line in body.split("\n"):
        stripped = line.rstrip()
        if stripped or (lines and lines[-1]):
            lines.append(stripped)
    return "\n".join(lines).rstrip("\n") + "\n"
