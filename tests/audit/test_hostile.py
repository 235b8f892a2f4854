"""Hostile and broken wheels: refused with the member's name and exit code 2, or that file alone not understood."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from compatcheck.audit import limits
from compatcheck.audit.archives import ReleaseError, WheelFiles
from compatcheck.audit.messages import Request, Source
from compatcheck.audit.reader import read
from compatcheck.audit.trees import TreeFiles
from compatcheck.cli.audit import audit
from tests.audit.release import ENGINE, LIBRARY, matrix, nothing_acknowledged, planted, wheel

NAME = "vllm-0.3.0-py3-none-any.whl"


def refused(folder: Path, path: Path, *options: str) -> str:
    """Return what the command says as it refuses."""
    (folder / "none").mkdir(exist_ok=True)
    shared = [
        "--matrix",
        str(matrix(folder)),
        "--acknowledged",
        str(nothing_acknowledged(folder)),
        "--evidence",
        str(folder / "none"),
    ]
    done = CliRunner().invoke(audit, ["--wheel" if path.is_file() else "--tree", str(path), *shared, *options])
    assert done.exit_code == 2, (done.output, done.exception)
    assert "Traceback" not in done.output
    return done.stderr


def with_member(folder: Path, member: zipfile.ZipInfo, data: bytes = b"x = 1\n") -> Path:
    path = wheel(folder, ENGINE)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, data)
    return path


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("vllm/../../evil.py", "leads out of the wheel"),
        ("/etc/evil.py", "is no relative path"),
        ("vllm\\evil.py", "is no relative path"),
        ("C:/evil.py", "is no relative path"),
    ],
)
def test_names_that_lead_elsewhere(tmp_path: Path, name: str, why: str) -> None:
    said = refused(tmp_path, with_member(tmp_path, zipfile.ZipInfo(name)))
    assert why in said
    assert repr(name) in said


def test_a_symbolic_link(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("vllm/link.py")
    link.external_attr = 0o120777 << 16
    assert "'vllm/link.py' is a symbolic link" in refused(tmp_path, with_member(tmp_path, link, b"/etc/passwd"))


def test_a_name_that_is_there_twice(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = with_member(tmp_path, zipfile.ZipInfo("vllm/envs.py"))
    assert "'vllm/envs.py' is there twice" in refused(tmp_path, path)


def test_a_zip_bomb(tmp_path: Path) -> None:
    bomb = zipfile.ZipInfo("vllm/bomb.py")
    bomb.compress_type = zipfile.ZIP_DEFLATED
    said = refused(tmp_path, with_member(tmp_path, bomb, b"#" * (8 << 20)))
    assert "'vllm/bomb.py' would grow" in said
    assert "zip bomb" in said


def test_a_size_that_is_a_lie(tmp_path: Path) -> None:
    """The directory says that a member is small, its data are not: what is unpacked counts, and stops early."""
    path = with_member(tmp_path, zipfile.ZipInfo("vllm/liar.py"), b"y" * 100)
    data = bytearray(path.read_bytes())
    at = data.rfind(b"PK\x01\x02", 0, data.rfind(b"vllm/liar.py"))
    struct.pack_into("<I", data, at + 24, 7)
    path.write_bytes(data)
    with pytest.raises(ReleaseError, match=r"'vllm/liar\.py' cannot be unpacked"):
        WheelFiles(path).raw("vllm/liar.py")


def test_too_many_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MEMBERS", 5)
    with pytest.raises(ReleaseError, match=r"members; at most 5 are looked at"):
        WheelFiles(wheel(tmp_path, ENGINE))


def test_too_much_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TEXTS", 2000)
    files = WheelFiles(wheel(tmp_path, ENGINE))

    def read_all() -> None:
        for name in sorted(files.names):
            files.text(name)

    with pytest.raises(ReleaseError, match="makes more than"):
        read_all()


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    path = wheel(tmp_path, ENGINE)
    path.write_bytes(path.read_bytes()[:-200])
    assert f"{NAME}: no zip archive, or cut off" in refused(tmp_path, path)


def test_damaged_data(tmp_path: Path) -> None:
    path = wheel(tmp_path, ENGINE)
    data = bytearray(path.read_bytes())
    at = data.find(b"vllm/config/cache.py") + len("vllm/config/cache.py") + 4
    data[at : at + 8] = b"\xff" * 8
    path.write_bytes(data)
    assert "'vllm/config/cache.py' cannot be unpacked" in refused(tmp_path, path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (None, "no .dist-info/METADATA in it"),
        (("Name: vllm", "Name: torch"), "METADATA says that this is 'torch', not 'vllm'"),
        (("Version: 0.3.0", "Version: 0.4.0"), "METADATA says version 0.4.0, not 0.3.0"),
        (("Version: 0.3.0", "Version: new"), "names no version that follows PEP 440: 'new'"),
        (("Version: 0.3.0\n", ""), "names no version that follows PEP 440: None"),
    ],
)
def test_metadata(tmp_path: Path, change: tuple[str, str] | None, why: str) -> None:
    metadata = "vllm-0.3.0.dist-info/METADATA"
    path = wheel(tmp_path, ENGINE, changed={metadata: change} if change else None)
    if change is None:
        path = tmp_path / NAME
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in ENGINE.items():
                if name != metadata:
                    archive.writestr(name, text)
    assert why in refused(tmp_path, path)


def test_a_wheel_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "torch-2.0-py3-none-any.whl"
    path.write_bytes(b"")
    assert "no wheel of vllm or flashinfer-python" in refused(tmp_path, path)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no metadata of vllm or flashinfer-python in it" in refused(tmp_path, empty)


def test_a_huge_file_is_not_understood_and_named(tmp_path: Path) -> None:
    huge = {"vllm/v1/attention/backends/plain.py": ("\n\nclass", f"\n# {'x' * limits.TEXT}\n\nclass")}
    said = refused(tmp_path, wheel(tmp_path, ENGINE, changed=huge))
    assert "'vllm/v1/attention/backends/plain.py' would grow" in said


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "(" * 5000 + "1" + ")" * 5000,
        "x = " + "-" * 60_000 + "1",
        "x = " + "a." * 60_000 + "a",
        "x = 1 +\n" * 3,
        "\0",
    ],
    ids=["brackets", "signs", "attributes", "syntax", "nul"],
)
def test_text_that_breaks_parsers_is_that_file_alone(tmp_path: Path, text: str) -> None:
    file = "vllm/v1/attention/backends/plain.py"
    said = read(
        Request(
            vllm=Source(
                path=str(wheel(tmp_path, ENGINE, changed={file: ("class PlainBackend", f"{text}\nclass PlainBackend")}))
            ),
            sms=["9.0"],
            kv_cache_dtypes=["auto"],
            symbols=[],
        )
    )
    assert said.vllm is not None
    plain, gated = said.vllm.backends["PLAIN"], said.vllm.backends["GATED"]
    assert file in said.vllm.unreadable or plain.checks, (
        "either it is named as unreadable, or it could be read after all"
    )
    if file in said.vllm.unreadable:
        assert [gate.file for gate in plain.strange] == [file]
    assert gated.checks["sm"].paths


@pytest.mark.parametrize(
    "body",
    [
        "while True:\n            pass",
        "return cls.supports_sink()",
        "return [0] * 10**12 == 1",
        "return 'x' * 10**12 == 1",
        "return (1 << 10**9) == 1",
    ],
    ids=["loop", "recursion", "list", "text", "shift"],
)
def test_text_that_never_ends_is_not_understood(tmp_path: Path, body: str) -> None:
    file = "vllm/v1/attention/backends/plain.py"
    method = f"    @classmethod\n    def supports_sink(cls):\n        {body}\n\n    @staticmethod"
    said = read(
        Request(
            vllm=Source(path=str(wheel(tmp_path, ENGINE, changed={file: ("    @staticmethod", method)}))),
            sms=["9.0"],
            kv_cache_dtypes=["auto"],
            symbols=[],
        )
    )
    assert said.vllm is not None
    (path,) = said.vllm.backends["PLAIN"].checks["has_sink"].paths
    assert path.gate is not None or path.raises is not None


def test_a_process_that_takes_too_long_names_the_member(tmp_path: Path) -> None:
    path = wheel(tmp_path, LIBRARY)
    request = Request(flashinfer=Source(path=str(path)), sms=[], kv_cache_dtypes=[], symbols=["flashinfer.page:append"])
    with pytest.raises(ReleaseError, match="took longer than 0 s and was stopped"):
        read(request, seconds=0)


def test_nothing_of_a_release_is_imported(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    bad = f"open({str(marker)!r}, 'w').close()\n"
    said = read(
        Request(
            vllm=Source(
                path=str(
                    wheel(tmp_path, {**ENGINE, "vllm/__init__.py": bad, "vllm/envs.py": bad + ENGINE["vllm/envs.py"]})
                )
            ),
            flashinfer=Source(path=str(wheel(tmp_path, {**LIBRARY, "flashinfer/__init__.py": bad}))),
            sms=["9.0"],
            kv_cache_dtypes=["auto"],
            symbols=["flashinfer.page:append"],
        )
    )
    assert said.vllm is not None
    assert not marker.exists()


def test_a_tree_is_read_like_its_wheel_and_links_out_of_it_are_not_followed(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for name, text in {**ENGINE, **planted(ENGINE, {})}.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8")
    secret = tmp_path / "secret.py"
    secret.write_text("x = 1\n", encoding="utf-8")
    (tree / "vllm" / "linked.py").symlink_to(secret)
    files = TreeFiles(tree, "vllm")
    assert "vllm/envs.py" in files.names
    with pytest.raises(Exception, match="leads out of the folder"):
        files.text("vllm/linked.py")
