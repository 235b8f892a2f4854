"""What a launch says: the program, its options with their places, its environment, and what became of each option."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from compatcheck.launch.linear_plan import LinearPlan
from compatcheck.launch.model_source import ModelError
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.verdict import Assumption, Finding

Status = Literal["understood", "not relevant", "unknown"]


class Word(msgspec.Struct, frozen=True):
    """One word of a command, with its place (from 1). `dynamic`: only the shell that runs it knows its value.

    `starts` says where the pieces of a longer text stand in the file, as (offset, line, column), where that cannot be
    counted from its first character: the lines of a YAML block.
    """

    text: str
    line: int = 1
    column: int = 1
    dynamic: bool = False
    starts: tuple[tuple[int, int, int], ...] = ()
    origin: tuple[str, int, int] | None = None
    """The file, line and column that it was read from, where that is another file than the launch's."""


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
    origin: tuple[str, int, int] | None = None


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """A launch of the engine found in a text. Nothing of it has been run.

    `form` says who reads the options: a command line, or Python keyword arguments, which take field names.
    """

    program: str
    form: Literal["command", "python"] = "command"
    words: tuple[Word, ...] = ()
    settings: tuple[Setting, ...] = ()
    environment: dict[str, Word] = {}
    env_files: tuple[Word, ...] = ()
    """Files of variables, as `docker run --env-file` takes them; `dynamic` where the file is elsewhere."""
    elsewhere: tuple[Word, ...] = ()
    """Parts that the file takes from elsewhere and that may hold options or variables, named as in `what X holds`."""
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
    missing: str | None = None
    """What the verdict lacks because of it: a configuration field, or words where no field says it."""


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
    line: int = 1
    column: int = 1
    """Where the launch stands."""
    model: str | None = None
    layers: tuple[Layer, ...] = ()
    assumed: tuple[Assumption, ...] = ()
    findings: tuple[Placed, ...] = ()
    reports: tuple[Report, ...] = ()
    missing: tuple[str, ...] = ()
    """What the launch leaves open and the verdict depends on: fields, or words where no field says it."""
    hybrid_manager: bool | None = True
    """Whether the hybrid KV-cache manager is on; None where a KV connector's class decides."""
    connector: str | None = None
    linear: LinearPlan = LinearPlan()
    unreadable: tuple[ModelError, ...] = ()
    """Files of the model that are there and cannot be used."""
    model_dtype: bool = False
    """The dtype is the checkpoint's own: nobody asked for one, so that the engine may take another."""
    unknown_kind: bool = False
    """Nothing is known of the model, and nobody says whether it has MLA."""
    known_model: bool = False
    """The model's configuration is known: from a folder, a cache or the packaged table."""
    places: dict[str, tuple[int, int]] = {}
    """Configuration field -> the place (line, column) in the launch that decided it."""
    origins: dict[str, tuple[str, int, int]] = {}
    """Configuration field -> the place (file, line, column) in a file of --config that decided it."""
