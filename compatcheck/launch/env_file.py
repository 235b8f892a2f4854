"""Files of environment variables, as `docker run --env-file` and compose's `env_file` read them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from compatcheck.launch.model import Word

MAX_BYTES = 1024 * 1024


def read_env_file(word: Word, directory: str | None) -> tuple[dict[str, Word], str | None]:
    """Return a file's variables at the place where it is named, or why they are not known.

    A line that is a name alone takes the value from the environment of whoever starts the container. `directory` None:
    no file may be read.
    """
    if word.dynamic or directory is None:
        return {}, f"{word.text} was not read"
    try:
        with Path(directory, word.text).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode("utf-8")
    except OSError:
        return {}, f"{word.text} is not here"
    except ValueError:
        return {}, f"{word.text} is not text"
    if len(data) > MAX_BYTES:
        return {}, f"{word.text} is larger than {MAX_BYTES} bytes"
    found: dict[str, Word] = {}
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        name = name.removeprefix("export ").strip()
        if not name or name.startswith("#"):
            continue
        value = value.strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        found[name] = msgspec.structs.replace(word, text=value, dynamic=not equals)
    return found, None
