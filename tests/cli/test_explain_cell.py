"""`compatcheck explain` with a cell's id, a mistyped code, and a backend at a release."""

from __future__ import annotations

import pytest

from compatcheck.explain.cell import explain_cell
from compatcheck.matrix.load import load

from .conftest import Cli


def test_a_mistyped_code(cli: Cli) -> None:
    done = cli("explain", "nvfp4-kv-mlaa")
    assert done.returncode == 1
    assert "Did you mean nvfp4-kv-mla " in done.stdout


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (
            "flashinfer.nvfp4_append.slot_mapping/sm9.0/q=bf16/kv=nvfp4/d=128/NHD/p16/ragged",
            "the matrix says: supported",
        ),
        ("flashinfer.trtllm_gen.decode/sm9.0/q=bf16/kv=bf16/d=128/HND/p16/g4", "codes: trtllm-gen-sm"),
        ("torch.flex_attention/cpu/q=fp16/kv=fp16/d=256/g1/causal/long", "SM: cpu"),
        ("route.flashinfer.native/sm9.0/q=bf16/kv=bf16/d=128/NHD/p16/g4/whole", "route: flashinfer.native"),
    ],
)
def test_a_cell_s_id(cli: Cli, cell: str, said: str) -> None:
    done = cli("explain", cell)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{cell}  ")
    assert f"  {said}" in done.stdout


def test_every_cell_that_smoke_lists(process: Cli) -> None:
    listed = process("smoke", "--list", "--sm", "9.0").stdout.splitlines()
    ids = [line.split()[-1] for line in listed if "/sm9.0/" in line]
    assert len(ids) > 100
    matrix = load()
    assert [id_ for id_ in ids if explain_cell(matrix, id_) is None] == []


def test_a_backend_at_a_release(cli: Cli) -> None:
    newest = cli("explain", "FLASHINFER").stdout
    assert "  as of: vLLM 0.33.0\n" in newest
    assert "  SMs: sm 8.x, 9.x, 10.x, 11.x, 12.x\n" in newest
    assert "  history: since 0.18.1: KV-cache dtypes: auto" in newest
    old = cli("explain", "FLASHINFER", "--vllm", "0.18.1").stdout
    assert "  as of: vLLM 0.18.1\n" in old
    assert "  SMs: sm 7.x, 8.x" in old
    assert "not there" in cli("explain", "B12X", "--vllm", "0.29.0").stdout
