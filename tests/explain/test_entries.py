"""Everything that can be a finding's code can be explained, and says where it stands."""

from __future__ import annotations

from compatcheck.explain.entries import entries
from compatcheck.matrix.load import LoadedMatrix

from ..cli.conftest import PLACE

OWN_CODES = {  # findings that no entry of the matrix makes
    "backend-not-in-release",
    "backend-unimportable",
    "kernel-not-in-library",
    "kv-cache-dtype-not-in-release",
    "no-valid-backend",
}


def test_everything_is_there(loaded: LoadedMatrix) -> None:
    index = entries(loaded)
    ids = {entry.id for entry in index}
    matrix = loaded.matrix
    engine = matrix.engines["vllm"]
    assert ids >= OWN_CODES
    assert ids >= set(matrix.rules)
    assert ids >= set(matrix.kernels)
    assert ids >= set(engine.backends)
    assert ids >= {refusal.code for kernel in matrix.kernels.values() for refusal in kernel.refusals}
    assert ids >= {check.code for check in engine.selector if check.check not in ("imports", "joint_rules")}


def test_each_says_where_it_stands(loaded: LoadedMatrix) -> None:
    for entry in entries(loaded):
        assert entry.title, entry.id
        if entry.kind == "launch":
            continue  # what a launch gets wrong stands in no matrix
        assert entry.line is not None, entry.id
        assert PLACE.fullmatch(entry.line), entry.line
        assert all(name and value for name, value in entry.facts), (entry.id, entry.facts)


def test_a_code_is_explained_once(loaded: LoadedMatrix) -> None:
    rules = [entry.id for entry in entries(loaded) if entry.kind in ("rule", "advisory")]
    assert len(rules) == len(set(rules))
