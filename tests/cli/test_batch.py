"""`compatcheck check --batch`: order, size, and the place of every line that cannot be judged."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from compatcheck.cli.batch_parts import LEAST

from ..report.sarif_structure import check_sarif
from .conftest import Cli, documents, lines

GOOD = {"sm": "9.0", "engine_version": "0.33.0", "head_size": 128}


def test_order(process: Cli) -> None:
    heads = [64, 80, 128, 256, 7, 512] * 5
    random.Random(3).shuffle(heads)
    rows = [GOOD | {"backend": "FLASHINFER", "head_size": head} for head in heads]
    done = process("check", "--batch", "-", stdin=lines(*rows))
    answers = documents(done.stdout)
    assert done.returncode == 1
    assert all(answer["schema"] == 1 for answer in answers)
    accepted = {64, 128, 256, 512}
    assert [answer["engine_accepts"] for answer in answers] == [head in accepted for head in heads]


def test_twenty_thousand_lines(process: Cli, tmp_path: Path) -> None:
    chosen = random.Random(1)
    rows = [
        {
            "sm": chosen.choice(["8.0", "8.9", "9.0", "10.0", "12.0"]),
            "engine_version": chosen.choice(["0.25.1", "0.31.0", "0.33.0"]),
            "backend": chosen.choice(["FLASHINFER", "FLASH_ATTN", "TRITON_ATTN"]),
            "kv_cache_dtype": chosen.choice(["auto", "fp8", "nvfp4"]),
            "head_size": chosen.choice([64, 80, 128, 256]),
            "has_sink": chosen.random() < 0.5,
        }
        for _ in range(20_000)
    ]
    (tmp_path / "b.jsonl").write_text(lines(*rows), encoding="utf-8")
    done = process("check", "--batch", "b.jsonl", "--format", "text", timeout=300)
    answers = done.stdout.splitlines()
    assert len(answers) == 20_000
    assert [line.split(":")[1] for line in answers] == [str(number) for number in range(1, 20_001)]
    counts = [part.split() for part in done.stderr.strip().split(", ")]
    assert sum(int(count) for count, _ in counts) == 20_000
    assert {verdict for _, verdict in counts} == {"supported", "unsupported"}


BAD: list[tuple[str, str]] = [
    ('{"sm": "9.0", "kv_cahe_dtype": "fp8"}', "15: unknown field 'kv_cahe_dtype'. Did you mean kv_cache_dtype?"),
    ('{"sm": "9.0", "head_size": NaN}', "28: JSON is malformed: invalid character"),
    ('{"sm": "9.0", "head_size": Infinity}', "28: JSON is malformed"),
    ('{"sm": 1e999}', "2: Number out of range"),
    ('{"head_size": 64, "sm": "9.0", "head_size": 128}', "32: head_size is given twice"),
    (r'{"head_size": 64, "sm": "9.0", "head\u005fsize": 128}', "32: head_size is given twice"),
    ('{"sm": "9.0", "model_type": ":", "dtype": ":"}', "34: dtype: ':' is not one of"),
    ('{"sm": "9.0", "head_size": "128"}', "15: Expected `int | null`, got `str`"),
    ('{"sm": "9.0", "head_size": 128.5}', "15: Expected `int | null`, got `float`"),
    ('{"sm": "9.0", "head_size": 0}', "15: head_size: must be positive and below 2^31, found 0"),
    ('{"sm": "9.0", "num_qo_heads": -8}', "15: num_qo_heads: must be positive"),
    ('{"sm": "9.0", "block_size": 0}', "15: block_size: must be positive"),
    ('{"sm": "9.0", "kv_lora_rank": 100000000000000000000000}', "15: kv_lora_rank: must be positive and below 2^31"),
    ('{"sm": "9.0", "index_topk": 0}', "15: index_topk: must be positive"),
    ('{"sm": {"major": 9}}', "2: Expected `int | float | str | null`, got `object`"),
    ('{"sm": true}', "2: Expected `int | float | str | null`, got `bool`"),
    ('{"sm": "9.0", "compress_ratios": [4, "x"]}', "15: Expected `int`, got `str`"),
    ('{"engine": "sglang"}', "2: engine: 'sglang' is not in the matrix; it has: vllm"),
    ('{"sm": "9.0", "backend": "flashinfr"}', "15: backend: no release of vLLM has a backend FLASHINFR. Did you mean"),
    ('{"sm": "sm_999"}', "2: sm: 'sm_999' is neither a compute capability nor a GPU of the matrix"),
    ('{"engine_version": "0.33.x"}', "2: engine_version: '0.33.x' is not a PEP 440 version"),
    ('{"engine_version": 0.33}', "2: Expected `str | null`, got `float`"),
    ("[1]", "1: Expected `object`, got `array`"),
    ('"text"', "1: Expected `object`, got `str`"),
    ("null", "1: Expected `object`, got `null`"),
    ('{"sm": "9.0"', "13: Input data was truncated"),
    ('{"sm": "9.0"} {}', "16: JSON is malformed: trailing characters"),
    ('{"model_type": "é", "x": 1}', "21: unknown field 'x'"),
    ("", "1: an empty line"),
    ("   ", "1: an empty line"),
    ('{"sm": "\\ud800"}', "17: Input data was truncated"),
    ("\x00", "1: JSON is malformed"),
    ("[" * 100_000, "1: Expected `object`, got `array`"),
]


def test_every_bad_line_has_its_place(cli: Cli, tmp_path: Path) -> None:
    """Twenty a run are shown, the rest is counted; nothing is judged where one line is bad."""
    good = json.dumps(GOOD)
    shown = 0
    for start in range(0, len(BAD), 20):
        part = BAD[start : start + 20]
        text = "".join(f"{good}\n{line}\n" for line, _ in part) + good
        (tmp_path / "b.jsonl").write_text(text, encoding="utf-8")
        done = cli("check", "--batch", "b.jsonl")
        assert (done.returncode, done.stdout) == (2, "")
        said = done.stderr.splitlines()
        for index, ((line, expected), text) in enumerate(zip(part, said, strict=True)):
            assert text.startswith(f"b.jsonl:{2 * index + 2}:{expected}"), line[:60]
        shown += len(said)
    assert shown == len(BAD)


def test_more_problems_than_anyone_reads(cli: Cli) -> None:
    done = cli("check", "--batch", "-", stdin='{"sm": "9"}\n' * 50)
    said = done.stderr.splitlines()
    assert done.returncode == 2
    assert said[0].startswith("<stdin>:1:2: sm: '9' is neither")
    assert said[20:] == ["... and 30 more"]


def test_bytes_that_are_not_utf_8(process: Cli) -> None:
    done = process("check", "--batch", "-", stdin=b'{"model_type": "\xff\xfe"}\n')
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("<stdin>:1:1: Invalid UTF-8")


def test_windows_line_ends_and_byte_order_mark(cli: Cli) -> None:
    text = b"\xef\xbb\xbf" + lines(GOOD, GOOD).replace("\n", "\r\n").encode()
    done = cli("check", "--batch", "-", stdin=text)
    assert done.returncode == 0
    assert [answer["verdict"] for answer in documents(done.stdout)] == ["supported", "supported"]


@pytest.mark.parametrize(("format_", "expected"), [("jsonl", ""), ("json", '{"schema":1,"verdicts":[]}\n')])
def test_an_empty_batch(cli: Cli, format_: str, expected: str) -> None:
    done = cli("check", "--batch", "-", "--format", format_)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


def test_files_that_cannot_be_read(process: Cli, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    done = process("check", "--batch", "folder")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "folder: cannot be read: Is a directory\n")
    done = process("check", "--batch", "none.jsonl")
    assert (done.returncode, done.stderr) == (2, "none.jsonl: cannot be read: No such file or directory\n")


def test_lines_do_not_colour_each_other(cli: Cli) -> None:
    """What repeats is worked out once: lines that differ in little must still get the answer that they get alone."""
    sliding = {"sm": "9.0", "engine_version": "0.26.0", "backend": "FLASHINFER", "head_size": 128}
    rows = [
        sliding | {"sliding_window": False},
        sliding | {"sliding_window": 4096},
        sliding | {"sliding_window": 0},
        sliding | {"sliding_window": True},
        sliding,
    ]
    answers = documents(cli("check", "--batch", "-", stdin=lines(*rows)).stdout)
    assert [answer["verdict"] for answer in answers] == [
        "supported",
        "unsupported",
        "supported",
        "unsupported",
        "supported",
    ]
    done = cli("check", "--batch", "-", stdin='{"sm": 9.0, "head_size": 64}\n{"sm": 9, "head_size": 64}\n')
    assert done.stderr.startswith("<stdin>:2:2: sm: 9 is neither")


def test_options_fill_what_a_line_leaves_out(cli: Cli) -> None:
    done = cli(
        *("check", "--batch", "-", "--backend", "FLASHINFER", "--sm", "12.0"),
        stdin=lines({"head_size": 128}, {"head_size": 128, "sm": "7.5"}, {"head_size": 128, "sm": None}),
    )
    assert [answer["verdict"] for answer in documents(done.stdout)] == ["supported", "unsupported", "supported"]


def test_alternatives_are_those_of_a_single_check(cli: Cli) -> None:
    row = {
        "sm": "12.0",
        "engine_version": "0.25.1",
        "backend": "FLASHINFER",
        "kv_cache_dtype": "nvfp4",
        "head_size": 128,
    }
    plain, searched = (
        documents(cli("check", "--batch", "-", *option, stdin=lines(row)).stdout)[0]
        for option in ((), ("--alternatives",))
    )
    assert plain["alternatives"] == []
    options = [part for name, value in row.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    alone = json.loads(cli("check", "--no-host", *options, "--format", "json").stdout)
    assert searched == alone


def test_sarif_and_github_name_file_and_line(cli: Cli, tmp_path: Path) -> None:
    rows = lines(GOOD, GOOD | {"backend": "FLASHINFER", "head_size": 80}, {"sm": "9.0"})
    (tmp_path / "a b.jsonl").write_text(rows, encoding="utf-8")
    log = json.loads(cli("check", "--batch", "a b.jsonl", "--format", "sarif").stdout)
    check_sarif(log)
    places = [
        (r["ruleId"], r["locations"][0]["physicalLocation"]["region"]["startLine"]) for r in log["runs"][0]["results"]
    ]
    assert places == [("selector-head-size", 2), ("unknown", 3)]
    done = cli("check", "--batch", "a b.jsonl", "--format", "github")
    assert done.stdout.splitlines()[0].startswith("::error file=a b.jsonl,line=2,col=1,title=selector-head-size::")


def test_a_large_batch_is_answered_as_its_pieces(process: Cli, tmp_path: Path) -> None:
    """More lines than one process takes: the same bytes, in order. A bad line keeps its place; nothing is answered."""
    kvs = ("auto", "fp8", "nvfp4", "fp8_e5m2")
    rows = [
        {"sm": ("8.0", "9.0", "10.0")[n % 3], "kv_cache_dtype": kvs[n % 4], "head_size": 16 * (1 + n % 32)}
        for n in range(2 * LEAST + 7)
    ]
    (tmp_path / "all.jsonl").write_text(lines(*rows), encoding="utf-8")
    (tmp_path / "first.jsonl").write_text(lines(*rows[:LEAST]), encoding="utf-8")
    (tmp_path / "rest.jsonl").write_text(lines(*rows[LEAST:]), encoding="utf-8")
    together = process("check", "--batch", "all.jsonl", timeout=300)
    alone = [process("check", "--batch", name, timeout=300) for name in ("first.jsonl", "rest.jsonl")]
    assert together.stdout == "".join(done.stdout for done in alone)
    assert {together.returncode, *(done.returncode for done in alone)} == {1}
    (tmp_path / "all.jsonl").write_text(lines(*rows) + '{"sm": "9.0", "head_sise": 1}\n', encoding="utf-8")
    bad = process("check", "--batch", "all.jsonl", timeout=300)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith(f"all.jsonl:{2 * LEAST + 8}:15: unknown field 'head_sise'")


@pytest.mark.parametrize("defaults", [(), ("--head-size", "80", "--kv-cache-dtype", "fp8")])
def test_several_processes_answer_as_one_does(cli: Cli, monkeypatch: pytest.MonkeyPatch, defaults: tuple[str]) -> None:
    """Lines of backends in long runs, and of none; each process has kinds of many lines and of few."""
    chosen = random.Random(5)
    rows = [
        {"sm": sm, **named, "head_size": chosen.choice([64, 80, 256]), "num_qo_heads": 4 * chosen.randint(1, 5)}
        | ({"kv_cache_dtype": chosen.choice(["auto", "FP8", "nvfp4"])} if chosen.random() < 0.8 else {})
        | {"num_kv_heads": chosen.choice([1, 8]), "engine_version": "0.33.0"}
        for named in ({"backend": "FLASHINFER"}, {"backend": "TRITON_ATTN"}, {}, {"backend": "FLASH_ATTN"})
        for sm in ("8.6", "12.0")
        for _ in range(90)
    ]
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: range(3))
    together = cli("check", "--batch", "-", *defaults, stdin=lines(*rows))
    for least in (len(rows) // 2, len(rows) // 3):
        monkeypatch.setattr("compatcheck.cli.batch_parts.LEAST", least)
        done = cli("check", "--batch", "-", *defaults, stdin=lines(*rows))
        assert done.stdout.splitlines() == together.stdout.splitlines()
        assert (done.returncode, done.stderr) == (together.returncode, together.stderr)
    alone = [documents(cli("check", *defaults, "--batch", "-", stdin=lines(row)).stdout)[0] for row in rows[::60]]
    assert documents(together.stdout)[::60] == alone
