"""What an answer about linear layers depends on, or names, is told apart: by SM, FlashInfer version and release."""

from __future__ import annotations

from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.matrix.model import DerivedFact, FactCase, FactList, JointRule
from tests.docs.linear import changed, compare_everything, kernels_of, replace

OLD = {"flashinfer_version": "<0.7.0.dev0"}
PLAIN = "PlainNvFp4LinearKernel"


def one_more(loaded: LoadedMatrix) -> dict[str, Any]:
    """An SM and a release like the last ones."""
    sms, releases = loaded.matrix.sms, loaded.matrix.engines["vllm"].releases
    return {"sms": {**sms, "12.1": sms["12.0"]}, "releases": {**releases, "0.34.0": releases["0.33.0"]}}


def odd(*cases: FactCase) -> dict[str, DerivedFact]:
    return {"odd": DerivedFact(title="odd", versions=[FactList(since="0.32.0", cases=[*cases, FactCase(value=False)])])}


def gate(when: dict[str, Any], words: str = "odd") -> list[JointRule]:
    return [JointRule(code="linear-odd", words=words, when=when)]


def test_a_note_about_flashinfer_is_not_lost(small: LoadedMatrix) -> None:
    """A note that holds for some versions only must not be decided without one."""
    rules = small.matrix.rules
    slow = replace(rules["linear-slow"], effect="note", versions="<0.7.0.dev0", axis="flashinfer_version")
    compare_everything(changed(small, {}, rules={**rules, "linear-slow": slow}))


def test_a_later_kernels_gate_about_flashinfer_is_not_lost(small: LoadedMatrix) -> None:
    """What is passed over is shown, too, so it must not be said of all versions where it holds for some."""
    late = "LateNvFp4LinearKernel"
    kernels = {late: replace(kernels_of(small)[late], gates=gate(OLD))}
    quiet = {code: rule for code, rule in small.matrix.rules.items() if rule.kind != "linear"}  # about FlashInfer
    grid = compare_everything(changed(small, kernels, rules=quiet))
    tried = [one.code == "linear-odd" for cell in grid.cells for one in cell.tried if one.kernel == late]
    assert set(tried) == {True, False}


@pytest.mark.parametrize("field", ["flashinfer_version", "sm", "engine_version"])
def test_what_only_a_text_names_is_told_apart(field: str, small: LoadedMatrix) -> None:
    first, *others = kernels_of(small).items()
    more = one_more(small)
    named = gate({"sm": list(more["sms"])}, f"not with {{{field}}}")
    kernels = {first[0]: replace(first[1], gates=named), **{name: replace(one, gates=[]) for name, one in others}}
    compare_everything(changed(small, kernels, **more))


def test_how_a_kernel_computes_with_a_version_is_told_apart(small: LoadedMatrix) -> None:
    cases = [FactCase(value="native", when=OLD)]
    kernels = {name: replace(one, compute_where=cases, kernel=None) for name, one in kernels_of(small).items()}
    compare_everything(changed(small, kernels))


def test_a_derived_fact_that_a_release_changes_tells_it_apart(small: LoadedMatrix) -> None:
    kernels = {PLAIN: replace(kernels_of(small)[PLAIN], gates=gate({"odd": True}))}
    facts = odd(FactCase(value=True, when={"sm": "9.x"}, until="0.34.0"))
    compare_everything(changed(small, kernels, facts=facts, **one_more(small)))


@pytest.mark.parametrize("when", [{"sm": "12.1"}, {"flashinfer_version": ">=0.6.15"}])
def test_what_only_a_derived_fact_asks_is_told_apart(when: dict[str, Any], small: LoadedMatrix) -> None:
    gates = gate({"odd": True})
    kernels = {name: replace(one, gates=gates, kernel=None) for name, one in kernels_of(small).items()}
    compare_everything(changed(small, kernels, facts=odd(FactCase(value=True, when=when)), **one_more(small)))
