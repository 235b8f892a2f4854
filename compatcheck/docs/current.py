"""Whether pages on disk are what the same inputs gave before: then nothing is rendered."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from compatcheck.caches import cache_folder
from compatcheck.docs.environment import default_templates
from compatcheck.docs.lines import Shown
from compatcheck.docs.pages.index import by_hand
from compatcheck.docs.render import generated

if TYPE_CHECKING:
    from compatcheck.matrix.load import LoadedMatrix

_PACKAGE = Path(__file__).resolve().parent.parent


def inputs_digest(loaded: LoadedMatrix, output: Path, templates: Path | None) -> str:
    """Return the digest of everything that the files are made from: matrix and names, templates, evidence, package."""
    names = [loaded.digest, *Shown(loaded, output).files(), "", *by_hand(output)]
    hashed = hashlib.sha256("\0".join(names).encode("utf-8", "surrogateescape"))
    folders = [(default_templates(), ""), (_PACKAGE, ".py"), (output / "evidence", ".json")]
    folders += [(templates, "")] if templates else []
    for folder, suffix in folders:
        for name, path in _files(str(folder), suffix):
            with open(path, "rb") as stream:
                hashed.update(name.encode("utf-8", "surrogateescape") + b"\0" + stream.read() + b"\0")
    return hashed.hexdigest()


def _files(folder: str, suffix: str) -> list[tuple[str, str]]:
    """Return every file below a folder whose name ends so: its path from there and its path, in a fixed order."""
    found: list[tuple[str, str]] = []
    for inside, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        paths = [os.path.join(inside, name) for name in names if name.endswith(suffix)]
        found += [(path[len(folder) :], path) for path in paths if os.path.isfile(path)]
    return sorted(found)


def known_current(digest: str, output: Path) -> bool:
    """Return whether these inputs were rendered before and the files on disk are, byte for byte, what came out."""
    try:
        known = msgspec.json.decode(_known_file(digest).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError):
        return False
    for name, expected in known.items():
        try:
            data = (output / name).read_bytes()
        except OSError:
            return False
        if hashlib.sha256(data).hexdigest() != expected:
            return False
    return not generated(output, known)


def remember(digest: str, files: dict[str, str]) -> None:
    """Keep the digests of what was rendered from these inputs. A cache that cannot be written is ignored."""
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    try:
        path = _known_file(digest)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_bytes(msgspec.json.encode(digests))
        temporary.replace(path)
    except OSError:
        return


def _known_file(digest: str) -> Path:
    return Path(cache_folder()) / f"docs-{digest[:32]}.json"
