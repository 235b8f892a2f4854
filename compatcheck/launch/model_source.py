"""Where a model's configuration comes from: a folder or file, the local Hugging Face cache, or the packaged table.

Nothing is fetched, and nothing of a model is run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from compatcheck.launch.model_names import names_family

MAX_BYTES = 8 * 1024 * 1024


class ModelError(ValueError):
    """A file of a model that is there and cannot be used; `line` and `column` say where in it (from 1)."""

    def __init__(self, file: str, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(f"{file}:{line}:{column}: {message}")
        self.file = file
        self.line = line
        self.column = column
        self.said = message


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
    problems: tuple[ModelError, ...] = ()
    """Parts of the model's files that cannot be used; the rest is."""


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


def expect_model(name: str) -> None:
    """Raise `ModelError` for a name that is a path and leads to no model's configuration."""
    path = Path(name).expanduser()
    try:
        if path.is_dir() and not (path / "config.json").is_file():
            raise ModelError(str(Path(name, "config.json")), "no such file; a model folder holds one")
        if name.startswith((".", "/", "~")) or name.endswith(".json"):
            if not path.exists():
                raise ModelError(name, "no such file or folder")
            if path.is_file() and path.suffix != ".json":
                raise ModelError(name, "neither a folder nor a .json file")
    except OSError as error:
        raise ModelError(name, f"cannot be read: {error.strerror}") from error


def _folder(path: Path, origin: str) -> ModelSource:
    config = _read(path / "config.json")
    separate = path / "hf_quant_config.json"
    problems: list[ModelError] = []
    if config.get("quantization_config") is None and separate.is_file():
        try:
            config["quantization_config"] = _read(separate)
            origin += " and hf_quant_config.json"
        except ModelError as error:
            problems.append(error)
    return ModelSource(config=config, origin=origin, problems=(*problems, *_odd_quantization(path, config)))


def _odd_quantization(path: Path, config: dict[str, Any]) -> list[ModelError]:
    """Find a quantisation that is not the object that the engine expects."""
    found = config.get("quantization_config")
    if found is None or isinstance(found, dict):
        return []
    config.pop("quantization_config")
    return [_at(path / "config.json", "$.quantization_config", f"quantization_config is {found!r:.40}, not an object")]


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ModelError(str(path), f"cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise ModelError(str(path), f"larger than {MAX_BYTES} bytes")
    try:
        config = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ModelError(str(path), *_reason(data, error)) from error
    if not isinstance(config, dict):
        raise ModelError(str(path), f"a model configuration is a JSON object, found {type(config).__name__}")
    _check(path, config)
    return config


def _reason(data: bytes, error: Exception) -> tuple[str, int, int]:
    """Return why bytes are no JSON, with the line and the column."""
    import json

    try:
        json.loads(data)
    except json.JSONDecodeError as better:
        return f"not JSON: {better.msg}", better.lineno, better.colno
    except UnicodeDecodeError as better:
        return "not UTF-8", data.count(b"\n", 0, better.start) + 1, better.start - data.rfind(b"\n", 0, better.start)
    except (ValueError, RecursionError):
        pass
    return f"not JSON: {error}", 1, 1


_POSITIVE = ("head_dim", "num_attention_heads", "num_key_value_heads", "hidden_size", "num_hidden_layers")
_LISTED = ("num_attention_heads", "num_key_value_heads", "intermediate_size")
MAX_DEPTH = 3
"""How deep configurations nest the model that matters."""
_COUNTS = (*_POSITIVE, "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "index_topk")


def odd_size(config: Mapping[str, Any], inside: str = "$", depth: int = 0) -> tuple[str, str] | None:
    """Return the place ('$.text_config.head_dim') of a value that cannot be what it is, and what is wrong with it.

    Head counts may be lists, one for each layer.
    """
    for name, value in config.items():
        if isinstance(value, Mapping) and depth < MAX_DEPTH:
            inner = odd_size(value, f"{inside}.{name}", depth + 1)
            if inner is not None:
                return inner
        if name == "model_type" and not isinstance(value, (str, type(None))):
            return f"{inside}.{name}", f"model_type is {value!r:.40}; it has to be text"
        if name == "compress_ratios" and not isinstance(value, (list, type(None))):
            return f"{inside}.{name}", f"compress_ratios is {value!r:.40}; it has to be a list"
        if name not in _COUNTS or value is None or (name in _LISTED and isinstance(value, list)):
            continue
        whole = isinstance(value, int) and not isinstance(value, bool)
        least = 1 if name in _POSITIVE else 0
        if not whole or not least <= value < 2**31:
            what = "a positive whole number" if least else "a whole number"
            return f"{inside}.{name}", f"{name} is {value!r:.40}; it has to be {what} below 2^31"
    return None


def _check(path: Path, config: Mapping[str, Any]) -> None:
    odd = odd_size(config)
    if odd is not None:
        raise _at(path, *odd)


def _at(path: Path, place: str, message: str) -> ModelError:
    """Return an error at the value that a JSON path names in a file."""
    from compatcheck.host.json_position import line_column, locate

    text = path.read_text("utf-8")
    return ModelError(str(path), message, *line_column(text, locate(text, place)))


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
    """Return what the packaged table knows of a model id; None for an unknown one, and for what is derived from one."""
    table = families()
    for entry in table.families:
        if any(names_family(name, pattern) for pattern in entry.ids):
            return ModelSource(
                config=entry.config,
                origin=f"the packaged table of {table.date}: {entry.family} ({entry.source})",
                facts=entry.facts,
                layers=tuple(entry.layers),
                counted=entry.counts,
                exact=False,
            )
    return None
