"""Cells are generated from the matrix: from the packaged one, and from a small one where every effect is visible."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from compatcheck.matrix.load import load
from compatcheck.matrix.model import Matrix
from compatcheck.smoke.cell import SmokeCell
from compatcheck.smoke.cells import Target, plan
from compatcheck.smoke.judge import matches
from compatcheck.smoke.kernels import KERNELS
from compatcheck.smoke.outcome import Result
from compatcheck.smoke.priority import ordered
from compatcheck.smoke.routes import route_cells

SMS = {sm: {"family": f"{sm.split('.')[0]}.x", "arch": "x", "gpus": []} for sm in ("8.0", "9.0", "12.0")}


def matrix(kernel: dict[str, Any], rules: dict[str, Any] | None = None) -> Matrix:
    whole = {
        "schema": 1,
        "sms": SMS,
        "kv_cache_dtypes": {},
        "libraries": {},
        "engines": {},
        "kernels": {"flashinfer.fa2.paged_prefill": kernel},
        "rules": rules or {},
    }
    return msgspec.convert(whole, Matrix)


PREFILL: dict[str, Any] = {
    "title": "x",
    "library": "flashinfer",
    "symbol": "flashinfer.prefill:W",
    "phase": "prefill",
    "sms": ["9.x", "12.x"],
    "q_dtypes": ["float16", "bfloat16"],
    "kv_dtypes": [{"values": "same"}, {"values": "nvfp4", "when": {"flashinfer_version": ">=0.6.10.dev0"}}],
    "head_sizes": [{"values": [64, 128]}],
    "page_sizes": [{"values": {"ge": 1}}],
    "layouts": ["NHD", "HND"],
    "features": ["causal", "non_causal", "gqa", "soft_cap"],
    "tolerance": {"bfloat16": 0.01, "float16": 0.005, "nvfp4": 0.03},
}


def cells(kernel: dict[str, Any], sm: str = "9.0", fi: str = "0.7.2", **rules: Any) -> list[SmokeCell]:
    found = plan(matrix({**PREFILL, **kernel}, rules), Target(sm, fi, "2.11.0", "13.0"), KERNELS).cells
    return [cell for cell in found if cell.kernel.startswith("flashinfer")]


def test_an_id_says_everything() -> None:
    ids = [cell.id for cell in cells({})]
    assert "flashinfer.fa2.paged_prefill/sm9.0/q=bf16/kv=bf16/d=128/NHD/p16/g4/causal/long" in ids
    assert len(set(ids)) == len(ids)


def test_every_pair_of_values_is_covered() -> None:
    found = [c for c in cells({}) if c.feature is None]
    for head in (64, 128):
        for layout in ("NHD", "HND"):
            assert any(c.head_size == head and c.layout == layout for c in found)
        for dtype in ("float16", "bfloat16"):
            assert any(c.head_size == head and c.q_dtype == dtype for c in found)
        assert any(c.head_size == head and c.kv_dtype == "nvfp4" for c in found)
    assert {c.page_size for c in found} == {1, 16, 32, 64}
    assert {c.group for c in found} == {1, 4, 8}
    assert {c.causal for c in found} == {True, False}


def test_every_configuration_comes_in_every_shape() -> None:
    families: dict[str, set[str | None]] = {}
    for cell in cells({}):
        families.setdefault(cell.family, set()).add(cell.shape)
    assert all(shapes == {"short", "long", "needle"} for shapes in families.values())


def test_features_are_run_where_declared() -> None:
    assert {c.feature for c in cells({})} == {None, "soft_cap"}


def test_the_version_decides_what_is_granted() -> None:
    assert any(c.kv_dtype == "nvfp4" for c in cells({}, fi="0.6.10"))
    assert not any(c.kv_dtype == "nvfp4" for c in cells({}, fi="0.6.9"))


def test_tolerance_is_that_of_the_cache_but_not_below_that_of_the_query() -> None:
    bounds = {(c.q_dtype, c.kv_dtype): c.tolerance for c in cells({})}
    assert bounds["bfloat16", "nvfp4"] == 0.03
    assert bounds["float16", "float16"] == 0.005


def test_a_query_may_need_a_wider_bound_than_the_cache() -> None:
    grants = {"q_dtypes": ["bfloat16", "fp8_e5m2"], "kv_dtypes": [{"values": "fp8_e5m2"}]}
    bounds = {"tolerance": {"bfloat16": 0.01, "fp8_e5m2": 0.02}, "query_tolerance": {"fp8_e5m2": 0.15}}
    found = {c.q_dtype: c.tolerance for c in cells({**grants, **bounds})}
    assert found == {"bfloat16": 0.02, "fp8_e5m2": 0.15}


def test_an_absent_symbol_is_one_cell() -> None:
    (cell,) = cells({"since": "0.7.4"})
    assert cell.expected.kind == "absent"
    assert "has no W (first in 0.7.4)" in (cell.expected.reason or "")


def test_nothing_is_declared_for_another_sm() -> None:
    assert cells({}, sm="8.0") == []


REFUSALS = [
    {"code": "fp8-query", "when": {"q_dtype": ["fp8_e4m3"]}, "exception": "A", "match": "a"},
    {"code": "head", "when": {"head_size": {"multiple_of": 16, "not": [64, 128]}}, "exception": "B", "match": "b"},
    {"code": "elsewhere", "when": {"sm": "12.0", "page_size": 5}, "exception": "C", "match": "c"},
    {"code": "old", "when": {"page_size": 7}, "exception": "D", "match": "d", "versions": "<0.6"},
    {
        "code": "cc",
        "when": {"kv_dtype": "fp8_e5m2", "q_dtype": "bfloat16"},
        "exception": "E",
        "match": "e",
        "outcome": "compile-error",
    },
]


def test_declared_refusals_of_this_sm_and_version_are_run() -> None:
    refused = {c.expected.code: c for c in cells({"refusals": REFUSALS}) if c.expected.code}
    assert set(refused) == {"fp8-query", "head", "cc"}
    assert refused["fp8-query"].kv_dtype == "fp8_e4m3", "the cache follows the query: the usual call"
    assert refused["head"].head_size not in (64, 128)
    assert (refused["cc"].q_dtype, refused["cc"].kv_dtype) == ("bfloat16", "fp8_e5m2")
    assert refused["cc"].expected.kind == "compile-error"
    assert refused["fp8-query"].expected.path == ("kernels", "flashinfer.fa2.paged_prefill", "refusals", 0)
    assert {c.expected.code for c in cells({"refusals": REFUSALS}, sm="12.0") if c.expected.code} >= {"elsewhere"}


def test_a_point_that_is_refused_is_not_expected_to_run() -> None:
    refusal = {"code": "no64", "when": {"head_size": 64, "kv_dtype": "nvfp4"}, "exception": "A", "match": "a"}
    found = cells({"refusals": [refusal]})
    assert all(c.expected.code == "no64" for c in found if c.head_size == 64 and c.kv_dtype == "nvfp4")
    assert sum(c.expected.code == "no64" for c in found) == 1


ADVISORY = {
    "title": "wrong at head 64",
    "refuser": "advisory",
    "bites": "silent",
    "effect": "degraded",
    "axis": "flashinfer_version",
    "versions": ">=0.6.10.dev0,<0.7.4.dev0",
    "when": {"backend": "FLASHINFER", "kv_cache_dtype": "nvfp4", "head_size": 64},
    "kernels": ["flashinfer.fa2.paged_prefill"],
    "why": "w",
    "fix": "f",
    "sources": [{"ref": "x"}],
}


def test_an_advisory_makes_its_cells_expected_wrong() -> None:
    found = cells({}, adv=ADVISORY)
    wrong = [c for c in found if c.expected.kind == "wrong"]
    assert wrong
    assert all(c.kv_dtype == "nvfp4" and c.head_size == 64 for c in wrong)
    assert all(c.expected.any_shape and c.expected.code == "adv" for c in wrong)
    assert not [c for c in cells({}, fi="0.7.4", adv=ADVISORY) if c.expected.kind == "wrong"]


def test_an_advisory_may_depend_on_what_a_cell_does_not_fix() -> None:
    found = [c for c in cells({}, adv={**ADVISORY, "varies": "the scale"}) if c.expected.code == "adv"]
    assert found
    assert {(c.expected.kind, c.expected.reason) for c in found} == {("varies", "the scale")}


def test_an_advisory_that_names_an_exception_may_come_as_that() -> None:
    worded = {**ADVISORY, "exception": "GraphError", "words": ["(a) datatype", "/other \\d+/"]}
    (expected,) = {c.expected for c in cells({}, adv=worded) if c.expected.code == "adv"}
    assert expected.exception == "GraphError"
    for text, fits in (("the (a) datatype", True), ("other 12", True), ("other x", False), ("a datatype", False)):
        result = Result(id="x", outcome="refused", exception="GraphError", text=text)
        assert matches(expected, result) is fits
    (silent,) = {c.expected for c in cells({}, adv={**ADVISORY, "words": ["w"]}) if c.expected.code == "adv"}
    assert (silent.exception, silent.match) == (None, None)


def test_an_advisory_may_ask_for_the_dtype_of_the_query() -> None:
    grants = {"q_dtypes": ["bfloat16", "fp8_e4m3"], "kv_dtypes": [{"values": "fp8_e4m3"}]}
    rule = {**ADVISORY, "when": {"kv_cache_dtype": "fp8_e4m3", "dtype": "fp8_e4m3"}}
    found = cells(grants, adv=rule)
    assert {c.q_dtype for c in found if c.expected.kind == "wrong"} == {"fp8_e4m3"}
    assert {c.q_dtype for c in found if c.expected.kind == "supported"} == {"bfloat16"}


@pytest.mark.parametrize("change", [{"effect": "note"}, {"kernels": []}, {"bites": "first-request"}])
def test_only_silent_advisories_about_kernels_count(change: dict[str, Any]) -> None:
    assert not [c for c in cells({}, adv={**ADVISORY, **change}) if c.expected.kind == "wrong"]


def test_an_advisory_about_what_is_not_granted_is_run_too() -> None:
    rule = {**ADVISORY, "when": {"kv_cache_dtype": "fp8_e5m2"}}
    wrong = [c for c in cells({}, adv=rule) if c.expected.kind == "wrong"]
    assert {c.kv_dtype for c in wrong} == {"fp8_e5m2"}
    assert {c.shape for c in wrong} == {"short", "long", "needle"}


def test_the_plan_is_the_same_every_time() -> None:
    assert [c.id for c in cells({"refusals": REFUSALS})] == [c.id for c in cells({"refusals": REFUSALS})]


# ------------------------------------------------------------------------------------ the packaged matrix


@pytest.fixture(scope="module")
def packaged() -> Matrix:
    return load().matrix


def test_every_flashinfer_and_torch_kernel_has_a_smoke_test(packaged: Matrix) -> None:
    left_out = plan(packaged, Target("9.0", "0.7.2.post1", "2.11.0", "13.0"), KERNELS).left_out
    assert [kernel for kernel in left_out if not kernel.startswith("vllm.")] == []


def test_old_flashinfer_has_no_slot_mapping_writer(packaged: Matrix) -> None:
    found = plan(packaged, Target("9.0", "0.6.14", "2.11.0", "13.0"), KERNELS).cells
    absent = [c.kernel for c in found if c.expected.kind == "absent"]
    assert "flashinfer.nvfp4_append.slot_mapping" in absent


def test_nvfp4_and_refusals_come_first_and_dear_modules_last(packaged: Matrix) -> None:
    target = Target("9.0", "0.7.2.post1", "2.11.0", "13.0")
    found = plan(packaged, target, KERNELS).cells + route_cells(packaged, target, KERNELS)
    by_name = {k.name: k for k in KERNELS}
    order = ordered(found, lambda c: by_name[c.driver].dear(c))
    assert sorted(c.id for c in order) == sorted(c.id for c in found)
    dear = [by_name[c.driver].dear(c) for c in order]
    assert dear == sorted(dear), "fa3 modules last"
    first = next(i for i, c in enumerate(order) if c.kv_dtype != "nvfp4" and c.expected.kind == "supported")
    assert all(c.kv_dtype == "nvfp4" or c.expected.kind in ("refused", "wrong", "absent") for c in order[:first])


def test_routes_are_cells(packaged: Matrix) -> None:
    found = route_cells(packaged, Target("9.0", "0.7.2.post1", "2.11.0", "13.0"), KERNELS)
    slot = next(c for c in found if c.kernel == "route.flashinfer.nvfp4_slot_mapping")
    assert slot.route[0] == "flashinfer.nvfp4_append.slot_mapping"
    assert slot.shape == "whole"
    assert not [c for c in found if "trtllm_gen" in c.kernel], "no trtllm-gen on SM 9.0"


def test_without_a_gpu_only_what_runs_on_a_cpu(packaged: Matrix) -> None:
    found = plan(packaged, Target("cpu", None, "2.13.0"), KERNELS)
    assert {c.kernel.split(".")[0] for c in found.cells} == {"torch", "compatcheck"}
    assert found.left_out["flashinfer.fa2.paged_prefill"] == "needs a GPU"


def codes(packaged: Matrix, flashinfer: str) -> dict[tuple[str, str | None, str | None, int | None], set[str | None]]:
    found: dict[tuple[str, str | None, str | None, int | None], set[str | None]] = {}
    for cell in plan(packaged, Target("9.0", flashinfer, "2.11.0", "13.0"), KERNELS).cells:
        if cell.expected.kind in ("supported", "wrong", "varies"):
            where = (cell.kernel, cell.q_dtype, cell.kv_dtype, cell.head_size)
            found.setdefault(where, set()).add(cell.expected.code)
    return found


def test_where_a_finite_mask_leaks(packaged: Matrix) -> None:
    """fa3 under an 8-bit query, fa2 under an e5m2 cache or an NVFP4 cache with large heads, before FlashInfer 0.7.0."""
    old, new = codes(packaged, "0.6.18.post1"), codes(packaged, "0.7.2.post1")
    leaks = {"fi-fa3-fp8-mask-leaks", "fi-fa2-mask-leaks-small-k-scale", "fi-fa2-mask-leaks-nvfp4"}
    assert not [where for where, found in new.items() if found & leaks]
    for (kernel, query, kv, head), found in old.items():
        wanted: str | None = None
        eight_bit = (query or "").startswith("fp8")
        if kernel.startswith(("flashinfer.fa3.", "flashinfer.auto.")) and eight_bit:
            wanted = "fi-fa3-fp8-mask-leaks"
        elif kernel.startswith(("flashinfer.fa2.", "flashinfer.auto.")) and not kernel.endswith(
            (".decode", "ragged_prefill")
        ):
            wanted = {"fp8_e5m2": "fi-fa2-mask-leaks-small-k-scale"}.get(kv or "")
            wanted = "fi-fa2-mask-leaks-nvfp4" if kv == "nvfp4" and (head or 0) >= 256 else wanted
        elif kernel in ("flashinfer.fa2.ragged_prefill", "flashinfer.auto.decode"):
            continue
        assert (found & leaks) == ({wanted} if wanted else set()), (kernel, query, kv, head)


def test_auto_is_held_to_the_bound_of_the_kernel_it_takes(packaged: Matrix) -> None:
    found = plan(packaged, Target("9.0", "0.7.2.post1", "2.11.0", "13.0"), KERNELS).cells
    bounds: dict[tuple[str, str | None, str | None], float] = {
        (c.kernel, c.q_dtype, c.kv_dtype): c.tolerance for c in found if c.expected.kind == "supported"
    }
    for kernel, native in (("paged_prefill", "paged_prefill"), ("decode", "decode_tensor_cores")):
        for query in ("float16", "bfloat16", "fp8_e4m3", "fp8_e5m2"):
            for kv in ("fp8_e4m3", "fp8_e5m2"):
                if query.startswith("fp8") and query != kv:
                    continue
                taken = f"fa3.{kernel}" if query.startswith("fp8") else f"fa2.{native}"
                assert bounds[f"flashinfer.auto.{kernel}", query, kv] == bounds[f"flashinfer.{taken}", query, kv]
