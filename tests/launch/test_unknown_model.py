"""A model of which nothing is known: whether it has MLA is open, and no refusal is made up from that."""

from __future__ import annotations

import pytest

from compatcheck.launch.command_line import launches_in_script
from compatcheck.launch.facts import read_launch
from compatcheck.launch.judge import LaunchVerdict, judge_launch
from compatcheck.launch.scan import ScanOptions, scan_text
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration


@pytest.fixture(autouse=True)
def no_model_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", "/nonexistent")
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)


def judge(loaded: LoadedMatrix, words: str, sm: str = "9.0", use_mla: bool | None = None) -> LaunchVerdict:
    given = Configuration(sm=sm, engine_version="0.25.1", use_mla=use_mla)
    return judge_launch(loaded, read_launch(loaded.matrix, launches_in_script(words)[0], given))


def codes(verdict: LaunchVerdict, effect: str) -> set[str]:
    return {finding.code for finding in verdict.findings if finding.effect == effect}


@pytest.mark.parametrize(
    ("model", "asked", "sparse"),
    [
        ("/mnt/models", "--attention-backend FLASHMLA", None),
        ('"$MODEL"', "--attention-config.backend=FLASHMLA --kv-cache-dtype fp8", None),
        ("org/new-model", "--attention-backend FLASH_ATTN_MLA", None),
        ("org/new-model", "--attention-backend FLASHMLA_SPARSE", True),
        ("org/new-model", "--kv-cache-dtype fp8_ds_mla", True),
    ],
)
def test_what_only_mla_models_take_is_judged_as_one(
    model: str, asked: str, sparse: bool | None, loaded: LoadedMatrix
) -> None:
    verdict = judge(loaded, f"vllm serve {model} {asked}")
    assert verdict.lead.verdict == "unknown"
    assert "head_size" in verdict.lead.missing
    assert codes(verdict, "note") >= {"launch-model-unknown"}
    assert not codes(verdict, "unsupported")
    assert (verdict.facts.use_mla, verdict.facts.use_sparse or None) == (True, sparse)


def test_what_holds_for_every_model_is_still_an_error(loaded: LoadedMatrix) -> None:
    verdict = judge(loaded, "vllm serve /mnt/models --attention-backend FLASHMLA", sm="12.0")
    assert verdict.lead.verdict == "unsupported"
    assert "selector-sm" in codes(verdict, "unsupported")
    assert "selector-non-mla" not in codes(verdict, "unsupported")
    plain = judge(loaded, "vllm serve /mnt/models --attention-backend FLASH_ATTN --kv-cache-dtype nvfp4")
    assert codes(plain, "unsupported") == {"selector-kv-cache-dtype"}
    assert "launch-model-unknown" not in codes(plain, "note")


@pytest.mark.parametrize(
    "words",
    [
        "vllm serve Qwen/Qwen3-8B --attention-backend FLASHMLA",
        "VLLM_MLA_DISABLE=1 vllm serve /mnt/models --attention-backend FLASHMLA",
    ],
)
def test_a_model_that_is_known_to_be_without_mla_is_refused(words: str, loaded: LoadedMatrix) -> None:
    verdict = judge(loaded, words)
    assert "selector-non-mla" in codes(verdict, "unsupported")


def test_what_the_user_states_counts(loaded: LoadedMatrix) -> None:
    refused = judge(loaded, "vllm serve /mnt/models --attention-backend FLASHMLA", use_mla=False)
    assert "selector-non-mla" in codes(refused, "unsupported")
    stated = judge(loaded, "vllm serve /mnt/models --attention-backend FLASHMLA", use_mla=True)
    assert "launch-model-unknown" not in codes(stated, "note")


def test_scan_says_the_same_as_check(loaded: LoadedMatrix) -> None:
    text = 'vllm serve "$MODEL" --attention-backend FLASHMLA --kv-cache-dtype fp8\n'
    scan = scan_text(loaded, "run.sh", text, ScanOptions(), None)
    assert [launch.verdict for launch in scan.launches] == ["unknown"]
    assert not scan.diagnostics
    noted = scan_text(loaded, "run.sh", text, ScanOptions(notes=True), None)
    assert "launch-model-unknown" in {d.code for d in noted.diagnostics}
