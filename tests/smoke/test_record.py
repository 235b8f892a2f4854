from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from compatcheck.smoke.fingerprint import Fingerprint
from compatcheck.smoke.outcome import Result
from compatcheck.smoke.record import Header, RecordError, open_record

HEADER = Header(level="correct", fingerprint=Fingerprint(sm="9.0", tool="1", matrix="m", flashinfer="0.7.2"))


def write(path: Path, *ids: str) -> None:
    with open_record(path, HEADER, resume=False) as record:
        for id_ in ids:
            record.append(Result(id=id_, outcome="correct"))


def test_results_are_there_as_soon_as_they_come(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with open_record(path, HEADER, resume=False) as record:
        record.append(Result(id="a", outcome="correct"))
        assert path.read_bytes().count(b"\n") == 2


def test_resume_continues(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    write(path, "a", "b")
    with open_record(path, HEADER, resume=True) as record:
        assert set(record.results) == {"a", "b"}
        record.append(Result(id="c", outcome="wrong"))
    with open_record(path, HEADER, resume=True) as record:
        assert set(record.results) == {"a", "b", "c"}


def test_half_a_line_at_the_end_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    write(path, "a", "b")
    path.write_bytes(path.read_bytes()[:-5])
    with open_record(path, HEADER, resume=True) as record:
        assert set(record.results) == {"a"}
        record.append(Result(id="b", outcome="correct"))
    with open_record(path, HEADER, resume=True) as record:
        assert set(record.results) == {"a", "b"}


def test_without_resume_it_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    write(path, "a")
    write(path)
    assert path.read_bytes().count(b"\n") == 1


def test_another_place_is_refused_with_the_difference(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    write(path, "a")
    other = msgspec.structs.replace(HEADER, fingerprint=msgspec.structs.replace(HEADER.fingerprint, flashinfer="0.7.4"))
    with pytest.raises(RecordError, match=r"flashinfer: 0\.7\.2 there, 0\.7\.4 here"):
        open_record(path, other, resume=True)
    with pytest.raises(RecordError, match="another level"):
        open_record(path, msgspec.structs.replace(HEADER, level="graph"), resume=True)


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    write(path, "a", "b")
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], b"{oops", lines[2], b""]))
    with pytest.raises(RecordError, match=r"r\.jsonl:2: damaged line"):
        open_record(path, HEADER, resume=True)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("hello\nworld\n")
    with pytest.raises(RecordError, match=r"r\.jsonl:1: not a record"):
        open_record(path, HEADER, resume=True)


@pytest.mark.parametrize("resume", [False, True])
def test_a_record_is_of_one_run_at_a_time(tmp_path: Path, resume: bool) -> None:
    path = tmp_path / "r.jsonl"
    with open_record(path, HEADER, resume=False) as record:
        record.append(Result(id="a", outcome="correct"))
        with pytest.raises(RecordError, match="another run is writing"):
            open_record(path, HEADER, resume=resume)
        record.append(Result(id="b", outcome="correct"))
    with open_record(path, HEADER, resume=True) as record:
        assert set(record.results) == {"a", "b"}


def test_a_new_run_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    write(path, "a", "b")
    write(path)
    assert path.read_bytes().count(b"\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_names_the_record() -> None:
    with pytest.raises(OSError, match="No space left") as caught:
        open_record(Path("/dev/full"), HEADER, resume=False)
    assert caught.value.filename == "/dev/full"
