"""The generator over two tiny wheels: what it reads from a syntax tree, and how releases become spans."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "tools" / "generate_flags.py"
CONFIG = """
from typing import Literal
Mode = Literal["a", "b"]
class InnerConfig:
    key: int = 1
class ModelConfig:
    mode: Mode = "a"
    names: list[str] | None = None
    eager: bool = False
    size: int | None = None
    inner: InnerConfig | None = None
    free: Mode | str = "a"
"""
ARGS = """
class EngineArgs:
    eager: bool = False
    @staticmethod
    def add_cli_args(parser):
        model_kwargs = get_kwargs(ModelConfig)
        group.add_argument("--mode", "-m", **model_kwargs["mode"])
        group.add_argument("--names", **model_kwargs["names"])
        group.add_argument("--eager", **model_kwargs["eager"])
        group.add_argument("--size", **{**model_kwargs["size"], "default": None})
        group.add_argument("--inner", **model_kwargs["inner"])
        group.add_argument("--free", **model_kwargs["free"])
class AsyncEngineArgs(EngineArgs):
    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--log", action="store_true")
"""
FRONT = """
class FrontendArgs:
    host: str | None = None
def make_arg_parser(parser):
    parser.add_argument("model_tag", nargs="?")
    parser.add_argument("--count", type=int)
"""
ENVS = 'import os\nenvironment_variables = {"VLLM_USED": lambda: 1, "VLLM_DEAD": lambda: 2}\n'


def wheel(folder: Path, arguments: str) -> Path:
    for name, text in {
        "config/model.py": CONFIG,
        "engine/arg_utils.py": arguments,
        "entrypoints/openai/cli_args.py": FRONT,
        "utils/argparse_utils.py": "",
        "entrypoints/llm.py": "class LLM:\n    def __init__(self, model, *, eager=False, **kwargs): ...\n",
        "envs.py": ENVS,
        "worker.py": 'import os\nx = envs.VLLM_USED\ny = os.getenv("VLLM_DIRECT")\nos.environ["VLLM_SET"] = "1"\n',
    }.items():
        path = folder / "vllm" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def run(tmp_path: Path, newer: str) -> subprocess.CompletedProcess[str]:
    out = tmp_path / "out"
    out.mkdir()
    pairs = [f"0.1.0={wheel(tmp_path / 'one', ARGS)}", f"0.2.0={wheel(tmp_path / 'two', newer)}"]
    return subprocess.run([sys.executable, str(SCRIPT), *pairs, "--out", str(out)], capture_output=True, text=True)


def test_kinds_and_spans(tmp_path: Path) -> None:
    newer = ARGS.replace('        group.add_argument("--names", **model_kwargs["names"])\n', "")
    done = run(tmp_path, newer.replace('"--mode", "-m"', '"--mode"'))
    assert done.returncode == 0, done.stderr
    flags = json.loads((tmp_path / "out" / "flags.json").read_text("utf-8"))["flags"]
    assert flags["--mode"] == [
        {"kind": "choices", "choices": ["a", "b"], "aliases": ["-m"], "until": "0.2.0"},
        {"since": "0.2.0", "kind": "choices", "choices": ["a", "b"]},
    ]
    assert flags["--names"] == [{"kind": "list", "none": True, "until": "0.2.0"}]
    kinds = {name: entries[-1]["kind"] for name, entries in flags.items()}
    assert kinds == {
        "--mode": "choices",
        "--names": "list",
        "--eager": "bool",
        "--size": "int",
        "--inner": "json",
        "--free": "str",
        "--log": "flag",
        "--host": "str",
        "--count": "int",
    }
    keywords = json.loads((tmp_path / "out" / "keywords.json").read_text("utf-8"))["keywords"]
    assert keywords.keys() == {"LLM.model", "LLM.eager", "EngineArgs.eager", "AsyncEngineArgs.eager"}
    variables = json.loads((tmp_path / "out" / "environment.json").read_text("utf-8"))["variables"]
    # A name that stands anywhere as a text counts as read: better one too many than a false "ignored".
    assert variables.keys() == {"VLLM_USED", "VLLM_DIRECT", "VLLM_SET"}


CHECKED = """
from pydantic import Field
@config
class AttentionConfig:
    version: Literal[2, 3] | None = None
    fast: bool = False
    looked_at: int = 1
    splits: int = Field(default=1, ge=1, le=256)
    backend: Backend | None = None
    @field_validator("looked_at", mode="before")
    def look(cls, value): ...
    @field_validator("splits")
    def after(cls, value): ...
@config(kw_only=True)
class ParallelConfig:
    ranks: int = Field(default=1, ge=1)
    changed: int = Field(default=1, gt=0)
class PlainConfig:
    plain: int = Field(default=1, ge=1)
"""
CALLS = """
class EngineArgs:
    @staticmethod
    def add_cli_args(parser):
        group.add_argument("--ranks", **get_kwargs(ParallelConfig)["ranks"])
        group.add_argument("--changed", **get_kwargs(ParallelConfig)["changed"])
        group.add_argument("--plain", **get_kwargs(PlainConfig)["plain"])
        group.add_argument("--attention-config", **get_kwargs(Whole)["attention_config"])
    def create(self):
        return ParallelConfig(ranks=self.ranks, changed=max(1, self.changed)), PlainConfig(plain=self.plain)
"""


def test_types_and_bounds_that_the_configuration_checks(tmp_path: Path) -> None:
    """Bounds count where the engine hands the value on as it is written; types where nothing looks at it before."""
    newer = wheel(tmp_path / "wheel", ARGS + CALLS.replace("class EngineArgs", "class AsyncEngineArgs"))
    whole = "class Whole:\n    attention_config: AttentionConfig = Field(default_factory=AttentionConfig)\n"
    (newer / "vllm" / "config" / "checked.py").write_text(CHECKED + whole, "utf-8")
    (tmp_path / "out").mkdir()
    done = subprocess.run(
        [sys.executable, str(SCRIPT), f"0.1.0={newer}", "--out", str(tmp_path / "out")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    flags = json.loads((tmp_path / "out" / "flags.json").read_text("utf-8"))["flags"]
    assert [flags[f"--{name}"][0].get("ge") for name in ("ranks", "changed", "plain")] == [1, None, None]
    assert flags["--attention-config"][0]["types"] == {
        "version": {"kind": "choices", "choices": [2, 3], "none": True},
        "fast": {"kind": "bool"},
        "splits": {"kind": "int", "ge": 1, "le": 256},
    }


def test_folded_values(tmp_path: Path) -> None:
    """A local whose type makes values small; a type that is another function stops the run."""
    local = '        kw = model_kwargs["mode"]\n        kw["type"] = lambda s: s.lower().replace("-", "_")\n'
    folded = ARGS.replace('        group.add_argument("--mode", "-m", **model_kwargs["mode"])\n', "")
    folded = folded.replace(
        '        group.add_argument("--names"',
        local + '        group.add_argument("--mode", **kw)\n        group.add_argument("--names"',
    )
    done = run(tmp_path, folded)
    assert done.returncode == 0, done.stderr
    flags = json.loads((tmp_path / "out" / "flags.json").read_text("utf-8"))["flags"]
    assert flags["--mode"][-1] == {"since": "0.2.0", "kind": "choices", "choices": ["a", "b"], "folds": True}
    assert "folds" not in flags["--mode"][0]
    (tmp_path / "again").mkdir()
    strange = run(tmp_path / "again", folded.replace("s.lower()", "s.upper()"))
    assert strange.returncode != 0
    assert "NotUnderstoodError" in strange.stderr


def test_a_definition_that_is_not_understood_stops_the_run(tmp_path: Path) -> None:
    done = run(tmp_path, ARGS.replace('**model_kwargs["eager"]', "**something_else()"))
    assert done.returncode != 0
    assert "--eager" in done.stderr
    assert not (tmp_path / "out" / "flags.json").exists()
