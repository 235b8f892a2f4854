"""Files are replaced whole; devices, links and permissions stay what they are."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from compatcheck.atomic import write_atomically


def test_a_file_is_replaced_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_atomically(path, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777, os.listdir(tmp_path)) == (b"new", 0o640, ["a"])


def test_what_the_system_takes_in_parts_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))
    write_atomically(tmp_path / "a", b"0123456789")
    write_atomically(tmp_path / "empty", b"")
    assert ((tmp_path / "a").read_bytes(), (tmp_path / "empty").read_bytes()) == (b"0123456789", b"")


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    write_atomically(path, b"data")
    reader.join(10)
    assert (read, path.is_fifo()) == ([b"data"], True)


def test_a_link_leads_to_the_new_content(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_folders_are_made_only_where_that_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "no" / "a", b"")
    write_atomically(tmp_path / "no" / "a", b"x", parents=True)
    assert (tmp_path / "no" / "a").read_bytes() == b"x"


def test_what_interrupts_the_making_of_a_file_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def interrupted(path: str, *arguments: int) -> int:
        os.close(opened(path, *arguments))
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "a", b"new")
    assert os.listdir(tmp_path) == []
