"""The probe's lines about NVFP4 linear layers."""

from __future__ import annotations

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.probe.linear import linear_picks
from compatcheck.report.support_text import render_linear
from compatcheck.resolve.configuration import Configuration


def test_one_pick_per_scheme(loaded: LoadedMatrix) -> None:
    picks = linear_picks(loaded, Configuration(sm="RTX 5090", engine_version="0.33.0"))
    assert [(p.sm, p.scheme, p.kernel, p.compute, p.verdict) for p in picks] == [
        ("12.0", "nvfp4_w4a4", "FlashInferCutlassNvFp4LinearKernel", "native", "supported"),
        ("12.0", "nvfp4_w4a16", "MarlinNvFp4LinearKernel", "weight-only", "supported"),
    ]


def test_a_fallback_is_named(loaded: LoadedMatrix) -> None:
    text = [line.plain() for line in render_linear(linear_picks(loaded, Configuration(sm="8.0")))]
    assert text[0] == "SM 8.0, NVFP4 linear layers"
    assert text[1] == "  W4A4    MarlinNvFp4LinearKernel (weight-only): linear-weight-only"


def test_no_picks_no_lines() -> None:
    assert render_linear(()) == []
