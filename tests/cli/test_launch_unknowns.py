"""What a launch leaves open, and what no release takes, through the real command: never a wrong "supported"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli

HERE = {"HF_HOME": "/nonexistent", "HF_HUB_CACHE": "/nonexistent"}
ANY = ("--no-host", "--sm", "9.0")
AT = (*ANY, "--vllm", "0.33.0")
SERVE = ("vllm", "serve", "Qwen/Qwen3-8B")


def ask(cli: Cli, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = cli(
        "check", *arguments[: arguments.index("--")], "--format", "json", *arguments[arguments.index("--") :], **HERE
    )
    return done.returncode, json.loads(done.stdout)


def codes(document: dict[str, Any], effect: str) -> set[str]:
    return {f["code"] for f in document["findings"] if f["effect"] == effect}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("-tp", "banana"), "launch-bad-value"),
        (("--atention-backend", "FLASHINFER"), "launch-unknown-option"),
        (("--attention-config", '{"backend": '), "launch-bad-value"),
        (("stray", "words"), "launch-unexpected"),
        (("-ac.backnd", "FLASHINFER"), "launch-config-key"),
        (("--dtype", "int8"), "launch-bad-choice"),
        (("--calculate-kv-scales", "--log-level", "DEBUG"), "launch-no-release"),
    ],
)
def test_what_no_release_takes_is_an_error_without_a_release(cli: Cli, words: tuple[str, ...], code: str) -> None:
    returncode, document = ask(cli, *ANY, "--", *SERVE, *words)
    assert (returncode, document["verdict"]) == (1, "unsupported")
    assert code in codes(document, "unsupported")


def test_what_some_releases_take_says_which(cli: Cli) -> None:
    returncode, document = ask(cli, *ANY, "--", *SERVE, "--calculate-kv-scales")
    assert (returncode, document["verdict"], document["missing"]) == (3, "unknown", ["engine_version"])
    message = next(f["message"] for f in document["findings"] if f["code"] == "launch-option-removed")
    assert "accepted by 0.18.1 to 0.27.1" in message
    assert ask(cli, *ANY, "--vllm", "0.27.1", "--", *SERVE, "--calculate-kv-scales")[0] == 0


def test_one_mistake_is_reported_once(cli: Cli) -> None:
    document = ask(cli, *AT, "--", *SERVE, "--dtype", "int8")[1]
    assert [f["code"] for f in document["findings"] if "int8" in f["message"]] == ["launch-bad-choice"]


def test_a_release_that_is_not_covered_may_take_its_own_options(cli: Cli) -> None:
    for release in ("0.14.1", "0.99.0"):
        returncode, document = ask(cli, *ANY, "--vllm", release, "--", *SERVE, "--some-option")
        assert (returncode, document["missing"]) == (3, [f"the options of vLLM {release}"])


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        ((*SERVE, "--config", "missing.yaml"), "the options in missing.yaml"),
        (
            ("docker", "run", "--env-file", "gone.env", "vllm/vllm-openai:v0.33.0", "Qwen/Qwen3-8B"),
            "the variables in gone.env",
        ),
        (
            ("docker", "run", "-e", "VLLM_BATCH_INVARIANT", "vllm/vllm-openai:v0.33.0", "Qwen/Qwen3-8B"),
            "VLLM_BATCH_INVARIANT",
        ),
        (('vllm serve Qwen/Qwen3-8B "$@"',), "what $@ stands for"),
        (('vllm serve "$@"',), "what $@ stands for"),
        (("vllm serve Qwen/Qwen3-8B -tp $GPUS",), "the value of --tensor-parallel-size"),
        (("vllm serve Qwen/Qwen3-8B --kv-cache-dtype $KV",), "kv_cache_dtype"),
        (("vllm serve Qwen/Qwen3-8B --attention-config.backend $B",), "the value of --attention-config"),
        ((*SERVE[:2], "org/unknown", "-tp", "8"), "num_qo_heads"),
    ],
)
def test_what_could_change_the_verdict_makes_it_unknown(cli: Cli, words: tuple[str, ...], missing: str) -> None:
    stated = ("--head-size", "128") if "org/unknown" in words else ()
    returncode, document = ask(cli, *AT, *stated, "--", *words)
    assert (returncode, document["verdict"]) == (3, "unknown")
    assert missing in document["missing"]
    text = cli("check", *AT, *stated, "--", *words, **HERE).stdout
    assert "to decide, tell: " in text


@pytest.mark.parametrize(
    "words",
    [
        "docker run -e HF_TOKEN -e VLLM_MLA_DISABLE -e VLLM_LOGGING_LEVEL vllm/vllm-openai:v0.33.0 Qwen/Qwen3-8B",
        "vllm serve Qwen/Qwen3-8B --port $PORT --api-key $KEY --limit-mm-per-prompt $MM",
    ],
)
def test_what_could_not_change_it_does_not(cli: Cli, words: str) -> None:
    returncode, document = ask(cli, *AT, "--", words)
    assert (returncode, document["verdict"], document["missing"]) == (0, "supported", [])


def test_what_the_user_states_is_not_missing(cli: Cli) -> None:
    words = "vllm serve Qwen/Qwen3-8B --kv-cache-dtype $KV"
    assert ask(cli, *AT, "--kv-cache-dtype", "fp8", "--", words)[0] == 0


def test_a_refusal_stands_whatever_is_unknown(cli: Cli) -> None:
    words = 'vllm serve Qwen/Qwen3-8B --foo "$@"'
    assert ask(cli, *AT, "--", words)[1]["verdict"] == "unsupported"


def test_files_that_are_there_are_read(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "serve.yaml").write_text("kv-cache-dtype: nvfp4\nattention-backend: FLASH_ATTN\n", "utf-8")
    assert ask(cli, *AT, "--", *SERVE, "--config", "serve.yaml")[0] == 1
    (tmp_path / "v.env").write_text("# set\nHF_TOKEN\nexport VLLM_BATCH_INVARIANT='1'\n", "utf-8")
    image = "vllm/vllm-openai:v0.33.0"
    words = ("docker", "run", "--env-file", "v.env", image, "Qwen/Qwen3-8B", "--attention-backend", "FLASHINFER")
    document = ask(cli, *AT, "--", *words)[1]
    assert document["missing"] == []
    assert {report["name"] for report in document["launch"]["options"]} >= {"VLLM_BATCH_INVARIANT", "HF_TOKEN"}


PYTHON = "from vllm import LLM\nllm = LLM({})\n"


def scan(cli: Cli, path: Path, text: str, *more: str) -> tuple[int, dict[str, Any]]:
    path.write_text(text, "utf-8")
    done = cli("scan", path.name, "--sm", "9.0", "--format", "json", *more, **HERE)
    return done.returncode, json.loads(done.stdout)


def test_python_keywords(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    misspelt = PYTHON.format('"Qwen/Qwen3-8B", kv_cache_dtyp="fp8"')
    code, document = scan(cli, path, misspelt)
    assert code == 1
    assert [(d["line"], d["code"], d["help"]) for d in document["diagnostics"]] == [
        (2, "launch-unknown-keyword", "Did you mean kv_cache_dtype?")
    ]
    for keywords in ('"Qwen/Qwen3-8B", **load()', '"Qwen/Qwen3-8B", calculate_kv_scales=True'):
        code, document = scan(cli, path, PYTHON.format(keywords), "--strict")
        assert (code, [d["code"] for d in document["diagnostics"]]) == (3, ["unknown"])
    code, document = scan(cli, path, PYTHON.format('"Qwen/Qwen3-8B", runner="generate", seed=1'), "--strict")
    assert (code, document["launches"][0]["verdict"]) == (0, "supported")


def test_heads_of_packaged_models_are_divided(cli: Cli) -> None:
    for model, ranks, code in (
        ("Qwen/Qwen3-8B", "5", "launch-heads-not-divisible"),
        ("Qwen/Qwen3-14B", "5", "launch-kv-heads-not-divisible"),
        ("meta-llama/Llama-3.1-8B-Instruct", "3", "launch-heads-not-divisible"),
    ):
        returncode, document = ask(cli, *AT, "--", "vllm", "serve", model, "-tp", ranks)
        assert (returncode, code in codes(document, "unsupported")) == (1, True)
        assert ask(cli, *AT, "--", "vllm", "serve", model, "-tp", "8")[0] == 0


def test_a_variable_of_an_old_release_is_read_as_it_was(cli: Cli) -> None:
    words = ("VLLM_ATTENTION_BACKEND=FLASHINFER", *SERVE)
    old = cli("check", *ANY, "--vllm", "0.14.1", "--", *words, **HERE)
    assert old.stdout.splitlines()[0].split(None, 1)[1].startswith("FLASHINFER, ")
    assert "no effect" not in old.stdout
    new = cli("check", *ANY, "--vllm", "0.15.0", "--", *words, **HERE)
    assert "0.14.1 was the last to read it" in new.stdout


MIXED = ("vllm", "serve", "openai/gpt-oss-20b", "--attention-backend", "FLASHINFER")


@pytest.mark.parametrize(
    ("sm", "more", "verdict", "code"),
    [
        ("9.0", (), "supported", "launch-windows-apart"),
        ("10.0", (), "supported", "launch-windows-apart"),
        ("12.0", (), "supported", "launch-windows-apart"),
        ("9.0", ("--disable-hybrid-kv-cache-manager",), "unsupported", "launch-windows-together"),
        ("12.0", ("--disable-hybrid-kv-cache-manager",), "unsupported", "launch-windows-together"),
        ("10.0", ("--disable-hybrid-kv-cache-manager",), "supported", None),
        ("9.0", ("--kv-transfer-config", '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'), "unknown", None),
    ],
)
def test_mixed_windows(cli: Cli, sm: str, more: tuple[str, ...], verdict: str, code: str | None) -> None:
    document = ask(cli, "--no-host", "--sm", sm, "--vllm", "0.33.0", "--", *MIXED, *more)[1]
    assert document["verdict"] == verdict
    found = {f["code"] for f in document["findings"]}
    assert "vllm-flashinfer-mixed-windows" not in found
    assert (found & {"launch-windows-apart", "launch-windows-together"}) == ({code} if code else set())


def test_kv_events_switched_the_hybrid_manager_off(cli: Cli) -> None:
    events = ("--kv-events-config", '{"enable_kv_cache_events": true}')
    words = ("vllm", "serve", "google/gemma-2-2b-it", "--attention-backend", "FLASHINFER", *events)
    assert "launch-windows-together" in codes(ask(cli, *ANY, "--vllm", "0.19.1", "--", *words)[1], "unsupported")
    assert ask(cli, *ANY, "--vllm", "0.20.0", "--", *words)[1]["verdict"] != "unsupported"


def test_engine_words_of_a_command_that_the_parser_refuses(cli: Cli) -> None:
    for words, said in (
        (("--foo", "1", "-rf"), "vllm: error: unrecognized arguments: --foo 1 -rf"),
        (("--foo", "-tp", "x"), "vllm serve: error: argument --tensor-parallel-size/-tp: invalid int value: 'x'"),
        (
            ("-tp", "5"),
            "ValueError: Total number of attention heads (32) must be divisible by tensor parallel size (5).",
        ),
    ):
        done = cli("check", *AT, "--engine-words", "--", *SERVE, *words, **HERE)
        assert (done.returncode, done.stdout) == (1, said + "\n")
    document = json.loads(cli("check", *AT, "--engine-words", "--format", "json", "--", *SERVE, "--foo", **HERE).stdout)
    assert document["words"] == "vllm: error: unrecognized arguments: --foo"
    assert cli("check", *AT, "--engine-words", "--format", "sarif", "--", *SERVE, **HERE).returncode == 2
    silent = cli(
        "check", *AT, "--engine-words", "--", *SERVE, "--hf-overrides.x", "1", "--speculative-config", "{", **HERE
    )
    assert (silent.returncode, silent.stdout) == (1, "")
    assert "exact words are not known" in silent.stderr


def test_short_options_are_not_guessed_from_one_letter(cli: Cli) -> None:
    document = ask(cli, *AT, "--", *SERVE, "-rf")[1]
    assert next(f["fix"] for f in document["findings"] if f["code"] == "launch-unknown-option") == "Remove -rf."
    document = ask(cli, *AT, "--", *SERVE, "--tp", "8")[1]
    assert next(f["fix"] for f in document["findings"] if f["code"] == "launch-unknown-option") == "Did you mean -tp?"


def test_spellings_that_only_we_would_take(cli: Cli, tmp_path: Path) -> None:
    for value in ("FP8", "bf16"):
        code, document = ask(cli, *AT, "--", *SERVE, "--kv-cache-dtype", value)
        assert (code, codes(document, "unsupported")) == (1, {"launch-cache-dtype-spelling"})
    for keyword in ('kv_cache_dtype="FP8"', 'dtype="bf16"'):
        code, document = scan(cli, tmp_path / "a.py", PYTHON.format(f'"Qwen/Qwen3-8B", {keyword}'), "--vllm", "0.33.0")
        assert (code, len(document["diagnostics"])) == (1, 1)
    old = scan(cli, tmp_path / "a.py", PYTHON.format('"Qwen/Qwen3-8B", kv_cache_dtype="nvfp4"'), "--vllm", "0.19.1")
    assert "launch-bad-choice" in {d["code"] for d in old[1]["diagnostics"]}


def test_a_server_that_is_gone(cli: Cli) -> None:
    words = ("python", "-m", "vllm.entrypoints.api_server", "--model", "Qwen/Qwen3-8B")
    assert codes(ask(cli, *AT, "--", *words)[1], "unsupported") == {"launch-no-module"}
    assert ask(cli, *ANY, "--vllm", "0.24.0", "--", *words)[0] == 0
    assert ask(cli, *ANY, "--", *words)[1]["missing"] == ["engine_version"]
    batch = ("python", "-m", "vllm.entrypoints.openai.run_batch", "-i", "a", "-o", "b", "--model", "Qwen/Qwen3-8B")
    assert ask(cli, *AT, "--", *batch)[0] == 0


def test_a_distilled_model_is_not_the_one_in_its_name(cli: Cli) -> None:
    command = ("vllm", "serve", "deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "--kv-cache-dtype", "fp8")
    returncode, document = ask(cli, *AT, "--", *command)
    assert (returncode, document["verdict"]) == (3, "unknown")
    assert not any(a["field"] == "model" for a in document["assumed"])


@pytest.mark.parametrize("words", [("vllm", "serve", "--help=all"), ("vllm", "serve", "-h"), ("vllm serve --help",)])
def test_asking_for_help_is_no_launch(cli: Cli, words: tuple[str, ...]) -> None:
    done = cli("check", *AT, "--", *words, **HERE)
    assert done.returncode == 2
    assert "there is no launch to judge" in done.stderr


@pytest.mark.parametrize("words", [("ls", "-h"), ("echo", "vllm", "serve", "m"), ("ls -h",)])
def test_a_command_without_a_launch_is_called_that(cli: Cli, words: tuple[str, ...]) -> None:
    done = cli("check", *AT, "--", *words, **HERE)
    assert done.returncode == 2
    assert "found no launch of vLLM in the words after --" in done.stderr
