"""Save a host as JSON and read it back, on this machine or another."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from compatcheck.atomic import write_atomically
from compatcheck.host.json_position import line_column, locate
from compatcheck.host.model import SCHEMA, Host, Record

_LARGEST = 16 << 20
_PATH = re.compile(r" - at `(?P<path>[^`]*)`\Z")
_BYTE = re.compile(r"\(byte (\d+)\)")
_UNKNOWN = re.compile(r"unknown field `([^`]*)`")
_PATH_KEY = re.compile(r"\A(?:key in|key) ")


class HostFileError(ValueError):
    """A host document cannot be read or written.

    `path` is the file, `line` and `column` (1-based) the place in it, None where the file as a whole is at
    fault. The text begins with path:line:column.
    """

    def __init__(self, path: str | Path, reason: str, line: int | None = None, column: int | None = None) -> None:
        self.path = str(path)
        self.reason = reason
        self.line = line
        self.column = column
        place = "" if line is None else f":{line}:{column}"
        super().__init__(f"{self.path}{place}: {reason}")


def dump_host(host: Host) -> bytes:
    """Return a host as indented JSON that ends with a newline."""
    return msgspec.json.format(msgspec.json.encode(host), indent=2) + b"\n"


def load_host(path: str | Path) -> Host:
    """Read a host document, or the `host` member of one that `compatcheck probe --format json` printed.

    Raises `HostFileError` with the place for a file that is missing, unreadable, truncated or no JSON, for a
    document of another kind or schema, and for a field that is unknown or of the wrong type.
    """
    try:
        with open(path, "rb") as stream:
            raw = stream.read(_LARGEST + 1)
    except OSError as error:
        raise HostFileError(path, f"cannot be read: {error.strerror or type(error).__name__}") from None
    if len(raw) > _LARGEST:
        raise HostFileError(path, f"is larger than {_LARGEST >> 20} MiB, which no host document is")
    return parse_host(raw, path)


def parse_host(raw: bytes, path: str | Path = "<host>") -> Host:
    """Read a host document from bytes as `load_host` does; `path` is only for messages."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = line_column(raw[: error.start].decode("utf-8", "replace"), error.start)
        raise HostFileError(path, "is not UTF-8 text", line, column) from None
    document = _decode_any(raw, text, path)
    prefix = "$"
    if isinstance(document, dict) and isinstance(document.get("host"), dict):
        document, prefix = document["host"], "$.host"
    if not isinstance(document, dict):
        raise _at(path, text, prefix, f"expected a host document (a JSON object), found {_kind(document)}")
    if document.get("document") != "compatcheck-host":
        raise _at(
            path,
            text,
            f"{prefix}.document",
            'is no host document: expected `"document": "compatcheck-host"`, as '
            "`compatcheck probe --format json` writes it",
        )
    schema = document.get("schema")
    if schema != SCHEMA or isinstance(schema, bool):
        found = "no schema" if schema is None else f"schema {schema!r}"
        raise _at(
            path,
            text,
            f"{prefix}.schema",
            f"this compatcheck reads host documents of schema {SCHEMA}, found {found}; "
            "write the document again with the same release of compatcheck",
        )
    try:
        return msgspec.convert(document, Host)
    except msgspec.ValidationError as error:
        reason, where = _split(str(error))
        unknown = _UNKNOWN.search(reason)
        place = f"{prefix}{where}.{unknown[1]}" if unknown else prefix + where
        hint = _nearest(unknown[1]) if unknown else ""
        raise _at(path, text, place, f"{where.lstrip('.') or 'document'}: {reason}{hint}") from None


def save_host(host: Host, path: str | Path) -> None:
    """Write a host document: to a temporary file beside it first, which then takes its place.

    Raises `HostFileError` where it cannot be written; an older document is then still whole.
    """
    try:
        write_atomically(Path(path), dump_host(host))
    except OSError as error:
        raise HostFileError(path, f"cannot be written: {error.strerror or type(error).__name__}") from None


def _decode_any(raw: bytes, text: str, path: str | Path) -> object:
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        message = str(error)
    except RecursionError:
        raise HostFileError(path, "is nested too deeply to be a host document") from None
    if not text.strip():
        raise HostFileError(path, "is empty; expected a host document", 1, 1)
    byte = _BYTE.search(message)
    if byte is None:  # msgspec names no byte where the text simply ends
        line, column = line_column(text, len(text))
        raise HostFileError(path, "is cut short: the JSON ends before the document does", line, column)
    line, column = line_column(text, len(raw[: int(byte[1])].decode("utf-8", "replace")))
    reason = _BYTE.sub("", message).strip().removeprefix("JSON is malformed: ")
    raise HostFileError(path, f"is no valid JSON: {reason}", line, column)


def _split(message: str) -> tuple[str, str]:
    """Return msgspec's reason and the path after `$`, '' where it gives none."""
    match = _PATH.search(message)
    if match is None:
        return message, ""
    return message[: match.start()], _PATH_KEY.sub("", match["path"]).removeprefix("$")


def _nearest(field: str) -> str:
    """Return a suggestion for a misspelt field, '' where none is near."""
    import difflib

    fields = {name for record in Record.__subclasses__() for name in record.__struct_fields__}
    near = difflib.get_close_matches(field, sorted(fields), n=1)
    return f"; did you mean `{near[0]}`?" if near else ""


def _at(path: str | Path, text: str, where: str, reason: str) -> HostFileError:
    line, column = line_column(text, locate(text, where))
    return HostFileError(path, reason, line, column)


def _kind(value: object) -> str:
    names = {list: "an array", str: "a text", bool: "a truth value", int: "a number", float: "a number"}
    return names.get(type(value), "null")
