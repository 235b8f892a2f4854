"""The command itself: help, version, unknown commands, and what starting it imports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from compatcheck import __version__
from compatcheck.cli.main import COMMANDS, main

from .conftest import Cli, environment

HEAVY = ("torch", "flashinfer", "vllm", "jinja2", "rich", "numpy", "yaml", "pynvml", "asyncio")


def test_help_lists_every_command(process: Cli) -> None:
    done = process("--help")
    assert done.returncode == 0
    for name in COMMANDS:
        assert f"\n  {name} " in done.stdout
    assert "0 fine, 1 findings, 2 usage or unreadable input, 3 unknown, 4 internal error" in " ".join(
        done.stdout.split()
    )


def test_version(process: Cli) -> None:
    assert process("--version").stdout == f"compatcheck, version {__version__}\n"


def test_an_unknown_command_suggests_the_nearest(process: Cli) -> None:
    done = process("chek")
    assert (done.returncode, done.stdout) == (2, "")
    assert "No command 'chek'. Did you mean check?" in done.stderr


def test_every_command_listed_is_there() -> None:
    import click

    context = click.Context(main)
    for name in COMMANDS:
        if name == "docs" and not (Path(__file__).parents[2] / "compatcheck" / "cli" / "docs.py").is_file():
            continue
        command = main.get_command(context, name)
        assert command is not None
        assert command.name == name


def imported(cache: Path, code: str) -> set[str]:
    """Return the top-level modules that a program has imported when it ends."""
    report = "\nimport sys, json\nprint('\\n' + json.dumps(sorted({m.partition('.')[0] for m in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", code + report],
        env=environment(cache),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


CHECK = """
import sys
sys.argv = ["compatcheck", "check", *{arguments!r}]
from compatcheck.cli.entry import entry
try:
    entry()
except SystemExit as left:
    assert left.code == {code}, left.code
"""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--no-host", "--sm", "9.0", "--head-size", "128"], 0),
        (["--sm", "12.0", "--vllm", "0.25.1", "--backend", "FLASHINFER", "--kv-cache-dtype", "nvfp4"], 1),
        (["--no-host", "--sm", "9.0", "--head-size", "128", "--format", "json"], 0),
    ],
)
def test_check_imports_nothing_heavy(cache: Path, arguments: list[str], code: int) -> None:
    assert imported(cache, CHECK.format(arguments=arguments, code=code)).isdisjoint(HEAVY)


def test_importing_the_package_imports_nothing_else(cache: Path) -> None:
    found = imported(cache, "import compatcheck; compatcheck.__version__; compatcheck.__all__")
    assert {name for name in found - set(sys.stdlib_module_names) if not name.startswith("_")} == {"compatcheck"}
    assert found.isdisjoint({"asyncio", "importlib.metadata", "subprocess", "email"})


def test_the_api_imports_nothing_heavy(cache: Path) -> None:
    code = "import compatcheck; assert compatcheck.check(sm='9.0', head_size=128).verdict == 'supported'"
    assert imported(cache, code).isdisjoint(HEAVY)
