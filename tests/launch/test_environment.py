"""Environment variables: read, ignored, and what to use instead."""

from __future__ import annotations

import pytest

from compatcheck.launch.command_line import launches_in_script
from compatcheck.launch.environment import read_environment
from compatcheck.launch.facts import read_launch
from compatcheck.launch.flag_table import table
from compatcheck.launch.judge import judge_launch
from compatcheck.launch.model import Word
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("VLLM_ATTENTION_BACKEND", "FLASHINFER", "--attention-backend FLASHINFER"),
        ("VLLM_USE_TRTLLM_ATTENTION", "0", "--attention-config.use_trtllm_attention=false"),
        ("VLLM_FLASH_ATTN_VERSION", "2", "--attention-config.flash_attn_version=2"),
    ],
)
def test_a_variable_that_people_believe_in_is_a_finding(name: str, value: str, fix: str) -> None:
    facts = read_environment({name: Word(value, 3, 7)}, table("0.33.0"))
    (placed,) = facts.findings
    assert placed.finding.code == "launch-variable-ignored"
    assert placed.finding.effect == "degraded"
    assert fix in (placed.finding.fix or "")
    assert (placed.line, placed.column) == (3, 7)


def test_what_is_removed_later_is_read_before() -> None:
    variable = {"VLLM_USE_FLASHINFER_MOE_FP8": Word("1")}
    assert not read_environment(variable, table("0.23.0")).findings
    (placed,) = read_environment(variable, table("0.24.0")).findings
    assert "before 0.24.0" in placed.finding.message
    assert placed.finding.effect == "note"


def test_what_changes_the_verdict() -> None:
    facts = read_environment({"VLLM_BATCH_INVARIANT": Word("1"), "VLLM_MLA_DISABLE": Word("1")}, table("0.33.0"))
    assert facts.fields == {"use_batch_invariant": True}
    assert facts.mla_disabled
    assert not read_environment({"VLLM_MLA_DISABLE": Word("0")}, table("0.33.0")).mla_disabled
    assert not read_environment({"VLLM_BATCH_INVARIANT": Word("$X", dynamic=True)}, table("0.33.0")).fields


def test_a_misspelt_variable_gets_the_nearest_name() -> None:
    (placed,) = read_environment({"VLLM_MLA_DISABEL": Word("1")}, table("0.33.0")).findings
    assert placed.finding.fix == "Did you mean VLLM_MLA_DISABLE?"


def test_others_are_not_relevant() -> None:
    facts = read_environment({"CUDA_VISIBLE_DEVICES": Word("0"), "VLLM_LOGGING_LEVEL": Word("DEBUG")}, table("0.33.0"))
    assert [report.status for report in facts.reports] == ["not relevant", "not relevant"]


def test_flashinfer_version_check() -> None:
    facts = read_environment({"FLASHINFER_DISABLE_VERSION_CHECK": Word("1")}, table("0.33.0"))
    assert facts.findings[0].finding.code == "launch-flashinfer-version-check-disabled"


@pytest.mark.parametrize(
    ("release", "dtype", "open_"),
    [
        ("0.25.1", "turboquant_k8v4", True),
        ("0.26.0", "turboquant_k8v4", True),
        ("0.27.0", "turboquant_k8v4", False),
        ("0.25.1", "fp8", False),
    ],
)
@pytest.mark.parametrize("model", ["Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-8B"])
def test_a_model_runner_known_only_where_it_is_run(
    loaded: LoadedMatrix, release: str, dtype: str, model: str, open_: bool
) -> None:
    script = f"VLLM_USE_V2_MODEL_RUNNER=$RUNNER vllm serve {model} --kv-cache-dtype {dtype}"
    facts = read_launch(loaded.matrix, launches_in_script(script)[0], Configuration(sm="9.0", engine_version=release))
    lead = judge_launch(loaded, facts).lead
    assert lead.missing == (("VLLM_USE_V2_MODEL_RUNNER",) if open_ else ())
    assert lead.verdict == ("unknown" if open_ else "supported")


@pytest.mark.parametrize(
    ("assignment", "release", "verdict"),
    [
        ("VLLM_BATCH_INVARIANT=true", "0.33.0", "unsupported"),
        ("VLLM_BATCH_INVARIANT=", "0.33.0", "unsupported"),
        ("VLLM_BATCH_INVARIANT=true", "0.18.1", "supported"),
        ("VLLM_BATCH_INVARIANT=00", "0.33.0", "supported"),
        ("VLLM_USE_V2_MODEL_RUNNER=false", "0.18.1", "unsupported"),
        ("VLLM_MLA_DISABLE=False", "0.33.0", "unsupported"),
        ("VLLM_MLA_DISABLE=False", None, "unknown"),
        ("VLLM_MLA_DISABLE=' 1 '", "0.33.0", "supported"),
    ],
)
def test_variables_that_take_whole_numbers(
    loaded: LoadedMatrix, assignment: str, release: str | None, verdict: str
) -> None:
    (launch,) = launches_in_script(f"{assignment} vllm serve Qwen/Qwen3-8B")
    facts = read_launch(loaded.matrix, launch, Configuration(sm="9.0", engine_version=release))
    assert judge_launch(loaded, facts).lead.verdict == verdict
    found = [placed.finding.code for placed in facts.findings]
    assert ("launch-bad-variable" in found) is (verdict != "supported")
    assert facts.configuration.use_batch_invariant is not True


@pytest.mark.parametrize(
    ("dtype", "missing"), [("turboquant_k8v4", ("cudagraph_mode",)), ("fp8", ())], ids=["asked", "not asked"]
)
@pytest.mark.parametrize("option", ["--compilation-config $GRAPHS", "-O$LEVEL"])
def test_an_open_graph_mode(loaded: LoadedMatrix, option: str, dtype: str, missing: tuple[str, ...]) -> None:
    (launch,) = launches_in_script(f"vllm serve Qwen/Qwen3-8B --kv-cache-dtype {dtype} {option}")
    facts = read_launch(loaded.matrix, launch, Configuration(sm="9.0", engine_version="0.33.0"))
    assert facts.missing == missing
