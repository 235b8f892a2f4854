"""What the reader says of a Python file is so when the file is run, with stand-ins for vLLM and subprocess."""

from __future__ import annotations

import random
import re

import pytest

from tests.launch.python_runs import started, untruths

LLM = "import os, subprocess\nfrom vllm import LLM, EngineArgs, LLMEngine\n"
RAY = "from ray.serve.llm import LLMConfig, ModelLoadingConfig\n"
TEXTS = [
    'for b in ("0", "1"):\n    os.environ["VLLM_BATCH_INVARIANT"] = b\n    LLM("m")',
    'LLM("m")\nos.environ["VLLM_MLA_DISABLE"] = "1"',
    'def setup():\n    os.environ["VLLM_MLA_DISABLE"] = "1"\ndef main():\n    setup()\n    LLM("m")\nmain()',
    'def main():\n    LLM("m")\n    os.environ["VLLM_MLA_DISABLE"] = "1"\nmain()\nmain()',
    'env = {"VLLM_MLA_DISABLE": "1"}\nfor k, v in env.items():\n    os.environ[k] = str(v)\nLLM("m")',
    'try:\n    os.environ["VLLM_X"] = "1"\n    LLM("m")\nfinally:\n    os.environ.pop("VLLM_X")\nLLM("n")',
    'from unittest import mock\nwith mock.patch.dict(os.environ, {"VLLM_MLA_DISABLE": "1"}):\n    LLM("m")\nLLM("n")',
    'from unittest import mock\n@mock.patch.dict("os.environ", {"VLLM_X": "1"})\ndef f():\n    LLM("m")\nf()\nLLM("n")',
    'subprocess.run(["vllm", "serve", "m"], env={"VLLM_MLA_DISABLE": "1"})',
    'os.environ["VLLM_X"] = "1"\nsubprocess.run(["vllm", "serve", "m"], env={"VLLM_MLA_DISABLE": "1"})',
    'env = os.environ.copy()\nif cond():\n    env.update(VLLM_X="2")\nsubprocess.run(["vllm", "serve", "m"], env=env)',
    'def go(cmd):\n    subprocess.Popen(cmd, env={**os.environ, "VLLM_X": "1"})\ngo(["vllm", "serve", "m"])',
    'def go(c, e):\n    subprocess.run(c, env=dict(os.environ, **e))\ngo(["vllm", "serve", "m"], {"VLLM_X": "1"})',
    'k = dict(dtype="half")\nif cond():\n    k["seed"] = 1\nLLM("m", **k)\nk.pop("dtype")\nLLM("n", **k)',
    'k = {}\nj = k\nj["dtype"] = "half"\nLLM("m", **k)',
    'def tune(c):\n    c["backend"] = "X"\nc = {"backend": "Y"}\ntune(c)\nLLM("m", attention_config=c)',
    'a = EngineArgs("m")\nif cond():\n    a.dtype = "half"\na.seed = 2\nLLMEngine.from_engine_args(a)',
    'a = EngineArgs("m", seed=1)\nsetattr(a, "seed", 2)\nLLMEngine.from_engine_args(a)',
    'a = ("m",)\nLLM(*a, dtype="half")',
    'cmd = ["vllm", "serve", "m"]\nfor _ in range(2):\n    subprocess.run(cmd)\n    cmd.append("--x")',
    'cmd = ["vllm", "serve", "m"]\ndef go():\n    subprocess.run(cmd)\ngo()\ncmd += ["--x"]\ngo()',
    'cmd = ["vllm", "serve", "m"]\nsubprocess.run(cmd)\ncmd += ["--x"]\nsubprocess.run(cmd)',
    'cmd = ["vllm", "serve", "m"]\nsubprocess.run(" ".join(cmd) + " --x", shell=True)',
    'cmd = ["vllm", "serve", "m"]\ncmd[2] = "n"\ncmd[-1:] = ["o"]\nsubprocess.run(cmd)',
    'more = ["--x"]\nif cond():\n    more = list("yz")\nsubprocess.run(["vllm", "serve", "m"] + more)',
    'text = "vllm serve m"\nif cond():\n    text += "n --x"\nos.system(text)',
    "def go(kind):\n    os.system(f\"vllm serve m --kv-cache-dtype '{kind}'\")\ngo('fp8')",
    'os.system("vllm serve {} --dtype {kind} %".format("m", kind="half"))',
    'os.system("vllm serve %s --seed %d" % ("m", 3))',
    'import json\nsubprocess.run(["vllm", "serve", "m", "--x", json.dumps({"a": [1, True]})])',
]
BINDINGS = [
    'for m in ["a", "b"]:\n    LLM(m)',
    'LLM(m)\nm = "b"\nLLM(m)',
    "with open(os.devnull) as m:\n    LLM(m.name)\n    LLM(str(m.name))",
    'try:\n    raise ValueError("q")\nexcept ValueError as m:\n    LLM(m.args[0])\n    LLM(m)',
    "def f(*m, **p):\n    LLM(m[0])\n    LLM(m)\n    LLM(p)\nf('z', q=1)",
    'def f():\n    global m\n    m = "c"\nf()\nLLM(m)',
    'def f():\n    m = "c"\n    def g():\n        nonlocal m\n        m = "d"\n    g()\n    LLM(m)\nf()',
    '(m, [*p]) = ("c", ["d"])\nLLM(m)\nLLM(p)',
    'LLM([m for m in "xy"][0])\nLLM(m)',
    'match {"k": "v"}:\n    case {"k": m, **p}:\n        LLM(m)\n        LLM(p)',
    'if (m := "w"):\n    LLM(m)\nLLM(m)',
    'm += "z"\nLLM(m)',
    'class C:\n    m = "c"\n    LLM(m)\nLLM(m)',
    "import os as m\nLLM(m)",
    "def m():\n    pass\nLLM(m)",
    'del m\nm = "e"\nLLM(m)',
    'for m in "xy":\n    pass\nsubprocess.run(["vllm", "serve", m])\nos.system(f"vllm serve {m}")',
    'exec("m = 1") if cond() else None\nLLM("m")',
]


@pytest.mark.parametrize("text", [*TEXTS, *(f'm = "a"\np = "b"\n{text}' for text in BINDINGS)])
def test_what_is_said_is_so(text: str) -> None:
    for seed in range(4):
        assert started(LLM + text, seed)
        assert not untruths(LLM + text, seed)


@pytest.mark.parametrize(
    "text",
    [
        'rest = {"engine_kwargs": {"dtype": "half"}}\nLLMConfig(model_loading_config={"model_id": "m"}, **rest)',
        'def f(**rest):\n    LLMConfig(model_loading_config={"model_id": "m"}, **rest)\nf(engine_kwargs={"seed": 1})',
        'def f(env):\n    LLMConfig(runtime_env=env)\nf({"env_vars": {"VLLM_X": "1"}})',
        'env = {"env_vars": {"VLLM_X": "1"}}\nLLMConfig(runtime_env=env)',
        'def f(more):\n    LLMConfig(engine_kwargs={"seed": 1, **more})\nf({"seed": 2})',
        'def f(more):\n    LLMConfig(runtime_env={"env_vars": {"VLLM_X": "1", **more}})\nf({"VLLM_X": "2"})',
        'k = {"seed": 1}\nk["seed"] = 2\nLLMConfig(engine_kwargs=k)',
        'LLMConfig(model_loading_config=ModelLoadingConfig(model_id="m", model_source="n"))',
    ],
)
def test_what_is_said_of_ray_is_so(text: str) -> None:
    assert started(RAY + text)
    assert not untruths(RAY + text)


STATEMENTS = """\
M = "a" | M = "b" | M += "z" | for M in ["u", "v"]: pass | (M, q) = ("t", 1) | K = {"dtype": "a"} | K["seed"] = M
K.update(dtype="c") | K |= {"seed": "d"} | K.pop("seed", None) | K.setdefault("seed", "e") | K = {**K, "seed": "f"}
j = k | k = j | k = k.copy() | E = os.environ.copy() | E = {**os.environ, "VLLM_X": "a"} | E["VLLM_X"] = "b"
E = {"VLLM_X": "c"} | f = e | os.environ["VLLM_X"] = "d" | os.environ.update(E) | os.environ.pop("VLLM_X", None)
C = ["vllm", "serve", M] | C += ["--x", "a"] | C.append(M) | d = c | C = [*C, "b"] | C = C + ["--y"] | C[-1:] = ["q"]
subprocess.run(C) | subprocess.run(C, env=E) | LLM(M, **K) | LLM("m", **{**k, **j}) | patch(K, C) | f0() | f1()
subprocess.run(" ".join(C) + " --z", shell=True) | a = EngineArgs(M, **K); a.dtype = M; LLMEngine.from_engine_args(a)
""".replace("\n", " | ").split(" | ")[:-1]
NAMES = {"M": "mp", "K": "kj", "E": "ef", "C": "cd"}


def _block(chance: random.Random, depth: int) -> list[str]:
    lines: list[str] = []
    for _ in range(chance.randint(1, 4)):
        head = chance.choice(["if cond():", "for _ in range(n()):", "try:", "while cond():"])
        if depth < 3 and chance.random() < 0.25:
            lines += [head, *("    " + line for line in _block(chance, depth + 1))]
            lines += ["except ZeroDivisionError:", "    pass"] if head == "try:" else []
            continue
        lines.append(re.sub(r"\b[MKEC]\b", lambda one: chance.choice(NAMES[one[0]]), chance.choice(STATEMENTS)))
    return lines


def _program(seed: int) -> str:
    chance = random.Random(seed)
    lines = ["def patch(x, y):", *chance.choice([['    x["dtype"] = "P"', '    y.append("--p")'], ["    print(x)"]])]
    for name in ("f0", "f1"):
        own = [name for name in "mpkjefcd" if chance.random() < 0.8]
        lines += [f"def {name}():", f"    global {', '.join(own or 'm')}"]
        lines += ["    " + re.sub(r"f[01]\(\)", "pass", line) for line in _block(chance, 1)]
    lines += ['m, p = "m0", "p0"', "k = {}", 'j = {"seed": "0"}', "e = os.environ.copy()", "f = {}"]
    lines += [f'{name} = ["vllm", "serve", "{name}"]' for name in "cd"]
    return LLM + "\n".join([*lines, *_block(chance, 0), *_block(chance, 0), *_block(chance, 0)]) + "\n"


@pytest.mark.parametrize("first", range(0, 180, 60))
def test_what_is_said_of_programs_by_chance_is_so(first: int) -> None:
    count = 0
    for seed in range(first, first + 60):
        text = _program(seed)
        for chance in range(2):
            count += len(started(text, chance))
            assert untruths(text, chance) == [], f"program {seed}:\n{text}"
    assert count > 100
