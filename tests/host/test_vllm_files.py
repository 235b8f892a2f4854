from __future__ import annotations

from pathlib import Path

from compatcheck.host.module_names import Names
from compatcheck.host.vllm_files import ATTENTION_BACKEND, inspect_vllm

from . import trees

BACKEND = """
import torch
from flashinfer import (
    BatchDecodeWithPagedKVCacheWrapper,
    nvfp4_quantize_append_paged_kv_cache_with_slot_mapping,
)
from flashinfer.decode import fast_decode_plan
from flashinferno import not_ours
from .sibling import also_not

def later():
    from flashinfer.late import lazily
"""


def vllm(site: Path) -> Path:
    trees.write(site, "vllm/__init__.py")
    trees.write(site, f"vllm/{ATTENTION_BACKEND}", BACKEND)
    trees.write(site, "vllm/envs.py", 'names = {"VLLM_BATCH_INVARIANT": 1, "VLLM_KV_CACHE_LAYOUT_X": 2}\n')
    return site / "vllm"


def test_every_import_from_flashinfer_is_looked_up_in_the_installed_one(tmp_path: Path) -> None:
    flashinfer = trees.flashinfer(
        tmp_path,
        "0.6.14",
        {
            "__init__.py": "from .decode import BatchDecodeWithPagedKVCacheWrapper\n",
            "decode.py": "class BatchDecodeWithPagedKVCacheWrapper: ...\ndef fast_decode_plan(): ...\n",
        },
    )
    found = inspect_vllm(vllm(tmp_path), Names(flashinfer))
    assert found.imports == {
        "flashinfer:BatchDecodeWithPagedKVCacheWrapper": True,
        "flashinfer:nvfp4_quantize_append_paged_kv_cache_with_slot_mapping": False,
        "flashinfer.decode:fast_decode_plan": True,
    }
    assert found.unreadable == ()


def test_without_a_flashinfer_nothing_can_be_told(tmp_path: Path) -> None:
    assert set(inspect_vllm(vllm(tmp_path), None).imports.values()) == {None}


def test_variables_that_envs_does_not_name(tmp_path: Path) -> None:
    reads = inspect_vllm(vllm(tmp_path), None).reads
    assert reads["VLLM_BATCH_INVARIANT"] is True
    assert reads["VLLM_ATTENTION_BACKEND"] is False
    assert reads["VLLM_KV_CACHE_LAYOUT"] is False, "a longer name is another name"


def test_missing_and_broken_files(tmp_path: Path) -> None:
    package = vllm(tmp_path)
    (package / ATTENTION_BACKEND).write_text("from flashinfer import (\n")
    (package / "envs.py").write_bytes(b"\xff")
    found = inspect_vllm(package, None)
    assert found.imports == {}
    assert set(found.reads.values()) == {None}
    assert len(found.unreadable) == 2
    (package / ATTENTION_BACKEND).unlink()
    (package / "envs.py").unlink()
    assert inspect_vllm(package, None).unreadable == ()
    assert inspect_vllm(None, None) == ({}, {}, ())
