"""The file of `--config`: its keys become options in front of those of the command line.

Source: vllm/utils/argparse_utils.py:FlexibleArgumentParser.load_config_file@0.33.0.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from compatcheck.launch.flag_table import FlagTable
from compatcheck.launch.model import Word
from compatcheck.launch.placeholders import is_open
from compatcheck.launch.yaml_lenient import YamlError, read_lenient

MAX_BYTES = 1024 * 1024


class ConfigFile(msgspec.Struct, frozen=True):
    """The options of a --config file, or why there are none."""

    words: tuple[Word, ...] = ()
    problem: str | None = None
    empty: bool = False


def read_config_file(name: str, directory: str | None, place: Word, flags: FlagTable) -> ConfigFile:
    """Return a --config file's options as words at the place of `--config`, each with its own place as `origin`.

    `directory` None: no file may be read.
    """
    if directory is None or Path(name).suffix not in (".yaml", ".yml"):
        return ConfigFile(problem=None if directory is None else f"{name} is not a .yaml file, which vLLM requires")
    try:
        with Path(directory, name).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode("utf-8")
        if len(data) > MAX_BYTES:
            return ConfigFile(problem=f"{name} is larger than {MAX_BYTES} bytes")
        documents = read_lenient(text, name)
    except OSError:
        return ConfigFile(problem=f"{name} is not here, so its options are not known")
    except (UnicodeDecodeError, YamlError, ValueError) as error:
        return ConfigFile(problem=f"{name} cannot be read: {error}")
    value = documents[0].plain() if documents else None
    if value is None or value == {}:
        return ConfigFile(empty=True)
    if not isinstance(value, dict):
        return ConfigFile(problem=f"{name} is not a mapping of options")
    words: list[Word] = []
    for key, item in documents[0].value.items():
        origin = (name, item.line, item.column)
        texts = _words({key: item.plain()}, flags)
        words += [Word(text, place.line, place.column, is_open(text), origin=origin) for text in texts]
    return ConfigFile(words=tuple(words))


def _words(options: dict[str, Any], flags: FlagTable) -> list[str]:
    words: list[str] = []
    for key, value in options.items():
        if isinstance(value, bool):
            negative = f"--no-{key}"
            if value:
                words.append(f"--{key}")
            elif negative in flags.spellings:
                words.append(negative)
        elif isinstance(value, list):
            words += [f"--{key}", *[str(item) for item in value]] if value else []
        elif isinstance(value, dict):
            words += [f"--{key}", json.dumps(value)]
        else:
            words += [f"--{key}", str(value)]
    return words
