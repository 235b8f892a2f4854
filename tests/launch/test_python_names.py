"""Names of a Python file: what they hold where they are used, and which classes they mean."""

from __future__ import annotations

import time
from functools import partial

import pytest

from compatcheck.launch.files.python.file import PythonFile
from compatcheck.launch.model import Launch
from compatcheck.launch.scan import ScanOptions, scan_text
from compatcheck.matrix.load import LoadedMatrix
from tests.launch.steps import steps

LLM = "from vllm import LLM, EngineArgs\n"


def read(text: str) -> list[Launch]:
    return PythonFile().launches(text)


def shown(launch: Launch) -> dict[str, object]:
    """Return the keywords with their values, `...` for those that are not known."""
    return {one.written: ... if one.dynamic else one.value for one in launch.settings}


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ('m = "a"\nLLM(m)\nm = "b"\nLLM(m, seed=1)', {"model": "b", "seed": 1}),
        ('def f():\n    m = "a"\n    LLM(m)\ndef g():\n    m = "b"\n    LLM(m)', {"model": "b"}),
        ('def f(m):\n    pass\nm = "a"\nLLM(m)', {"model": "a"}),
        ('class C:\n    m = "b"\nm = "a"\ndef f():\n    LLM(m)', {"model": "a"}),
        (
            'k = dict(dtype="half")\nk["seed"] = 1\nk.update(model="a")\nLLM(**k)',
            {"dtype": "half", "seed": 1, "model": "a"},
        ),
        (
            'k = {"dtype": "half"}\nif x:\n    k["seed"] = 1\nLLM("a", **k)',
            {"model": "a", "dtype": "half", "seed": ...},
        ),
        ('D = {"dtype": "half"}\nLLM("a", **{**D, "dtype": "auto"})', {"model": "a", "dtype": "auto"}),
        ('D = {"dtype": "half"}\nLLM("a", **(D | {"seed": 1}))', {"model": "a", "dtype": "half", "seed": 1}),
        ('D = {"dtype": "half"}\nLLM("a", **{**D, **more})', {"model": "a", "dtype": ..., "**more": ...}),
        ('D = {"m": "a", "n": [2, 3]}\nLLM(D["m"], seed=D["n"][1])', {"model": "a", "seed": 3}),
        ('FAST = False\nLLM("a", dtype="half" if FAST else "auto")', {"model": "a", "dtype": "auto"}),
        ('a = EngineArgs("a")\na.dtype = "half"\nstart(a)', {"model": "a", "dtype": "half"}),
        ('a = EngineArgs("a", seed=1)\nstart(a)\na.seed = 2\nstart(a)', {"model": "a", "seed": ...}),
        (
            'from vllm.config import KVTransferConfig as K\nLLM(kv_transfer_config=K(kv_role="x"))',
            {"kv_transfer_config": {"kv_role": "x"}},
        ),
        (
            'ORG, N = "q", 2\nNAME = f"o/{M}"\nM = "m"\nLLM(f"{M}", tokenizer="t/" + M, seed=N)',
            {"model": "m", "tokenizer": "t/m", "seed": ...},
        ),
    ],
)
def test_what_a_name_holds_where_it_is_used(text: str, known: dict[str, object]) -> None:
    assert shown(read(LLM + text)[-1]) == known


@pytest.mark.parametrize(
    "text",
    [
        "import vllm\nvllm.LLM('a')",
        "import vllm as v\nv.LLM(model='a')",
        "from vllm import LLM as Engine\nE = Engine\nE('a')",
        "from vllm.entrypoints.llm import LLM\nLLM('a')",
        "from vllm import *\nLLM('a')",
        "try:\n    from vllm import LLM\nexcept ImportError:\n    LLM = None\nLLM('a')",
        "def f():\n    from vllm import LLM\n    return LLM('a')",
        "import pytest\nvllm = pytest.importorskip('vllm')\nvllm.LLM('a')",
        "from vllm.config import CompilationConfig\nLLM('a')",
    ],
)
def test_the_class_is_found_by_what_is_imported(text: str) -> None:
    assert [(launch.program, shown(launch)) for launch in read(text)] == [("LLM()", {"model": "a"})]


@pytest.mark.parametrize(
    "text",
    [
        "from vllm import SamplingParams\nfrom mine import LLM\nLLM('vllm')",
        "import vllm\nclient.LLM('vllm')",
        "import vllm, other\nother.LLM('vllm')",
        "from vllm import SamplingParams\nclass LLM:\n    pass\nLLM('vllm')",
        "from vllm import LLM\ndef f(LLM):\n    return LLM('vllm')",
        "LLM('vllm')",
        "assert build() == ['vllm', 'serve', 'm']",
        "assert start(['vllm', 'serve', 'm'])",
        "if cmd == ['vllm', 'serve', 'm'] or word in ['vllm', 'serve', 'm']:\n    pass",
        "expected = ['vllm', 'serve', 'm']\nassert build() == expected",
        "run.assert_called_once_with(['vllm', 'serve', 'm'])",
        "expected = ['vllm', 'serve', 'm']\nself.assertEqual(build(), expected)",
        "['vllm', 'serve', 'm']",
        "print(['vllm', 'serve', 'm'])",
        "def f(cmd=['vllm', 'serve', 'm']):\n    pass",
    ],
)
def test_what_is_no_launch(text: str) -> None:
    assert not read(text + "\n")


def test_what_a_test_also_runs_is_a_launch() -> None:
    text = "import subprocess\nassert subprocess.run(['vllm', 'serve', 'm']).returncode == 0\n"
    assert len(read(text)) == 1
    both = "cmd = ['vllm', 'serve', 'm']\nassert cmd == build()\nsubprocess.run(cmd)\n"
    assert len(read(both)) == 1


BAD = 'kv_cache_dtype="nvfp4", attention_backend="TRITON_ATTN"'


@pytest.mark.parametrize(
    "binding",
    [
        "for b in names: pass",
        "async def f():\n    async for b in names: LLM(b)\nb = pick()",
        "with use() as b: pass",
        "try:\n    pass\nexcept ValueError as b:\n    pass",
        "match names:\n    case [b, *rest]: pass",
        "import b",
        "from names import b",
        "(b, *rest) = names",
        "[b, [c, d]] = names",
        "def f():\n    global b\n    b = pick()",
        "b += pick()",
        "del b\nb = pick()",
        "print([b for b in names], b := pick())",
        "from names import *",
    ],
)
def test_a_name_that_something_else_binds_refuses_nothing(binding: str, loaded: LoadedMatrix) -> None:
    text = f'{LLM}b = "TRITON_ATTN"\n{binding}\nLLM("Qwen/Qwen3-8B", kv_cache_dtype="nvfp4", attention_backend=b)\n'
    scan = scan_text(loaded, "a.py", text, ScanOptions(), None)
    assert [one.verdict for one in scan.launches][-1] == "unknown"
    assert not scan.diagnostics
    sure = text.replace(binding, "pass")
    assert [d.code for d in scan_text(loaded, "a.py", sure, ScanOptions(), None).diagnostics] == [
        "selector-kv-cache-dtype"
    ]


@pytest.mark.parametrize(
    "line",
    [
        'd{0} = ["a", "b"]\nif x: d{0} += ["x"]\n',
        'c{0} = ["vllm", "serve", "m"]\n',
        'run(["vllm", "serve", "m{0}"])\n',
        'os.environ["A{0}"] = "1"\nLLM("m{0}")\n',
        'k["A{0}"] = "1"\nLLM("m{0}", **k)\n',
        'x = "1"\nLLM("m{0}", dtype=x)\n',
    ],
)
def test_the_work_grows_with_the_length(line: str) -> None:
    def work(count: int) -> int:
        head = "import os, subprocess\nfrom vllm import LLM\nk = {}\ncmd = ['vllm', 'serve', 'm']\n"
        return steps(partial(read, head + "".join(line.format(number) for number in range(count))))

    assert work(600) < 6 * work(150)


@pytest.mark.parametrize(
    ("first", "line"),
    [
        ('"m"', "x{0} = x{1} + x{1}"),
        ('"m"', 'x{0} = f"{{x{1}}}{{x{1}}}"'),
        ("[1]", "x{0} = [x{1}, x{1}]"),
        ("{}", "x{0} = {{**x{1}, **x{1}}}"),
        ("{}", "x{0} = x{1} | x{1}"),
    ],
)
def test_names_that_double_end(first: str, line: str) -> None:
    lines = [line.format(number, number - 1) for number in range(1, 60)]
    text = "\n".join([LLM, "import json", f"x0 = {first}", *lines, "LLM(json.dumps(x59), tokenizer=x59, **x59)"])
    begin = time.process_time()
    assert read(text + "\n")
    assert time.process_time() - begin < 5
