"""Rules outside the selector: version ranges with nightlies, what a start never reaches, what a fork brings out."""

from __future__ import annotations

from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix, load
from compatcheck.resolve.clusters import in_order
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import normalise
from compatcheck.resolve.rules import cluster_rules, compile_rules

from .conftest import Small, codes, judge

NVFP4: dict[str, Any] = {
    "engine_version": "0.33.0",
    "sm": "8.9",
    "backend": "FLASHINFER",
    "kv_cache_dtype": "nvfp4",
    "head_size": 128,
}


@pytest.mark.parametrize(
    ("version", "verdict", "code"),
    [
        ("0.6.13", "unsupported", "fi-slot-mapping-helpers"),
        ("0.6.14", "unsupported", "fi-slot-mapping-helpers"),
        ("0.6.14+cu130", "unsupported", "fi-slot-mapping-helpers"),
        ("0.6.14.dev20260601", "unknown", "fi-slot-mapping-helpers-nightly"),
        ("0.6.15.dev1", "supported", None),
        ("0.6.15", "supported", None),
    ],
)
def test_the_helpers_by_version(loaded: LoadedMatrix, version: str, verdict: str, code: str | None) -> None:
    answer = judge(loaded, **NVFP4, flashinfer_version=version)
    assert answer.verdict == verdict
    found = [c for c in codes(answer) if c.startswith("fi-slot-mapping")]
    assert found == ([code] if code else [])
    if verdict == "unknown":
        assert answer.missing == ("slot_mapping_helpers",)


@pytest.mark.parametrize(("helpers", "verdict"), [(True, "supported"), (False, "unsupported")])
@pytest.mark.parametrize("version", ["0.6.14.dev20260601", "0.6.15", "0.7.2.post1"])
def test_a_probed_host_knows_better_than_a_version(
    loaded: LoadedMatrix, version: str, helpers: bool, verdict: str
) -> None:
    answer = judge(loaded, **NVFP4, flashinfer_version=version, slot_mapping_helpers=helpers)
    assert answer.verdict == verdict


def test_nvfp4_and_mla_by_release(loaded: LoadedMatrix) -> None:
    """Issue 2, part 3: message and reach by version; what ends in _ds_mla exists, and is exempt, since 0.30."""
    mla: dict[str, Any] = {"sm": "10.0", "use_mla": True, "head_size": 576}
    found = {}
    for release in ("0.20.2", "0.21.0", "0.27.1", "0.28.0", "0.30.0", "0.33.0"):
        for kv in ("nvfp4", "nvfp4_4over6", "nvfp4_ds_mla"):
            answer = judge(loaded, engine_version=release, kv_cache_dtype=kv, **mla)
            rules = [f for f in answer.findings if f.code.startswith("nvfp4-kv-mla") and f.effect == "unsupported"]
            if rules:
                assert (rules[0].bites, rules[0].exception) == ("config", "ValueError")
                found[release, kv] = rules[0].code
    assert found == {
        ("0.21.0", "nvfp4"): "nvfp4-kv-mla-exact",
        ("0.27.1", "nvfp4"): "nvfp4-kv-mla-exact",
        ("0.28.0", "nvfp4"): "nvfp4-kv-mla-prefix",
        ("0.28.0", "nvfp4_4over6"): "nvfp4-kv-mla-prefix",
        ("0.28.0", "nvfp4_ds_mla"): "nvfp4-kv-mla-prefix",
        ("0.30.0", "nvfp4"): "nvfp4-kv-mla",
        ("0.30.0", "nvfp4_4over6"): "nvfp4-kv-mla",
        ("0.33.0", "nvfp4"): "nvfp4-kv-mla",
        ("0.33.0", "nvfp4_4over6"): "nvfp4-kv-mla",
    }


def test_what_the_selector_stops_never_reaches_later_gates(loaded: LoadedMatrix) -> None:
    answer = judge(loaded, **NVFP4 | {"head_size": 80}, use_dcp=True)
    assert "vllm-nvfp4-slot-mapping-dcp" not in codes(answer)
    assert "vllm-nvfp4-slot-mapping-dcp" in codes(judge(loaded, **NVFP4, use_dcp=True))


def test_a_missing_version_makes_a_rule_unknown(small: Small) -> None:
    loaded = small()
    engine = loaded.resolver.engine("vllm", "0.2.0")
    rule = next(p for p in compile_rules(loaded.matrix, engine.compiler) if p.code == "helpers-missing")
    nvfp4 = Configuration(kv_cache_dtype="nvfp4")
    assert rule.holds(nvfp4) is None
    assert rule.missing(nvfp4) == {"flashinfer_version"}
    assert rule.holds(Configuration(kv_cache_dtype="fp8")) is False
    assert rule.holds(Configuration(flashinfer_version="0.6.15")) is False
    assert rule.missing(Configuration(flashinfer_version="0.6.14")) == {"kv_cache_dtype"}
    assert rule.holds(Configuration(kv_cache_dtype="nvfp4", flashinfer_version="0.6.14")) is True


def test_clusters_answer_as_their_rules(loaded: LoadedMatrix) -> None:
    engine = loaded.resolver.engine("vllm", "0.33.0")
    programs = compile_rules(loaded.matrix, engine.compiler)
    clusters = cluster_rules(programs)
    assert 1 < len(clusters) < len(programs)
    for fields in (NVFP4, NVFP4 | {"sm": "12.1", "use_dcp": True}, {"kv_cache_dtype": "fp8_e5m2"}, {}):
        facts = normalise(loaded.matrix, Configuration(**fields)).facts
        together = [(p.code, holds) for _, p, holds in in_order(c.answer(facts) for c in clusters)]
        alone = [(p.code, p.holds(facts)) for p in programs]
        assert together == [(code, holds) for code, holds in alone if holds is not False]


PATCHED = """\
engines:
  vllm:
    backends:
      FLASHINFER:
        changes:
          - since: "0.26.0"
            kv_cache_dtypes: [{values: [auto, nvfp4]}]
"""


def test_a_fork_that_patched_the_gate(loaded: LoadedMatrix, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The advisory on forks comes out where an overlay opens the gate that hides it."""
    monkeypatch.setenv("COMPATCHECK_CACHE_DIR", str(tmp_path))
    (tmp_path / "fork.yaml").write_text(PATCHED, encoding="utf-8")
    fork = load(None, (tmp_path / "fork.yaml",))
    asked = NVFP4 | {"engine_version": "0.26.0", "flashinfer_version": "0.7.2"}
    assert "vllm-nvfp4-patched-gate" not in codes(judge(loaded, **asked))
    answer = judge(fork, **asked)
    assert answer.engine_accepts is True
    assert "vllm-nvfp4-patched-gate" in codes(answer)


ODD_MLA: dict[str, Any] = {
    "use_mla": True,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 192,
    "qk_rope_head_dim": 64,
    "v_head_dim": 192,
    "num_qo_heads": 40,
}


@pytest.mark.parametrize(("release", "refused"), [("0.18.1", False), ("0.25.1", False), ("0.26.0", True)])
@pytest.mark.parametrize("sm", ["8.0", "9.0", "12.0"])
def test_dense_mla_needs_a_prefill_backend(loaded: LoadedMatrix, sm: str, release: str, refused: bool) -> None:
    answer = judge(loaded, **ODD_MLA, sm=sm, engine_version=release, backend="TRITON_MLA")
    assert ("vllm-mla-prefill-none" in codes(answer)) is refused
    assert answer.verdict == ("unsupported" if refused else "supported")


def test_the_prefill_of_a_dense_model_may_be_unknown(loaded: LoadedMatrix) -> None:
    case: dict[str, Any] = {"sm": "9.0", "use_mla": True, "head_size": 576, "backend": "TRITON_MLA"}
    answer = judge(loaded, **case, engine_version="0.33.0")
    assert (answer.verdict, answer.missing) == ("unknown", ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    assert judge(loaded, **case, engine_version="0.25.1").verdict == "supported"


def test_sparse_mla_goes_on_without_one(loaded: LoadedMatrix) -> None:
    sparse = ODD_MLA | {"use_sparse": True, "index_topk": 2048, "backend": "FLASHMLA_SPARSE"}
    assert "vllm-mla-prefill-none" not in codes(judge(loaded, **sparse, sm="9.0", engine_version="0.33.0"))


def test_pcp_and_dcp_depend_on_the_model_where_mla_is_sparse(loaded: LoadedMatrix) -> None:
    case = ODD_MLA | {"qk_nope_head_dim": 128, "v_head_dim": 128, "num_qo_heads": 16, "use_pcp": True, "use_dcp": True}
    case |= {"sm": "9.0", "use_sparse": True, "index_topk": 2048, "kv_cache_dtype": "fp8_ds_mla"}
    case |= {"backend": "FLASHMLA_SPARSE", "engine_version": "0.33.0"}
    assert judge(loaded, **case).missing == ("model_type",)
    assert judge(loaded, **case, model_type="deepseek_v32").verdict == "supported"
    assert judge(loaded, **case, model_type="other").verdict == "unsupported"
