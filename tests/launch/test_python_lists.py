"""Commands that a Python file builds up before it starts them."""

from __future__ import annotations

import pytest

from compatcheck.launch.files.registry import reader_for
from compatcheck.launch.model import Launch
from compatcheck.launch.scan import ScanOptions, scan_text
from compatcheck.matrix.load import LoadedMatrix

START = 'import subprocess, sys, shlex\nMODEL = "Qwen/Qwen3-8B"\n'
BASE = START + 'cmd = ["vllm", "serve", MODEL, "--kv-cache-dtype", "nvfp4"]\n'
BAD = ["--kv-cache-dtype", "nvfp4", "--attention-backend", "TRITON_ATTN"]


def read(text: str) -> list[Launch]:
    reader = reader_for("serve.py", text)
    assert reader is not None
    return reader.launches(text)


def words(launch: Launch) -> list[str]:
    return [word.text for word in launch.words if not word.dynamic]


@pytest.mark.parametrize(
    "more",
    [
        'cmd += ["--attention-backend", "TRITON_ATTN"]',
        'cmd.extend(["--attention-backend", "TRITON_ATTN"])',
        'cmd.append("--attention-backend")\ncmd.append("TRITON_ATTN")',
        'cmd = cmd + ["--attention-backend", "TRITON_ATTN"]',
        'cmd = [*cmd, "--attention-backend", "TRITON_ATTN"]',
        'more = ["--attention-backend", "TRITON_ATTN"]\ncmd += more',
        'more = ("--attention-backend", "TRITON_ATTN")\ncmd.extend(more)',
        'BACKEND = "TRITON_ATTN"\ncmd += ["--attention-backend", BACKEND]',
        'cmd += "--attention-backend TRITON_ATTN".split()',
        'cmd += shlex.split("--attention-backend TRITON_ATTN")',
        'cmd.insert(5, "--attention-backend")\ncmd.insert(6, "TRITON_ATTN")',
        'other = cmd\nother += ["--attention-backend", "TRITON_ATTN"]',
        'with open("log") as log:\n    cmd += ["--attention-backend", "TRITON_ATTN"]',
    ],
)
def test_what_is_added_belongs_to_the_launch(more: str, loaded: LoadedMatrix) -> None:
    text = f"{BASE}{more}\nsubprocess.Popen(cmd)\n"
    (launch,) = read(text)
    assert words(launch) == ["Qwen/Qwen3-8B", *BAD]
    assert not any(word.dynamic for word in launch.words)
    scan = scan_text(loaded, "serve.py", text, ScanOptions(), None)
    assert [d.code for d in scan.diagnostics] == ["selector-kv-cache-dtype"]


@pytest.mark.parametrize(
    "more",
    [
        "cmd += args.extra",
        "cmd.extend(extra_args())",
        "cmd.append(args.flag)",
        'if fast:\n    cmd += ["--attention-backend", "FLASHINFER"]',
        'for key, value in options.items():\n    cmd += [f"--{key}", value]',
        'cmd += ["--enforce-eager"] if fast else []',
        "cmd[3:5] = pick()",
        "cmd.pop()",
        'try:\n    cmd += ["--seed", "1"]\nexcept KeyError:\n    pass',
        "add_options(cmd)\ndef add_options(command):\n    command += OPTIONS\n",
        'def later():\n    cmd.append("--attention-backend=TRITON_ATTN")\n    subprocess.run(cmd)\nlater()',
    ],
)
def test_what_is_not_written_down_leaves_the_answer_open(more: str, loaded: LoadedMatrix) -> None:
    text = f"{START}cmd = ['vllm', 'serve', MODEL, '--max-model-len', '4096']\n{more}\nsubprocess.Popen(cmd)\n"
    found = read(text)
    assert found
    scan = scan_text(loaded, "serve.py", text, ScanOptions(strict=True), None)
    assert {one.verdict for one in scan.launches} <= {"unknown", "unsupported"}
    assert not [d for d in scan.diagnostics if d.level == "error" and d.code.startswith("launch-")]


def test_branches_share_what_they_have_in_common() -> None:
    text = f"""{START}def start(fast, tp):
    if fast:
        cmd = ["vllm", "serve", MODEL]
    else:
        cmd = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", MODEL]
    cmd += ["--tensor-parallel-size", str(tp), f"--seed={{tp}}", "--port", str(8000)]
    if fast:
        cmd.append("--enforce-eager")
    cmd += ["--kv-cache-dtype", "nvfp4"]
    subprocess.run(cmd)
"""
    one, two = read(text)
    assert [one.program, two.program] == ["vllm serve", "python -m vllm.entrypoints.openai.api_server"]
    for launch in (one, two):
        texts = [(word.text, word.dynamic) for word in launch.words]
        assert texts[-3:] == [("*cmd", True), ("--kv-cache-dtype", False), ("nvfp4", False)]
        assert ("--seed=$tp", True) in texts
        assert ("8000", False) in texts


def test_a_list_that_only_serves_others_is_no_launch() -> None:
    text = f"""{START}BASE = ["vllm", "serve", MODEL]
def one():
    subprocess.run(BASE + ["--seed", "1"])
def two():
    subprocess.run([*BASE, "--seed", "2"])
"""
    assert [words(launch) for launch in read(text)] == [[MODEL, "--seed", n] for n in "12"]


MODEL = "Qwen/Qwen3-8B"


def test_what_a_function_returns_may_grow_where_it_is_called(loaded: LoadedMatrix) -> None:
    text = f"""{START}def build():
    return ["vllm", "serve", MODEL, "--kv-cache-dtype", "nvfp4"]
cmd = build()
cmd += ["--attention-backend", "TRITON_ATTN"]
subprocess.run(cmd)
"""
    (launch,) = read(text)
    assert launch.words[-1].dynamic
    assert [one.verdict for one in scan_text(loaded, "a.py", text, ScanOptions(), None).launches] == ["unknown"]
    alone = text.replace("cmd += ", "rest = ")
    assert not read(alone)[0].words[-1].dynamic


def test_an_early_return_that_only_shows_the_list_starts_nothing() -> None:
    text = f"""{START}def start(dry):
    cmd = ["vllm", "serve", MODEL]
    if dry:
        print(" ".join(cmd))
        return
    cmd += ["--seed", "1"]
    subprocess.run(cmd)
"""
    assert [words(launch) for launch in read(text)] == [[MODEL, "--seed", "1"]]


@pytest.mark.parametrize(
    "text",
    [
        'cmd = "vllm serve Qwen/Qwen3-8B"\ncmd += " --seed 1"\nsubprocess.run(cmd, shell=True)',
        'cmd = f"vllm serve {MODEL}"\ncmd = cmd + " --seed 1"\nos.system(cmd)',
        'os.system(f"vllm serve {MODEL} --seed 1")',
        'subprocess.run("vllm serve Qwen/Qwen3-8B --seed 1".split())',
        'cmd = "vllm serve Qwen/Qwen3-8B --seed 1"\nsubprocess.run(shlex.split(cmd))',
        'subprocess.run(["bash", "-c", f"vllm serve {MODEL} --seed 1"])',
        'asyncio.create_subprocess_exec("vllm", "serve", MODEL, "--seed", "1", stdout=None)',
        'args = [MODEL, "--seed", "1"]\nasyncio.create_subprocess_exec("vllm", "serve", *args)',
        'subprocess.run(["/opt/venv/bin/vllm", "serve", MODEL, "--seed", "1"])',
        'subprocess.run(["numactl", "-N", "0", "vllm", "serve", MODEL, "--seed", "1"])',
    ],
)
def test_texts_and_other_programs_in_front(text: str) -> None:
    (launch,) = read(START + "import os\n" + text + "\n")
    assert words(launch) == [MODEL, "--seed", "1"]


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ('subprocess.run(["vllm", "serve", MODEL, "--a" if x else "--b"])', [[MODEL, "--a"], [MODEL, "--b"]]),
        ('FAST = True\nsubprocess.run(["vllm", "serve", MODEL, "--a" if FAST else "--b"])', [[MODEL, "--a"]]),
        (
            'cmd = ["vllm", "serve", MODEL]\nsubprocess.run(cmd)\ncmd += ["--a"]\nsubprocess.run(cmd)',
            [[MODEL], [MODEL, "--a"]],
        ),
        ('cmd = ["vllm", "serve", MODEL]\nos.system(shlex.join(cmd) + " --a")', [[MODEL, "--a"]]),
        ('os.system("vllm serve {} --a".format(MODEL))', [[MODEL, "--a"]]),
        ('os.system("vllm serve %s --a" % MODEL)', [[MODEL, "--a"]]),
    ],
)
def test_commands_are_what_they_are_where_they_start(text: str, several: list[list[str]]) -> None:
    found = read(f"{START}import os\n{text}\n")
    assert [[word.text for word in launch.words] for launch in found] == several
    assert not any(word.dynamic for launch in found for word in launch.words)


def test_what_is_filled_into_quotes_is_open(loaded: LoadedMatrix) -> None:
    text = f"""{START}def go(kind):
    os.system(f"vllm serve Qwen/Qwen3-8B --kv-cache-dtype '{{kind}}'")
"""
    scan = scan_text(loaded, "a.py", text, ScanOptions(), None)
    assert [one.verdict for one in scan.launches] == ["unknown"]
    assert not scan.diagnostics


def test_words_of_a_text_have_places_of_their_own() -> None:
    text = 'import shlex\ncmd = "vllm serve m"\ncmd += " --seed 1"\nsubprocess.run(shlex.split(cmd))\nos.system(cmd)\n'
    for launch in read(text):
        assert [(word.text, word.line, word.column) for word in launch.words] == [
            *(("m", 2, 19), ("--seed", 3, 10), ("1", 3, 17)),
        ]


def test_a_list_of_options_that_a_branch_extends(loaded: LoadedMatrix) -> None:
    text = f"""{START}def build(args):
    cmd = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", MODEL]
    if args.backend:
        cmd += ["--attention-backend", args.backend]
    return cmd
"""
    (launch,) = scan_text(loaded, "serve.py", text, ScanOptions(), None).launches
    assert (launch.model, launch.verdict) == (MODEL, "unknown")


@pytest.mark.parametrize(
    "text",
    [
        'HELP = "run: vllm serve x --kv-cache-dtype nvfp4"',
        'print("vllm serve x")',
        'subprocess.run(["echo", "vllm", "serve", "x"])',
        'subprocess.run([sys.executable, "-m", "sglang.launch_server", "--model-path", "vllm/x"])',
        'names = ["vllm", "sglang", "trt"]',
        'subprocess.run(["pip", "install", "vllm"])',
        'log.info("vllm serve %s", MODEL)',
    ],
)
def test_what_starts_nothing(text: str) -> None:
    assert not read(START + text + "\n")
