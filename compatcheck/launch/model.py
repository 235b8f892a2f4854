"""What a launch says: the program, its options with their places, its environment, and what became of each option."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.verdict import Assumption, Finding

Status = Literal["understood", "not relevant", "unknown"]


class Word(msgspec.Struct, frozen=True):
    """One word of a command, with its place (from 1). `dynamic`: only the shell that runs it knows its value.

    `indent` is by how many columns the later lines of a word with line breaks are moved in the file.
    """

    text: str
    line: int = 1
    column: int = 1
    dynamic: bool = False
    indent: int = 0


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One option as the launch gives it.

    `option` is its long name with dashes, `value` what the parser makes of it: True or False for switches, a mapping
    for JSON, text for all others. `written` is the option as it stands in the file.
    """

    option: str
    value: Any
    written: str
    line: int = 1
    column: int = 1
    dynamic: bool = False


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """A launch of the engine found in a text. Nothing of it has been run.

    `form` says who reads the options: a command line, or Python keyword arguments, which take field names.
    """

    program: str
    form: Literal["command", "python"] = "command"
    words: tuple[Word, ...] = ()
    settings: tuple[Setting, ...] = ()
    environment: dict[str, Word] = {}
    image: Word | None = None
    gpu: Word | None = None
    engine_version: Word | None = None
    directory: str | None = None
    """Folder from which a relative --config or model folder is read, if any may be read."""
    file: str | None = None
    line: int = 1
    column: int = 1


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one option or environment variable."""

    name: str
    status: Status
    why: str
    line: int = 1
    column: int = 1


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of attention layer of the model, how many layers are of it, and the facts that are its own."""

    kind: str
    count: int | None = None
    facts: dict[str, Any] = {}


class Placed(msgspec.Struct, frozen=True):
    """A finding with the place it is about."""

    finding: Finding
    line: int = 1
    column: int = 1


class LaunchFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a launch means for the resolver: facts, kinds of layers, and what the launch itself gets wrong."""

    configuration: Configuration
    release: str
    """The covered release whose options were looked up."""
    model: str | None = None
    layers: tuple[Layer, ...] = ()
    assumed: tuple[Assumption, ...] = ()
    findings: tuple[Placed, ...] = ()
    reports: tuple[Report, ...] = ()
    model_dtype: bool = False
    """The dtype is the checkpoint's own: nobody asked for one, so that the engine may take another."""
    places: dict[str, tuple[int, int]] = {}
    """Configuration field -> the place (line, column) in the launch that decided it."""
