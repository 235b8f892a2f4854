"""What the reading process is asked, and what it answers."""

from __future__ import annotations

import msgspec

from compatcheck.audit.flashinfer_reading import FlashInferReading
from compatcheck.audit.vllm_reading import VllmReading


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a release is: a wheel file or a folder that holds the package and its metadata."""

    path: str
    version: str | None = None
    """The version that is expected."""
    packages: str | None = None
    """The folder that holds the package, where metadata lie elsewhere (an editable install)."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be read."""

    vllm: Source | None = None
    flashinfer: Source | None = None
    sms: list[str]
    kv_cache_dtypes: list[str]
    symbols: list[str]
    only_guards: bool = False
    """Whether to leave everything out but the guards: for recording them."""
    progress: str | None = None
    """A file that names the member being read, for whoever finds this process dead."""


class Wheel(msgspec.Struct, frozen=True, kw_only=True):
    """What a release's metadata say."""

    name: str
    version: str
    requires: list[str] = []
    extras: list[str] = []


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What was read; `refused` says why nothing was."""

    refused: str | None = None
    vllm_wheel: Wheel | None = None
    vllm: VllmReading | None = None
    flashinfer_wheel: Wheel | None = None
    flashinfer: FlashInferReading | None = None
