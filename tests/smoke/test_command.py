"""run_smoke as a whole, over a small matrix and fake kernels, without a GPU."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from compatcheck.smoke.command import evidence_diff, evidence_merge, run_smoke
from compatcheck.smoke.evidence import read_evidence
from compatcheck.smoke.options import SmokeOptions
from tests.smoke.conftest import FAKES, ROOT

KERNEL = """
  fake.{name}:
    title: {name}
    library: torch
    symbol: "{symbol}"
    phase: decode
    sms: ["9.0"]
    features: [cpu]
    head_sizes: [{{values: [64, 128]}}]
    tolerance: {{float32: 0.01}}
"""


def matrix(tmp_path: Path, *names: str, symbol: str = "json:loads") -> Path:
    path = tmp_path / "matrix.yaml"
    path.write_text(
        'schema: 1\nsms:\n  "9.0": {family: 9.x, arch: Hopper, gpus: [H200]}\nkv_cache_dtypes: {}\n'
        "libraries: {torch: {title: t, releases: []}}\n"
        "engines: {}\nrules: {}\nkernels:\n" + "".join(KERNEL.format(name=n, symbol=symbol) for n in names)
    )
    return path


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host has no GPU whatever the machine has, and torch counts as installed."""
    from compatcheck.host import model
    from compatcheck.smoke import command

    monkeypatch.setattr(model.Host, "sms", lambda self: ())
    monkeypatch.setattr(command, "_torch_is_there", lambda: True)


def options(tmp_path: Path, *names: str, **more: object) -> SmokeOptions:
    if "matrix" not in more:
        more["matrix"] = matrix(tmp_path, *names)
    more.setdefault("evidence", tmp_path / "evidence.json")
    return SmokeOptions(kernels=FAKES, quiet=True, timeout=20.0, **more)  # type: ignore[arg-type]


def test_without_a_gpu_it_runs_what_a_cpu_can(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_smoke(options(tmp_path, "fine", "heavy")) == 0
    streams = capsys.readouterr()
    assert "no usable GPU here: nothing is claimed" in streams.err
    assert "fake.heavy" in streams.err, "what would run is listed"
    assert "2 cells declared for this CPU: 2 run, 2 confirmed" in streams.out
    evidence = read_evidence(tmp_path / "evidence.json")
    assert evidence.fingerprint.sm == "cpu"
    assert evidence.fingerprint.gpu is None
    assert [c.outcome for c in evidence.cells] == ["correct", "correct"]
    assert evidence.left_out == {"fake.heavy": "needs a GPU"}


def test_without_torch_nothing_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from compatcheck.smoke import command

    monkeypatch.setattr(command, "_torch_is_there", lambda: False)
    assert run_smoke(options(tmp_path, "fine")) == 0
    assert "nothing is claimed" in capsys.readouterr().err
    assert not (tmp_path / "evidence.json").exists()


def test_a_contradiction_is_exit_1_with_a_proposal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_smoke(options(tmp_path, "fine", "wrong", "refusing", junit=tmp_path / "j.xml")) == 1
    out = capsys.readouterr().out
    assert "contradicted fake.wrong/cpu/d=64" in out
    assert "matrix.yaml:" in out
    assert "under refusals" in out
    assert 'failures="4"' in (tmp_path / "j.xml").read_text()


def test_a_symbol_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    given = options(tmp_path, "fine", matrix=matrix(tmp_path, "fine", symbol="json:nothing_of_the_kind"))
    assert run_smoke(given) == 0
    (first, _) = read_evidence(tmp_path / "evidence.json").cells
    assert (first.outcome, first.missing, first.judgement) == ("unavailable", "symbol", "unproven")


def test_resume_runs_only_what_is_missing(tmp_path: Path, journal: Callable[[], list[str]]) -> None:
    assert run_smoke(options(tmp_path, "fine", only=("*d=64*",))) == 0
    assert run_smoke(options(tmp_path, "fine", resume=True)) == 0
    runs = [line.split()[1] for line in journal() if line.startswith("run")]
    assert sorted(runs) == ["fake.fine/cpu/d=128/ragged", "fake.fine/cpu/d=64/ragged"]
    assert len(read_evidence(tmp_path / "evidence.json").cells) == 2


def test_list_runs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], journal: Callable[[], list[str]]
) -> None:
    assert run_smoke(options(tmp_path, "fine", list_only=True)) == 0
    assert capsys.readouterr().out.split() == [
        "supported", "fake.fine/cpu/d=128/ragged", "supported", "fake.fine/cpu/d=64/ragged"
    ]  # fmt: skip
    assert journal() == []


def test_list_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_smoke(options(tmp_path, "fine", list_only=True, format="json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == 1
    assert [c["head_size"] for c in document["cells"]] == [128, 64]


def test_json_alone_on_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_smoke(options(tmp_path, "fine", "wrong", format="json")) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["coverage"]["contradicted"] == 2


def test_shards_part_the_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = []
    for index in (0, 1):
        run_smoke(options(tmp_path, "fine", "wrong", list_only=True, shard=(index, 2)))
        parts.append(set(capsys.readouterr().out.split()) - {"supported"})
    assert not parts[0] & parts[1]
    assert len(parts[0] | parts[1]) == 4


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"only": ("nothing*",)}, "no cell matches"),
        ({"sm": "9.7"}, "not a compute capability of the matrix"),
        ({"sm": "9.0"}, "no such GPU here"),
        ({"matrix": Path("/nowhere/matrix.yaml")}, "cannot be read"),
    ],
)
def test_usage_errors_are_exit_2(
    tmp_path: Path, more: dict[str, object], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_smoke(options(tmp_path, "fine", **more)) == 2
    assert words in capsys.readouterr().err


def test_cross_compiling_needs_no_gpu(tmp_path: Path, journal: Callable[[], list[str]]) -> None:
    assert run_smoke(options(tmp_path, "fine", sm="9.0", level="compile")) == 0
    assert sorted(journal()) == ["build module-128", "build module-64"]
    evidence = read_evidence(tmp_path / "evidence.json")
    assert {(c.outcome, c.level, c.judgement) for c in evidence.cells} == {("passed", "compile", "unproven")}


def test_diff_and_merge_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_smoke(options(tmp_path, "fine", evidence=tmp_path / "a.json", only=("*d=64*",)))
    run_smoke(options(tmp_path, "fine", evidence=tmp_path / "b.json", only=("*d=128*",)))
    assert evidence_merge([tmp_path / "a.json", tmp_path / "b.json"], tmp_path / "c.json") == 0
    assert len(read_evidence(tmp_path / "c.json").cells) == 2
    assert evidence_diff(tmp_path / "a.json", tmp_path / "c.json") == 0
    assert "new      fake.fine/cpu/d=128/ragged" in capsys.readouterr().out
    (tmp_path / "bad.json").write_text("{")
    assert evidence_diff(tmp_path / "a.json", tmp_path / "bad.json") == 2
    assert evidence_merge([tmp_path / "bad.json"], tmp_path / "d.json") == 2
    assert not (tmp_path / "d.json").exists()


def test_ctrl_c_keeps_the_results_and_leaves_no_process(tmp_path: Path) -> None:
    """A real process group, a real SIGINT."""
    record = tmp_path / "r.jsonl"
    path = matrix(tmp_path, "wrong", "hanging")
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from compatcheck.host import model\n"
        "from compatcheck.smoke import command\n"
        "from compatcheck.smoke.options import SmokeOptions\n"
        "from tests.smoke.broken.fatal import Hanging\n"
        "model.Host.sms = lambda self: ()\n"
        "command._torch_is_there = lambda: True\n"
        "Hanging.cpu = True\n"
        f"sys.exit(command.run_smoke(SmokeOptions(kernels={FAKES!r}, matrix=Path({str(path)!r}), timeout=600.0,"
        f" record=Path({str(record)!r}), quiet=True)))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (record.exists() and record.read_bytes().count(b"\n") == 2):
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; results so far are kept" in error
    assert record.read_bytes().count(b"\n") == 2
    children = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    mine = [line for line in children.splitlines() if "compatcheck.smoke.worker" in line and str(os.getpid()) in line]
    assert mine == []


@pytest.mark.parametrize(
    "arguments",
    [("--timeout", "nan"), ("--timeout", "inf"), ("--compile-timeout", "inf"), ("--budget", "nan"), ("--shard", "²/2")],
)
def test_no_number_is_a_usage_error(arguments: tuple[str, str]) -> None:
    from click.testing import CliRunner

    from compatcheck.cli.smoke import smoke

    done = CliRunner().invoke(smoke, [*arguments, "--list"])
    assert done.exit_code == 2, done.output
    assert arguments[0] in done.output
