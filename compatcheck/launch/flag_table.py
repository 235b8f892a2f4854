"""The options of `vllm serve` in each covered release, and the environment variables that each release reads.

Generated from the released wheels by tools/generate_flags.py; this module only looks things up.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec

from compatcheck.matrix.versions import parse, place

SWITCHES = frozenset({"flag", "bool"})


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """The values that a field takes: int, float, bool or choices, within bounds."""

    kind: str
    choices: tuple[Any, ...] = ()
    none: bool = False
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """One option in one release.

    `kind` is flag (no value), bool (also --no-X), optional, list (one or more values), append, int, size, float, str,
    choices, json or json-or-str.
    """

    option: str
    kind: str
    aliases: tuple[str, ...] = ()
    choices: tuple[Any, ...] = ()
    keys: tuple[str, ...] = ()
    inverse: str | None = None
    deprecated: bool = False
    none: bool = False
    """Whether "" and "None" are no value at all; elsewhere they are values like others."""
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    types: dict[str, Kind] = {}
    """Key of a JSON option -> the values that its class takes there, where nothing but type and bounds decides."""
    folds: bool = False
    """Whether the parser makes a written value small, and its dashes underscores, before it compares it."""

    def spelled(self, text: str) -> str:
        """Return a written value as the parser compares it."""
        return text.lower().replace("-", "_") if self.folds else text


class FlagTable:
    """The options of one release, by every spelling its parser knows."""

    def __init__(self, release: str, flags: dict[str, Flag]) -> None:
        self.release = release
        self.flags = flags
        self.spellings: dict[str, tuple[Flag, bool]] = {}
        """Option string -> its flag, and the value that a switch of this spelling sets."""
        for option, flag in flags.items():
            for name in (option, *flag.aliases):
                self.spellings[name] = (flag, True)
            if flag.kind == "bool":
                self.spellings["--no-" + option.removeprefix("--")] = (flag, False)
                if flag.inverse:
                    self.spellings[flag.inverse] = (flag, False)
        self.spellings.setdefault("--help", (Flag(option="--help", kind="flag"), True))
        self.spellings.setdefault("-h", (Flag(option="--help", kind="flag"), True))

    def matches(self, text: str) -> list[str]:
        """Return the spellings that a word may mean: itself, or every one that it abbreviates."""
        if text in self.spellings:
            return [text]
        if text.startswith("--"):
            return [name for name in self.spellings if name.startswith(text)]
        return [name for name in self.spellings if not name.startswith("--") and name.startswith(text)]


@lru_cache(maxsize=4)
def _data(name: str) -> dict[str, Any]:
    text = (files("compatcheck.launch") / "data" / name).read_bytes()
    data: dict[str, Any] = msgspec.json.decode(text)
    return data


def releases() -> tuple[str, ...]:
    """Return the covered releases, oldest first."""
    return tuple(_data("flags.json")["releases"])


@lru_cache(maxsize=1)
def known_options() -> frozenset[str]:
    """Return every long spelling that any covered release has."""
    return frozenset(name for release in releases() for name in table(release).spellings if name.startswith("--"))


def release_for(version: str) -> str:
    """Return the covered release that answers for a version."""
    return place(version, releases())[0]


@lru_cache(maxsize=32)
def table(release: str) -> FlagTable:
    """Return the options of a covered release."""
    flags: dict[str, Flag] = {}
    for option, entries in _data("flags.json")["flags"].items():
        for entry in entries:
            if _covers(entry.get("since"), entry.get("until"), release):
                body = {key: value for key, value in entry.items() if key not in ("since", "until")}
                flags[option] = msgspec.convert({"option": option, **body}, Flag)
    return FlagTable(release, flags)


def history(option: str) -> list[tuple[str | None, str | None]]:
    """Return when an option was there: (since, until) pairs, None for "always"; empty if no covered release has it."""
    spans: list[tuple[str | None, str | None]] = []
    for entry in _data("flags.json")["flags"].get(option, ()):
        since, until = entry.get("since"), entry.get("until")
        if spans and spans[-1][1] == since:
            spans[-1] = (spans[-1][0], until)
        else:
            spans.append((since, until))
    return spans


def variable_history(name: str) -> list[tuple[str | None, str | None]]:
    """Return when an environment variable was read; empty if no covered release reads it."""
    return [(since, until) for since, until in _data("environment.json")["variables"].get(name, ())]


def reads_variable(name: str, release: str) -> bool:
    """Return whether a release reads an environment variable."""
    return any(_covers(since, until, release) for since, until in variable_history(name))


def variable_names(release: str) -> list[str]:
    """Return every environment variable that a release reads."""
    return [name for name in _data("environment.json")["variables"] if reads_variable(name, release)]


def architecture_history(name: str) -> list[tuple[str | None, str | None]]:
    """Return when a model architecture was in the registry; empty if no covered release has it."""
    return [(since, until) for since, until in _data("architectures.json")["architectures"].get(name, ())]


def has_architecture(name: str, release: str) -> bool:
    """Return whether a release's registry has a model architecture."""
    return any(_covers(since, until, release) for since, until in architecture_history(name))


def keyword_history(owner: str, name: str) -> list[tuple[str | None, str | None]]:
    """Return when LLM, EngineArgs or AsyncEngineArgs took a keyword; LLM takes those of EngineArgs too."""
    data = _data("keywords.json")["keywords"]
    owners = ("LLM", "EngineArgs") if owner == "LLM" else (owner,)
    return [(since, until) for one in owners for since, until in data.get(f"{one}.{name}", ())]


def keyword_names(owner: str, release: str) -> list[str]:
    """Return the keywords that a release's class takes."""
    owners = ("LLM.", "EngineArgs.") if owner == "LLM" else (f"{owner}.",)
    return sorted(
        {
            key.partition(".")[2]
            for key, spans in _data("keywords.json")["keywords"].items()
            if key.startswith(owners) and any(_covers(since, until, release) for since, until in spans)
        }
    )


def takes_keyword(owner: str, name: str, release: str) -> bool:
    """Return whether a release's class takes a keyword."""
    return any(_covers(since, until, release) for since, until in keyword_history(owner, name))


def _covers(since: str | None, until: str | None, release: str) -> bool:
    at = parse(release)
    return (since is None or parse(since) <= at) and (until is None or at < parse(until))
