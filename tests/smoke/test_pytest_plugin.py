"""`pytest --compatcheck` in a pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.smoke.conftest import FAKES, ROOT

CONFTEST = """
from compatcheck.host import model
model.Host.sms = lambda self: ()
from tests.smoke.broken.fine import Refusing, Wrong
"""

MATRIX = """
schema: 1
sms: {"9.0": {family: 9.x, arch: Hopper, gpus: [H200]}}
kv_cache_dtypes: {}
libraries: {torch: {title: t, releases: []}}
engines: {}
kernels:
  fake.fine: {title: a, library: torch, symbol: "json:loads", phase: decode, sms: ["9.0"], features: [cpu]}
  fake.wrong: {title: b, library: torch, symbol: "json:loads", phase: decode, sms: ["9.0"], features: [cpu]}
  fake.refusing: {title: c, library: torch, symbol: "json:nothing", phase: decode, sms: ["9.0"], features: [cpu]}
rules:
  known-wrong:
    title: wrong
    refuser: advisory
    bites: silent
    effect: degraded
    when: {}
    why: w
    fix: f
    sources: [{ref: x}]
    kernels: [%s]
"""


def run(
    tmp_path: Path, *arguments: str, wrong: str = "fake.wrong", conftest: str = CONFTEST, matrix: str | None = None
) -> tuple[int, str]:
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "m.yaml").write_text(matrix or MATRIX % wrong)
    command = [sys.executable, "-m", "pytest", *_plugin(), "-p", "no:cacheprovider", "-rA"]
    command += ["--compatcheck-kernels", FAKES, "--compatcheck-matrix", str(tmp_path / "m.yaml"), *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=_environ(), check=False)
    return done.returncode, done.stdout + done.stderr


def _plugin() -> list[str]:
    """Name the plugin where it is not installed: an installed one is loaded by its entry point."""
    installed = any(point.name == "compatcheck" for point in entry_points(group="pytest11"))
    return [] if installed else ["-p", "compatcheck.smoke.pytest_plugin"]


def _environ() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}."}


def test_cells_are_items_with_their_ids(tmp_path: Path) -> None:
    code, out = run(tmp_path, "--compatcheck")
    assert code == 0, out
    assert "PASSED compatcheck::fake.fine/cpu/ragged" in out
    assert "XFAIL compatcheck::fake.wrong/cpu/ragged - known-wrong" in out
    assert "SKIPPED" in out, "a missing symbol that the matrix does not know of is no failure"


def test_an_undeclared_failure_fails(tmp_path: Path) -> None:
    code, out = run(tmp_path, "--compatcheck", wrong="fake.refusing")
    assert code == 1, out
    assert "the matrix says supported, the GPU says wrong" in out
    assert "Traceback" not in out


def test_cells_can_be_selected(tmp_path: Path) -> None:
    code, out = run(tmp_path, "--compatcheck", "--compatcheck-only", "*fine*", "--collect-only", "-q")
    assert code == 0, out
    assert out.splitlines()[0] == "compatcheck::fake.fine/cpu/ragged"
    assert "wrong" not in out


def test_without_the_option_nothing_is_collected(tmp_path: Path) -> None:
    code, _ = run(tmp_path)
    assert code == pytest.ExitCode.NO_TESTS_COLLECTED


def test_the_plugin_imports_no_torch() -> None:
    code = "import sys, compatcheck.smoke.pytest_plugin; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


REFUSED = """
  fake.refuses:
    title: d
    library: torch
    symbol: "json:loads"
    phase: decode
    sms: ["9.0"]
    head_sizes: [{values: [64]}]
    refusals: [{code: no-7, when: {head_size: {not: [64]}}, exception: ValueError, match: not for us, sources: [s]}]
rules:
"""


@pytest.mark.parametrize(("level", "said"), [("import", "skipped"), ("launch", "xfailed")])
def test_a_refusal_is_asked_for_where_it_can_come(tmp_path: Path, level: str, said: str) -> None:
    (tmp_path / "refusing.py").write_text(
        "from tests.smoke.broken.fine import Refusing\n"
        "class Refuses(Refusing):\n    name = 'refuses'\n    ids = ('fake.refuses',)\n"
        "KERNELS = [Refuses()]\n"
    )
    code, out = run(
        tmp_path,
        *("--compatcheck", "--compatcheck-only", "*no-7*", "--compatcheck-level", level),
        *("--compatcheck-kernels", "refusing:KERNELS"),
        conftest="from compatcheck.host import model\nmodel.Host.sms = lambda self: ('9.0',)\n",
        matrix=(MATRIX % "fake.wrong").replace("rules:\n", REFUSED.lstrip("\n"), 1),
    )
    assert code == 0, out
    assert f"1 {said} in" in out, out


@pytest.mark.parametrize(
    ("option", "value"),
    [("--compatcheck-level", "high"), ("--compatcheck-timeout", "nan"), ("--compatcheck-kernels", "nowhere:KERNELS")],
)
def test_a_wrong_option_is_a_usage_error(tmp_path: Path, option: str, value: str) -> None:
    code, out = run(tmp_path, "--compatcheck", option, value)
    assert code == pytest.ExitCode.USAGE_ERROR, out
    assert "INTERNALERROR" not in out
