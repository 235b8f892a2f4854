"""All pages rendered; what of them is current on disk; writing them."""

from __future__ import annotations

import difflib
import hashlib
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from compatcheck.caches import cache_folder
from compatcheck.docs import header
from compatcheck.docs.environment import DocsError, default_templates, environment, render
from compatcheck.docs.files import read_text, write_text
from compatcheck.docs.lines import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jinja2 import Environment

    from compatcheck.docs.linear_grid import LinearGrid
    from compatcheck.docs.site import Site
    from compatcheck.docs.space import Space
    from compatcheck.docs.workers import Workers
    from compatcheck.matrix.load import LoadedMatrix

_PACKAGE = Path(__file__).resolve().parent.parent
_SUFFIXES = (".md", ".html")
FOLDERS = ("", "attention-backends", "changes", "evidence", "rules")
"""Where pages lie below the output folder: nowhere else is a page looked for that is no longer generated."""


class Difference(msgspec.Struct, frozen=True):
    """A file that is not what would be generated now."""

    path: Path
    state: header.State | str
    old: str = ""
    new: str = ""

    @property
    def diff(self) -> str:
        """A unified diff from what is on disk to what would be generated."""
        return _diff(self.old, self.new, self.path)


def render_all(
    loaded: LoadedMatrix, output: Path, templates: Path | None = None, compiled: Callable[[], None] = lambda: None
) -> dict[str, str]:
    """Return every generated file: path below the output folder -> text.

    `compiled` is called before a template is needed: it waits for those that are being compiled ahead.
    """
    from compatcheck.docs.pages import with_answers, without_answers
    from compatcheck.docs.site import Site
    from compatcheck.docs.workers import Workers

    site = Site(loaded, output)
    making = Making(site, environment(templates))
    workers: Workers[Space] = Workers(site.grid)
    with workers as asking, _kept(site.linear, asking), site.grid.answering(asking):
        compiled()
        files: dict[str, str] = {}
        for name in without_answers():
            files |= making.files(name)
        site.grid.number_everything()
        # What is answered is read only from here on, so pages may be made side by side.
        with Workers(making) as making_too:
            coming = {name: making_too.submit(_make, name) for name in with_answers()}
            for name, future in reversed(coming.items()):
                made = Workers.result(future)
                files |= making.files(name) if made is None else msgspec.msgpack.decode(made, type=dict[str, str])
    return files


class Making:
    """Makes pages, and renders them."""

    def __init__(self, site: Site, env: Environment) -> None:
        self._site = site
        self._env = env

    def files(self, name: str) -> dict[str, str]:
        """Return what the pages of a module are on disk: path below the output folder -> text."""
        from compatcheck.docs.pages import with_answers, without_answers

        files: dict[str, str] = {}
        for page in (without_answers() | with_answers())[name](self._site):
            body = render(self._env, page.template, page.variables)
            html = page.path.endswith(".html")
            files[page.path] = header.with_header(_tidy(body), f"templates/{page.template}", html=html)
        return files


def _make(making: Making, name: str) -> bytes:
    return msgspec.msgpack.encode(making.files(name))


@contextmanager
def _kept(linear: LinearGrid | None, workers: Workers[Space]) -> Iterator[None]:
    """Take answers about linear layers that are kept, and keep them afterwards."""
    if linear is not None:
        linear.recall(workers)
    yield
    if linear is not None:
        linear.keep()


def _tidy(body: str) -> str:
    """Return a text without trailing spaces and without more than one blank line in a row, ended by one newline."""
    lines: list[str] = []
    for line in body.split("\n"):
        stripped = line.rstrip()
        if stripped or (lines and lines[-1]):
            lines.append(stripped)
    return "\n".join(lines).rstrip("\n") + "\n"


def compare(files: dict[str, str], output: Path) -> list[Difference]:
    """Return what differs on disk: missing, old, edited by hand, or generated once and no longer."""
    found: list[Difference] = []
    for name, expected in sorted(files.items()):
        path = output / name
        if path.exists() and not path.is_file():
            found.append(Difference(path, "not generated"))
            continue
        text = read_text(path) if path.is_file() else None
        state = header.state(text, expected)
        if state != "current":
            found.append(Difference(path, state, text or "", expected))
    gone = [path for path in _generated(output) if path.relative_to(output).as_posix() not in files]
    return found + [Difference(path, "no longer generated") for path in gone]


def write(files: dict[str, str], output: Path) -> list[Difference]:
    """Bring the output folder up to date and return what was changed.

    Raises `DocsError`, and writes nothing, where a file stands in the way that compatcheck did not generate.
    """
    differences = compare(files, output)
    foreign = [d.path for d in differences if d.state == "not generated"]
    if foreign:
        listed = ", ".join(str(path) for path in foreign)
        raise DocsError(f"{listed}: not generated by compatcheck, so not overwritten; move it or give another --output")
    for difference in differences:
        if difference.state == "no longer generated":
            difference.path.unlink()
        else:
            # Another run makes it again.
            write_text(difference.path, files[difference.path.relative_to(output).as_posix()], flush=False)
    return differences


def _generated(output: Path) -> list[Path]:
    """Return the pages on disk that say that they were generated, whether they still are or not."""
    found: list[Path] = []
    for path in sorted(
        path for folder in FOLDERS for suffix in _SUFFIXES for path in (output / folder).glob(f"*{suffix}")
    ):
        if not path.is_file():  # a folder, a link to nothing, a pipe
            continue
        try:
            with path.open(encoding="utf-8", errors="replace") as stream:
                start = stream.read(600)
        except OSError as error:
            raise DocsError(f"{path}: cannot be read: {error.strerror or error}") from error
        if header.is_generated(start):
            found.append(path)
    return found


def _diff(old: str, new: str, path: Path) -> str:
    lines = difflib.unified_diff(
        old.splitlines(keepends=True),
        new.splitlines(keepends=True),
        f"{path} (on disk)" if old else "/dev/null",
        f"{path} (from the matrix)",
        n=2,
    )
    shown = [line if len(line) <= _LONGEST else line[:_LONGEST] + "...\n" for line in lines]
    return "".join(line if line.endswith("\n") else line + "\n" for line in shown)


_LONGEST = 400
"""Characters of a diff line that are shown: the explorer's data is one line of a megabyte."""


# ------------------------------------------------------------------------------------------ known good


def inputs_digest(loaded: LoadedMatrix, output: Path, templates: Path | None) -> str:
    """Return the digest of everything that the files are made from: matrix and names, templates, evidence, package."""
    hashed = hashlib.sha256(
        "\0".join([loaded.digest, *Shown(loaded, output).files()]).encode("utf-8", "surrogateescape")
    )
    folders = [(default_templates(), "*"), (_PACKAGE, "*.py"), (output / "evidence", "*.json")]
    folders += [(templates, "*")] if templates else []
    for folder, pattern in folders:
        for path in sorted(folder.rglob(pattern)) if folder.is_dir() else []:
            if path.is_file() and "__pycache__" not in path.parts:
                hashed.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return hashed.hexdigest()


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
    return {path.relative_to(output).as_posix() for path in _generated(output)} <= set(known)


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
