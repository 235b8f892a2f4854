"""Every way through a question: a decision tree over its inputs, whole or not at all."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from compatcheck.audit.reading.core import Environment
from compatcheck.audit.reading.digest import digest
from compatcheck.audit.reading.machine import Machine
from compatcheck.audit.reading.source import Program
from compatcheck.audit.reading.statements import Evaluator
from compatcheck.audit.reading.values import (
    EnumMember,
    External,
    NotUnderstoodError,
    Place,
    RaisedError,
    Sym,
    Template,
    Unknown,
    unwrap,
)

MOST_PATHS = 6000
"""Ways through one question; more is not understood."""

NUMERIC = frozenset(
    [
        "head_size",
        "block_size",
        "num_qo_heads",
        "num_kv_heads",
        "index_topk",
        "qk_nope_head_dim",
        "qk_rope_head_dim",
        "kv_lora_rank",
        "v_head_dim",
    ]
)
"""Inputs that may have any number: the numbers that the code names, and their neighbours, are added."""
LEAST = {"num_qo_heads": 4}
"""Smallest number that is added: fewer heads depend on how large a DCP group is, which no input says."""
_LARGEST_NUMBER = 1 << 20


class Gate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is not understood on a path."""

    file: str
    line: int
    text: str
    why: str


class Path(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One way through: for inputs in `given` (others do not matter) the answer is `result`.

    A text result is a list of parts: a text, or `[input, [[value, text], ...]]`.
    """

    given: dict[str, list[Any]]
    result: Any = None
    raises: str | None = None
    gate: Gate | None = None


class Reading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question's whole answer. `digest` fingerprints every function that took part."""

    paths: list[Path]
    digest: str
    file: str = ""
    line: int = 0
    functions: list[str] = []
    outside: list[str] = []
    """Constants that the code compares an input with and that the input's domain lacks."""


Question = Callable[[Evaluator], Any]


def explore(
    program: Program, environment: Environment, domains: Mapping[str, tuple[Any, ...]], ask: Question
) -> Reading:
    """Follow every way through a question. Numbers that the code names are added to the numeric domains first."""
    wider = dict(domains)
    while True:
        reading, entered = _once(program, environment, wider, ask)
        numbers = _numbers(entered.values())
        added = False
        for var, values in wider.items():
            if var in NUMERIC:
                more = [n for n in sorted(numbers) if n not in values and n >= LEAST.get(var, 0)]
                wider[var] = (*values, *more)
                added = added or (bool(more) and any(var in path.given for path in reading.paths))
        if not added:
            return reading


def _once(
    program: Program, environment: Environment, domains: Mapping[str, tuple[Any, ...]], ask: Question
) -> tuple[Reading, dict[str, Any]]:
    paths: list[Path] = []
    entered: dict[str, Any] = {}
    outside: set[str] = set()
    choices: list[int] = []
    place = Place("", 0, "")
    while True:
        machine = Machine(domains, choices)
        evaluator = Evaluator(program, machine, environment)
        try:
            paths.append(_answer(evaluator, ask))
        except NotUnderstoodError as error:
            paths.append(_path(machine, gate=_gate(evaluator, error)))
        except RaisedError as error:
            paths.append(_path(machine, raises=f"{error.name}: {error.text}" if error.text else error.name))
        except RecursionError:
            paths.append(_path(machine, gate=Gate(file=place.file, line=0, text="", why="nested too deeply")))
        except Exception as error:  # text of any kind may come: what the reader cannot cope with is an answer, too
            why = f"the reader failed: {type(error).__name__}: {error}"
            paths.append(_path(machine, gate=Gate(file=place.file, line=0, text="", why=why)))
        entered.update(evaluator.entered)
        outside.update(f"{var} {value}" for var, value in machine.outside)
        choices = machine.choices[: len(machine.open)]
        while choices and choices[-1] + 1 >= machine.open[len(choices) - 1]:
            choices.pop()
        if not choices:
            break
        choices[-1] += 1
        if len(paths) >= MOST_PATHS:
            paths.append(
                Path(given={}, gate=Gate(file="", line=0, text="", why=f"more than {MOST_PATHS} ways through"))
            )
            break
    gates = {path.gate.text for path in paths if path.gate}
    first = next(iter(entered.values()), None)
    module = program.module(first.module) if first else None
    reading = Reading(
        paths=paths,
        digest=digest([function.node for function in entered.values()], gates),
        file=module.file if module else "",
        line=getattr(first.node, "lineno", 0) if first else 0,
        functions=sorted(f"{f.module}:{f.name}" for f in entered.values()),
        outside=sorted(outside),
    )
    return reading, entered


def _answer(evaluator: Evaluator, ask: Question) -> Path:
    value = ask(evaluator)
    machine = evaluator.machine
    if isinstance(value, Template):
        return _path(machine, result=_parts(evaluator, value))
    return _path(machine, result=_encode(machine, value))


def _encode(machine: Machine, value: Any) -> Any:
    value = machine.concrete(value)
    if isinstance(value, EnumMember):
        return value.name
    value = unwrap(value)
    if isinstance(value, External):
        return value.name.removeprefix("torch.")
    if isinstance(value, (list, tuple)):
        return [_encode(machine, item) for item in value]
    if isinstance(value, Template):
        return ["template"]
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    name = getattr(value, "name", None)
    return name if isinstance(name, str) else repr(value)


def _parts(evaluator: Evaluator, template: Template) -> list[Any]:
    found: list[Any] = []
    for part in template.parts:
        if isinstance(part, Template):
            found += _parts(evaluator, part)
        elif isinstance(part, Sym):
            found.append([part.var, [[point, str(part.at(point))] for point in evaluator.machine.domain(part.var)]])
        elif isinstance(part, Unknown):
            found.append(["?", []])
        else:
            found.append(str(unwrap(part)))
    return found


def _path(machine: Machine, **more: Any) -> Path:
    return Path(given={var: list(values) for var, values in machine.given.items()}, **more)


def _gate(evaluator: Evaluator, error: NotUnderstoodError) -> Gate:
    """Return what is not understood; where its own place is unknown, the statement that was being run."""
    place, at = error.place, evaluator.at
    if not place.file and at is not None:
        here = evaluator.place(at[0], at[1])
        place = Place(here.file, here.line, place.text or here.text)
    return Gate(file=place.file, line=place.line, text=place.text, why=error.why)


def _numbers(functions: Any) -> set[int]:
    found: set[int] = set()
    for function in functions:
        for node in ast.walk(function.node):
            if isinstance(node, ast.Constant) and type(node.value) is int and 1 < node.value < _LARGEST_NUMBER:
                found |= {node.value - 1, node.value, node.value + 1}
    return found
