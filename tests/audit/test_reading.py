"""The evaluator on single functions: what it follows, what it splits, and that it never guesses."""

# ruff: noqa: E501 - the texts of gates

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from compatcheck.audit.engine_environment import EngineEnvironment
from compatcheck.audit.reading.axes import domains
from compatcheck.audit.reading.digest import digest
from compatcheck.audit.reading.explore import Reading, explore
from compatcheck.audit.reading.source import Program
from compatcheck.audit.reading.statements import Evaluator
from compatcheck.audit.reading.values import Scope
from tests.audit.release import ENGINE


class Texts:
    """Files in memory."""

    partial = False

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files
        self.names = frozenset(files)

    def text(self, name: str) -> str:
        return self.files[name]


def read(text: str, *inputs: str, more: dict[str, str] | None = None) -> Reading:
    """Return every way through `gate(...)` of a module."""
    files = {**ENGINE, "vllm/own.py": textwrap.dedent(text), **(more or {})}
    program = Program({"vllm": Texts(files)})
    axes = domains(["8.0", "9.0", "12.0"], ["auto", "fp8", "nvfp4"])

    def ask(evaluator: Evaluator) -> Any:
        function = evaluator.global_name("vllm.own", "gate")
        given = [evaluator.machine.input(name) for name in inputs]
        return evaluator.call(function, given, {}, function.node, Scope("vllm.own"))

    return explore(program, EngineEnvironment(), axes, ask)


def answers(reading: Reading, var: str) -> dict[Any, Any]:
    """Return value of an input -> answer, for a reading that depends on it alone."""
    found: dict[Any, Any] = {}
    for path in reading.paths:
        assert path.gate is None, path.gate
        assert set(path.given) <= {var}
        found.update(dict.fromkeys(path.given.get(var, ["*"]), path.result if path.raises is None else path.raises))
    return found


UNDERSTOOD: list[tuple[str, dict[Any, Any]]] = [
    ("def gate(kv): return kv in ('fp8', 'nvfp4')", {"auto": False, "fp8": True, "nvfp4": True}),
    ("def gate(kv): return not kv.startswith('nv') and kv != 'fp8'", {"auto": True, "fp8": False, "nvfp4": False}),
    ("NAMES = ['auto']\nNAMES.append('fp8')\ndef gate(kv): return kv in NAMES", {"auto": True, "fp8": True, "nvfp4": False}),
    ("def gate(kv): return {'fp8': 1}.get(kv, 0) == 1", {"auto": False, "fp8": True, "nvfp4": False}),
    ("def gate(kv):\n    for name in ['fp8', 'x']:\n        if name == kv: return True\n    return False", {"auto": False, "fp8": True, "nvfp4": False}),
    ("def gate(kv): return any(kv == n for n in ('fp8',)) or kv == 'auto'", {"auto": True, "fp8": True, "nvfp4": False}),
    ("try:\n    from vllm.nowhere import x\n    HAS = True\nexcept ImportError:\n    HAS = False\ndef gate(kv): return HAS", {"*": False}),
    ("def gate(kv):\n    if kv == 'fp8': raise ValueError('no fp8')\n    return True", {"auto": True, "fp8": "ValueError: no fp8", "nvfp4": True}),
    ("import functools\n@functools.cache\ndef helper(name): return name == 'fp8'\ndef gate(kv): return helper(kv)", {"auto": False, "fp8": True, "nvfp4": False}),
    ("def gate(kv): return (reason := 'x') if kv == 'fp8' else None", {"auto": None, "fp8": "x", "nvfp4": None}),
    ("def make(*names):\n    def inner(kv): return kv in names\n    return inner\ngate = make('fp8')", {"auto": False, "fp8": True, "nvfp4": False}),
    ("from enum import Enum\nclass K(str, Enum):\n    A = 'fp8'\ndef gate(kv): return kv == K.A", {"auto": False, "fp8": True, "nvfp4": False}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), UNDERSTOOD)
def test_understood(text: str, expected: dict[Any, Any]) -> None:
    assert answers(read(text, "kv_cache_dtype"), "kv_cache_dtype") == expected


def test_numbers_that_the_code_names_are_tried_with_their_neighbours() -> None:
    told = answers(read("def gate(size): return size != 96 and size < 777", "head_size"), "head_size")
    assert told[96] is False
    assert (told[95], told[97], told[776], told[777], told[778]) == (True, True, True, False, False)


def test_two_inputs_split_only_where_the_code_tells_them_apart() -> None:
    reading = read(
        "def gate(size, kv):\n    return 'no' if kv == 'fp8' and size > 128 else None", "head_size", "kv_cache_dtype"
    )
    assert sorted(((tuple(p.given["kv_cache_dtype"]), p.result) for p in reading.paths), key=repr) == [
        (("auto", "nvfp4"), None), (("fp8",), "no"), (("fp8",), None),
    ]  # fmt: skip


def test_a_text_keeps_its_inputs_open() -> None:
    reading = read("def gate(size): return f'got {size}' if size > 256 else None", "head_size")
    (open_,) = [path for path in reading.paths if path.result is not None]
    assert open_.result[0] == "got "
    assert [512, "512"] in open_.result[1][1]


NOT_UNDERSTOOD = [
    ("def gate(kv): return outside(kv)", "a name that is not bound"),
    ("import unheard_of\ndef gate(kv): return unheard_of.check(kv)", "whether unheard_of is installed"),
    ("import torch\ndef gate(kv): return torch.ops._C.supports(kv)", "outside the release"),
    ("from vllm import _compiled\ndef gate(kv): return _compiled.supports(kv)", "compiled"),
    ("def gate(kv):\n    match kv:\n        case 'fp8': return True\n    return False", "statement"),
    ("@register\ndef helper(): return True\ndef gate(kv): return helper()", "decorates"),
    ("class B(Unseen):\n    pass\ndef gate(kv): return B.supports()", "base class"),
    ("STATE = {}\ndef gate(kv):\n    strange(STATE)\n    return True", "effect"),
    ("def gate(kv): return [*range(1000000000)][0]", "too many"),
    ("def gate(kv):\n    with lock: return True", "context"),
    ("async def helper(): return True\ndef gate(kv): return helper()", "coroutine"),
    ("def helper(): yield 1\ndef gate(kv): return helper()", "generator"),
    ("import random\ndef gate(kv): return random.random() < 0.5", "outside the release"),
    ("import os\ndef gate(kv): return 'X' in os.environ", "outside the release"),
    ("import os\ndef gate(kv): return os.name == 'nt'", "outside the release"),
    ("import torch\ndef gate(kv): return torch.version.hip is None", "outside the release"),
    ("import torch\ndef gate(kv):\n    if torch.version.hip: return True\n    return False", "outside the release"),
    (
        "import torch\ndef gate(kv):\n    try:\n        return torch.__version__ >= '2.9'\n    except TypeError:\n        return False",
        "outside the release",
    ),
    (
        "import torch\ndef gate(kv):\n    try:\n        return int(torch.version.git) > 3\n    except TypeError:\n        return False",
        "outside the release",
    ),
    ("def gate(kv): return eval('True')", "outside the release"),
]


@pytest.mark.parametrize(("text", "why"), NOT_UNDERSTOOD)
def test_not_understood(text: str, why: str) -> None:
    reading = read(text, "kv_cache_dtype", more={"vllm/_compiled.abi3.so": ""})
    gates = [path.gate for path in reading.paths if path.gate]
    assert gates, reading.paths
    assert any(why in gate.why for gate in gates), gates
    assert all(gate.file == "vllm/own.py" and gate.line for gate in gates)


def test_half_a_gate_may_be_understood() -> None:
    reading = read("def gate(kv): return kv == 'auto' or outside(kv)", "kv_cache_dtype")
    told = {tuple(path.given["kv_cache_dtype"]): path.gate is None for path in reading.paths}
    assert told == {("auto",): True, ("fp8", "nvfp4"): False}


SAME = [
    "def gate(kv):\n    return kv == 'fp8'  # why",
    "def gate(kv):\n    '''Says something.'''\n    return kv == 'fp8'",
    "def gate(kv: str) -> bool:\n    logger.info('asked')\n    return kv == 'fp8'",
]
OTHER = [
    "def gate(kv):\n    return kv == 'fp8' or kv == 'x'",
    "def gate(kv, more=1):\n    return kv == 'fp8'",
    "def gate(kv):\n    return kv != 'fp8'",
]


def test_a_fingerprint_changes_with_meaning_alone() -> None:
    plain = read("def gate(kv):\n    return kv == 'fp8'", "kv_cache_dtype").digest
    assert {read(text, "kv_cache_dtype").digest for text in SAME} == {plain}
    assert plain not in {read(text, "kv_cache_dtype").digest for text in OTHER}


def test_a_fingerprint_covers_helpers_in_other_modules() -> None:
    text = "from vllm.helper import asks\ndef gate(kv):\n    return asks(kv)"
    before = read(text, "kv_cache_dtype", more={"vllm/helper.py": "def asks(kv): return kv == 'fp8'"})
    after = read(text, "kv_cache_dtype", more={"vllm/helper.py": "def asks(kv): return kv == 'fp8' and True"})
    assert before.digest != after.digest
    assert digest([]) == digest([])
