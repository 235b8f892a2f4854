"""Regions of other people's Markdown that are filled from the matrix; nothing else of the file is touched.

    <!-- compatcheck:begin NAME key=value ... -->
    <!-- compatcheck:end -->

Fenced code blocks are passed over, so that a page can show how to write a region.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from compatcheck.docs.environment import DocsError

if TYPE_CHECKING:
    from compatcheck.docs.site import Site

_BEGIN = re.compile(r"^(?P<indent>[ \t]*)<!--\s*compatcheck:begin\b(?P<rest>.*?)-->[ \t]*$")
_END = re.compile(r"^[ \t]*<!--\s*compatcheck:end\s*-->[ \t]*$")
_ANY = re.compile(r"<!--\s*compatcheck:\s*(begin|end)?")
_INLINE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
"""Inline code, which may speak of markers."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
"""A line as Markdown has it: a form feed or a line separator of Unicode ends none."""
_FENCE = re.compile(
    r"^(?P<indent>(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])))*[ \t]*)(?P<marks>`{3,}(?=[^`]*$)|~{3,})"
)
"""A line that begins or ends a code block, in quotations and lists too; what backticks end again is inline code."""


class Region(msgspec.Struct, frozen=True, kw_only=True):
    """One region: its name and arguments, and the lines (from 0) of its begin and end markers."""

    name: str
    arguments: dict[str, str]
    begin: int
    end: int
    indent: str


def find_regions(lines: list[str], file: str) -> list[Region]:
    """Return a file's regions. Raises `DocsError` with file:line for a marker that is malformed, nested or unclosed."""
    found: list[Region] = []
    fence: tuple[str, int, int] | None = None
    """Marks of the code block at hand, how deep it stands, and its line."""
    passed: int | None = None
    open_: tuple[int, str, dict[str, str], str] | None = None
    for number, line in enumerate(lines):
        content = line.rstrip("\r\n").removeprefix("\ufeff")
        fenced = _FENCE.match(content)
        if open_ is None and fenced:
            marks, deep = fenced["marks"], len(fenced["indent"].expandtabs(4))
            if fence is None:
                fence, passed = (marks, deep, number), None
            elif marks.startswith(fence[0]) and deep <= fence[1] + 3 and content.strip(" \t>") == marks:
                fence = None
            continue
        if not _ANY.search(_INLINE.sub("", content)):
            continue
        if fence is not None:
            passed = number if passed is None else passed
            continue
        where = f"{file}:{number + 1}"
        begin = _BEGIN.match(content)
        if begin:
            if open_ is not None:
                raise DocsError(
                    f"{where}: a region inside the region that line {open_[0] + 1} begins; close that one first"
                )
            name, arguments = _arguments(begin["rest"], where)
            open_ = (number, name, arguments, begin["indent"])
        elif _END.match(content):
            if open_ is None:
                raise DocsError(f"{where}: this ends a region that no line begins")
            start, name, arguments, indent = open_
            found.append(Region(name=name, arguments=arguments, begin=start, end=number, indent=indent))
            open_ = None
        else:
            raise DocsError(
                f"{where}: not a marker: write '<!-- compatcheck:begin NAME -->' or '<!-- compatcheck:end -->' "
                "on a line of its own"
            )
    if fence is not None and passed is not None:
        raise DocsError(
            f"{file}:{fence[2] + 1}: this code block is never closed, and line {passed + 1} is a marker inside it; "
            "close the block"
        )
    if open_ is not None:
        raise DocsError(f"{file}:{open_[0] + 1}: the region {open_[1]} is never closed; add '<!-- compatcheck:end -->'")
    return found


def _arguments(text: str, where: str) -> tuple[str, dict[str, str]]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise DocsError(f"{where}: the arguments cannot be read: {error}") from error
    if not words:
        raise DocsError(f"{where}: a region needs a name; there are: {', '.join(sorted(_registry()))}")
    arguments: dict[str, str] = {}
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise DocsError(f"{where}: {word!r} is not an argument; write key=value")
        if key in arguments:
            raise DocsError(f"{where}: {key} is given twice")
        arguments[key] = value
    return words[0], arguments


def fill(text: str, file: str, site: Callable[[], Site]) -> str:
    """Return a Markdown file's text with its regions filled. `site` is asked for only where there is a region.

    Line endings are those of the region's begin marker; a byte order mark and everything outside regions stay.
    """
    lines = _LINE.findall(text)
    for region in reversed(find_regions(lines, file)):
        where = f"{file}:{region.begin + 1}"
        marker = lines[region.begin]
        ending = marker[len(marker.rstrip("\r\n")) :]
        body = _render(region, where, site)
        filled = [f"{region.indent}{line}".rstrip() + ending for line in ["", *body.splitlines(), ""]]
        lines[region.begin + 1 : region.end] = filled
    return "".join(lines)


def _registry() -> dict[str, Callable[..., str]]:
    from compatcheck.docs.region_tables import REGIONS

    return REGIONS


def _render(region: Region, where: str, site: Callable[[], Site]) -> str:
    import inspect

    known = _registry()
    make = known.get(region.name)
    if make is None:
        near = difflib.get_close_matches(region.name, list(known), n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(sorted(known))}"
        raise DocsError(f"{where}: no region is called {region.name!r}; {hint}")
    takes = [name for name in inspect.signature(make).parameters if name != "site"]
    for name in region.arguments:
        if name not in takes:
            raise DocsError(f"{where}: {region.name} takes no {name}; it takes: {', '.join(takes) or 'no arguments'}")
    try:
        return make(site(), **region.arguments)
    except DocsError as error:
        raise DocsError(f"{where}: {region.name}: {error}") from error


def has_regions(path: Path) -> bool:
    """Return whether a file may hold a region; one that holds none need not be text. Raises `DocsError`."""
    try:
        return b"compatcheck:" in path.read_bytes()
    except OSError as error:
        raise DocsError(f"{path}: cannot be read: {error.strerror or error}") from error
