"""`check -- LAUNCH COMMAND` and `check --model`, as a user starts them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Cli, environment

ISSUE = [
    "vllm",
    "serve",
    "deepseek-ai/DeepSeek-V3",
    "--kv-cache-dtype",
    "nvfp4",
    "--attention-backend",
    "FLASHINFER",
    "-tp",
    "8",
]
HERE = {"HF_HOME": "/nonexistent", "HF_HUB_CACHE": "/nonexistent"}


def test_the_command_of_the_issue(cli: Cli) -> None:
    done = cli("check", "--no-host", "--sm", "10.0", "--", *ISSUE, **HERE)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("unsupported  FLASHINFER, KV cache nvfp4, head size 576, MLA on SM 10.0")
    assert "error[nvfp4-kv-mla]" in done.stdout
    assert "packaged table" in done.stdout


def test_options_before_the_dashes_win(cli: Cli) -> None:
    done = cli(
        "check", "--no-host", "--sm", "10.0", "--kv-cache-dtype", "fp8", "--format", "json", "--", *ISSUE, **HERE
    )
    document = json.loads(done.stdout)
    assert "nvfp4-kv-mla" not in {f["code"] for f in document["findings"]}
    assert document["launch"]["model"] == "deepseek-ai/DeepSeek-V3"


def test_json_has_the_verdict_the_layers_and_each_option(cli: Cli) -> None:
    words = ["VLLM_ATTENTION_BACKEND=FLASHINFER", "vllm", "serve", "openai/gpt-oss-120b", "--port", "1"]
    done = cli("check", "--no-host", "--sm", "9.0", "--vllm", "0.33.0", "--format", "json", "--", *words, **HERE)
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert document["schema"] == 1
    assert document["verdict"] == "degraded"
    assert {layer["kind"]: layer["count"] for layer in document["layers"]} == {
        "sliding_attention": 18,
        "full_attention": 18,
    }
    statuses = {report["name"]: report["status"] for report in document["launch"]["options"]}
    assert statuses == {"VLLM_ATTENTION_BACKEND": "unknown", "--port": "not relevant"}


def test_a_whole_command_as_one_word(cli: Cli) -> None:
    script = "docker run --gpus all vllm/vllm-openai:v0.25.1 Qwen/Qwen3-8B \\\n --kv-cache-dtype nvfp4"
    done = cli("check", "--no-host", "--sm", "12.0", "--no-alternatives", "--", script, **HERE)
    assert done.returncode == 1
    assert "with vLLM 0.25.1" in done.stdout.splitlines()[0]


def test_a_model_folder(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    config = {"model_type": "llama", "head_dim": 128, "num_attention_heads": 32}
    config["quantization_config"] = {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "NVFP4"}
    (tmp_path / "m" / "config.json").write_text(json.dumps(config), "utf-8")
    done = cli("check", "--no-host", "--sm", "7.5", "--model", "m", **HERE)
    assert done.returncode == 1
    assert "KV cache nvfp4, head size 128 on SM 7.5" in done.stdout
    assert "what the checkpoint turns auto into" in done.stdout


def test_engine_words_of_a_launch(cli: Cli) -> None:
    words = ["vllm", "serve", "Qwen/Qwen3-8B"]
    done = cli("check", "--no-host", "--sm", "9.0", "--engine-words", "--", *words, **HERE)
    assert done.stdout.startswith("Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', ")


def test_sarif_and_github(cli: Cli) -> None:
    for format_, start in (("sarif", "{"), ("github", "::error ")):
        done = cli("check", "--no-host", "--sm", "10.0", "--format", format_, "--", *ISSUE, **HERE)
        assert done.returncode == 1
        assert done.stdout.startswith(start)


def test_words_that_launch_nothing_and_options_that_do_not_go_together(cli: Cli) -> None:
    for arguments in (("--", "echo", "x"), ("--batch", "x.jsonl", "--", *ISSUE), ("--sm", "9.7", "--", *ISSUE)):
        done = cli("check", "--no-host", *arguments, **HERE)
        assert done.returncode == 2, arguments
        assert done.stdout == ""


def test_a_plain_check_imports_nothing_of_this(cache: Path) -> None:
    """Cold start: the readers and their data are for launches only."""
    code = (
        "import sys\n"
        "from compatcheck.cli.main import main\n"
        "try:\n"
        "    main(['check', '--no-host', '--sm', '9.0', '--head-size', '128'], standalone_mode=False)\n"
        "except SystemExit as stop:\n"
        "    assert stop.code == 0, stop.code\n"
        "loaded = [name for name in sys.modules if name.startswith('compatcheck.launch') or name in ('ast', 'yaml')]\n"
        "assert 'compatcheck.launch' not in sys.modules, loaded\n"
        "assert 'compatcheck.cli.launch_command' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(cache), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
