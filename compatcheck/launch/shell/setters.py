"""What one simple command changes: variables that it sets, exports, unsets or reads, files that it sources.

Source: bash's manual, "Shell Builtin Commands" and "Bash Builtins".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from compatcheck.launch.model import Word
from compatcheck.launch.shell.patterns import ARITHMETIC, ASSIGNED, HIDDEN, NAME, UNKNOWN_PART

DECLARING = frozenset({"export", "declare", "local", "readonly", "typeset"})
Arrays = Sequence[tuple[str, bool, list[Word]]]
_OTHER_OPTIONS = {"read": "dinNptu", "mapfile": "dnOsucC", "readarray": "dnOsucC"}
"""Letters of options that take a value."""
_DEFAULT = {"read": "REPLY", "mapfile": "MAPFILE", "readarray": "MAPFILE"}
_HARMLESS = re.compile(
    r"(?:^|/)(?:activate(?:\.(?:sh|fish|csh|zsh))?|conda\.sh|mamba\.sh|micromamba\.sh|profile|\.?bashrc|\.?zshrc"
    r"|bash\.bashrc|\.?bash_profile|\.?zprofile|\.profile|modules?\.sh|lmod\.sh|setvars\.sh|oneapi-vars\.sh|spack\.sh"
    r"|setup-env\.sh|nvm\.sh|\.?cargo/env|bin/env|os-release|init\.d/functions|bash_completion(?:\.sh)?)$"
    r"|(?:^|/)(?:modules|lmod|Lmod|Modules)/(?:[\w.]+/)*init/\w+$|^/etc/profile\.d/|\bactivate$"
)
"""Files that set up a shell, an interpreter or a compiler; none of them sets an option of vLLM's."""
_HOOKS = re.compile(r"\b(?:conda|mamba|micromamba|pyenv|ssh-agent|brew|starship|direnv hook|zoxide|modulecmd|lmod)\b")
"""What `eval "$(...)"` sets up without a variable of vLLM's."""
_DOTENV = re.compile(r"(?:^|/)[\w.-]*\.env(?:\.\w+)?$")


Kind = Literal[
    "set", "append", "array", "append-array", "forget", "export", "unexport", "unset", "local", "source", "all"
]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a command changes."""

    name: str
    """Of the variable; none for a file that is sourced, and where nobody knows which ones are changed."""
    kind: Literal[
        "set", "append", "array", "append-array", "forget", "export", "unexport", "unset", "local", "source", "all"
    ]
    text: str = ""
    word: Word = Word("")
    elements: tuple[Word, ...] = ()
    exported: bool | None = None


def changes_of(words: Sequence[Word], arrays: Arrays) -> list[Change]:
    """Return what a command changes, in order."""
    found = [
        Change(name=name, kind="append-array" if append else "array", elements=tuple(elements))
        for name, append, elements in arrays
    ]
    given = {name for name, _, _ in arrays}
    rest = list(words)
    assigned: list[Change] = []
    while rest and (match := ASSIGNED.match(rest[0].text)) is not None:
        assigned += [] if match[1] in given else [_assignment(rest[0], match)]
        rest = rest[1:]
    if not rest:
        return found + assigned
    while rest[0].text in ("builtin", "command") and len(rest) > 1 and not rest[1].text.startswith("-"):
        rest = rest[1:]
    others = _of_builtin(rest[0].text, rest[1:], given)
    fresh = [change for change in others if change.kind == "local"]  # `local NAME=()` is a new one, and then set
    return fresh + found + [change for change in others if change.kind != "local"]


def _of_builtin(name: str, rest: list[Word], given: set[str]) -> list[Change]:
    texts = [word.text for word in rest]
    if name in DECLARING:
        return _declared(name, rest, given)
    if name in _OTHER_OPTIONS:
        return [Change(name=one, kind="forget") for one in _read_into(name, texts)]
    if name == "printf" and texts[:1] == ["-v"] and len(texts) > 1:
        return [Change(name=texts[1].partition("[")[0], kind="forget")]
    if name == "getopts" and len(texts) > 1:
        return [Change(name=one, kind="forget") for one in (texts[1], "OPTARG", "OPTIND")]
    if name == "unset":
        return [_unset(word) for word in rest if not word.text.startswith("-") and "-f" not in texts]
    if name in ("let", "(("):
        matches = [match for text in texts for match in ARITHMETIC.finditer(text)]
        return [Change(name=match[1] or match[2], kind="forget") for match in matches]
    if name == "set":
        return _flags(rest)
    if name == "shift":
        return [Change(name="@", kind="forget")]
    if name == "eval":
        return _evaluated(rest)
    if name in ("source", ".") and rest and not _HARMLESS.search(texts[0].strip("'\"")):
        return [Change(name="", kind="source", text=texts[0], word=rest[0])]
    return []


def _assignment(word: Word, match: re.Match[str], *, exported: bool | None = None) -> Change:
    value = word.text[match.end() :]
    if word.dynamic:
        hidden = UNKNOWN_PART.sub(HIDDEN, value)
        hidden = hidden if HIDDEN in hidden else HIDDEN
    else:
        hidden = value
    if "[" in match[0]:
        return Change(name=match[1], kind="forget")
    place = msgspec.structs.replace(word, text=value, column=word.column + match.end())
    return Change(name=match[1], kind="append" if match[2] else "set", text=hidden, word=place, exported=exported)


def _unset(word: Word) -> Change:
    name, bracket, _ = word.text.partition("[")
    if word.dynamic:
        return Change(name="", kind="all")
    return Change(name=name, kind="forget" if bracket else "unset")


def _declared(setter: str, rest: list[Word], given: set[str]) -> list[Change]:
    flags = "".join(word.text for word in rest if word.text[:1] in ("-", "+"))
    if setter == "export":
        exported: bool | None = "-n" not in flags
    else:
        exported = False if "+x" in flags else True if re.search(r"-[A-Za-z]*x", flags) else None
    found: list[Change] = []
    for word in rest:
        match = ASSIGNED.match(word.text)
        name = match[1] if match is not None else word.text
        if "f" in flags or "p" in flags:
            continue
        if NAME.fullmatch(name) is None:
            if word.dynamic:  # which variables it sets, and to what, is not known
                found.append(Change(name="", kind="source" if exported else "all", text=word.text, word=word))
            continue
        local = setter == "local" or (setter in ("declare", "typeset") and "g" not in flags)
        if local:
            found.append(Change(name=name, kind="local"))
        if name in given:
            continue
        if match is not None and setter != "export" and re.search(r"-[A-Za-z]*[ilun]", flags):
            found.append(Change(name=name, kind="forget"))  # its value is computed or converted
            if re.search(r"-[A-Za-z]*n", flags):  # it is another name of that variable
                found.append(Change(name=word.text[match.end() :], kind="forget"))
        elif match is not None:
            found.append(_assignment(word, match, exported=exported))
        elif exported is not None:
            found.append(Change(name=name, kind="export" if exported else "unexport", word=word))
    return found


def _read_into(name: str, texts: list[str]) -> list[str]:
    names: list[str] = []
    at = 0
    while at < len(texts):
        text = texts[at]
        at += 1
        if not text.startswith("-"):
            names.append(text)
        elif name == "read" and text[-1] == "a" and at < len(texts):
            names.append(texts[at])
            at += 1
        elif text[-1] in _OTHER_OPTIONS[name]:
            at += 1
    names = [one for one in names if NAME.fullmatch(one)]
    return names or [_DEFAULT[name]]


def _flags(rest: list[Word]) -> list[Change]:
    """`set -a` and `set -o allexport`: what is assigned from here on is exported. `set -- ...`: the arguments."""
    found: list[Change] = []
    texts = [word.text for word in rest]
    for index, text in enumerate(texts):
        if text == "--" or (text[:1] not in ("-", "+") and not (index and texts[index - 1][-1:] == "o")):
            arguments = rest[index + 1 :] if text == "--" else rest[index:]
            found.append(Change(name="@", kind="array", elements=tuple(arguments)))
            break
        if text[:1] not in ("-", "+"):
            continue
        long = text[-1:] == "o" and texts[index + 1 : index + 2] == ["allexport"]
        if "a" in text[1:] or long:
            found.append(Change(name="-", kind="set", text="a" if text[0] == "-" else "", exported=False))
    return found


def _evaluated(rest: list[Word]) -> list[Change]:
    text = " ".join(word.text for word in rest)
    if any(word.dynamic for word in rest):
        whole = len(rest) == 1 and (text.startswith(("$(", "`")))
        if not whole or _HOOKS.search(text):
            return []
        return [Change(name="", kind="source", text=text, word=rest[0])]
    words = [msgspec.structs.replace(rest[0], text=piece.strip("'\"")) for piece in text.split()]
    found = changes_of(words, ()) if "eval" not in [word.text for word in words] else []
    if any(sign in text for sign in ";&|\n"):  # several commands, of which only the first is looked at
        return [msgspec.structs.replace(change, text=HIDDEN) for change in found]
    return found


def is_dotenv(file: str) -> bool:
    """Return whether a file holds `NAME=value` lines by its name."""
    return _DOTENV.search(file) is not None
