"""`compatcheck explain`: codes, kernels, backends, and error texts pasted from a log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..matrix.samples import SMALL
from .conftest import PLACE, Cli


def ids(text: str) -> list[str]:
    """Return the ids of explained entries, best first."""
    lines = text.splitlines()
    also = lines.index("also fits:") if "also fits:" in lines else len(lines)
    return [lines[0].split()[0], *(line.split()[0] for line in lines[also + 1 :])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nvfp4-kv-mla", "nvfp4-kv-mla"),
        ("NVFP4-KV-MLA", "nvfp4-kv-mla"),
        ("kv_cache_dtype not supported", "selector-kv-cache-dtype"),
        ("FlashInfer NVFP4 slot-mapping KV cache update is required", "fi-slot-mapping-helpers"),
        ("fp8 tensor core is not supported in fa2 backend", "fi-fa2-fp8-query"),
        ("FLASHINFER", "FLASHINFER"),
        ("flashinfer.xqa.decode", "flashinfer.xqa.decode"),
        ("module 'torch' has no attribute 'nvfp4'", "vllm-nvfp4-first-request-crash"),
    ],
)
def test_finds(cli: Cli, text: str, expected: str) -> None:
    done = cli("explain", text)
    assert (done.returncode, done.stderr) == (0, "")
    found = ids(done.stdout)
    assert expected in found[:3] if " " in text else found[0] == expected
    assert "  source: " in done.stdout or "selector check" in done.stdout


def test_a_rule_in_full(cli: Cli) -> None:
    done = cli("explain", "nvfp4-kv-mla")
    for part in ("why: ", "fix: ", "history: ", "recheck: ", "words: ", "source: ", "matrix: matrix"):
        assert f"\n  {part}" in done.stdout
    assert "refused by: engine" in done.stdout


def test_words_may_be_given_unquoted_and_from_a_log(process: Cli) -> None:
    log = (
        b"INFO 11-02 \xff loading\n(EngineCore pid=7) ERROR  Traceback\n"
        b"ValueError: Selected backend AttentionBackendEnum.FLASHINFER is not valid for this configuration. "
        b"Reason: ['kv_cache_dtype not supported']\n"
    )
    assert "selector-kv-cache-dtype" in ids(process("explain", "-", stdin=log).stdout)
    assert ids(process("explain", "nvfp4-kv-mla").stdout) == ids(process("explain", " nvfp4-kv-mla ").stdout)


def test_a_long_log(process: Cli) -> None:
    """A megabyte; where a pattern looks again from every character, this takes hours."""
    log = "INFO fp8 kv cache layer 3 is not supported by FlashInfer here \n" * 16_000
    done = process("explain", "-", stdin=log + "fp8 tensor core is not supported in fa2 backend\n", timeout=120)
    assert "fi-fa2-fp8-query" in ids(done.stdout)


def test_json(cli: Cli) -> None:
    document = json.loads(cli("explain", "nvfp4-kv-mla", "--format", "json").stdout)
    assert (document["schema"], document["query"]) == (1, "nvfp4-kv-mla")
    match = document["matches"][0]
    assert (match["score"], match["how"], match["entry"]["id"]) == (1.0, "id", "nvfp4-kv-mla")
    assert PLACE.fullmatch(match["entry"]["line"])


@pytest.mark.parametrize("text", ["qqqq zzzz xxxx", "", "   ", "((((", "\\d+"])
def test_nothing_fits(cli: Cli, text: str) -> None:
    done = cli("explain", text)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("Nothing in the matrix has these words.")


def test_limit(cli: Cli) -> None:
    assert len(ids(cli("explain", "nvfp4 KV cache not supported", "--limit", "2").stdout)) == 2
    assert cli("explain", "x", "--limit", "0").returncode == 2
    assert cli("explain").returncode == 2


def test_an_overlay_s_rule(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "o.yaml").write_text("rules:\n  helpers-missing:\n    fix: Ask the site team.\n", encoding="utf-8")
    done = cli("explain", "helpers-missing", "--matrix", "m.yaml", "--overlay", "o.yaml")
    assert "  fix: Ask the site team.\n" in done.stdout
    assert "  matrix: o.yaml:2\n" in done.stdout
