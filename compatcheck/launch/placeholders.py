"""What stands in a file for a value that only whoever fills the file in knows: references, templates, placeholders."""

from __future__ import annotations

import re

import msgspec

from compatcheck.launch.launch_parts import with_each_word
from compatcheck.launch.model import Launch, Word

_TEMPLATE = r"""
      \$?\{\{(?:(?!\{\{|\}\}).)*\}\}           # Helm, Jinja, GitHub, dstack, Argo
    | \{%(?:(?!\{%|%\}).)*%\}                 # Jinja
    | \$\[\[?[^\[\]]*\]\]?                    # GitLab's components, Azure at run time
    | <<\s*[a-z][\w-]*(?:\.[\w-]+)+\s*>>     # CircleCI
    | (?<!\$)\(\([a-zA-Z][\w./-]*\)\)         # Concourse
    | \#\{[\w.]+\}\#?                         # Octopus, Azure's replaced tokens
    | (?<!\$)\{[A-Za-z_][\w.]*\}             # Python's str.format
    | %\([A-Za-z_]\w*\)[sd]                  # Python's %
    | \b__[A-Z][A-Z0-9_]*__\b | @@?[A-Z][A-Z0-9_]*@@? | %[A-Za-z][\w.]*%
"""
TEMPLATE = re.compile(_TEMPLATE, re.S | re.X)
"""What other programs than a shell fill in."""
_OPEN = re.compile(
    rf"{_TEMPLATE} | \$\{{[^{{}}]*\}} | \$\([^()]*\) | \$[A-Za-z_]\w* | <[A-Za-z][\w\ .:/|-]*> | ^(?:\.\.\.|\u2026)$",
    re.S | re.X,
)
DEFAULT = re.compile(r"(?<!\$)\$\{[A-Za-z_]\w*:?-([^{}$]*)\}")
"""A reference with a default that holds no other reference."""
MAX_FILLED = 10_000
"""Characters that variables put into one text; behind them references stay as they are."""
MAX_NESTED = 3
"""Defaults of defaults that are followed."""
_VEIL = re.compile(r"\$\{?_filled_in_([0-9a-f]+)_\}?")

Edit = tuple[int, int, str]
"""A part of a text, from and to, and what takes its place."""


def is_open(text: str) -> bool:
    """Return whether a part of a value is known only to whoever fills it in."""
    return _OPEN.search(text) is not None


def is_reference(text: str) -> bool:
    """Return whether a text is one such part and nothing else, so that any number of words may take its place."""
    return _OPEN.fullmatch(text.strip()) is not None


def with_defaults(text: str) -> str:
    """Return a text with `${TAG:-v0.33.0}` replaced by the default, as it is where nothing else is set."""
    for _ in range(MAX_NESTED):
        text = DEFAULT.sub(r"\1", text)
    return text


def edited(word: Word, edits: list[Edit]) -> Word:
    """Return a word with parts of its text, in order, replaced; what stands behind a part keeps its place."""
    if not edits:
        return word
    pieces: list[str] = []
    at = 0
    for start, end, new in edits:
        pieces += [word.text[at:start], new]
        at = end
    text = "".join([*pieces, word.text[at:]])
    return msgspec.structs.replace(word, text=text, starts=_moved(word.starts, edits) if word.starts else ())


def _moved(starts: tuple[tuple[int, int, int], ...], edits: list[Edit]) -> tuple[tuple[int, int, int], ...]:
    """Return the places of a text's pieces after its edits, each of which starts a piece behind it."""
    found: list[tuple[int, int, int]] = []
    last, index, shift = starts[0], 0, 0
    for start, end, new in edits:
        while index < len(starts) and starts[index][0] <= end:
            last = starts[index]
            if last[0] <= start:
                found.append((last[0] + shift, *last[1:]))
            index += 1
        shift += len(new) - (end - start)
        found.append((end + shift, last[1], max(1, last[2] + end - last[0])))
    return (*found, *((at + shift, line, column) for at, line, column in starts[index:]))


def filled_from(word: Word, reference: re.Pattern[str], environment: dict[str, Word]) -> Word:
    """Return a text with references replaced where their variables are known; what is escaped, `$$`, is a dollar.

    A group of the pattern that matches is the variable's name.
    """
    edits: list[Edit] = []
    room = MAX_FILLED
    for match in reference.finditer(word.text):
        value = environment.get(match[match.lastindex] if match.lastindex else "")
        if match[0] == "$$":
            edits.append((match.start(), match.end(), "$"))
        elif value is not None and not value.dynamic and len(value.text) <= room:
            edits.append((match.start(), match.end(), value.text))
            room -= len(value.text)
    return edited(word, edits)


def veil(text: str) -> str:
    """Return the reference, set by nothing, that a shell text has for a part until `unveiled` puts it back."""
    return "${_filled_in_" + text.encode("utf-8", "surrogatepass").hex() + "_}"


def veiled_values(environment: dict[str, Word]) -> dict[str, Word]:
    """Return variables for a script: one of which only the value is not known is set, so that no default is taken."""
    return {
        name: msgspec.structs.replace(word, text=veil(word.text or f"${name}"), dynamic=False) if word.dynamic else word
        for name, word in environment.items()
    }


def unveiled(launch: Launch) -> Launch:
    """Return a launch with the veiled parts put back; a word that holds one is known only where it is filled in."""
    return with_each_word(launch, _unveiled)


def _unveiled(word: Word) -> Word:
    text = _VEIL.sub(lambda match: bytes.fromhex(match[1]).decode("utf-8", "surrogatepass"), word.text)
    return word if text == word.text else msgspec.structs.replace(word, text=text, dynamic=True)
