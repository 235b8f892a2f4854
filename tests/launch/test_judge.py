"""A launch's verdict: layer by layer, the worst leading, with what the launch itself gets wrong."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from compatcheck.launch.command_line import launches_in_script
from compatcheck.launch.facts import read_changed, read_launch
from compatcheck.launch.judge import LaunchVerdict, LayerVerdict, judge_launch, leading_order
from compatcheck.launch.model import Word
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.report.launch_text import render
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.merge import with_findings, worst
from compatcheck.resolve.normalise import ConfigurationError, normalise
from compatcheck.resolve.verdict import Verdict

REPORTS: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "data" / "reports.json").read_text("utf-8"))


def judge(loaded: LoadedMatrix, script: str, **given: Any) -> LaunchVerdict:
    (launch,) = launches_in_script(script)
    return judge_launch(loaded, read_launch(loaded.matrix, launch, Configuration(**given)))


def codes(verdict: LaunchVerdict) -> set[str]:
    return {finding.code for finding in verdict.lead.findings}


def test_the_example_of_the_issue(loaded: LoadedMatrix) -> None:
    script = "vllm serve deepseek-ai/DeepSeek-V3 --kv-cache-dtype nvfp4 --attention-backend FLASHINFER -tp 8"
    verdict = judge(loaded, script, sm="10.0", engine_version="0.33.0")
    assert verdict.lead.verdict == "unsupported"
    assert {"nvfp4-kv-mla", "selector-mla"} <= codes(verdict)


def test_a_hybrid_model_is_judged_by_its_kinds_and_the_worst_leads(loaded: LoadedMatrix) -> None:
    verdict = judge(loaded, "vllm serve moonshotai/Kimi-K3 --kv-cache-dtype nvfp4", sm="10.0")
    kinds = {layer.kind: (layer.count, layer.verdict) for layer in verdict.layers}
    assert kinds["mla"][0] == 24
    assert kinds["linear_attention"] == (69, None)
    assert verdict.lead.verdict == "unsupported"
    gemma = judge(
        loaded, "vllm serve google/gemma-4-E2B-it --attention-backend FLASHINFER", sm="9.0", engine_version="0.21.0"
    )
    assert {layer.kind for layer in gemma.layers} == {"sliding_attention", "full_attention"}
    assert gemma.facts.head_size == 512
    assert gemma.lead.verdict == "unsupported"


def test_skipped_layers_keep_the_model_dtype(loaded: LoadedMatrix) -> None:
    script = "vllm serve openai/gpt-oss-120b --kv-cache-dtype fp8 --kv-cache-dtype-skip-layers sliding_window"
    verdict = judge(loaded, script, sm="9.0")
    dtypes = {layer.kind: layer.facts.kv_cache_dtype for layer in verdict.layers if layer.facts is not None}
    assert dtypes == {"sliding_attention": "auto", "full_attention": "fp8"}


@pytest.mark.parametrize(
    ("option", "dtype", "verdict"),
    [
        ("", "float16", "supported"),
        (" --dtype auto", "float16", "supported"),
        (" --dtype bfloat16", "bfloat16", "unsupported"),
    ],
)
def test_a_bfloat16_model_runs_in_float16_where_it_must(
    option: str, dtype: str, verdict: str, loaded: LoadedMatrix
) -> None:
    judged = judge(loaded, f"vllm serve Qwen/Qwen3-8B{option}", sm="T4", engine_version="0.33.0")
    assert (judged.facts.dtype, judged.lead.verdict) == (dtype, verdict)
    assert ("vllm-bf16-sm75" in codes(judged)) is (verdict == "unsupported")
    newer = judge(loaded, f"vllm serve Qwen/Qwen3-8B{option}", sm="L4", engine_version="0.33.0")
    assert (newer.facts.dtype, newer.lead.verdict) == ("bfloat16", "supported")


def test_the_image_says_the_release_and_options_win(loaded: LoadedMatrix) -> None:
    script = "docker run vllm/vllm-openai:v0.25.1 Qwen/Qwen3-8B --kv-cache-dtype nvfp4"
    assert judge(loaded, script, sm="12.0").facts.engine_version == "0.25.1"
    assert judge(loaded, script, sm="12.0", engine_version="0.33.0").facts.engine_version == "0.33.0"
    assert judge(loaded, script, sm="12.0", kv_cache_dtype="fp8").facts.kv_cache_dtype == "fp8"


@pytest.mark.parametrize(
    ("option", "release", "code", "fix"),
    [
        ("--calculate-kv-scales", "0.33.0", "launch-option-removed", "before 0.28.0"),
        ("--log-level DEBUG", "0.25.1", "launch-option-later", "0.31.0"),
        ("--atention-backend FLASHINFER", "0.33.0", "launch-unknown-option", "--attention-backend"),
        ("--task embed", "0.33.0", "launch-unknown-option", "--runner pooling"),
        ("--kv-cache-d fp8", "0.33.0", "launch-ambiguous", "in full"),
        ("--dtype bfloat1", "0.33.0", "launch-bad-choice", "bfloat16"),
        ("--attention-backend FLASHINFR", "0.33.0", "launch-unusable-backend", None),
        ("--kv-cache-dtype fp9", "0.33.0", "launch-unusable-kv-cache-dtype", None),
        ("-ac.backnd FLASHINFER", "0.33.0", "launch-config-key", "backend"),
        ("--attention-backend FLASH_ATTN -ac.backend=FLASHINFER", "0.33.0", "launch-backend-twice", None),
    ],
)
def test_what_the_launch_gets_wrong(
    option: str, release: str, code: str, fix: str | None, loaded: LoadedMatrix
) -> None:
    verdict = judge(loaded, f"vllm serve Qwen/Qwen3-8B {option}", sm="9.0", engine_version=release)
    found = next(f for f in verdict.lead.findings if f.code == code)
    assert found.effect == "unsupported"
    assert verdict.lead.verdict == "unsupported"
    assert fix is None or fix in (found.fix or "")


def test_what_other_releases_take_leaves_the_release_open(loaded: LoadedMatrix) -> None:
    verdict = judge(loaded, "vllm serve Qwen/Qwen3-8B --calculate-kv-scales", sm="9.0")
    found = next(f for f in verdict.lead.findings if f.code == "launch-option-removed")
    assert found.effect == "note"
    assert "accepted by 0.18.1 to 0.27.1" in found.message
    assert (verdict.lead.verdict, verdict.lead.missing) == ("unknown", ("engine_version",))


def test_facts_of_the_user_that_cannot_be_judged_are_the_users(loaded: LoadedMatrix) -> None:
    with pytest.raises(ConfigurationError):
        judge(loaded, "vllm serve Qwen/Qwen3-8B", sm="9.7")


def test_a_model_without_attention(loaded: LoadedMatrix) -> None:
    from compatcheck.launch.judge import judge_launch as judge_facts
    from compatcheck.launch.model import LaunchFacts, Layer

    facts = LaunchFacts(configuration=Configuration(sm="9.0"), release="0.33.0", layers=(Layer(kind="mamba", count=4),))
    verdict = judge_facts(loaded, facts)
    assert verdict.lead.verdict == "supported"
    assert codes(verdict) == {"launch-no-attention-layers"}


def test_merging_and_the_worst(loaded: LoadedMatrix) -> None:
    good = loaded.resolver.judge(normalise(loaded.matrix, Configuration(sm="9.0", head_size=128)))
    assert good.verdict == "supported"
    bad = judge(loaded, "vllm serve m --foo", sm="9.0", engine_version="0.33.0", head_size=128).lead
    assert worst([good, bad]) is bad
    merged = with_findings(good, [f for f in bad.findings if f.code == "launch-unknown-option"])
    assert (merged.verdict, merged.fails_at) == ("unsupported", "config")
    assert with_findings(good, []) is good


COMMANDS = {"kv_cache_dtype": "--kv-cache-dtype", "backend": "--attention-backend", "block_size": "--block-size"}
IN_SCOPE = [
    report
    for report in REPORTS
    if report["in_scope"]
    and not report["configuration"].get("linear")
    and COMMANDS.keys() & report["configuration"].keys()
]


@pytest.mark.parametrize("report", IN_SCOPE, ids=lambda report: str(report["id"]))
def test_reports_as_commands(report: dict[str, Any], loaded: LoadedMatrix) -> None:
    """A report's flags as a command give the verdict that its fields give."""
    configuration = dict(report["configuration"])
    words = ["vllm", "serve", "org/model-of-the-report"]
    for field, option in COMMANDS.items():
        if field in configuration:
            words += [option, str(configuration.pop(field))]
    verdict = judge(loaded, " ".join(words), **configuration)
    problems = [f for f in verdict.lead.findings if f.code.startswith("launch-") and f.effect == "unsupported"]
    kv = report["configuration"].get("kv_cache_dtype")
    if problems and all(f.code == "launch-bad-choice" for f in problems):
        assert kv not in ("auto", "fp8")  # the release's parser itself refuses a dtype that it does not know
        assert report["expected"] == "unsupported"
        return
    assert not problems
    assert verdict.lead.verdict == report["expected"]
    assert codes(verdict) >= set(report.get("must_mention", ()))


WRITTEN: dict[str, str] = json.loads((Path(__file__).parents[1] / "data" / "report-commands.json").read_text("utf-8"))
"""The options that reports give, in their own words."""
DECIDED = ("kv_cache_dtype", "backend", "block_size", "weight_quantization")


@pytest.mark.parametrize("id_", WRITTEN)
def test_options_that_reports_give(id_: str, loaded: LoadedMatrix) -> None:
    """What the options say is taken from them; only what they leave open comes from the report's fields."""
    report = next(report for report in REPORTS if report["id"] == id_)
    (launch,) = launches_in_script(f"vllm serve org/model-of-the-report {WRITTEN[id_]}")
    said = read_launch(loaded.matrix, launch).configuration
    rest = {n: v for n, v in report["configuration"].items() if n not in DECIDED or getattr(said, n) is None}
    if "-tp " in WRITTEN[id_]:
        rest.setdefault("num_qo_heads", 64)  # reports leave it out; without it nothing says that the ranks divide them
    facts = read_launch(loaded.matrix, launch, Configuration(**rest))
    for name in DECIDED:
        if name in report["configuration"] and getattr(said, name) is not None:
            assert getattr(said, name) == report["configuration"][name]
    verdict = judge_launch(loaded, facts)
    assert verdict.lead.verdict == report["expected"]
    assert codes(verdict) >= set(report.get("must_mention", ()))


def changed(loaded: LoadedMatrix, script: str, **given: Any) -> LaunchVerdict:
    (launch,) = launches_in_script(script)
    stated = Configuration(**given)
    facts = read_launch(loaded.matrix, launch, stated)
    return judge_launch(loaded, facts, reread=partial(read_changed, loaded.matrix, launch, stated))


GEMMA = "vllm serve google/gemma-4-31B-it --attention-backend FLASHINFER"


def test_alternatives_work_for_all_kinds_of_layers(loaded: LoadedMatrix) -> None:
    verdict = changed(loaded, GEMMA, sm="12.0", engine_version="0.19.1")
    offered = [alternative.changes for alternative in verdict.lead.alternatives]
    assert {"backend": None} in offered
    for changes in offered:
        release = changes.get("engine_version", "0.19.1")
        script = GEMMA if "backend" not in changes else f"vllm serve {GEMMA.split()[2]}"
        script += f" --kv-cache-dtype {changes['kv_cache_dtype']}" if "kv_cache_dtype" in changes else ""
        assert judge(loaded, script, sm="12.0", engine_version=release).lead.verdict == "supported"


def test_alternatives_mend_what_the_launch_itself_gets_wrong(loaded: LoadedMatrix) -> None:
    script = "vllm serve google/gemma-4-31B-it --kv-cache-dtype int8_per_token_head"
    offered = [a.changes for a in changed(loaded, script, sm="9.0", engine_version="0.23.0").lead.alternatives]
    assert {"kv_cache_dtype": "fp8"} in offered
    releases = [changes["engine_version"] for changes in offered if set(changes) == {"engine_version"}]
    assert releases == ["0.27.0"]  # 0.24.0 to 0.26.0 start, and corrupt answers


def test_nothing_is_offered_that_leaves_a_refusal(loaded: LoadedMatrix) -> None:
    verdict = changed(loaded, f"{GEMMA} --no-such-option", sm="12.0", engine_version="0.19.1")
    assert (verdict.lead.verdict, verdict.lead.alternatives) == ("unsupported", ())


@pytest.mark.parametrize(
    ("first", "second", "leads"),
    [
        (("unsupported", "first-request"), ("unsupported", "selection"), 1),
        (("unsupported", "init"), ("unsupported", "init"), 0),
        (("degraded", None), ("unsupported", "init"), 1),
        (("unknown", None), ("degraded", None), 1),
        (("unsupported", "init"), ("degraded", None), 0),
    ],
)
def test_the_worst_leads_and_of_equals_the_earliest(first: Any, second: Any, leads: int) -> None:
    kinds = [
        LayerVerdict(kind=str(index), verdict=Verdict(verdict=name, engine_accepts=None, fails_at=stops))
        for index, (name, stops) in enumerate((first, second))
    ]
    assert min(kinds, key=leading_order).kind == str(leads)


def test_every_kind_says_what_is_wrong_with_it(loaded: LoadedMatrix) -> None:
    verdict = judge(loaded, GEMMA, sm="12.0", engine_version="0.20.0")
    assert "selector-use-mm-prefix" in codes(verdict)
    assert "selector-head-size" in {finding.code for finding in verdict.findings}
    printed = "\n".join(entry.plain() for entry in render(verdict))
    assert "full_attention:" in printed
    assert "error[selector-head-size]" in printed


def test_what_comes_from_elsewhere_leaves_the_answer_open(loaded: LoadedMatrix) -> None:
    (launch,) = launches_in_script("vllm serve Qwen/Qwen3-8B")
    given = Configuration(sm="9.0", engine_version="0.33.0", flashinfer_version="0.7.2.post1")
    assert judge_launch(loaded, read_launch(loaded.matrix, launch, given)).lead.verdict == "supported"
    opened = msgspec.structs.replace(launch, elsewhere=(Word("env.sh", 3, 8),))
    verdict = judge_launch(loaded, read_launch(loaded.matrix, opened, given))
    assert verdict.lead.verdict == "unknown"
    assert "what env.sh holds" in verdict.lead.missing
    (report,) = [report for report in verdict.launch.reports if report.name == "env.sh"]
    assert (report.line, report.column) == (3, 8)


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ("", {}),
        ("--enforce-eager", {"cudagraph_mode": "NONE"}),
        ("--enforce-eager -cc.cudagraph_mode=FULL", {"cudagraph_mode": "NONE"}),
        ("-cc.cudagraph_mode=FULL --enforce-eager", {"cudagraph_mode": "NONE"}),
        ("--no-enforce-eager", {}),
        ("-O0", {"cudagraph_mode": "NONE"}),
        ("-O1", {"cudagraph_mode": "PIECEWISE"}),
        ("-O3", {}),
        ("-O1 -cc.cudagraph_mode=full_decode_only", {"cudagraph_mode": "FULL_DECODE_ONLY"}),
        ("""--compilation-config '{"cudagraph_mode": "PIECEWISE"}' -O0""", {"cudagraph_mode": "PIECEWISE"}),
        ("""--speculative-config '{"method": "ngram", "num_speculative_tokens": 2}'""", {"use_spec_decode": True}),
        ("--spec-method mtp --spec-tokens 2", {"use_spec_decode": True}),
        (
            "-ac.use_prefill_query_quantization=true -ac.mla_prefill_backend=flashinfer",
            {"use_prefill_query_quantization": True, "mla_prefill_backend": "FLASHINFER"},
        ),
    ],
)
def test_options_of_graphs_drafts_and_prefill(options: str, fields: dict[str, Any], loaded: LoadedMatrix) -> None:
    (launch,) = launches_in_script(f"vllm serve org/model {options}")
    said = read_launch(loaded.matrix, launch, Configuration(engine_version="0.33.0")).configuration
    names = ("cudagraph_mode", "use_spec_decode", "use_prefill_query_quantization", "mla_prefill_backend")
    assert {name: getattr(said, name) for name in names if getattr(said, name) is not None} == fields


def test_drafts_that_two_options_describe_are_one(loaded: LoadedMatrix) -> None:
    script = "vllm serve org/model --spec-method mtp --spec-tokens 2"
    verdict = judge(loaded, script, engine_version="0.33.0", sm="9.0", head_size=64)
    assert [f.message for f in verdict.lead.findings if f.code == "launch-draft-not-judged"] == [
        "Speculative decoding with mtp: its layers select a backend of their own, which this answer leaves out."
    ]
