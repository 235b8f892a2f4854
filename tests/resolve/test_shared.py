"""What releases share because they state it alike answers as what is compiled for each release by itself."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import msgspec
import pytest

from compatcheck.matrix.load import LoadedMatrix, load
from compatcheck.matrix.model import FactCase
from compatcheck.resolve.backend import BackendProgram
from compatcheck.resolve.conditions import CompiledEntries, Compiler
from compatcheck.resolve.configuration import FIELDS, Configuration
from compatcheck.resolve.derived import DecisionList
from compatcheck.resolve.engine import EngineProgram
from compatcheck.resolve.linear import LinearProgram
from compatcheck.resolve.normalise import normalise
from compatcheck.resolve.rules import compile_rules

ENGINE = "vllm"
VALUES: dict[str, list[Any]] = {
    "kv_cache_dtype": ["auto", "fp8", "fp8_e5m2", "fp8_ds_mla", "nvfp4", "bfloat16", None],
    "dtype": ["bfloat16", "float16", "float32"],
    "head_size": [64, 80, 128, 256, 512, 576, None],
    "block_size": [None, 1, 16, 64, 128, 256],
    "use_mla": [True, False],
    "use_sparse": [True, False],
    "has_sink": [True, False],
    "use_dcp": [True, False],
    "use_non_causal": [True, False, None],
    "flashinfer_version": ["0.6.6", "0.6.15", "0.7.2.post1", None],
    "num_qo_heads": [8, 64, 128, None],
    "num_kv_heads": [1, 8, None],
    "qk_nope_head_dim": [128, 192, None],
    "qk_rope_head_dim": [64, None],
    "v_head_dim": [128, 256, None],
}


@pytest.fixture(scope="module")
def loaded() -> LoadedMatrix:
    return load()


def alone(loaded: LoadedMatrix, release: str) -> EngineProgram:
    """A release compiled with nothing that another release compiled."""
    return EngineProgram(loaded.matrix, loaded.matrix.engines[ENGINE], release)


def some_facts(loaded: LoadedMatrix, release: str, count: int) -> list[Configuration]:
    draw = random.Random(release)
    base: Configuration = normalise(loaded.matrix, Configuration(engine=ENGINE, engine_version=release)).facts
    backends = [*loaded.matrix.engines[ENGINE].backends]
    return [
        msgspec.structs.replace(
            base,
            sm=draw.choice([*loaded.matrix.sms]),
            backend=draw.choice(backends),
            **{field: draw.choice(values) for field, values in VALUES.items()},
        )
        for _ in range(count)
    ]


def said(program: BackendProgram, facts: Configuration) -> list[Any]:
    """What a backend's program says, without what it keeps."""
    return [
        (check.code, check.words, check.imports, check.test(facts), check.missing(facts)) for check in program.checks
    ] + [program.unasked.test(facts), program.pages.of(facts)]


def test_backends_say_what_each_release_states(loaded: LoadedMatrix) -> None:
    engine = loaded.matrix.engines[ENGINE]
    programs: set[int] = set()
    asked = 0
    for release in engine.releases:
        shared, own = loaded.resolver.engine(ENGINE, release), alone(loaded, release)
        assert shared.backends == own.backends
        for facts in some_facts(loaded, release, 12):
            assert shared.route(facts) == own.route(facts)
            assert shared.order(facts) == own.order(facts)
            assert shared.select_prefill(facts).rejected == own.select_prefill(facts).rejected
            for name, fact in own.derived.items():
                assert shared.derived[name].value(facts) == fact.value(facts), (release, name)
            for name in own.backends:
                one, other = shared.program(name), own.program(name)
                programs.add(id(one))
                asked += 1
                assert one.facts == other.facts, (release, name)
                assert one.answered_by_model == other.answered_by_model
                assert said(one, facts) == said(other, facts), (release, name)
    assert len(programs) < asked / 12 / 2  # or nothing is shared


def test_rules_and_linear_kernels_say_what_each_release_states(loaded: LoadedMatrix) -> None:
    linear = loaded.matrix.engines[ENGINE].linear
    assert linear is not None
    for release in loaded.matrix.engines[ENGINE].releases:
        shared, own = loaded.resolver.engine(ENGINE, release), alone(loaded, release)
        pairs = [
            (one, other)
            for kind in ("attention", "linear")
            for one, other in zip(
                compile_rules(loaded.matrix, shared.compiler, kind),
                compile_rules(loaded.matrix, own.compiler, kind),
                strict=True,
            )
        ]
        one, other = loaded.resolver.linear.program(ENGINE, release), LinearProgram(linear, release, own.compiler)
        assert one.kernels == other.kernels
        for facts in some_facts(loaded, release, 12):
            for rule, alike in pairs:
                assert (rule.code, rule.test(facts), rule.missing(facts)) == (
                    alike.code,
                    alike.test(facts),
                    alike.missing(facts),
                ), release
            layer = msgspec.structs.replace(facts, linear="nvfp4", in_features=4096, out_features=14336)
            assert one.select(layer) == other.select(layer), release


def compiler(derived: dict[str, Any], compiled: CompiledEntries) -> Compiler:
    return Compiler({"9.0": None}, frozenset(FIELDS), derived, compiled=compiled)


def test_the_same_entry_is_compiled_once_where_its_facts_are_the_same() -> None:
    compiled: CompiledEntries = {}
    plain, asking = {"head_size": 64}, {"fact": 1}
    facts = {value: DecisionList([FactCase(value=value)], compiler({}, {})) for value in (1, 2)}
    first, same, other = [compiler({"fact": facts[value]}, compiled) for value in (1, 1, 2)]
    assert first.stated(plain) is same.stated(plain) is other.stated(plain)
    assert first.stated(asking) is same.stated(asking)
    assert first.stated(asking) is not other.stated(asking)
    configuration = Configuration(head_size=64)
    assert first.stated(asking).test(configuration) is True
    assert other.stated(asking).test(configuration) is False


def test_what_names_a_fact_through_another_is_compiled_again_where_that_changes() -> None:
    compiled: CompiledEntries = {}
    facts = {value: DecisionList([FactCase(value=value)], compiler({}, {})) for value in (1, 2)}
    outer = [FactCase(value="yes", when={"inner": 1})]
    asking = {"outer": "yes"}
    answers = []
    for value in (1, 2, 1):
        derived: dict[str, Any] = {"inner": facts[value]}
        engine = compiler(derived, compiled)
        derived["outer"] = engine.once("fact", tuple(outer), partial(DecisionList, outer, engine))
        whole = engine.once("whole", (asking,), partial(engine.stated, asking))
        answers.append(whole.test(Configuration(head_size=64)))
    assert answers == [True, False, True]


def test_an_entry_that_is_gone_is_not_taken_for_another() -> None:
    engine = compiler({}, {})
    for size in range(200):
        assert engine.stated({"head_size": size}).test(Configuration(head_size=size)) is True


def test_words_that_list_dimensions_list_those_of_the_release(loaded: LoadedMatrix) -> None:
    engine = loaded.matrix.engines[ENGINE]
    listing = [
        msgspec.structs.replace(check, words="{supported_dimensions}") if check.check == "dtype" else check
        for check in engine.prefill_selector
    ]
    changed = msgspec.structs.replace(engine, prefill_selector=listing)
    compiled: CompiledEntries = {}
    for release in engine.releases:
        shared = EngineProgram(loaded.matrix, changed, release, compiled)
        own = EngineProgram(loaded.matrix, changed, release)
        for name in own.prefill_backends:
            words = [[check.words for check in one.prefill_program(name).checks] for one in (shared, own)]
            assert words[0] == words[1], (release, name)
