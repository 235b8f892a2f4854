"""`compatcheck matrix`, and the cache behind every command."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from ..matrix.samples import SMALL
from .conftest import PLACE, Cli

CHECK = ("check", "--matrix", "m.yaml", "--no-host", "--sm", "9.0", "--head-size", "128", "--format", "jsonl")


def test_json(process: Cli) -> None:
    document = json.loads(process("matrix", "--format", "json").stdout)
    assert document["schema"] == 1
    assert len(document["digest"]) == 64
    assert document["matrix"]["rules"]["nvfp4-kv-mla"]["title"]
    assert PLACE.fullmatch(document["lines"]["rules/nvfp4-kv-mla"])


def test_text(cli: Cli) -> None:
    done = cli("matrix")
    assert done.returncode == 0
    assert "SMs           7.5, 8.0, 8.6" in done.stdout


def test_files_that_cannot_be_read(cli: Cli, tmp_path: Path) -> None:
    for name in ("none.yaml", "."):
        done = cli("matrix", "--matrix", name)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"{name}:")


def kept(folder: Path) -> list[Path]:
    return sorted((folder / "compatcheck").glob("*"))


def test_a_corrupt_cache_is_made_anew(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(SMALL, encoding="utf-8")
    cache = tmp_path / "own"
    first = cli(*CHECK, COMPATCHECK_CACHE_DIR=str(cache))
    (file,) = kept(cache)
    whole = file.read_bytes()
    for bad in (b"", whole[: len(whole) // 2], b'{"matrix": {}, "lines": {}}', b"\xff" * 100):
        file.write_bytes(bad)
        again = cli(*CHECK, COMPATCHECK_CACHE_DIR=str(cache))
        assert (again.returncode, again.stdout, again.stderr) == (0, first.stdout, "")
        assert kept(cache) == [file]
        assert file.read_bytes() == whole


def test_a_cache_that_cannot_be_written(cli: Cli, tmp_path: Path) -> None:
    """Read-only, in a place where a file stands, and without a home: the answer is the same."""
    (tmp_path / "m.yaml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "file").write_text("", encoding="utf-8")
    places = [str(tmp_path / "file"), "/proc/none"]
    if os.geteuid() != 0:
        locked = tmp_path / "locked"
        locked.mkdir()
        locked.chmod(stat.S_IRUSR | stat.S_IXUSR)
        places.append(str(locked))
    for place in places:
        done = cli(*CHECK, COMPATCHECK_CACHE_DIR=place)
        assert (done.returncode, done.stderr) == (0, "")
    done = cli(*CHECK, COMPATCHECK_CACHE_DIR="", XDG_CACHE_HOME="", HOME="/proc/none")
    assert (done.returncode, done.stderr) == (0, "")


def test_another_matrix_is_another_entry(process: Cli, tmp_path: Path) -> None:
    cache = tmp_path / "own"
    (tmp_path / "m.yaml").write_text(SMALL, encoding="utf-8")
    text = json.loads(
        process("matrix", "--matrix", "m.yaml", "--format", "json", COMPATCHECK_CACHE_DIR=str(cache)).stdout
    )
    assert text["lines"]["rules/helpers-missing"].startswith("m.yaml:")
    assert len(kept(cache)) == 1


@pytest.mark.parametrize("text", ["", "[]", "schema: 1\n", "&a [*a]\n", "x: !!python/object:os.system {}\n", "\x00"])
def test_what_is_no_matrix(cli: Cli, tmp_path: Path, text: str) -> None:
    (tmp_path / "m.yaml").write_text(text, encoding="utf-8")
    done = cli("matrix", "--matrix", "m.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("m.yaml:")
