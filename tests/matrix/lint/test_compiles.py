"""The last word: what passes the other rules is compiled for every release."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from compatcheck.matrix.documents import read_files
from compatcheck.matrix.lint import compiles
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.lint.run import Checking
from compatcheck.matrix.lint.vocabularies import SELECTOR_CHECKS
from compatcheck.matrix.model import Matrix
from compatcheck.resolve.engine import EngineProgram

from ..samples import SMALL, planted
from .linear_faults import LINEAR, ROUTES


def context(text: str) -> Context:
    return Context(read_files([(Path("m.yaml"), text.encode())]), "m.yaml")


def test_sample_compiles() -> None:
    assert compiles.check(context(SMALL)) == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("extends: FLASH_ATTN", "extends: FLASHINFER", "vllm 0.1.0 does not compile: RecursionError"),
        (
            "check: head_size,",
            "check: head_sise,",
            "vllm 0.1.0 does not compile: ValueError: selector check 'head_sise'",
        ),
        ("when: {q_dtype: fp8_e4m3}", "when: {q_dtyp: fp8_e4m3}", "kernels.flashinfer.fa2.prefill: does not compile"),
    ],
)
def test_what_does_not_compile(old: str, new: str, says: str) -> None:
    (problem,) = compiles.check(context(planted(old, new)))
    assert says in problem.message
    assert problem.code == "build"


def test_ill_formed_matrix_is_left_to_the_structure_rule() -> None:
    assert compiles.check(context(planted("title: vLLM", "titel: vLLM"))) == []


def test_load_refuses_what_could_not_be_asked() -> None:
    text = planted("backend: FLASH_ATTN}, route", "backedn: FLASH_ATTN}, route")
    document = read_files([(Path("m.yaml"), text.encode())])
    checking = Checking(document, "m.yaml", msgspec.convert(document.value, Matrix), {})
    assert [p.code for p in checking.problems()] == ["condition"]


@pytest.mark.parametrize(
    ("old", "new"), [("value: Fp4Kernel}", "value: Fp4Kernle}"), ('{until: "0.2.0", words: none}, ', "")]
)
def test_load_refuses_linear_layers_that_could_not_be_asked(old: str, new: str) -> None:
    text = planted(ROUTES, LINEAR.replace(old, new) + ROUTES)
    document = read_files([(Path("m.yaml"), text.encode())])
    matrix = msgspec.convert(document.value, Matrix)
    assert [p.code for p in Checking(document, "m.yaml", matrix, {}).problems()] == ["linear"]
    text = planted(ROUTES, LINEAR.replace('sources: [{ref: "vllm/l.py:L@0.1.0"}]', "sources: []") + ROUTES)
    document = read_files([(Path("m.yaml"), text.encode())])
    assert Checking(document, "m.yaml", msgspec.convert(document.value, Matrix), {}).problems() == []


def test_every_selector_question_compiles() -> None:
    matrix = msgspec.convert(context(SMALL).value, Matrix)
    engine = matrix.engines["vllm"]
    selector = [msgspec.structs.replace(engine.selector[0], check=name) for name in sorted(SELECTOR_CHECKS)]
    program = EngineProgram(matrix, msgspec.structs.replace(engine, selector=selector), "0.3.0")
    assert program.program("FLASH_ATTN").checks
