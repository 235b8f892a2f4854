from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compatcheck.host import HostFileError, dump_host, load_host, parse_host, save_host
from compatcheck.host.model import BrokenPackage, Host

from .hosts import host, package

HOST = host(
    "9.0",
    "12.0",
    packages={"vllm": "0.33.0", "flashinfer-python": "0.7.2.post1"},
    extra=(package("torch", "2.14.0+cu130", cuda="13.0"),),
    env={"CUDA_HOME": None, "CUDA_VISIBLE_DEVICES": "0,1"},
    broken_packages=(BrokenPackage(name="triton", entry="x.dist-info", kind="no-version", detail="d"),),
    flashinfer_symbols={"xqa": True, "other": None},
)
TEXT = dump_host(HOST).decode()


def place(text: str, needle: str) -> tuple[int, int]:
    """Line and column of a needle that occurs once."""
    assert text.count(needle) == 1, needle
    before = text[: text.index(needle)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def refused(text: str | bytes, where: str = "saved.json") -> HostFileError:
    with pytest.raises(HostFileError) as caught:
        parse_host(text.encode() if isinstance(text, str) else text, where)
    return caught.value


def test_a_host_survives_the_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "host.json"
    save_host(HOST, path)
    assert load_host(path) == HOST
    assert path.read_text() == TEXT
    assert '"schema": 1' in TEXT
    assert TEXT.endswith("}\n")


def test_the_host_inside_a_probe_document_is_read() -> None:
    text = '{"schema": 1, "problems": [{"a": "}"}], "host": ' + TEXT + "}"
    assert parse_host(text.encode()) == HOST
    broken = text.replace('"sm": "9.0"', '"sm": 9.0')
    error = refused(broken)
    assert (error.line, error.column) == place(broken, "9.0,")
    assert error.reason == "gpus[0].sm: Expected `str | null`, got `float`"


def test_a_missing_file_and_a_directory(tmp_path: Path) -> None:
    with pytest.raises(HostFileError, match=r"absent\.json: cannot be read: No such file or directory"):
        load_host(tmp_path / "absent.json")
    with pytest.raises(HostFileError, match="cannot be read: Is a directory"):
        load_host(tmp_path)


@given(st.integers(0, len(TEXT) - 3))
def test_every_truncation_is_refused_with_its_place(length: int) -> None:
    text = TEXT[:length]
    error = refused(text)
    lines = text.split("\n")
    if text.strip():
        assert error.line is not None
        assert error.column is not None
        assert error.line <= len(lines)
        assert str(error).startswith(f"saved.json:{error.line}:{error.column}: ")
    else:
        assert error.reason.startswith("is empty")


@given(st.binary(max_size=200))
def test_no_bytes_at_all_end_in_a_traceback(raw: bytes) -> None:
    refused(raw)


def test_invalid_json_is_placed() -> None:
    text = TEXT.replace('"wsl": false', '"wsl": falsy')
    error = refused(text)
    assert error.reason == "is no valid JSON: invalid character"
    line, column = place(text, "falsy")
    assert error.line == line
    assert error.column in range(column, column + 6)


@pytest.mark.parametrize(
    ("old", "new", "needle", "reason"),
    [
        ('"wsl": false', '"wsl": "no"', '"no"', "system.wsl: Expected `bool`, got `str`"),
        ('"wsl"', '"wsll"', "false,\n    ", None),
        ('"xqa": true', '"xqa": 3', '"flashinfer_symbols"', None),
        ('"kind": "no-version"', '"kind": "odd"', '"odd"', "broken_packages[0].kind: Invalid enum value 'odd'"),
    ],
)
def test_wrong_values_are_placed(old: str, new: str, needle: str, reason: str | None) -> None:
    text = TEXT.replace(old, new)
    assert text != TEXT
    error = refused(text)
    assert error.line is not None
    if reason is not None:
        assert error.reason == reason
        assert (error.line, error.column) == place(text, needle)


def test_an_unknown_field_gets_a_suggestion_and_its_own_place() -> None:
    text = TEXT.replace('"wsl": false', '"wsll": false')
    error = refused(text)
    assert error.reason == "system: Object contains unknown field `wsll`; did you mean `wsl`?"
    line, column = place(text, '"wsll": false')
    assert (error.line, error.column) == (line, column + len('"wsll": '))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        ("[]", "expected a host document (a JSON object), found an array"),
        ("3", "found a number"),
        ("null", "found null"),
        ("{}", "is no host document"),
        ('{"schema": 1, "verdict": "supported"}', "is no host document"),
        ("[" * 20000, ""),
    ],
)
def test_other_documents_are_refused(text: str, part: str) -> None:
    assert part in refused(text).reason


@pytest.mark.parametrize("schema", ["2", '"1"', "true", "null", "1.5"])
def test_another_schema_is_refused_by_name(schema: str) -> None:
    text = TEXT.replace('"schema": 1', f'"schema": {schema}')
    error = refused(text)
    assert "reads host documents of schema 1" in error.reason
    assert error.line == 3


def test_bytes_that_are_no_text() -> None:
    error = refused(b'{"a": 1,\n "\xff": 2}')
    assert (error.reason, error.line, error.column) == ("is not UTF-8 text", 2, 3)


def test_a_huge_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compatcheck.host.document._LARGEST", 100)
    path = tmp_path / "host.json"
    path.write_text(TEXT)
    with pytest.raises(HostFileError, match="is larger than"):
        load_host(path)


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_document_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path = tmp_path / "host.json"
    save_host(HOST, path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"compatcheck.atomic.os.{failing}", full)
    with pytest.raises(HostFileError, match=r"host.json: cannot be written: No space left on device"):
        save_host(Host(), path)
    assert path.read_text() == TEXT
    assert os.listdir(tmp_path) == ["host.json"]


def test_an_interrupt_leaves_no_half_written_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("compatcheck.atomic.os.fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_host(HOST, tmp_path / "host.json")
    assert os.listdir(tmp_path) == []


def test_a_missing_directory_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(HostFileError, match="cannot be written: No such file or directory"):
        save_host(HOST, tmp_path / "absent/host.json")


def test_a_link_stays_a_link_and_the_mode_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "real.json"
    target.write_text("old")
    target.chmod(0o600)
    (tmp_path / "link.json").symlink_to(target)
    save_host(HOST, tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert target.read_text() == TEXT
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_documents_are_immutable() -> None:
    with pytest.raises(AttributeError):
        HOST.gpus = ()  # type: ignore[misc]
    assert msgspec.json.decode(dump_host(Host()), type=Host) == Host()
