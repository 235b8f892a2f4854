from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import msgspec
import pytest

from compatcheck.smoke.coverage import Coverage, coverage
from compatcheck.smoke.diff import diff
from compatcheck.smoke.evidence import (
    CellEvidence,
    Evidence,
    EvidenceError,
    Run,
    read_evidence,
    write_evidence,
)
from compatcheck.smoke.fingerprint import Fingerprint
from compatcheck.smoke.judge import judge_all
from compatcheck.smoke.junit import junit_xml
from compatcheck.smoke.merge import merge
from compatcheck.smoke.outcome import Expectation, Judged, Result
from compatcheck.smoke.patch import patches
from tests.smoke.conftest import fake

PRINT = Fingerprint(gpu="NVIDIA H200", sm="9.0", flashinfer="0.7.2.post1", torch="2.11.0", tool="0.1.0", matrix="a")


def cell(id_: str, outcome: str, judgement: str, **values: Any) -> CellEvidence:
    values.setdefault("expected", "supported")
    return CellEvidence(id=id_, outcome=outcome, judgement=judgement, **values)  # type: ignore[arg-type]


def document(*cells: CellEvidence, fingerprint: Fingerprint = PRINT, declared: int = 9) -> Evidence:
    return Evidence(
        schema=1,
        fingerprint=fingerprint,
        runs=(Run(date="2026-11-29", level="correct"),),
        coverage=Coverage(declared=declared),
        cells=cells,
    )


def test_evidence_survives_the_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "e.json"
    made = document(cell("a", "correct", "confirmed", errors={"out": 0.1}))
    write_evidence(path, made)
    assert read_evidence(path) == made
    assert [p.name for p in path.parent.iterdir()] == ["e.json"], "no temporary file is left"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b'{"document":"compatcheck-evidence","schema":1,"finger', "cut off"),
        (b'{"document":"compatcheck-evidence","schema":2}', "not an evidence file of schema 1"),
        (b"[]", "not an evidence file"),
        (b"nonsense", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"a":' * 100_000, "not JSON"),
        (msgspec.json.encode(document(cell("a", "correct", "confirmed"), cell("a", "wrong", "contradicted"))), "once"),
        (msgspec.json.encode(document(cell("a", "correct", "confirmed", run=1))), "there are 1 runs"),
        (msgspec.json.encode(document(cell("a", "correct", "confirmed", run=-1))), "run -1"),
    ],
)
def test_unreadable_evidence_says_where_and_why(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "e.json"
    path.write_bytes(content)
    with pytest.raises(EvidenceError, match=words) as caught:
        read_evidence(path)
    assert str(path) in str(caught.value)


def test_a_cut_in_any_place_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    write_evidence(path, document(cell("a", "correct", "confirmed")))
    whole = path.read_bytes()
    for length in range(0, len(whole) - 2, 7):
        path.write_bytes(whole[:length])
        with pytest.raises(EvidenceError):
            read_evidence(path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "e.json"
    write_evidence(path, document(cell("a", "correct", "confirmed")))
    before = path.read_bytes()

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_evidence(path, document(cell("b", "correct", "confirmed")))
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["e.json"]


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_evidence(pipe, document())
    assert b"NVIDIA H200" in os.read(reader, 1 << 16)
    os.close(reader)
    assert pipe.is_fifo()


def test_diff_tells_versions_and_cells_apart() -> None:
    newer = msgspec.structs.replace(PRINT, flashinfer="0.7.4")
    before = document(
        cell("a", "wrong", "confirmed", errors={"out": 0.1}),
        cell("b", "correct", "confirmed"),
        cell("c", "correct", "confirmed"),
    )
    after = document(
        cell("a", "correct", "confirmed", errors={"out": 0.003}),
        cell("b", "correct", "confirmed"),
        cell("d", "refused", "confirmed", exception="ValueError"),
        fingerprint=newer,
    )
    found = diff(before, after)
    assert found.place == {"flashinfer": ("0.7.2.post1", "0.7.4")}
    assert [(c.id, c.kind) for c in found.changed] == [("a", "outcome")]
    assert (found.only_before, found.only_after, found.same) == (("c",), ("d",), 1)
    assert found.differs


def test_diff_of_two_gpus_sets_the_sm_aside() -> None:
    other = msgspec.structs.replace(PRINT, sm="12.0")
    found = diff(
        document(cell("k/sm9.0/d=64", "correct", "confirmed")),
        document(cell("k/sm12.0/d=64", "wrong", "confirmed"), fingerprint=other),
    )
    assert [c.id for c in found.changed] == ["k/d=64"]


def test_diff_notices_a_growing_error_and_other_words() -> None:
    before = document(
        cell("a", "correct", "confirmed", errors={"out": 0.002}),
        cell("b", "refused", "confirmed", exception="ValueError"),
    )
    after = document(
        cell("a", "correct", "confirmed", errors={"out": 0.02}),
        cell("b", "refused", "confirmed", exception="TypeError"),
    )
    assert {c.id: c.kind for c in diff(before, after).changed} == {"a": "error", "b": "words"}
    assert not diff(before, before).differs


def test_merge_keeps_what_proves_something() -> None:
    first = document(cell("a", "correct", "confirmed"), cell("b", "wrong", "contradicted"))
    second = document(
        cell("a", "unavailable", "unproven", missing="network"),
        cell("b", "correct", "confirmed"),
        cell("c", "correct", "confirmed"),
    )
    merged = merge([first, second])
    assert {c.id: (c.outcome, c.run) for c in merged.cells} == {
        "a": ("correct", 0),
        "b": ("correct", 1),
        "c": ("correct", 1),
    }
    assert len(merged.runs) == 2
    assert (merged.coverage.run, merged.coverage.confirmed, merged.coverage.not_run) == (3, 3, 6)


def test_merge_refuses_another_place() -> None:
    other = msgspec.structs.replace(PRINT, flashinfer="0.7.4")
    with pytest.raises(EvidenceError, match=r"file 2 .*flashinfer is 0\.7\.4, in the first file 0\.7\.2\.post1"):
        merge([document(), document(fingerprint=other)])


REFUSED = Expectation(kind="refused", code="r", exception="ValueError", match="x", path=("kernels", "k", "refusals", 0))


def judged(*items: tuple[str, Expectation, str, dict[str, Any]]) -> tuple[list[Any], list[Judged]]:
    cells = [fake("fine", id_, expected=expected) for id_, expected, _, _ in items]
    results = {id_: Result(id=id_, outcome=outcome, **more) for id_, _, outcome, more in items}  # type: ignore[arg-type]
    return cells, judge_all(cells, results)


SUPPORTED = Expectation(kind="supported", path=("kernels", "k"))
ITEMS: tuple[tuple[str, Expectation, str, dict[str, Any]], ...] = (
    ("a", SUPPORTED, "correct", {"timings": {"total": 0.5}}),
    ("b", SUPPORTED, "wrong", {"errors": {"out": 0.4}}),
    ("c", REFUSED, "refused", {"exception": "ValueError", "text": "x"}),
    ("d", REFUSED, "correct", {}),
    ("e", SUPPORTED, "unavailable", {"missing": "artifact", "missing_what": "cubin"}),
    ("f", SUPPORTED, "refused", {"exception": "TypeError", "text": "not\x00for head 7\nmore"}),
)


def test_coverage_counts_every_declared_cell() -> None:
    cells, found = judged(*ITEMS)
    counted = coverage(len(cells) + 1, found)
    assert counted == Coverage(
        declared=7, run=6, confirmed=2, refused_as_declared=1, contradicted=3, unavailable={"artifact": 1}, not_run=1
    )
    line = counted.line("9.0")
    assert "7 cells declared for SM 9.0: 6 run, 2 confirmed (of these 1 refused as declared), 3 contradicted" in line
    assert "1 unavailable (artifact: 1)" in line


def test_junit_is_xml_that_a_ci_understands() -> None:
    _, found = judged(*ITEMS)
    suite = ET.fromstring(junit_xml(found, PRINT)).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("6", "3", "1")
    failures = {case.get("classname"): case.find("failure") for case in suite.iter("testcase")}
    assert failures["a"] is None
    text = failures["f"]
    assert text is not None
    assert "head 7" in (text.text or "")


class Lines:
    def line(self, path: tuple[str | int, ...]) -> str | None:
        return f"matrix.yaml:{10 + len(path)}"


def test_a_contradiction_comes_with_the_smallest_change() -> None:
    cells, found = judged(*ITEMS)
    texts = patches(cells, found, Lines(), PRINT)
    assert len(texts) == 3
    advisory = next(t for t in texts if "says wrong" in t)
    assert "matrix.yaml:12: kernels.k" in advisory
    assert "+   " in advisory
    assert "relative error 0.4" in advisory
    mended = next(t for t in texts if "it runs now" in t)
    assert "versions: '<0.7.2.post1'" in mended
    refusal = next(t for t in texts if "under refusals" in t)
    assert "exception: TypeError" in refusal


def test_cells_that_contradict_one_entry_alike_share_a_proposal() -> None:
    cells, found = judged(*((f"c{i}", REFUSED, "correct", {}) for i in range(7)))
    (text,) = patches(cells, found, Lines(), PRINT)
    assert "and 2 more" in text


def test_other_words_replace_the_declared_ones() -> None:
    cells, found = judged(("a", REFUSED, "refused", {"exception": "TypeError", "text": "head 7 of <path>/a.py is bad"}))
    (text,) = patches(cells, found, Lines(), PRINT)
    assert "- exception: ValueError" in text
    assert "+ exception: TypeError" in text
    assert "head\\ .+\\ of" in text


def test_merged_runs_count_what_the_newest_matrix_declares() -> None:
    older = msgspec.structs.replace(PRINT, matrix="older")
    parts = [
        document(cell("a", "correct", "confirmed"), fingerprint=older, declared=20),
        document(cell("b", "correct", "confirmed")),
        document(cell("c", "correct", "confirmed")),
    ]
    coverage = merge(parts).coverage
    assert (coverage.declared, coverage.run, coverage.not_run) == (9, 3, 6)
