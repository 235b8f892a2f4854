"""What a run proves: for its SM, its dtypes and its outcome, and for nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from compatcheck.docs.evidence import SAID, Proof, read_all
from compatcheck.docs.pages.attention_backends import row_proof
from compatcheck.docs.pages.changes import verdicts
from compatcheck.docs.site import Site
from compatcheck.docs.states import rows_of
from compatcheck.matrix.load import LoadedMatrix

OUTPUT = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def site(real: LoadedMatrix) -> Site:
    return Site(real, OUTPUT)


@pytest.fixture(scope="module")
def proof() -> Proof:
    return next(p for p in read_all(OUTPUT / "evidence") if p.evidence.fingerprint.flashinfer == "0.7.2.post1")


def test_every_cell_is_said_once(proof: Proof) -> None:
    said = proof.said()
    assert set(said) <= set(SAID)
    assert sum(said.values()) == len(proof.evidence.cells)
    refused = said["refused as declared"] + said["fails to compile as declared"]
    assert refused == proof.evidence.coverage.refused_as_declared
    assert said["right"] < proof.counts["confirmed"]


def test_a_refusal_proves_no_run(proof: Proof) -> None:
    (line,) = proof.of_kernel("flashinfer.mla.trtllm_gen")
    assert "refused as declared" in line
    assert " right" not in line
    assert not proof.ran_right("flashinfer.mla.trtllm_gen", ["9.0"], "bfloat16", ["nvfp4", "bfloat16", "fp8_e4m3"])
    (refused,) = proof.of_code("mla-trtllm-uint8")
    assert refused.startswith(f"{proof.where}: ")
    assert refused.endswith("refused as declared")
    assert proof.of_code("vllm-xqa-e5m2") == []


def test_only_for_the_sm_and_dtypes_that_ran(proof: Proof) -> None:
    kernel = "flashinfer.fa2.paged_prefill"
    assert proof.ran_right(kernel, ["9.0"], "bfloat16", ["bfloat16", "nvfp4", "int8"]) == {"bfloat16", "nvfp4"}
    assert proof.ran_right(kernel, ["8.0", "12.0"], "bfloat16", ["bfloat16", "nvfp4"]) == set()


@pytest.mark.parametrize("family", ["7.x", "8.x", "9.x", "10.x", "11.x", "12.x"])
def test_rows_are_proved_where_the_gpu_was(family: str, site: Site) -> None:
    grid, sms = site.grid, site.families()[family]
    rows = [r for name in grid.backends(grid.newest) for r in rows_of(site.states, grid.newest, name, sms)]
    proved = [row.backend for row in rows if row_proof(site, row)]
    assert bool(proved) is (family == "9.x")
    assert "FLASHINFER" in proved or family != "9.x"


def test_no_note_of_a_refused_cell_on_a_row_that_runs(site: Site) -> None:
    for sm in ("7.5", "11.0"):
        for name in ("FLEX_ATTENTION", "MINIMAX_M3_SPARSE"):
            for row in rows_of(site.states, site.grid.newest, name, [sm]):
                assert "vllm-nvfp4-slot-mapping-sms" not in row.notes


@pytest.mark.parametrize(
    ("code", "versions"),
    [
        ("fi-nvfp4-head64", ["vLLM >=0.32.0"]),
        ("triton-fa-needs-fa4", ["vLLM >=0.30.0,<0.31.0"]),
        ("fi-dsv4-sm", ["vLLM >=0.24.0"]),
        ("fa-fp8-kv", ["vLLM >=0.27.0,<0.31.0", "vLLM >=0.31.0"]),
    ],
)
def test_versions_of_combinations(code: str, versions: list[str], site: Site) -> None:
    assert site.catalog[code].versions == versions


def test_every_code_names_where_it_was_seen(site: Site) -> None:
    without = {code for code, entry in site.catalog.items() if not entry.sources and entry.kind != "built-in"}
    assert without == set()
    assert not any("0.18.1" in source.ref for source in site.catalog["fi-nvfp4-head64"].sources)
    assert site.catalog["b12x-not-installed"].fix is not None
    assert "pip install vllm[b12x]" in site.catalog["b12x-not-installed"].fix


def test_changes_compare_no_model_that_the_earlier_release_lacks(site: Site) -> None:
    lines = [line for line in verdicts(site, "0.23.0", "0.24.0") if line["backend"].endswith("_DSV4")]
    shapes = {shape for line in lines for _, shapes, _ in line["where"] for shape in shapes}
    assert "512 (DeepSeek V4)" in shapes
    assert "512 (DeepSeek V4.1)" not in shapes
