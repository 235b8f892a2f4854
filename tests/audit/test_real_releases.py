"""vLLM 0.33.0 beside FlashInfer 0.7.2.post1 for real: no drift, an older matrix's drift, planted changes.

Opt-in, since vLLM's wheel has half a gigabyte: set COMPATCHECK_AUDIT_VLLM and COMPATCHECK_AUDIT_FLASHINFER to the two
wheels, or to folders that they were unpacked to (with their RECORD). About three minutes.
"""

# ruff: noqa: E501 - the texts of gates

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from compatcheck.audit.compare_gates import checks_of
from compatcheck.audit.messages import Source
from compatcheck.audit.points import ASKED, base, points
from compatcheck.audit.reading.axes import domains
from compatcheck.audit.run import audit
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.engine import EngineProgram
from tests.audit.older import older

VLLM, FLASHINFER = (os.environ.get(f"COMPATCHECK_AUDIT_{name}") for name in ("VLLM", "FLASHINFER"))
RELEASE, BEFORE = "0.33.0", "0.25.1"

pytestmark = pytest.mark.skipif(not (VLLM and FLASHINFER), reason="COMPATCHECK_AUDIT_VLLM and _FLASHINFER are not set")


def sources() -> tuple[Source, Source]:
    return Source(path=str(VLLM), version=RELEASE), Source(path=str(FLASHINFER), version="0.7.2.post1")


def test_no_drift(loaded: LoadedMatrix) -> None:
    found = audit(loaded, *sources())
    assert found.differences == ()
    assert found.unknown() == ()
    assert found.compared > 500_000
    print(f"\n{found.compared} answers, {len(found.not_understood)} known gates")


def test_an_older_matrix_has_exactly_the_known_drift(loaded: LoadedMatrix) -> None:
    before = older(BEFORE)
    found = audit(before, *sources())
    old, new = (one.resolver.engine("vllm", RELEASE) for one in (before, loaded))
    told: dict[str, set[tuple[str, str]]] = {}
    for difference in found.differences:
        told.setdefault(difference.kind, set()).add((difference.subject, difference.aspect))
    assert told.pop("release") == {(RELEASE, "")}
    assert told.pop("new-backend") == {(name, "") for name in set(new.backends) - set(old.backends)}
    assert told.pop("removed-backend", set()) == {(name, "") for name in set(old.backends) - set(new.backends)}
    assert told.pop("vocabulary") == {("kv_cache_dtypes", "")}
    asked = {
        check.check
        for check in loaded.matrix.engines["vllm"].selector
        if check.since in ("0.26.0", "0.28.0", "0.29.0", "0.30.0")
    }
    assert told.pop("selector") == {(name, "") for name in asked}
    assert told.pop("order") == {("backends", ""), ("NVFP4 linear kernels", "")}
    new_linear, old_linear = (set(one.matrix.engines["vllm"].linear.kernels) for one in (loaded, before))  # type: ignore[union-attr]
    assert {name for name, _ in told.pop("linear-kernel")} >= new_linear - old_linear
    shared = [n for n in new.backends if n in old.backends and not new.program(n).facts["unimportable"]]
    gates = {(name, check) for name in shared for check in _changed(name, old, new, asked)}
    assert told.pop("gate") == gates
    assert told == {}


def _changed(name: str, old: EngineProgram, new: EngineProgram, added: set[str]) -> set[str]:
    """Return the checks on which two matrices disagree somewhere, asked of the resolver alone."""
    programs = old.program(name), new.program(name)
    axes = domains(
        ["7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1"],
        new.kv_cache_dtypes,
    )
    axes["head_size"] = (64, 96, 128, 192, 256, 320, 512, 576)
    axes["block_size"] = (None, 8, 16, 32, 64, 128)
    found = {check for check in ("mla", "sparse") if programs[0].facts[check] != programs[1].facts[check]}
    for check in new.engine.selector:
        if check.check in ("mla", "non_mla", "sparse", "non_sparse"):
            continue
        both = [checks_of(program, check.code, check.check) for program in programs]
        if check.check in added:
            # The older selector does not ask it: its backend says nothing, and the release may refuse.
            both[0] = []
        fields = {field for side in both for one in side for field in one.fields}
        asked: dict[str, Any] = {ASKED[check.check]: True} if check.check in ASKED else {}
        if check.check == "non_causal_dcp":
            asked = {"use_mla": True, "use_non_causal": True, "use_dcp": True}
        facts = base(
            engine="vllm", engine_version=RELEASE, flashinfer_version="0.7.2.post1", cuda_version="13.0",
            use_mla=programs[1].facts["mla"], use_sparse=programs[1].facts["sparse"], backend=name,
        )  # fmt: skip
        facts.update(asked)
        varied = {field: axes[field] for field in fields if field in axes and field not in asked}
        if any(_say(both[0], p, check.check) != _say(both[1], p, check.check) for p in _many(facts, varied)):
            found.add(check.check)
    return found


def _many(facts: dict[str, Any], varied: dict[str, tuple[Any, ...]]) -> list[SimpleNamespace]:
    draw = random.Random(0)
    total = [SimpleNamespace(**vars(p)) for p in points(facts, varied)]
    for _ in range(20_000 if len(varied) > 3 else 2000 if varied else 0):
        one = {field: (draw.choice(values),) for field, values in varied.items()}
        total += [SimpleNamespace(**vars(p)) for p in points(facts, one)]
    return total


def _say(checks: list[Any], point: SimpleNamespace, check: str) -> str:
    for one in checks:
        if one.refuses(point):
            return str(one.say(point)) if check == "joint_rules" else "refuses"
    return "accepts"


PLANTED = {
    "vllm/v1/attention/backends/flash_attn_diffkv.py": ("class FlashAttentionDiffKVBackend(FlashAttentionBackend):\n", "class FlashAttentionDiffKVBackend(FlashAttentionBackend):\n    @classmethod\n    def supports_kv_cache_dtype(cls, kv_cache_dtype):\n        return kv_cache_dtype == 'fp8_e5m2' or super().supports_kv_cache_dtype(kv_cache_dtype)\n\n"),
    "vllm/v1/attention/backends/registry.py": ("    NO_ATTENTION = ", '    FRESH = "vllm.v1.attention.backends.triton_attn.TritonAttentionBackend"\n    NO_ATTENTION = '),
    "vllm/v1/attention/backends/mla/flashmla.py": ("        if use_sparse:\n", '        if head_size == 576 and block_size == 192:\n            return "planted"\n        if use_sparse:\n'),
}  # fmt: skip


def test_planted_changes_in_a_copy(tmp_path: Path, loaded: LoadedMatrix) -> None:
    if not Path(str(VLLM)).is_dir() or not Path(str(FLASHINFER)).is_dir():
        pytest.skip("only unpacked releases are copied here")
    engine, library = tmp_path / "engine", tmp_path / "library"
    shutil.copytree(str(VLLM), engine, ignore=shutil.ignore_patterns("*.so", "third_party", "*.json"))
    shutil.copytree(str(FLASHINFER), library, ignore=shutil.ignore_patterns("data"))
    for name, (old, new) in PLANTED.items():
        text = (engine / name).read_text("utf-8")
        assert text.count(old) == 1, name
        (engine / name).write_text(text.replace(old, new), "utf-8")
    (metadata,) = engine.glob("*.dist-info/METADATA")
    metadata.write_text(metadata.read_text("utf-8").replace("torch==2.14.0", "torch==2.15.0"), "utf-8")
    page = library / "flashinfer" / "page.py"
    page.write_text(
        page.read_text("utf-8").replace("def nvfp4_quantize_append_paged_kv_cache(", "def renamed("), "utf-8"
    )
    found = audit(loaded, Source(path=str(engine)), Source(path=str(library)))
    told = {(d.kind, d.subject, d.aspect) for d in found.differences}
    assert told == {
        ("gate", "FLASH_ATTN_DIFFKV", "kv_cache_dtype"),
        ("new-backend", "FRESH", ""),
        ("gate", "FLASHMLA", "joint_rules"),
        ("pin", RELEASE, "torch"),
        ("symbol", "flashinfer.nvfp4_append.csr", "flashinfer.page:nvfp4_quantize_append_paged_kv_cache"),
    }
