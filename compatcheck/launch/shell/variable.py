"""One variable of a shell text, and what is known of it where it is one thing or another."""

from __future__ import annotations

import msgspec

from compatcheck.launch.model import Word
from compatcheck.launch.shell.patterns import HIDDEN


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a variable: its text, in which parts may be hidden, and whether commands get it."""

    text: str = ""
    exported: bool | None = False
    present: bool = True
    """False after `unset`."""
    elements: tuple[Word, ...] | None = None
    place: tuple[int, int] = (1, 1)
    order: int = 0


def joined(name: str, one: Variable | None, other: Variable | None) -> Variable | None:
    """Return what is known of a variable that is one thing or the other."""
    if one == other or one is None or other is None:
        known = one or other
        if one == other or known is None:
            return one
        exported = None if known.exported is not False else False
        return Variable(text=HIDDEN, exported=exported, place=known.place, order=known.order)
    exported = one.exported if one.exported == other.exported else None
    if one.present != other.present and (one.exported or other.exported):
        exported = None
    order = min(one.order, other.order)
    elements = None
    text = one.text
    if one.elements is not None and other.elements is not None:
        elements = _common(name, one.elements, other.elements)
    elif one.elements is not None or other.elements is not None:
        text = HIDDEN
    elif one.text != other.text:
        text = _prefix(one.text, other.text)
    return Variable(
        text=text,
        exported=exported,
        present=one.present or other.present,
        elements=elements,
        place=other.place,
        order=order,
    )


def _common(name: str, one: tuple[Word, ...], other: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the elements with which both begin, and an open one for the rest."""
    same = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one if same == len(one) == len(other) else (*one[:same], Word("${" + name + "[@]}", dynamic=True))


def _prefix(one: str, other: str) -> str:
    """Return the words with which both texts begin, or else end, and a hidden one for the rest."""
    same = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    while same and not all(same == len(text) or text[same].isspace() for text in (one, other)):
        same -= 1
    if one[:same].strip():
        return f"{one[:same]} {HIDDEN} "
    short = min(len(one), len(other))
    behind = next((i for i in range(short) if one[-1 - i] != other[-1 - i]), short)
    while behind and not all(behind == len(text) or text[-1 - behind].isspace() for text in (one, other)):
        behind -= 1
    return f" {HIDDEN} {one[len(one) - behind :].lstrip()}" if behind and one[-behind:].strip() else HIDDEN
