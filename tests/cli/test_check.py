"""`compatcheck check` for one configuration: what the README shows, formats, spellings, what a host fills in."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ..report.sarif_structure import check_sarif
from .conftest import PLACE, Cli

VERDICT_FIELDS = {
    "schema",
    "verdict",
    "engine_accepts",
    "engine_reasons",
    "selected",
    "candidates",
    "rejected",
    "route",
    "fails_at",
    "findings",
    "alternatives",
    "assumed",
}
FINDING_FIELDS = {
    "code",
    "name",
    "refuser",
    "bites",
    "message",
    "required",
    "actual",
    "words",
    "why",
    "fix",
    "sources",
    "line",
}
REFUSED = (
    *("--sm", "12.0", "--vllm", "0.25.1", "--flashinfer", "0.6.13"),
    *("--backend", "FLASHINFER", "--kv-cache-dtype", "nvfp4", "--head-size", "128"),
)
RECORDED = Path(__file__).parents[1] / "host" / "recorded" / "h200.json"


def answered(cli: Cli, *arguments: str) -> dict[str, Any]:
    done = cli("check", "--no-host", "--format", "json", *arguments)
    assert done.stderr == ""
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_nvfp4_on_an_rtx_5090_is_refused_and_why(process: Cli) -> None:
    """Issue 2: unsupported, who refuses, when it bites, why, what changed in later releases, what works instead."""
    done = process("check", *REFUSED)
    assert done.returncode == 1
    text = done.stdout
    assert text.startswith(
        "unsupported  FLASHINFER, KV cache nvfp4, head size 128 on SM 12.0 with vLLM 0.25.1, FlashInfer 0.6.13\n"
        "  fails when the backend is selected\n"
    )
    assert (
        "error[selector-kv-cache-dtype] vLLM 0.25.1's selector refuses FLASHINFER: kv_cache_dtype not supported" in text
    )
    assert "(refused by: engine)" in text
    assert "history: since 0.32.0:" in text
    assert "note[vllm-nvfp4-selector-sm100-only]" in text
    assert "  fix: " in text
    assert "  source: vllm/v1/attention/backends/flashinfer.py:FlashInferBackend" in text
    assert re.search(rf"\n  matrix: {PLACE.pattern}\n", text)
    instead = text.partition("works here instead:\n")[2].splitlines()
    assert any(line.startswith("  --kv-cache-dtype fp8 -> FLASHINFER") for line in instead)
    assert any(line.startswith("  --engine-version 0.32.0 -> FLASHINFER (with FlashInfer") for line in instead)


def test_what_works_instead_works(cli: Cli) -> None:
    answer = answered(cli, *REFUSED)
    options = dict(zip(REFUSED[::2], REFUSED[1::2], strict=True))
    options["--engine-version"] = options.pop("--vllm")
    options["--flashinfer-version"] = options.pop("--flashinfer")
    alternative = next(a for a in answer["alternatives"] if "engine_version" in a["changes"])
    options |= {f"--{name.replace('_', '-')}": value for name, value in alternative["changes"].items()}
    del options["--flashinfer-version"]  # a newer engine comes with its own
    done = cli("check", "--no-host", *(part for pair in options.items() for part in pair))
    assert (done.returncode, done.stdout.split()[0]) == (0, "supported")


def test_without_a_backend_every_candidate_and_every_rejection(cli: Cli) -> None:
    answer = answered(cli, "--sm", "9.0", "--vllm", "0.33.0", "--head-size", "128", "--kv-cache-dtype", "fp8")
    assert answer["verdict"] == "supported"
    assert answer["selected"] == answer["candidates"][0] == "FLASH_ATTN"
    assert answer["rejected"] == {
        "FLEX_ATTENTION": ["kv_cache_dtype not supported"],
        "TURBOQUANT": ["kv_cache_dtype not supported"],
    }
    assert answer["route"]["id"] == "flash_attn.fa3_fp8"


def test_json_has_the_verdict_s_fields(cli: Cli) -> None:
    answer = answered(cli, *REFUSED)
    assert answer["schema"] == 1
    assert answer.keys() >= VERDICT_FIELDS
    assert answer["engine_accepts"] is False
    assert answer["engine_reasons"] == ["kv_cache_dtype not supported"]
    assert answer["fails_at"] == "selection"
    for finding in answer["findings"]:
        assert finding.keys() >= FINDING_FIELDS
        assert PLACE.fullmatch(finding["line"])
    assert {entry["field"] for entry in answer["assumed"]} >= {"torch_version", "dtype", "use_mla"}
    assert all(entry["ground"] for entry in answer["assumed"])


def test_jsonl_is_one_line(cli: Cli) -> None:
    done = cli("check", "--no-host", "--format", "jsonl", *REFUSED)
    assert done.stdout.count("\n") == 1
    assert json.loads(done.stdout)["verdict"] == "unsupported"


def test_sarif_and_github(cli: Cli) -> None:
    done = cli("check", "--no-host", "--format", "sarif", *REFUSED)
    log = json.loads(done.stdout)
    check_sarif(log)
    assert [result["level"] for result in log["runs"][0]["results"]][:1] == ["error"]
    done = cli("check", "--no-host", "--format", "github", *REFUSED)
    assert done.stdout.splitlines()[0].startswith("::error title=selector-kv-cache-dtype::vLLM 0.25.1's selector")
    assert "%0AFix: " in done.stdout


def test_the_engine_s_own_words(cli: Cli) -> None:
    done = cli("check", "--no-host", "--engine-words", *REFUSED)
    assert done.stdout == (
        "ValueError: Selected backend AttentionBackendEnum.FLASHINFER is not valid for this configuration."
        " Reason: ['kv_cache_dtype not supported']\n"
    )


def test_a_missing_fact_is_named(cli: Cli) -> None:
    done = cli("check", "--no-host", "--vllm", "0.33.0", "--backend", "FLASHINFER")
    assert done.returncode == 3
    assert done.stdout.startswith("unknown  FLASHINFER, KV cache auto on an unknown GPU")
    assert "  to decide, tell: --head-size, --sm\n" in done.stdout


def test_every_bad_value_is_named_at_once(cli: Cli) -> None:
    done = cli(
        *("check", "--no-host", "--sm", "10.7", "--dtype", "int8", "--attn-type", "foo", "--head-size=-3"),
        *("--kv-cache-dtype", "nvpf4", "--vllm", "main", "--backend", "flashinfr"),
    )
    assert (done.returncode, done.stdout) == (2, "")
    said = done.stderr.splitlines()
    assert len(said) == 7
    assert all(line.startswith("compatcheck check: --") for line in said)
    assert "--sm: '10.7' is neither a compute capability nor a GPU of the matrix" in done.stderr
    assert "--engine-version: 'main' is not a PEP 440 version such as 0.33.0" in done.stderr
    assert "no release of vLLM knows 'nvpf4'. Did you mean nvfp4?" in done.stderr
    assert "no release of vLLM has a backend FLASHINFR. Did you mean FLASHINFER?" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--backnd", "X"), "--backend"),
        (("--head-size", "big"), "'big' is not a valid int"),
        (("--compress-ratios", "4,x"), "--compress-ratios takes whole numbers with commas"),
        (("--batch", "b.jsonl", "--host", "h.json"), "--host does not go with --batch"),
        (("--batch", "b.jsonl", "--engine-words"), "--engine-words does not go with --batch"),
    ],
)
def test_usage(cli: Cli, arguments: tuple[str, ...], said: str) -> None:
    done = cli("check", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_plain_text_without_a_terminal(process: Cli) -> None:
    assert "\x1b" not in process("check", "--no-host", *REFUSED, FORCE_COLOR="1", TERM="xterm-256color").stdout


def test_a_saved_host_fills_in_what_is_not_given(cli: Cli) -> None:
    done = cli("check", "--host", str(RECORDED), "--head-size", "128", "--format", "json")
    answer = json.loads(done.stdout)
    from_host = {e["field"]: e["value"] for e in answer["assumed"] if e["ground"] == "from the saved host"}
    assert from_host == {"sm": "9.0", "torch_version": "2.11.0", "cuda_version": "13.0"}
    done = cli("check", "--host", str(RECORDED), "--head-size", "128", "--sm", "8.0", "--format", "json")
    answer = json.loads(done.stdout)
    from_host = {e["field"]: e["value"] for e in answer["assumed"] if e["ground"] == "from the saved host"}
    assert from_host.keys() == {"torch_version", "cuda_version"}


def test_what_probe_saves_check_accepts(cli: Cli, tmp_path: Path) -> None:
    saved = cli("probe", "--host", str(RECORDED), "--vllm", "0.33.0", "--format", "json").stdout
    (tmp_path / "saved.json").write_text(saved, encoding="utf-8")
    done = cli("check", "--host", "saved.json", "--vllm", "0.33.0", "--head-size", "128")
    assert done.stdout.startswith("supported  FLASH_ATTN, KV cache auto, head size 128 on SM 9.0 with vLLM 0.33.0")
    done = cli("probe", "--host", "saved.json", "--vllm", "0.33.0")
    assert "SM 9.0, head size 128, vLLM 0.33.0" in done.stdout


def test_a_gpu_of_the_host_that_the_matrix_lacks(cli: Cli, tmp_path: Path) -> None:
    host = json.loads(RECORDED.read_text("utf-8"))
    host["gpus"][0]["sm"] = "7.0"
    (tmp_path / "v100.json").write_text(json.dumps(host), encoding="utf-8")
    done = cli("check", "--host", "v100.json", "--head-size", "128")
    assert (done.returncode, done.stdout) == (3, "")
    assert "the matrix has nothing on this host's SM 7.0" in done.stderr


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"document": "other"}', b"\xff\xfe"])
def test_a_host_file_that_cannot_be_read(cli: Cli, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "h.json").write_bytes(content)
    done = cli("check", "--host", "h.json", "--head-size", "128")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("h.json")


OVERLAY = """\
rules:
  site-no-fp8:
    title: This site's fork does not read FP8 caches
    refuser: engine
    bites: config
    effect: unsupported
    when: {kv_cache_dtype: fp8}
    why: The fork dropped the kernels.
    fix: Use bfloat16.
    sources: [{ref: "site/notes.md:fp8@1.0"}]
engines:
  vllm:
    backends:
      FLASHINFER:
        changes:
          - {since: "0.33.0", head_sizes: [{values: [64]}]}
"""


def test_an_overlay_decides_and_the_answer_says_so(process: Cli, tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text(OVERLAY, encoding="utf-8")
    options = ("--sm", "9.0", "--vllm", "0.33.0", "--backend", "FLASHINFER", "--head-size", "128")
    answer = json.loads(
        process(
            *("check", "--no-host", "--overlay", "site.yaml", *options, "--kv-cache-dtype", "fp8", "--format", "json")
        ).stdout
    )
    lines = {finding["code"]: finding["line"] for finding in answer["findings"]}
    assert answer["verdict"] == "unsupported"
    assert lines["site-no-fp8"] == "site.yaml:2"
    assert lines["selector-head-size"].startswith("site.yaml:")
    assert answered(process, *options, "--kv-cache-dtype", "fp8")["verdict"] == "supported"


def test_a_matrix_that_cannot_be_used(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("rules:\n  x:\n    titel: y\n    titel: z\n", encoding="utf-8")
    done = cli("check", "--overlay", "bad.yaml", "--sm", "9.0")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("bad.yaml:4:5: ")
