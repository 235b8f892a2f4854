"""`compatcheck lint` as a user runs it: what it prints where, exit codes, and hostile files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ..matrix.samples import SMALL, planted

Run = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def lint(tmp_path: Path) -> Run:
    """Run the command in an empty directory that holds what the test wrote there."""

    def run(*arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
        return subprocess.run(
            [sys.executable, "-m", "compatcheck", "lint", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=timeout,
        )

    return run


def written(folder: Path, content: str | bytes, name: str = "m.yaml") -> str:
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def test_clean(lint: Run, tmp_path: Path) -> None:
    done = lint(written(tmp_path, SMALL))
    assert (done.returncode, done.stdout, done.stderr) == (0, "No problems in m.yaml.\n", "")


OVERLAY = "rules:\n  helpers-missing: {title: Ours}\n"


@pytest.mark.parametrize("order", [("compatcheck-site.yaml", "matrix.yaml"), ("matrix.yaml", "compatcheck-site.yaml")])
def test_the_matrix_is_found_in_whatever_order_pre_commit_names_the_files(
    order: tuple[str, str], lint: Run, tmp_path: Path
) -> None:
    written(tmp_path, SMALL, "matrix.yaml")
    written(tmp_path, OVERLAY, "compatcheck-site.yaml")
    done = lint(*order)
    assert (done.returncode, done.stdout) == (0, "No problems in matrix.yaml, compatcheck-site.yaml.\n")


def test_an_overlay_alone_is_one_of_the_working_directorys_matrix(lint: Run, tmp_path: Path) -> None:
    written(tmp_path, OVERLAY, "compatcheck-site.yaml")
    assert lint("compatcheck-site.yaml").returncode == 1  # the packaged matrix has no such rule to change
    written(tmp_path, "# ours\n" * 900 + SMALL, "matrix.yaml")
    assert lint("compatcheck-site.yaml").returncode == 0


def test_findings(lint: Run, tmp_path: Path) -> None:
    text = planted("extends: FLASH_ATTN", "extends: FLASH_ATTEN").replace("refuser: package", "refuser: pakage")
    done = lint(written(tmp_path, text))
    assert done.returncode == 1
    assert done.stdout == (
        "m.yaml:56:9: error: engines.vllm.backends.FLASHINFER.extends: there is no backend 'FLASH_ATTEN';"
        " did you mean FLASH_ATTN? [reference]\n"
        "m.yaml:97:5: error: rules.helpers-missing.refuser: expected one of advisory, engine, hardware, library,"
        " package, toolkit; found 'pakage'; did you mean package? [wrong-value]\n"
        "2 errors, 0 warnings in m.yaml.\n"
    )


def test_nightly_gap(lint: Run, tmp_path: Path) -> None:
    text = planted('"<0.6.15.dev0"', '"<0.6.15"').replace('">=0.6.15.dev0"', '">=0.6.15"')
    done = lint(written(tmp_path, text))
    assert done.returncode == 1
    assert "0.6.15.dev1 falls into none of helpers-missing, helpers-there [subject]" in done.stdout


def test_warnings_alone_are_fine(lint: Run, tmp_path: Path) -> None:
    done = lint(written(tmp_path, planted("    routes:\n", "    routes:\n      flash_attn.other: {title: o}\n")))
    assert done.returncode == 0
    assert "warning: engines.vllm.routes.flash_attn.other" in done.stdout
    assert done.stdout.endswith("0 errors, 1 warning in m.yaml.\n")


HOSTILE: dict[str, tuple[str | bytes, int, str]] = {
    "not YAML": ("a: [1\nb: 2\n", 2, "m.yaml:2:2: error: "),
    "tab": ("schema: 1\n\tsms: {}\n", 2, "m.yaml:2:1: error: "),
    "duplicate key": (
        planted("schema: 1\n", "schema: 1\nschema: 1\n"),
        2,
        "m.yaml:2:1: error: key 'schema' is already",
    ),
    "tag": (
        "schema: !!python/object/apply:os.system [touch pwned]\n",
        2,
        "m.yaml:1:9: error: tag tag:yaml.org,2002:py",
    ),
    "tag of a key": ("!!python/name:os.system schema: 1\n", 2, "m.yaml:1:1: error: tag "),
    "alias": ("schema: 1\nsms: &a {}\nrules: *a\n", 2, "error: anchors and aliases are not used"),
    "alias bomb": (
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 25)),
        2,
        "anchors and aliases are not used",
    ),
    "huge nesting": ("schema: " + "[" * 200_000, 2, "m.yaml:1:"),
    "deep blocks": ("\n".join(" " * n + "a:" for n in range(900)), 2, "nested deeper than"),
    "not UTF-8": (b"schema: 1\ntitle: \xff\xfe\n", 2, "m.yaml:2:8: error: not UTF-8"),
    "UTF-16": (SMALL.encode("utf-16"), 2, "not UTF-8"),
    "control character": (b"schema: 1\nsms: \x00\n", 2, "m.yaml:2:6: error: not readable as YAML"),
    "a list": ("- schema\n", 2, "m.yaml:1:1: error: a matrix is a mapping"),
    "a scalar": ("schema\n", 2, "a matrix is a mapping"),
    "two documents": ("schema: 1\n---\nschema: 1\n", 2, "m.yaml:2:1: error: "),
    "empty": ("", 1, "m.yaml:1:1: error: nothing is stated here"),
    "only a comment": ("# nothing\n", 1, "nothing is stated here"),
    "wrong types": (
        "schema: 1\nsms: []\nkv_cache_dtypes: 5\n",
        1,
        "m.yaml:2:1: error: sms: expected a mapping, found a list",
    ),
    "unknown key": (planted("kernels:\n", "kernel: {}\nkernels:\n"), 1, "unknown key 'kernel'; did you mean kernels?"),
    "not PEP 440": (planted('versions: "<=0.6.14"', 'versions: "0.6.x"'), 1, "'0.6.x' is not a PEP 440 range"),
    "release that is no version": (planted('"0.2.0": {fl', '"two": {fl'), 1, "'two' is not a PEP 440 version"),
    "SM that does not exist": (
        planted('sms: [8.x, "9.0"]', 'sms: [8.x, "9.9"]'),
        1,
        "'9.9' is neither a compute capability",
    ),
    "number too long": (SMALL + "x: " + "9" * 5000, 1, "quote it"),
    "yes for true": (planted("sms: true", "sms: yes"), 1, "yes is read as a boolean by YAML"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file(name: str, lint: Run, tmp_path: Path) -> None:
    content, code, says = HOSTILE[name]
    before = written(tmp_path, content)
    done = lint(before, timeout=30)
    assert (done.returncode, done.stderr) == (code, "")
    assert says in done.stdout
    assert "Traceback" not in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["m.yaml"]


@pytest.mark.parametrize("prefix", [b"", b"\xef\xbb\xbf"], ids=["plain", "BOM"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_byte_order_mark_and_line_ends(prefix: bytes, newline: str, lint: Run, tmp_path: Path) -> None:
    text = planted("refuser: package", "refuser: pakage").replace("\n", newline)
    done = lint(written(tmp_path, prefix + text.encode()))
    assert done.returncode == 1
    assert done.stdout.startswith("m.yaml:97:5: error: ")


def test_directory_missing_and_endless_files(lint: Run, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    done = lint("folder")
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        2,
        "folder: error: cannot be read: Is a directory [unreadable]",
    )
    assert lint("none.yaml").stdout.startswith("none.yaml: error: cannot be read: No such file or directory")
    done = lint("/dev/zero", timeout=20)
    assert (done.returncode, "larger than" in done.stdout) == (2, True)


def test_syntax_errors_of_all_files(lint: Run, tmp_path: Path) -> None:
    done = lint(written(tmp_path, "a: [1\n", "a.yaml"), "none.yaml", written(tmp_path, "b: !x 1\nc: }\n", "c.yaml"))
    assert done.returncode == 2
    assert [line.split(":")[0] for line in done.stdout.splitlines()[:-1]] == ["a.yaml", "none.yaml", "c.yaml"]


def test_overlay_alone_is_read_over_the_packaged_matrix(lint: Run, tmp_path: Path) -> None:
    good = 'sms:\n  "8.8": {family: 8.x, arch: own, gpus: [Card 1]}\n'
    assert lint(written(tmp_path, good, "site.yaml")).stdout.count("site.yaml:") == 0
    bad = "engines:\n  vllm:\n    backends:\n      FLASHINFER:\n        sinks: {backedn: FLASHINFER}\n"
    done = lint(written(tmp_path, bad, "site.yaml"))
    assert done.returncode == 1
    assert "site.yaml:5:17: error: engines.vllm.backends.FLASHINFER.sinks.backedn: unknown field" in done.stdout


def test_overlay_over_a_matrix(lint: Run, tmp_path: Path) -> None:
    overlay = 'engines:\n  vllm:\n    backends:\n      FLASH_ATTN:\n        changes: [{since: "0.9.0", sinks: true}]\n'
    done = lint(written(tmp_path, SMALL), written(tmp_path, overlay, "site.yaml"))
    assert done.returncode == 1
    assert done.stdout.startswith(
        "site.yaml:5:20: error: engines.vllm.backends.FLASH_ATTN.changes.2.since: 0.9.0 is not"
    )


def test_json(lint: Run, tmp_path: Path) -> None:
    done = lint("--format", "json", written(tmp_path, planted("refuser: package", "refuser: pakage")))
    document = json.loads(done.stdout)
    assert (done.returncode, document["schema"], document["files"], document["errors"]) == (1, 1, ["m.yaml"], 1)
    (problem,) = document["problems"]
    assert {key: problem[key] for key in ("file", "line", "column", "code", "severity")} == {
        "file": "m.yaml",
        "line": 97,
        "column": 5,
        "code": "wrong-value",
        "severity": "error",
    }


def test_sarif_and_github(lint: Run, tmp_path: Path) -> None:
    name = written(tmp_path, planted("refuser: package", "refuser: pakage"))
    (result,) = json.loads(lint("--format", "sarif", name).stdout)["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("wrong-value", "error")
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("m.yaml", 97)
    assert lint("--format", "github", name).stdout.startswith(
        "::error file=m.yaml,line=97,col=5,title=wrong-value::rules."
    )


def test_usage(lint: Run) -> None:
    done = lint("--format", "xml")
    assert done.returncode == 2
    assert "xml" in done.stderr
    assert done.stdout == ""


def test_packaged_matrix(lint: Run) -> None:
    done = lint("--format", "json")
    assert json.loads(done.stdout)["errors"] == 0
    assert done.returncode == 0


def test_a_part_is_checked_as_part_of_its_matrix(tmp_path: Path, lint: Run) -> None:
    (tmp_path / "matrix").mkdir()
    (tmp_path / "matrix.yaml").write_text("include: [matrix/rules.yaml]\n" + SMALL, "utf-8")
    rules = tmp_path / "matrix" / "rules.yaml"
    rules.write_text("rules: {}\n", encoding="utf-8")
    assert lint("matrix/rules.yaml").returncode == 0
    rules.write_text("rules: {broken: {title: Nothing else is said.}}\n", encoding="utf-8")
    found = lint("matrix/rules.yaml")
    assert found.returncode == 1
    assert found.stdout.startswith("matrix/rules.yaml:1:")
    alone = tmp_path / "matrix" / "other.yaml"  # which nobody includes: an overlay of the matrix here
    alone.write_text("rules: {broken: {title: Nothing else is said.}}\n", encoding="utf-8")
    assert "matrix/other.yaml:1:" in lint("matrix/other.yaml").stdout
