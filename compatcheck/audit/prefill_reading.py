"""What a release's text says of its MLA prefill backends: which there are, on which SMs, for which dtypes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from compatcheck.audit.engine_environment import EngineEnvironment, capability
from compatcheck.audit.reading.core import MISSING
from compatcheck.audit.reading.explore import Reading, explore
from compatcheck.audit.reading.machine import Machine
from compatcheck.audit.reading.source import Program
from compatcheck.audit.reading.statements import Evaluator
from compatcheck.audit.reading.values import ClassValue, External, NotUnderstoodError, RaisedError, Scope, Sym

REGISTRY = "vllm.v1.attention.backends.mla.prefill.registry"
NOT_CUDA = ("ROCM", "XPU", "CPU", "AMX", "ZEN")
QUESTIONS = {"sm": "supports_compute_capability", "dtype": "supports_dtype"}


def read_prefill(
    program: Program, environment: EngineEnvironment, domains: Mapping[str, tuple[Any, ...]]
) -> dict[str, dict[str, Reading]] | None:
    """Return backend -> question -> answers; None where the release has no such registry that can be followed."""
    paths = prefill_paths(program, environment, domains)
    if paths is None:
        return None
    return {name: {q: _read(program, environment, domains, path, q) for q in QUESTIONS} for name, path in paths.items()}


def prefill_paths(
    program: Program, environment: EngineEnvironment, domains: Mapping[str, tuple[Any, ...]]
) -> dict[str, str] | None:
    """Return backend -> path of its class; None where the release has no such registry that can be followed."""
    evaluator = Evaluator(program, Machine(domains, []), environment)
    try:
        cls = evaluator.global_name(REGISTRY, "MLAPrefillBackendEnum")
        members = evaluator.members(cls) if cls is not MISSING and isinstance(cls, ClassValue) else []
    except (NotUnderstoodError, RaisedError):
        return None
    return {m.name: str(m.value) for m in members if m.value and not m.name.startswith(NOT_CUDA)}


def _read(
    program: Program, environment: EngineEnvironment, domains: Mapping[str, tuple[Any, ...]], path: str, question: str
) -> Reading:
    module, _, name = path.rpartition(".")

    def ask(evaluator: Evaluator) -> Any:
        scope = Scope(module)
        cls = evaluator.imported(module, name, _NODE, scope)
        given = capability(evaluator) if question == "sm" else Sym("dtype", lambda dtype: External(f"torch.{dtype}"))
        answer = evaluator.call(evaluator.attribute(cls, QUESTIONS[question], _NODE, scope), [given], {}, _NODE, scope)
        return evaluator.machine.truth(answer)

    return explore(program, environment, domains, ask)


_NODE = ast.parse("gate", mode="eval").body
