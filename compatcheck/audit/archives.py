"""A wheel as a set of files, read member by member; refused as a whole where it is hostile or broken."""

from __future__ import annotations

import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from compatcheck.audit import limits
from compatcheck.host.source_files import UnreadableSourceError


class ReleaseError(ValueError):
    """A wheel or tree that is refused; the text names the member."""


class WheelFiles:
    """The members of a wheel. Raises `ReleaseError` for whatever no wheel of a build tool has."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0
        self.partial = False
        try:
            self._zip = zipfile.ZipFile(path)
            members = self._zip.infolist()
        except OSError as error:
            raise ReleaseError(f"{path.name}: cannot be read: {error.strerror or type(error).__name__}") from None
        except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as error:
            raise ReleaseError(f"{path.name}: no zip archive, or cut off: {error}") from None
        if len(members) > limits.MEMBERS:
            raise ReleaseError(f"{path.name}: {len(members)} members; at most {limits.MEMBERS} are looked at")
        self._members: dict[str, zipfile.ZipInfo] = {}
        for member in members:
            self._check(member)
            self._members[member.filename] = member
        self.names = frozenset(self._members)

    def _check(self, member: zipfile.ZipInfo) -> None:
        name, shown = member.filename, f"{self.path.name}: {member.filename!r}"
        parts = PurePosixPath(name).parts
        if name.startswith("/") or "\\" in name or ":" in name.partition("/")[0] or "\0" in member.orig_filename:
            raise ReleaseError(f"{shown} is no relative path")
        if ".." in parts or not parts:
            raise ReleaseError(f"{shown} leads out of the wheel")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise ReleaseError(f"{shown} is a symbolic link")
        if name in self._members:
            raise ReleaseError(f"{shown} is there twice")
        if member.flag_bits & 1:
            raise ReleaseError(f"{shown} is encrypted")
        if self._wanted(name) and member.file_size > limits.SMALL:
            ratio = member.file_size / max(member.compress_size, 1)
            if ratio > limits.RATIO:
                raise ReleaseError(f"{shown} would grow {ratio:.0f}-fold to {member.file_size} bytes: a zip bomb")

    @staticmethod
    def _wanted(name: str) -> bool:
        return name.endswith((".py", ".dist-info/METADATA"))

    def raw(self, name: str) -> bytes:
        """Return a member's bytes. Raises `ReleaseError` or FileNotFoundError."""
        member = self._members.get(name)
        if member is None:
            raise FileNotFoundError(name)
        try:
            with self._zip.open(member) as stream:
                data = stream.read(limits.TEXT + 1)
        except (
            zipfile.BadZipFile,
            EOFError,
            OSError,
            NotImplementedError,
            RuntimeError,
            ValueError,
            zlib.error,
        ) as error:
            raise ReleaseError(f"{self.path.name}: {name!r} cannot be unpacked: {error}") from None
        self._read += len(data)
        if self._read > limits.TEXTS:
            raise ReleaseError(f"{self.path.name}: {name!r} makes more than {limits.TEXTS >> 20} MiB of text")
        return data

    def text(self, name: str) -> str:
        """Return a text. Raises `UnreadableSourceError`, `ReleaseError` or FileNotFoundError."""
        data = self.raw(name)
        if len(data) > limits.TEXT:
            raise UnreadableSourceError(f"is larger than {limits.TEXT >> 20} MiB")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UnreadableSourceError(f"is not UTF-8 at byte {error.start}") from None

    def metadata(self) -> bytes:
        """Return the bytes of METADATA. Raises `ReleaseError` where there is not exactly one."""
        found = [name for name in self.names if name.endswith(".dist-info/METADATA") and name.count("/") == 1]
        if not found:
            raise ReleaseError(f"{self.path.name}: no .dist-info/METADATA in it")
        if len(found) > 1:
            raise ReleaseError(f"{self.path.name}: {len(found)} METADATA files: {', '.join(sorted(found))}")
        return self.raw(found[0])
