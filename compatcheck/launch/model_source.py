"""Where a model's configuration comes from: a folder or file, the local Hugging Face cache, or the packaged table.

Nothing is fetched, and nothing of a model is run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

MAX_BYTES = 8 * 1024 * 1024


class ModelSource(msgspec.Struct, frozen=True, kw_only=True):
    """A model's configuration, and a line for the user that says where it is from."""

    config: dict[str, Any]
    origin: str
    facts: dict[str, Any] = {}
    """Facts that stand for themselves where the table has no whole configuration."""
    layers: tuple[tuple[str, int], ...] = ()
    counted: bool = True
    exact: bool = True
    """False for the packaged table: a checkpoint of that family may have been quantised, so `auto` is not sure."""


class ModelError(ValueError):
    """A model folder or configuration that is there and cannot be used."""


def find_model(
    name: str, directory: str | None = None, environment: Mapping[str, str] | None = None
) -> ModelSource | None:
    """Return a model's configuration by path or id, or None where nothing is known of it.

    `directory` is where a relative path starts. Raises `ModelError` for a file that is there and unreadable.
    """
    path = Path(directory, name) if directory is not None else Path(name)
    try:
        if path.is_file() and path.suffix == ".json":
            return ModelSource(config=_read(path), origin=f"from {name}")
        if path.is_dir() and (path / "config.json").is_file():
            return _folder(path, f"from {name}/config.json")
    except (OSError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        return None  # a name that is no path
    cached = _cached(name, os.environ if environment is None else environment)
    return cached if cached is not None else family(name)


def _folder(path: Path, origin: str) -> ModelSource:
    config = _read(path / "config.json")
    separate = path / "hf_quant_config.json"
    if config.get("quantization_config") is None and separate.is_file():
        config["quantization_config"] = _read(separate)
        origin += " and hf_quant_config.json"
    return ModelSource(config=config, origin=origin)


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise ModelError(f"{path}: larger than {MAX_BYTES} bytes")
    try:
        config = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ModelError(f"{path}: not JSON: {error}") from error
    if not isinstance(config, dict):
        raise ModelError(f"{path}: a model configuration is a JSON object, found {type(config).__name__}")
    return config


def _cached(name: str, environment: Mapping[str, str]) -> ModelSource | None:
    """Look into the cache of huggingface_hub: models--ORG--NAME/{refs/main, snapshots/COMMIT/config.json}."""
    parts = name.split("/")
    if len(parts) != 2 or not all(part and part not in (".", "..") and "\x00" not in part for part in parts):
        return None
    hub = environment.get("HF_HUB_CACHE") or environment.get("HUGGINGFACE_HUB_CACHE")
    home = environment.get("HF_HOME") or str(Path(environment.get("HOME", "~"), ".cache", "huggingface"))
    root = Path(hub or Path(home, "hub")).expanduser() / f"models--{parts[0]}--{parts[1]}"
    try:
        if not root.is_dir():
            return None
        ref = root / "refs" / "main"
        commits = [ref.read_text("utf-8").strip()] if ref.is_file() else []
        snapshots = root / "snapshots"
        commits += sorted(entry.name for entry in snapshots.iterdir()) if snapshots.is_dir() else []
        for commit in commits:
            folder = snapshots / commit
            if (folder / "config.json").is_file():
                return _folder(folder, f"from the local Hugging Face cache, commit {commit[:12]}")
    except (OSError, UnicodeDecodeError):
        return None
    return None


class _Family(msgspec.Struct, frozen=True):
    family: str
    ids: list[str]
    config: dict[str, Any]
    source: str
    facts: dict[str, Any] = {}
    layers: list[tuple[str, int]] = []
    counts: bool = True


class _Families(msgspec.Struct, frozen=True):
    schema: int
    date: str
    note: str
    families: list[_Family]


@lru_cache(maxsize=1)
def families() -> _Families:
    """Return the packaged table."""
    text = (files("compatcheck.launch") / "data" / "families.json").read_bytes()
    return msgspec.json.decode(text, type=_Families)


def family(name: str) -> ModelSource | None:
    """Return what the packaged table knows of a model id; None for an unknown one, and for distilled models."""
    table = families()
    wanted = name.lower().rstrip("/")
    if "distill" in wanted:
        return None
    for entry in table.families:
        if any(fnmatchcase(wanted, pattern) for pattern in entry.ids):
            return ModelSource(
                config=entry.config,
                origin=f"the packaged table of {table.date}: {entry.family} ({entry.source})",
                facts=entry.facts,
                layers=tuple(entry.layers),
                counted=entry.counts,
                exact=False,
            )
    return None
