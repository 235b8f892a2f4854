"""Pages made and rendered, module by module."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from compatcheck.docs import header
from compatcheck.docs.environment import render
from compatcheck.docs.pages import makers

if TYPE_CHECKING:
    from jinja2 import Environment

    from compatcheck.docs.site import Site


_BLANK_LINES = re.compile(r"\n{3,}")


class Making:
    """Makes pages, and renders them."""

    def __init__(self, site: Site, env: Environment) -> None:
        self._site = site
        self._env = env
        self._makers = makers(site)

    @property
    def names(self) -> list[str]:
        """What `files` can be asked for."""
        return list(self._makers)

    def files(self, name: str) -> dict[str, str]:
        """Return what some pages are on disk: path below the output folder -> text."""
        files: dict[str, str] = {}
        for page in self._makers[name](self._site):
            body = render(self._env, page.template, page.variables)
            html = page.path.endswith(".html")
            sources = [*self._site.named, f"templates/{page.template}"]
            files[page.path] = header.with_header(_tidy(body), sources, html=html)
        return files


def make(making: Making, name: str) -> bytes:
    """Return `Making.files` as one process hands it to another."""
    return msgspec.msgpack.encode(making.files(name))


def _tidy(body: str) -> str:
    """Return a text without trailing spaces and without more than one blank line in a row, ended by one newline."""
    text = "\n".join([line.rstrip() for line in body.split("\n")])
    if "\n\n\n" in text:  # looked for in a tenth of the time that the expression takes to find none
        text = _BLANK_LINES.sub("\n\n", text)
    return text.strip("\n") + "\n"
