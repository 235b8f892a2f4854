"""The matrix as it would have been at an older release: nothing that came later, and nothing known to end later."""

from __future__ import annotations

from typing import Any

import msgspec

from compatcheck.matrix.documents import read_files
from compatcheck.matrix.load import LoadedMatrix, default_path
from compatcheck.matrix.model import Matrix
from compatcheck.matrix.parts import with_parts
from compatcheck.matrix.versions import parse


def older(release: str) -> LoadedMatrix:
    """Return the packaged matrix without what came after a release of the engine."""
    document = read_files(with_parts(default_path(), default_path())).value
    engine = _without(document["engines"]["vllm"], release)
    engine["releases"] = {name: pins for name, pins in engine["releases"].items() if parse(name) <= parse(release)}
    document["engines"]["vllm"] = engine
    return LoadedMatrix(msgspec.convert(document, Matrix), {}, "")


def _later(value: Any, release: str) -> bool:
    since = value.get("since") if isinstance(value, dict) else None
    return isinstance(since, str) and parse(since) > parse(release)


def _without(value: Any, release: str) -> Any:
    if isinstance(value, list):
        return [_without(item, release) for item in value if not _later(item, release)]
    if isinstance(value, dict):
        kept = {key: _without(item, release) for key, item in value.items() if not _later(item, release)}
        until = kept.get("until")
        if isinstance(until, str) and parse(until) > parse(release):
            del kept["until"]
        return kept
    return value
