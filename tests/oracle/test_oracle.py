"""The matrix against what released vLLM wheels say of themselves, row by row; no row is skipped."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.models import is_mla
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normaliser import Normaliser
from tests.oracle import rows
from tests.oracle.contradictions import CONTRADICTIONS

FILES = rows.files()


def by_release(path: Path) -> str:
    return rows.release(path)


@pytest.fixture(scope="module")
def normaliser(loaded: LoadedMatrix) -> Normaliser:
    return Normaliser(loaded.matrix)


def close(seen: Counter[str], wrong: list[Any], used: set[Any], path: Path, kind: str) -> None:
    """Print the counts, fail on the first rows that differ, and on contradictions that are not needed any more."""
    print(f"\n{path.name}: {kind}: {dict(seen)}")
    assert seen["rows"] > 0
    assert not wrong, f"{len(wrong)} rows differ, such as {wrong[:3]}"
    assert seen["agree"] + seen["contradicted on purpose"] == seen["rows"]
    needed = {key for key in CONTRADICTIONS if key[0] == rows.release(path) and key[1] == kind}
    assert needed == used, f"no longer needed: {needed - used}"


@pytest.mark.parametrize("path", FILES, ids=by_release)
def test_every_attn_row(path: Path, loaded: LoadedMatrix, normaliser: Normaliser) -> None:
    seen: Counter[str] = Counter()
    wrong: list[Any] = []
    used: set[Any] = set()
    for row in rows.read(path, "attn"):
        seen["rows"] += 1
        normal = normaliser(rows.configuration(row))
        engine = loaded.resolver.engine("vllm", normal.release)
        assert normal.release == row["vllm"]
        judgement = engine.judge(row["backend"], normal.facts)
        if (judgement.accepted, list(judgement.words)) == (row["valid"], row["reasons"]):
            seen["agree"] += 1
            continue
        key = (row["vllm"], "attn", row["backend"], tuple(row["reasons"]))
        if key in CONTRADICTIONS:
            used.add(key)
            seen["contradicted on purpose"] += 1
        else:
            wrong.append((row, judgement.words, sorted(judgement.missing)))
    close(seen, wrong, used, path, "attn")


@pytest.mark.parametrize("path", FILES, ids=by_release)
def test_every_auto_row(path: Path, loaded: LoadedMatrix, normaliser: Normaliser) -> None:
    seen: Counter[str] = Counter()
    wrong: list[Any] = []
    for row in rows.read(path, "auto"):
        seen["rows"] += 1
        verdict = loaded.resolver.judge(normaliser(rows.configuration(row)))
        rejected = {name: list(words) for name, words in (verdict.rejected or {}).items()}
        answer = (verdict.selected, list(verdict.candidates or ()), rejected)
        if answer == (row["selected"], row["candidates"], row["rejected"]):
            seen["agree"] += 1
        else:
            wrong.append((row, answer, verdict.missing))
    close(seen, wrong, set(), path, "auto")


PRIORITY_CASES: dict[str, dict[str, Any]] = {
    "non-MLA": {},
    "non-MLA use_non_causal": {"use_non_causal": True},
    "non-MLA mm_prefix": {"use_mm_prefix": True},
    "MLA head 576 kv=auto heads=128": {"use_mla": True, "head_size": 576, "num_qo_heads": 128},
    "MLA head 576 kv=auto heads=16": {"use_mla": True, "head_size": 576, "num_qo_heads": 16},
    "MLA head 576 kv=fp8": {"use_mla": True, "head_size": 576, "kv_cache_dtype": "fp8", "num_qo_heads": 128},
    "MLA head 512 kv=auto": {"use_mla": True, "head_size": 512, "num_qo_heads": 64},
}


@pytest.mark.parametrize("path", FILES, ids=by_release)
def test_every_priority_row(path: Path, loaded: LoadedMatrix, normaliser: Normaliser) -> None:
    seen: Counter[str] = Counter()
    wrong: list[Any] = []
    for row in rows.read(path, "prio"):
        seen["rows"] += 1
        asked = PRIORITY_CASES[row["case"]]
        normal = normaliser(Configuration(engine_version=row["vllm"], sm=row["sm"], **asked))
        order, missing = loaded.resolver.engine("vllm", normal.release).order(normal.facts)
        if order == row["order"]:
            seen["agree"] += 1
        else:
            wrong.append((row, order, missing))
    close(seen, wrong, set(), path, "prio")


@pytest.mark.parametrize("path", FILES, ids=by_release)
def test_every_prefill_row(path: Path, loaded: LoadedMatrix, normaliser: Normaliser) -> None:
    seen: Counter[str] = Counter()
    wrong: list[Any] = []
    for row in rows.read(path, "prefill"):
        seen["rows"] += 1
        if (
            "error" in row
        ):  # the oracle's script could not ask this release: an import of its own failed, no answer of vLLM
            assert row["error"].startswith("ImportError"), row
            seen["the oracle could not ask"] += 1
            seen["agree"] += 1
            continue
        nope, rope, value = row["dims"]
        asked = {"use_mla": True, "qk_nope_head_dim": nope, "qk_rope_head_dim": rope, "v_head_dim": value}
        normal = normaliser(Configuration(engine_version=row["vllm"], sm=row["sm"], **asked))
        engine = loaded.resolver.engine("vllm", normal.release)
        words = {name: list(engine.judge_prefill(name, normal.facts).words) for name in engine.prefill_backends}
        picked = engine.select_prefill(normal.facts).selected
        expected = None if row["selected"].startswith("ValueError") else row["selected"]
        if row["selected"].startswith("TypeError"):  # the oracle's script called a function this release does not have
            seen["the oracle could not ask for the pick"] += 1
            expected = picked
        if (words, picked) == (row["backends"], expected):
            seen["agree"] += 1
        else:
            wrong.append((row, words, picked))
    close(seen, wrong, set(), path, "prefill")


@pytest.mark.parametrize("path", FILES, ids=by_release)
def test_every_mla_row(path: Path, loaded: LoadedMatrix) -> None:
    seen: Counter[str] = Counter()
    wrong: list[Any] = []
    for row in rows.read(path, "mla"):
        seen["rows"] += 1
        rank = 512 if row["prof"] == "lora" else None
        shape = (
            {"hidden_size": 7168, "num_attention_heads": 128}
            if rank
            else {"hidden_size": 4096, "num_attention_heads": 32}
        )
        latent = {"kv_lora_rank": rank, "qk_rope_head_dim": 64 if rank else None, "head_dim": None if rank else 128}
        config = {"model_type": row["model_type"], **latent, **shape}
        answer = is_mla(loaded.matrix, row["vllm"], config)
        if (answer.is_mla, answer.head_size) == (row["is_deepseek_mla"], row["head_size"]):
            seen["agree"] += 1
        else:
            wrong.append((row, answer))
    close(seen, wrong, set(), path, "mla")


@pytest.mark.parametrize("path", FILES, ids=by_release)
def test_every_nvfp4_mla_validator_row(path: Path, loaded: LoadedMatrix, normaliser: Normaliser) -> None:
    seen: Counter[str] = Counter()
    wrong: list[Any] = []
    for row in rows.read(path, "mla_kv_validator"):
        seen["rows"] += 1
        asked = {"kv_cache_dtype": row["kv_cache_dtype"], "use_mla": row["use_mla"]}
        verdict = loaded.resolver.judge(normaliser(Configuration(engine_version=row["vllm"], sm=row["sm"], **asked)))
        raised = [f"{f.exception}: {f.words}" for f in verdict.findings if f.bites == "config" and "mla" in f.code]
        if raised == ([row["error"]] if row["error"] else []):
            seen["agree"] += 1
        else:
            wrong.append((row, raised))
    close(seen, wrong, set(), path, "mla_kv_validator")
