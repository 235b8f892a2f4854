"""A rule of linear layers whose condition is not known: the missing fact is named, as it is for attention."""

from __future__ import annotations

from pathlib import Path

import pytest

from compatcheck.matrix.load import LoadedMatrix, load
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import normalise
from compatcheck.resolve.verdict import Verdict

OVERLAY = """
rules:
  own-attention:
    title: Seen on one toolkit
    refuser: advisory
    bites: silent
    effect: {effect}
    when: {{backend: FLASH_ATTN, model_type: {{absent: true}}, num_qo_heads: {{ge: 64}}}}
    why: A site's own finding.
    fix: Use fewer heads.
    sources: [{{ref: "https://example.org/1", kind: thread}}]
  own-linear:
    kind: linear
    title: Seen on one toolkit
    refuser: advisory
    bites: silent
    effect: {effect}
    when: {{linear: nvfp4_w4a4, num_qo_heads: {{ge: 64}}}}
    kernels: [FlashInferCutlassNvFp4LinearKernel]
    why: A site's own finding.
    fix: Use fewer heads.
    sources: [{{ref: "https://example.org/1", kind: thread}}]
"""


def matrix(folder: Path, effect: str) -> LoadedMatrix:
    path = folder / "own.yaml"
    path.write_text(OVERLAY.format(effect=effect), encoding="utf-8")
    return load(overlays=(path,))


def ask(loaded: LoadedMatrix, **fields: object) -> Verdict:
    given = Configuration(**{"engine_version": "0.33.0"} | fields)  # type: ignore[arg-type]
    verdict: Verdict = loaded.resolver.judge(normalise(loaded.matrix, given))
    return verdict


@pytest.mark.parametrize(
    ("effect", "missing", "holds"),
    [
        ("degraded", ("unknown", ("num_qo_heads",)), "degraded"),
        ("unsupported", ("unknown", ("num_qo_heads",)), "unsupported"),
        ("note", ("supported", ()), "supported"),
    ],
)
def test_both_sides_name_the_missing_fact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, effect: str, missing: tuple[str, tuple[str, ...]], holds: str
) -> None:
    monkeypatch.setenv("COMPATCHECK_CACHE_DIR", str(tmp_path / "cache"))
    loaded = matrix(tmp_path, effect)
    linear = {"sm": "12.0", "linear": "nvfp4_w4a4"}
    attention = {"sm": "9.0", "backend": "FLASH_ATTN", "head_size": 128}
    for asked, code in ((linear, "own-linear"), (attention, "own-attention")):
        unsaid = ask(loaded, **asked)
        assert (unsaid.verdict, unsaid.missing) == missing, code
        assert code not in {f.code for f in unsaid.findings}
        few = ask(loaded, **asked, num_qo_heads=32, num_kv_heads=8)
        assert (few.verdict, few.missing) == ("supported", ()), code
        many = ask(loaded, **asked, num_qo_heads=64, num_kv_heads=8)
        assert (many.verdict, code in {f.code for f in many.findings}) == (holds, True), code


def test_a_rule_of_another_kernel_asks_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPATCHECK_CACHE_DIR", str(tmp_path / "cache"))
    loaded = matrix(tmp_path, "degraded")
    assert ask(loaded, sm="12.0", linear="nvfp4_w4a4", linear_backend="cutlass").missing == ()


def test_a_forced_kernel_without_a_gpu_asks_for_the_gpu(loaded: LoadedMatrix) -> None:
    for option in ("flashinfer_trtllm", "flashinfer_cudnn"):
        answer = ask(loaded, engine_version="0.31.0", linear="nvfp4_w4a4", linear_backend=option)
        assert answer.engine_accepts is True
        assert (answer.verdict, answer.missing) == ("unknown", ("sm",)), option
