"""An unpacked or installed release as a set of files."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from compatcheck.audit import limits
from compatcheck.audit.archives import ReleaseError
from compatcheck.host.metadata import entry_name
from compatcheck.host.source_files import UnreadableSourceError, read_source


class TreeFiles:
    """The files of one distribution under a folder: what its RECORD lists, and what lies there.

    RECORD counts where compiled files were left out when a wheel was unpacked for reading.
    """

    def __init__(self, root: Path, distribution: str, packages: Path | None = None) -> None:
        self.root = packages or root
        self.shown = root.name or str(root)
        try:
            entries = sorted(os.listdir(root))
        except OSError as error:
            raise ReleaseError(f"{root}: cannot be read: {error.strerror}") from None
        found = [e for e in entries if entry_name(e) == distribution]
        if not found:
            raise ReleaseError(
                f"{self.shown}: no metadata of {distribution} in it (a folder such as {distribution}-1.0.dist-info)"
            )
        if len(found) > 1:
            raise ReleaseError(f"{self.shown}: {len(found)} metadata folders of {distribution}: {', '.join(found)}")
        self._entry = root / found[0]
        self.names = frozenset((set() if packages else self._recorded()) or self._listed())
        self.partial = not any(name.endswith(".so") for name in self.names) and not (self._entry / "RECORD").is_file()
        self._read = 0

    def _recorded(self) -> set[str]:
        names: set[str] = set()
        try:
            with (self._entry / "RECORD").open(encoding="utf-8", newline="") as stream:
                for row in csv.reader(stream):
                    if row:
                        names.add(row[0])
                    if len(names) > limits.MEMBERS:
                        raise ReleaseError(f"{self.shown}: RECORD has more than {limits.MEMBERS} lines")
        except (OSError, UnicodeDecodeError, csv.Error):
            return set()
        return {name for name in names if not name.startswith(("/", "../"))}

    def _listed(self) -> set[str]:
        """Return the files of the packages beside metadata without a RECORD (an editable install, a checkout)."""
        names: set[str] = set()
        for package in ("vllm", "flashinfer", "b12x"):
            for folder, _, files in os.walk(self.root / package):
                inside = Path(folder).relative_to(self.root).as_posix()
                names.update(f"{inside}/{file}" for file in files)
                if len(names) > limits.MEMBERS:
                    raise ReleaseError(f"{self.shown}: more than {limits.MEMBERS} files")
        return names

    def text(self, name: str) -> str:
        """Return a text. Raises `UnreadableSourceError`, `ReleaseError` or FileNotFoundError."""
        path = self.root / name
        if not path.resolve().is_relative_to(self.root.resolve()):
            raise UnreadableSourceError("leads out of the folder")
        text = read_source(path)
        self._read += len(text)
        if self._read > limits.TEXTS:
            raise ReleaseError(f"{self.shown}: {name!r} makes more than {limits.TEXTS >> 20} MiB of text")
        return text

    def metadata(self) -> bytes:
        """Return the bytes of METADATA, or of PKG-INFO. Raises `ReleaseError`."""
        name = "METADATA" if self._entry.name.endswith(".dist-info") else "PKG-INFO"
        try:
            with (self._entry if self._entry.is_file() else self._entry / name).open("rb") as stream:
                return stream.read(limits.TEXT)
        except OSError as error:
            raise ReleaseError(f"{self.shown}: {name} cannot be read: {error.strerror}") from None
