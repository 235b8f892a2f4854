"""What a host answers for the fields that nobody gave."""

from __future__ import annotations

from typing import Any

import pytest

from compatcheck.cli.host_facts import versions_of
from compatcheck.host.model import Host
from compatcheck.host.problems import diagnose
from compatcheck.host.symbols import SLOT_MAPPING_APPEND
from compatcheck.matrix.load import load
from compatcheck.probe.support import support
from compatcheck.resolve.configuration import Configuration

from ..host.hosts import host


def test_vllm_without_flashinfer_says_so() -> None:
    found = versions_of(Configuration(), host("10.0", packages={"vllm": "0.33.0", "torch": "2.14.0"}))
    assert found["has_flashinfer"] is False
    assert "flashinfer_version" not in found
    table = support(load(), Configuration(sm="10.0", **found), mla=False)
    assert table.flashinfer_version is None
    assert {row.backends["FLASHINFER"] for row in table.rows} == {"unsupported"}
    assert next(row.pick for row in table.rows if row.kv_cache_dtype == "auto") == "FLASH_ATTN"


@pytest.mark.parametrize("given", [{"flashinfer_version": "0.7.2"}, {"has_flashinfer": True}])
def test_what_is_given_is_not_contradicted(given: dict[str, Any]) -> None:
    found = versions_of(Configuration(**given), host("10.0", packages={"vllm": "0.33.0"}))
    assert "has_flashinfer" not in found


@pytest.mark.parametrize(
    ("exports", "symbols", "answer"),
    [
        ({SLOT_MAPPING_APPEND: False}, {SLOT_MAPPING_APPEND: True}, False),
        ({SLOT_MAPPING_APPEND: True}, {SLOT_MAPPING_APPEND: True}, True),
        ({}, {SLOT_MAPPING_APPEND: False}, False),
        ({}, {SLOT_MAPPING_APPEND: True}, None),
    ],
)
def test_probe_and_check_agree_on_the_writer(
    exports: dict[str, bool | None], symbols: dict[str, bool | None], answer: bool | None
) -> None:
    one: Host = host(
        "9.0",
        packages={"vllm": "0.33.0", "flashinfer-python": "0.7.2.post1"},
        flashinfer_exports=exports,
        flashinfer_symbols=symbols,
    )
    assert versions_of(Configuration(), one).get("slot_mapping_helpers") is answer
    told = any(problem.code == "nvfp4-slot-mapping-helpers-missing" for problem in diagnose(one))
    assert told is (answer is False)
