"""Messages between the runner and a worker: one JSON object per line, on pipes of their own.

The worker's stdout and stderr belong to the libraries that it loads and go to a log file.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from compatcheck.smoke.cell import SmokeCell
from compatcheck.smoke.levels import Level


class Request(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What the runner asks. `module` is for compile, `cell` for run and compile."""

    op: Literal["run", "compile", "describe", "exit"]
    cell: SmokeCell | None = None
    module: str | None = None
    level: str = "correct"
    device: str = "cuda"
    number: int = 0
    """Counts the requests to one process; the answer repeats it."""


class Message(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a worker says.

    `ready` once, with versions in `facts`; `stage` when a cell enters a stage; `build` when a module's build starts or
    ends (`name`, `seconds` at the end); `done` with the raw result of a request; `failed` with an exception.
    """

    event: Literal["ready", "stage", "build", "done", "failed"]
    number: int = 0
    name: str = ""
    seconds: float | None = None
    facts: dict[str, Any] = {}
    exception: str = ""
    bases: tuple[str, ...] = ()
    text: str = ""
    outcome: Literal["", "correct", "wrong", "passed"] = ""
    level: Level | None = None
    stage: str | None = None
    errors: dict[str, float | None] = {}
    bounds: dict[str, float] = {}
    notes: dict[str, Any] = {}
    timings: dict[str, float] = {}
    poisoned: bool = False
    """Whether the process must be replaced before it may be used again."""


_encoder = msgspec.json.Encoder()
_requests = msgspec.json.Decoder(Request)
_messages = msgspec.json.Decoder(Message)


def encode(message: Request | Message) -> bytes:
    """Return one line. JSON has no NaN: msgspec writes null, which the reader takes as infinite error.

    Raises TypeError or UnicodeEncodeError where a message holds what JSON cannot say.
    """
    return _encoder.encode(message) + b"\n"


def decode_request(line: bytes) -> Request:
    """Return a request; raises `msgspec.MsgspecError`."""
    return _requests.decode(line)


def decode_message(line: bytes) -> Message:
    """Return a message; raises `msgspec.MsgspecError`."""
    return _messages.decode(line)
