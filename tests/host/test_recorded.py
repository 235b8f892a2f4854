"""Host documents that `save_host` wrote on real machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from compatcheck.host import dump_host, load_host
from compatcheck.host.problems import diagnose

from .fakes import FakeNvml, h200
from .hosts import codes

RECORDED = Path(__file__).parent / "recorded"


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.json")), ids=lambda path: path.stem)
def test_every_recorded_host_is_read_and_written_back_alike(path: Path) -> None:
    assert dump_host(load_host(path)) == path.read_bytes()


def test_the_h200_machine() -> None:
    """One NVIDIA H200, driver 580.159.04, torch 2.11.0 for CUDA 13.0, nvcc 13.0.88, no FlashInfer; 2026-11-29."""
    found = load_host(RECORDED / "h200.json")
    assert found.sms() == ("9.0",)
    assert found.packages["torch"].cuda == "13.0"
    assert found.toolkit.nvcc_build == "13.0.88"
    assert codes(found) == []
    assert diagnose(found) == []


def test_the_fake_h200_answers_as_the_real_one_did() -> None:
    from compatcheck.host.nvml import query_nvml

    found = load_host(RECORDED / "h200.json")
    assert query_nvml(FakeNvml(h200())) == (found.driver, found.gpus)
