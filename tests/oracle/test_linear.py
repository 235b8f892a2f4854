"""The matrix against what released vLLM wheels say of their NVFP4 linear kernels, row by row; no row is skipped.

`gates-vllm-*` are the given files; `linear-vllm-*` hold the same kinds of rows for other releases and every SM, made
with the same script (`--part linear`).
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import normalise
from tests.oracle import rows

FILES = sorted([*rows.files(), *rows.FOLDER.glob("linear-vllm-*.jsonl.gz")])
PLAIN_SM = "8.0"
"""An SM without a preference of its own: its order is that of the engine's list."""


def by_file(path: Path) -> str:
    return path.name.removesuffix(".jsonl.gz")


def close(seen: Counter[str], wrong: list[Any], path: Path) -> None:
    print(f"\n{path.name}: {dict(seen)}")
    assert seen["rows"] > 0
    assert not wrong, f"{len(wrong)} rows differ, such as {wrong[:3]}"
    assert seen["agree"] == seen["rows"]


@pytest.mark.parametrize("path", FILES, ids=by_file)
def test_every_linear_row(path: Path, loaded: LoadedMatrix) -> None:
    seen: Counter[str] = Counter()
    wrong: list[Any] = []
    listed: dict[int, list[str]] = {}
    for row in rows.read(path, "linear"):
        seen["rows"] += 1
        facts = configuration(row)
        normal = normalise(loaded.matrix, facts)
        assert normal.release == row["vllm"]
        program = loaded.resolver.linear.program("vllm", normal.release)
        judgement = program.judge(row["kernel"], normal.facts)
        listed.setdefault(row["sm"], []).append(row["kernel"])
        plain = normalise(loaded.matrix, Configuration(engine_version=row["vllm"], sm=PLAIN_SM, linear="nvfp4_w4a4"))
        order = [j.kernel for j in program.select(plain.facts).judgements]
        answer = ([judgement.accepted, judgement.words], order.index(row["kernel"]), [True, None])
        if answer == (row["is_supported"], row["priority"], row["can_implement"]):
            seen["agree"] += 1
        else:
            wrong.append((row, judgement, order))
    close(seen, wrong, path)
    assert all(names == order for names in listed.values()), "a kernel of the matrix that the release does not list"


@pytest.mark.parametrize("path", FILES, ids=by_file)
def test_every_linear_select_row(path: Path, loaded: LoadedMatrix) -> None:
    seen: Counter[str] = Counter()
    wrong: list[Any] = []
    options: set[str] = set()
    for row in rows.read(path, "linear_select"):
        seen["rows"] += 1
        options.add(row["linear_backend"])
        verdict = loaded.resolver.judge(normalise(loaded.matrix, configuration(row)))
        refused = [f"{f.exception}: {f.words}" for f in verdict.findings if f.code == "no-linear-kernel"]
        answer = verdict.selected or (refused[0] if refused else None)
        if answer == row["selected"]:
            seen["agree"] += 1
        else:
            wrong.append((row, answer, verdict.missing))
    close(seen, wrong, path)
    release = by_file(path).rpartition("-")[2]
    assert set(loaded.resolver.linear.program("vllm", release).options) == options - {"auto"}


def configuration(row: dict[str, Any]) -> Configuration:
    """The layer a row asked about: cuda 13.0, no fbgemm_gpu, Humming installed, as the files' meta rows say."""
    return Configuration(
        engine_version=row["vllm"],
        sm=row["sm"],
        cuda_version="13.0",
        linear="nvfp4_w4a16" if row.get("use_a16") else "nvfp4_w4a4",
        linear_backend=row.get("linear_backend"),
        use_batch_invariant=row.get("batch_invariant"),
        has_fbgemm=False,
        has_humming=True,
    )
