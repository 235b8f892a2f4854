"""What scan reports, where, and what silences it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compatcheck.launch.directives import read_directives
from compatcheck.launch.scan import FileScan, ScanOptions, scan_text
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration

BAD = "vllm serve Qwen/Qwen3-8B --kv-cache-dtype nvfp4 --attention-backend FLASH_ATTN\n"
GOOD = "vllm serve Qwen/Qwen3-8B --kv-cache-dtype fp8\n"


@pytest.fixture(autouse=True)
def no_model_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", "/nonexistent")
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)


def scan(loaded: LoadedMatrix, text: str, file: str = "run.sh", strict: bool = False, **given: Any) -> FileScan:
    return scan_text(loaded, file, text, ScanOptions(given=Configuration(**given), strict=strict), None)


def test_a_finding_stands_at_its_option(loaded: LoadedMatrix) -> None:
    found = scan(loaded, "#!/bin/sh\n" + BAD, sm="9.0").diagnostics
    assert [(d.code, d.line, d.column, d.level) for d in found] == [("selector-kv-cache-dtype", 2, 26, "error")]
    assert not scan(loaded, GOOD, sm="9.0").diagnostics


@pytest.mark.parametrize("words", ['"$@"', "$EXTRA_ARGS", "--port 8000 ${EXTRA:-}$MORE"])
def test_arguments_that_the_shell_adds_are_not_refused(words: str, loaded: LoadedMatrix) -> None:
    found = scan(
        loaded, f"vllm serve Qwen/Qwen3-8B {words}\n", sm="9.0", engine_version="0.33.0", strict=True
    ).diagnostics
    assert "launch-unexpected" not in {d.code for d in found}
    literal = scan(loaded, "vllm serve Qwen/Qwen3-8B stray\n", sm="9.0", engine_version="0.33.0").diagnostics
    assert [d.code for d in literal] == ["launch-unexpected"]


def test_without_a_gpu_only_what_works_nowhere_is_an_error(loaded: LoadedMatrix) -> None:
    nowhere = scan(loaded, BAD)
    assert [d.code for d in nowhere.diagnostics] == ["selector-kv-cache-dtype"]
    assert nowhere.launches[0].sm is None
    assert nowhere.launches[0].works_on == ()
    somewhere = scan(loaded, "vllm serve Qwen/Qwen3-8B --kv-cache-dtype nvfp4\n")
    assert not somewhere.diagnostics
    assert 0 < len(somewhere.launches[0].works_on) < len(loaded.matrix.sms)


def test_facts_from_a_comment_the_image_and_a_node_selector(loaded: LoadedMatrix) -> None:
    comment = scan(loaded, "# compatcheck: sm=12.0 vllm=0.25.1\nvllm serve Qwen/Qwen3-8B --kv-cache-dtype nvfp4\n")
    assert (comment.launches[0].sm, comment.launches[0].engine_version) == ("12.0", "0.25.1")
    assert [d.code for d in comment.diagnostics] == ["no-valid-backend"]
    manifest = (
        "spec:\n  nodeSelector: {nvidia.com/gpu.product: NVIDIA-H200}\n  containers:\n"
        "  - image: vllm/vllm-openai:v0.25.1\n    args: [--model, Qwen/Qwen3-8B, --kv-cache-dtype, nvfp4]\n"
    )
    pod = scan(loaded, manifest, "pod.yaml")
    assert (pod.launches[0].sm, pod.launches[0].engine_version) == ("9.0", "0.25.1")
    given = scan(loaded, manifest, "pod.yaml", sm="10.0", engine_version="0.33.0").launches[0]
    assert (given.sm, given.engine_version) == ("10.0", "0.33.0")


def test_a_gpu_that_nobody_knows_is_no_gpu(loaded: LoadedMatrix) -> None:
    manifest = (
        "spec:\n  nodeSelector: {nvidia.com/gpu.product: WARP-9}\n  containers:\n"
        "  - image: vllm/vllm-openai:v0.25.1\n    args: [--model, Qwen/Qwen3-8B]\n"
    )
    assert scan(loaded, manifest, "pod.yaml").launches[0].sm is None


@pytest.mark.parametrize(
    "text",
    [
        "# compatcheck: ignore[selector-kv-cache-dtype] we patched it\n" + BAD,
        BAD.rstrip() + "  # compatcheck: ignore[selector-kv-cache-dtype, other-code] we patched it\n",
    ],
)
def test_suppressions(text: str, loaded: LoadedMatrix) -> None:
    found = scan(loaded, text, sm="9.0").diagnostics
    assert [d.code for d in found] == (["unused-suppression"] if "other-code" in text else [])


def test_unused_and_unexplained_suppressions(loaded: LoadedMatrix) -> None:
    found = scan(loaded, "# compatcheck: ignore[nvfp4-kv-mla]\n" + GOOD, sm="9.0", engine_version="0.33.0").diagnostics
    assert [(d.code, d.line) for d in found] == [("suppression-without-reason", 1), ("unused-suppression", 1)]


def test_comments_that_are_not_understood(loaded: LoadedMatrix) -> None:
    found = scan(
        loaded, "# compatcheck: gpus=8\n# compatcheck: please\n" + GOOD, sm="9.0", engine_version="0.33.0"
    ).diagnostics
    assert [(d.code, d.line) for d in found] == [("directive-not-understood", 1), ("directive-not-understood", 2)]


def test_directives_in_html_comments() -> None:
    directives = read_directives("<!-- compatcheck: sm=9.0 -->\n<!-- compatcheck: ignore[a] b -->\n```\n")
    assert directives.facts_at(3) == {"sm": "9.0"}
    assert directives.suppressions[0].reason == "b"
    assert directives.suppressions[0].target == 3


def test_what_only_looks_like_a_directive() -> None:
    regions = read_directives("<!-- compatcheck:begin a -->\n<!-- compatcheck:end -->\n")
    assert [regions.bad, regions.stated, regions.suppressions] == [[], [], []]
    text = 's = """\n# compatcheck: ignore[a] b\n"""\nx = 1  # compatcheck: ignore[c] d\n'
    assert [s.codes for s in read_directives(text, python=True).suppressions] == [("c",)]


def test_unknown_verdicts_are_reported_when_asked(loaded: LoadedMatrix) -> None:
    text = "vllm serve some/model --attention-backend FLASHINFER --kv-cache-dtype nvfp4\n"
    assert not scan(loaded, text, sm="10.0", engine_version="0.33.0").diagnostics
    found = scan(loaded, text, sm="10.0", engine_version="0.33.0", strict=True).diagnostics
    assert [d.code for d in found] == ["unknown"]


def test_files_without_launches(loaded: LoadedMatrix) -> None:
    assert scan(loaded, "echo nothing\n") == FileScan()
    assert scan(loaded, "vllm", "notes.txt") == FileScan()
    broken = scan(loaded, "services:\n  vllm: [\n", "compose.yaml")
    assert [problem.line for problem in broken.unreadable] == [3]


def test_the_issue_of_an_ignored_variable(loaded: LoadedMatrix) -> None:
    found = scan(
        loaded, "export VLLM_ATTENTION_BACKEND=FLASHINFER\n" + GOOD, sm="9.0", engine_version="0.33.0"
    ).diagnostics
    assert [(d.code, d.line, d.level) for d in found] == [("launch-variable-ignored", 1, "warning")]


@pytest.mark.parametrize("asked", ["--help", "-h", "--help=all", "--help=ModelConfig", "Qwen/Qwen3-8B --help=Frontend"])
@pytest.mark.parametrize(
    "start", ["vllm serve", "python -m vllm.entrypoints.openai.api_server", "docker run vllm/vllm-openai:v0.25.1"]
)
def test_asking_for_help_starts_nothing(start: str, asked: str, loaded: LoadedMatrix) -> None:
    assert scan(loaded, f"{start} {asked}\n", sm="9.0") == FileScan()


def test_after_two_dashes_nothing_asks_for_help(loaded: LoadedMatrix) -> None:
    assert len(scan(loaded, "vllm serve Qwen/Qwen3-8B -- --help\n", sm="9.0").launches) == 1


def test_each_launch_says_what_it_asks_for(loaded: LoadedMatrix) -> None:
    asked = scan(loaded, BAD, sm="9.0").launches[0]
    assert (asked.backend, asked.selected, asked.kv_cache_dtype) == ("FLASH_ATTN", None, "nvfp4")
    picked = scan(loaded, GOOD, sm="9.0").launches[0]
    assert (picked.backend, picked.selected, picked.kv_cache_dtype) == (None, "FLASH_ATTN", "fp8")
    assert scan(loaded, GOOD).launches[0].selected is None


def test_an_option_of_a_config_file_is_reported_where_it_stands(loaded: LoadedMatrix, tmp_path: Path) -> None:
    (tmp_path / "serve.yaml").write_text(
        "model: Qwen/Qwen3-8B\nattention-backend: TRITON_ATTN\nkv-cache-dtype: nvfp4\n", "utf-8"
    )
    script = tmp_path / "run.sh"
    text = "vllm serve --config serve.yaml\n"
    (found,) = scan_text(loaded, str(script), text, ScanOptions(), str(tmp_path)).diagnostics
    assert (found.file, found.line, found.column) == (str(tmp_path / "serve.yaml"), 3, 17)
    override = "vllm serve --config serve.yaml --kv-cache-dtype nvfp4\n"
    (found,) = scan_text(loaded, str(script), override, ScanOptions(), str(tmp_path)).diagnostics
    assert (found.file, found.line, found.column) == (str(script), 1, 32)
    silenced = f"{text.rstrip()}  # compatcheck: ignore[selector-kv-cache-dtype] known\n"
    assert not scan_text(loaded, str(script), silenced, ScanOptions(), str(tmp_path)).diagnostics
