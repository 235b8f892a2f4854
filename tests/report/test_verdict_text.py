"""A verdict for people: the answer first, each reason with its fix, what works instead, what was assumed."""

from __future__ import annotations

from typing import Any

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.report.verdict_text import headline, option, render
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import normalise


def text(loaded: LoadedMatrix, **fields: Any) -> list[str]:
    given = Configuration(**fields)
    facts = normalise(loaded.matrix, given).facts
    return [line.plain() for line in render(loaded.resolver.resolve(given), facts)]


def test_supported(loaded: LoadedMatrix) -> None:
    lines = text(loaded, sm="9.0", engine_version="0.33.0", head_size=128, backend="FLASH_ATTN")
    assert lines[0] == (
        "supported  FLASH_ATTN, KV cache auto, head size 128 on SM 9.0 with vLLM 0.33.0, FlashInfer 0.7.2.post1"
    )
    assert "route: FlashAttention 3" in lines
    assert not [line for line in lines if line.startswith(("error", "warning"))]


def test_each_reason_has_when_and_fix(loaded: LoadedMatrix) -> None:
    lines = text(loaded, sm="10.0", engine_version="0.33.0", kv_cache_dtype="nvfp4", use_mla=True, head_size=576)
    assert "  fails when the configuration is read" in lines
    start = next(i for i, line in enumerate(lines) if line.startswith("error[nvfp4-kv-mla]"))
    reason = lines[start : lines.index("", start)]
    for part in ("  words: ", "  when: when the configuration is read (refused by: engine)", "  fix: ", "  source: "):
        assert any(line.startswith(part) for line in reason), part


def test_degraded_is_a_warning(loaded: LoadedMatrix) -> None:
    lines = text(
        loaded, sm="12.1", engine_version="0.33.0", head_size=128, backend="FLASHINFER", kv_cache_dtype="fp8_e5m2"
    )
    assert lines[0].startswith("degraded  ")
    assert any(line.startswith("warning[vllm-xqa-e5m2]") for line in lines)
    assert any("silently: nothing is raised" in line for line in lines)


def test_selection_says_each_refusal_once(loaded: LoadedMatrix) -> None:
    lines = text(loaded, sm="9.0", engine_version="0.33.0", head_size=128, kv_cache_dtype="fp8_inc")
    assert "selection: nothing" in lines
    assert lines.count("  FLASHINFER: kv_cache_dtype not supported") == 1
    assert not [line for line in lines if line.startswith("error[selector-")]
    assert any(line.startswith("error[no-valid-backend]") for line in lines)


def test_answered_as_and_assumed(loaded: LoadedMatrix) -> None:
    lines = text(loaded, sm="9.0", engine_version="0.99", head_size=128)
    assert "  answered as vLLM 0.33.0: 0.99 is newer than 0.33.0, the newest release in the matrix" in lines
    assert lines[-1].startswith("assumed: flashinfer_version=0.7.2.post1 (what vLLM 0.33.0 requires); ")
    assert "use_dcp" not in lines[-1]


def test_unknown_says_what_to_tell(loaded: LoadedMatrix) -> None:
    lines = text(loaded, backend="FLASHINFER")
    assert lines[0].startswith("unknown  FLASHINFER, KV cache auto on an unknown GPU")
    assert lines[1] == "  to decide, tell: --head-size, --sm"


def test_headline_of_mla() -> None:
    facts = Configuration(use_mla=True, use_sparse=True, kv_cache_dtype="auto", sm="9.0", head_size=576)
    from compatcheck.resolve.verdict import Verdict

    verdict = Verdict(verdict="unknown", engine_accepts=None)
    assert headline(verdict, facts).startswith(
        "automatic selection, KV cache auto, head size 576, sparse MLA on SM 9.0"
    )


def test_option() -> None:
    assert option("kv_cache_dtype") == "--kv-cache-dtype"


def test_a_note_on_speed_is_not_said_to_be_wrong_output(loaded: LoadedMatrix) -> None:
    """Nor does an advisory refuse anything."""
    lines = text(
        loaded, sm="12.0", flashinfer_version="0.6.13", engine_version="0.25.1", head_size=128, kv_cache_dtype="fp8"
    )
    start = next(i for i, line in enumerate(lines) if line.startswith("note[fi-sm120-prefill-regression]"))
    assert "  when: silently: nothing is raised (advisory: nobody refuses)" in lines[start:]
    assert not [line for line in lines if "output is wrong" in line]
