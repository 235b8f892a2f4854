from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import get_args

import pytest

from compatcheck import aside
from compatcheck.matrix.errors import MatrixError, Problem
from compatcheck.matrix.load import Checks, default_path, load

from .samples import SMALL, place_of, planted


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("COMPATCHECK_CACHE_DIR", str(folder))
    return folder


def written(folder: Path, text: str, name: str = "m.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refused(path: Path, *overlays: Path) -> list[Problem]:
    with pytest.raises(MatrixError) as caught:
        load(path, overlays)
    return caught.value.problems


def test_packaged_matrix() -> None:
    loaded = load()
    assert "vllm" in loaded.matrix.engines
    place = loaded.line(("engines", "vllm", "backends", "FLASHINFER"))
    assert place is not None
    name, _, line = place.rpartition(":")
    assert name == default_path().name
    text = default_path().read_text(encoding="utf-8").splitlines()
    assert text[int(line) - 1].strip().startswith("FLASHINFER:")


def test_second_load_comes_from_the_cache(tmp_path: Path, cache: Path) -> None:
    path = written(tmp_path, SMALL)
    first = load(path)
    (kept,) = (cache / "compatcheck").iterdir()
    document = json.loads(kept.read_bytes())
    document["matrix"]["engines"]["vllm"]["title"] = "kept"
    kept.write_text(json.dumps(document))
    second = load(path)
    assert (first.matrix.engines["vllm"].title, second.matrix.engines["vllm"].title) == ("vLLM", "kept")
    assert first.digest == second.digest
    assert first.lines == second.lines


def test_changed_file_is_read_again(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL)
    before = load(path)
    written(tmp_path, planted("title: vLLM", "title: other"))
    after = load(path)
    assert after.matrix.engines["vllm"].title == "other"
    assert before.digest != after.digest


@pytest.mark.parametrize("content", [b"", b"{", b'{"matrix": 1}'])
def test_broken_cache_is_ignored(content: bytes, tmp_path: Path, cache: Path) -> None:
    path = written(tmp_path, SMALL)
    load(path)
    (kept,) = (cache / "compatcheck").iterdir()
    kept.write_bytes(content)
    assert load(path).matrix.engines["vllm"].title == "vLLM"


def test_cache_that_cannot_be_written_is_ignored(tmp_path: Path, cache: Path) -> None:
    cache.write_text("a file, not a folder")
    assert load(written(tmp_path, SMALL)).matrix.engines


SITE = """\
engines:
  vllm:
    backends:
      FLASH_ATTN:
        title: patched
sms:
  "8.6": {family: 8.x, arch: Ampere, gpus: [A10]}
"""


def test_overlay_decides_and_says_so(tmp_path: Path) -> None:
    overlay = written(tmp_path, SITE, "site.yaml")
    loaded = load(written(tmp_path, SMALL), (overlay,))
    assert loaded.matrix.engines["vllm"].backends["FLASH_ATTN"].title == "patched"
    assert loaded.line(("engines", "vllm", "backends", "FLASH_ATTN")) == f"{overlay}:4"
    line, _ = place_of(SMALL, "FLASHINFER:")
    assert loaded.line(("engines", "vllm", "backends", "FLASHINFER", "title")) == f"m.yaml:{line}"
    assert loaded.line(("nowhere",)) is None
    assert "8.6" in loaded.matrix.sms


def test_problems_have_places(tmp_path: Path) -> None:
    text = planted("refuser: package", "refuser: pakage").replace("title: vLLM", "titel: vLLM")
    problems = refused(written(tmp_path, text))
    assert [(p.code, p.line, p.column) for p in problems] == [
        ("unknown-key", 14, 5),
        ("missing-key", 13, 3),
        ("wrong-value", 97, 5),
    ]


def test_condition_on_nothing_is_refused_at_load(tmp_path: Path) -> None:
    overlay = written(tmp_path, "rules:\n  mine:\n    when: {kv_cache_dtpe: fp8}\n", "site.yaml")
    (problem, *_) = refused(written(tmp_path, SMALL), overlay)
    assert problem.code == "missing-key"
    text = planted("{backend: FLASH_ATTN}, route", "{backedn: FLASH_ATTN}, route")
    (problem,) = refused(written(tmp_path, text))
    assert (problem.code, problem.line) == ("condition", 67)
    assert "did you mean backend?" in problem.message


def test_unreadable(tmp_path: Path) -> None:
    assert [p.code for p in refused(tmp_path / "none.yaml")] == ["unreadable"]
    assert [p.code for p in refused(tmp_path)] == ["unreadable"]
    assert [p.code for p in refused(written(tmp_path, "a: [1"))] == ["yaml-syntax"]
    bad = tmp_path / "latin.yaml"
    bad.write_bytes(b"schema: 1\ntitle: caf\xe9\n")
    assert [(p.code, p.line, p.column) for p in refused(bad)] == [("encoding", 2, 11)]


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aside, "cores", lambda: 2)


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize("checks", get_args(Checks))
def test_a_matrix_that_is_checked_aside_is_kept_once_it_is_checked(checks: Checks, tmp_path: Path, cache: Path) -> None:
    path = written(tmp_path, SMALL)
    loaded = load(path, aside=checks)
    assert not cache.exists() or not list((cache / "compatcheck").iterdir())
    loaded.checked()
    (kept,) = (cache / "compatcheck").iterdir()
    loaded.checked()
    assert kept.exists()
    again = load(path, aside=checks)
    again.checked()
    assert again.matrix == loaded.matrix == load(path).matrix


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize("checks", get_args(Checks))
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("backend: FLASH_ATTN}, route", "backedn: FLASH_ATTN}, route"),  # does not compile
        ("extends: FLASH_ATTN", "extends: FLASHINFER"),
        ("check: head_size,", "check: head_sise,"),
        ("order: [FLASH_ATTN", "order: [FLASH_ATTEN"),  # compiles, and names nothing
    ],
)
def test_problems_are_the_same_aside(old: str, new: str, checks: Checks, tmp_path: Path, cache: Path) -> None:
    path = written(tmp_path, planted(old, new))
    with pytest.raises(MatrixError) as caught:
        load(path, aside=checks).checked()
    assert caught.value.problems == refused(path)
    with contextlib.suppress(MatrixError):  # where it compiles it is refused again and again
        loaded = load(path, aside=checks)
        for refuses in (loaded.checked, loaded.checked, lambda: loaded.resolver):
            with pytest.raises(MatrixError):
                refuses()
    assert not (cache / "compatcheck").exists()
