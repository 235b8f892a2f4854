"""Kept answers are taken only where nothing that they were made from has changed, and change no byte of a page."""

from __future__ import annotations

import os
import shutil
import signal
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from compatcheck.caches import cache_folder
from compatcheck.docs import answering, linear_grid, linear_sheets, workers
from compatcheck.docs.asking import Asking
from compatcheck.docs.kept import recall
from compatcheck.docs.linear_asks import Ask
from compatcheck.docs.pages import explorer
from compatcheck.docs.render import render_all
from compatcheck.docs.sheets import Answered
from compatcheck.docs.site import Site
from compatcheck.docs.space import Space
from compatcheck.matrix.load import LoadedMatrix, load
from tests.docs.conftest import SMALL

ALL = {"FLASHINFER", "PLAIN", "SPARSE_MLA"}


class Edit(NamedTuple):
    """A change of the small matrix: which backends must be asked anew, and whether linear layers must be."""

    old: str
    new: str
    backends: set[str]
    linear: bool = False


EDITS = {
    "a line that moves all others": Edit("\nrules:\n", "\n# one more line\nrules:\n", set()),
    "a backend's fact": Edit("head_sizes: [{values: [64, 128, 256]}]", "head_sizes: [{values: 64}]", {"FLASHINFER"}),
    "another backend's source": Edit("plain.py:Plain@0.33.0", "plain.py:Plain2@0.33.0", {"PLAIN"}),
    "a rule's text": Edit("Reads <script>", "It reads <script>", {"FLASHINFER"}),
    "a rule's condition": Edit("head_size: 64, sm: 9.x}", "head_size: 128, sm: 9.x}", {"FLASHINFER"}),
    "a rule about every MLA model": Edit("Nobody reads it.", "Nobody does.", {"SPARSE_MLA"}),
    "a fact that one backend's routes name": Edit(
        "{not: {kv_cache_dtype: {prefix: nvfp4}}}}, {", "{not: {kv_cache_dtype: nvfp4}}}, {", {"FLASHINFER"}, True
    ),
    "a route's title": Edit("title: NVFP4 by slot mapping", "title: NVFP4 by slots", {"FLASHINFER"}),
    "a route's condition": Edit("nvfp4_route: slot-mapping}}", "nvfp4_route: none}}", {"FLASHINFER"}, True),
    "what a release pins": Edit('"0.33.0": {flashinfer: "0.7.0"', '"0.33.0": {flashinfer: "0.6.14"', ALL, True),
    "what a release accepts": Edit("[auto, fp8, nvfp4, nvfp4_ds_mla]", "[auto, nvfp4, nvfp4_ds_mla]", ALL, True),
    "the order of backends": Edit("{order: [FLASHINFER, PLAIN]}", "{order: [PLAIN, FLASHINFER]}", set()),
    "a linear kernel's gate": Edit("{not: {sm: [11.x, 12.x]}}", "{not: {sm: 12.x}}", set(), True),
    "a linear rule's text": Edit("There is no FP4 arithmetic in it.", "It has none.", set(), True),
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A cache that was filled by rendering the small matrix, and what was rendered."""
    folder = tmp_path_factory.mktemp("filled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPATCHECK_CACHE_DIR", str(folder))
        patch.setattr(workers, "cores", lambda: 1)
        return folder, render_all(load(SMALL), folder)


@pytest.fixture
def kept(filled: tuple[Path, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own that holds the answers of the small matrix; everything is asked in this process."""
    shutil.copytree(filled[0], tmp_path / "cache")
    monkeypatch.setenv("COMPATCHECK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(workers, "cores", lambda: 1)
    return Path(cache_folder())


@pytest.fixture
def expected(filled: tuple[Path, dict[str, str]]) -> dict[str, str]:
    """The pages of the small matrix."""
    return filled[1]


def anew(loaded: LoadedMatrix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    with monkeypatch.context() as patch:
        patch.setenv("COMPATCHECK_CACHE_DIR", str(tmp_path / "other"))
        return render_all(loaded, tmp_path)


def asked_for(monkeypatch: pytest.MonkeyPatch) -> tuple[set[str], set[str]]:
    """The backends, and the ways to ask for a linear kernel, that the resolver is asked about from now on."""
    backends: set[str] = set()
    linear: set[str] = set()
    ask = linear_grid.LinearGrid._asked

    class Recorded(Asking):
        def answered(self) -> Answered:
            backends.add(self.backend)
            return super().answered()

    def asked(self: linear_grid.LinearGrid, release: str, scheme: str, way: Ask) -> linear_sheets.Sheet:
        linear.add(way.id)
        return ask(self, release, scheme, way)

    monkeypatch.setattr(answering, "Asking", Recorded)
    monkeypatch.setattr(linear_grid.LinearGrid, "_asked", asked)
    return backends, linear


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("change", EDITS)
def test_only_what_depends_on_a_change_is_asked_anew(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit = EDITS[change]
    text = SMALL.read_text("utf-8")
    assert edit.old in text
    path = tmp_path / SMALL.name
    path.write_text(text.replace(edit.old, edit.new, 1), "utf-8")
    loaded = load(path)
    expected = anew(loaded, tmp_path, monkeypatch)
    asked, ways = asked_for(monkeypatch)
    assert render_all(loaded, tmp_path) == expected
    assert asked == edit.backends
    assert bool(ways) == edit.linear


def test_nothing_is_asked_twice(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in kept.glob("docs-*.bin")}
    asked, ways = asked_for(monkeypatch)
    render_all(load(SMALL), tmp_path)
    assert (asked, ways) == (set(), set())
    assert {path.name: path.stat().st_mtime_ns for path in kept.glob("docs-*.bin")} == before
    assert len(before) == 2


def test_everything_is_kept_whichever_process_needed_it(
    small: LoadedMatrix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages may all be made in other processes; what these ask would be lost."""
    monkeypatch.setenv("COMPATCHECK_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(explorer, "pages", lambda site: iter(()))
    render_all(load(SMALL), tmp_path)
    answers = recall("linear-vllm", linear_sheets.LinearAnswers)
    grid = Site(small, Path("none")).linear
    assert answers is not None
    assert grid is not None
    for release, scheme in product(grid.releases, grid.schemes):
        for way in grid.asks(release):
            grid.sheet(release, scheme, way)
    assert answers.sheets.keys() == grid.answers().sheets.keys()


@pytest.mark.parametrize("name", ["docs-answers-vllm.bin", "docs-linear-vllm.bin"])
@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "gone"])
def test_damaged_answers_are_asked_anew(
    name: str, damage: str, kept: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    path = kept / name
    data = path.read_bytes()
    half = len(data) // 2
    changed = {"cut": data[:half], "changed": data[:half] + bytes([data[half] ^ 1]) + data[half + 1 :], "empty": b""}
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(changed[damage])
    assert render_all(load(SMALL), tmp_path) == expected
    assert path.read_bytes() == data


def test_a_cache_that_cannot_be_written_is_done_without(
    expected: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    monkeypatch.setenv("COMPATCHECK_CACHE_DIR", str(file))
    assert render_all(load(SMALL), tmp_path) == expected


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only Linux forks")
def test_processes_answer_as_one_does(
    expected: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load(SMALL)
    monkeypatch.setattr(workers, "cores", lambda: 2)
    monkeypatch.setenv("COMPATCHECK_CACHE_DIR", str(tmp_path / "cache"))
    assert render_all(loaded, tmp_path) == expected
    assert render_all(loaded, tmp_path) == expected


HERE = os.getpid()


def end(space: Space, name: str) -> bytes:
    """A process that is killed while it asks; the one that waits fails."""
    if os.getpid() != HERE:
        os.kill(os.getpid(), signal.SIGKILL)
    raise LookupError(name)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only Linux forks")
def test_processes_that_are_killed_are_done_without(
    expected: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load(SMALL)
    monkeypatch.setattr(workers, "cores", lambda: 2)
    monkeypatch.setattr(answering, "_ask", end)
    asked, _ = asked_for(monkeypatch)
    monkeypatch.setenv("COMPATCHECK_CACHE_DIR", str(tmp_path / "cache"))
    assert render_all(loaded, tmp_path) == expected
    assert asked == ALL


def test_templates_compiled_by_someone_else_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from compatcheck.docs.cache import compiled_templates

    monkeypatch.setenv("COMPATCHECK_CACHE_DIR", str(tmp_path))
    assert compiled_templates(b"") is not None
    (Path(cache_folder()) / "templates").chmod(0o777)
    assert compiled_templates(b"") is None


def test_damaged_templates_are_compiled_again(
    expected: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPATCHECK_CACHE_DIR", str(tmp_path))
    assert render_all(load(SMALL), tmp_path) == expected
    kept = list((Path(cache_folder()) / "templates").iterdir())
    assert kept
    for number, path in enumerate(kept):
        path.write_bytes(path.read_bytes()[: 3 + 40 * number])
    assert render_all(load(SMALL), tmp_path) == expected
