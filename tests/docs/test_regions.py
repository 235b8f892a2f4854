"""Regions of foreign Markdown: what is filled, what is left alone, what is refused and where."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compatcheck.cli.docs import docs
from compatcheck.docs.regions import fill
from compatcheck.docs.site import Site
from compatcheck.matrix.load import LoadedMatrix
from tests.docs.conftest import SMALL


def run(*arguments: str) -> Result:
    return CliRunner().invoke(docs, ["--matrix", str(SMALL), *arguments], standalone_mode=False)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "README.md"


def test_fill_check_and_fill_again(page: Path) -> None:
    page.write_text(
        "# A\n\n<!-- compatcheck:begin backends sm=9.0 kv=nvfp4 -->\nold\n<!-- compatcheck:end -->\n\nend",
        encoding="utf-8",
    )
    checked = run("--check", str(page))
    assert checked.return_value == 1
    assert "-old" in checked.stdout
    assert "| `FLASHINFER` | yes |" in checked.stdout
    assert run(str(page)).return_value == 1
    text = page.read_text(encoding="utf-8")
    assert text.startswith(
        "# A\n\n<!-- compatcheck:begin backends sm=9.0 kv=nvfp4 -->\n\nvLLM 0.33.0, FlashInfer 0.7.0"
    )
    assert text.endswith("|\n\n<!-- compatcheck:end -->\n\nend")
    assert run(str(page)).return_value == 0
    assert run("--check", str(page)).return_value == 0


def test_crlf_bom_and_everything_else_stay(page: Path) -> None:
    before = b"\xef\xbb\xbf# A\r\n\tkeep  \r\n<!-- compatcheck:begin releases -->\r\n"
    after = b"<!-- compatcheck:end -->\r\nlone\nlast \x0c line"
    page.write_bytes(before + after)
    page.chmod(0o600)
    assert run(str(page)).return_value == 1
    data = page.read_bytes()
    assert data.startswith(before)
    assert data.endswith(after)
    body = data[len(before) : -len(after)]
    assert b"| 0.33.0 | 0.7.0 | 2.14.0 | 13.0 |\r\n" in body
    assert body.count(b"\n") == body.count(b"\r\n")
    assert page.stat().st_mode & 0o777 == 0o600


def test_lone_carriage_returns_stay_what_ends_lines(page: Path) -> None:
    page.write_bytes(b"<!-- compatcheck:begin releases -->\r<!-- compatcheck:end -->\rlast")
    assert run(str(page)).return_value == 1
    data = page.read_bytes()
    assert b"| 0.33.0 | 0.7.0 | 2.14.0 | 13.0 |\r" in data
    assert b"\n" not in data
    assert run(str(page)).return_value == 0


def test_indented_region_keeps_its_indent(small: LoadedMatrix) -> None:
    site = Site(small, Path("docs"))
    begin = "  <!-- compatcheck:begin cell backend=FLASHINFER sm=H100 kv=nvfp4 head=64 -->\n"
    text = f"- item\n\n{begin}  <!-- compatcheck:end -->\n"
    filled = fill(text, "x.md", lambda: site)
    assert "\n  `FLASHINFER` with KV-cache dtype `nvfp4` and head size 64 on SM 9.0" in filled
    assert "degraded (`wrong-output-head-64`)." in filled


def test_code_blocks_are_passed_over(page: Path) -> None:
    text = "```markdown\n<!-- compatcheck:begin nothing -->\n```\n\n~~~~\n```\n<!-- compatcheck:end -->\n~~~~\n"
    page.write_text(text, encoding="utf-8")
    assert run(str(page)).return_value == 0
    assert page.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "text",
    [
        "1. item\n\n    ```markdown\n    <!-- compatcheck:begin nothing -->\n    ```\n",
        "```\n    ```\n<!-- compatcheck:begin nothing -->\n```\n",
        "~~~ a`b\n<!-- compatcheck:begin nothing -->\n~~~\n",
        "2. ```bash\n   <!-- compatcheck:begin nothing -->\n   ```\n",
        "> ```bash\n> <!-- compatcheck:begin nothing -->\n> ```\n",
    ],
)
def test_what_is_a_code_block(page: Path, text: str) -> None:
    page.write_text(text, encoding="utf-8")
    assert run(str(page)).return_value == 0


@pytest.mark.parametrize("opening", ["- ```sh", "2. ```bash", "* ~~~", "> - ```"])
def test_what_stands_behind_a_code_block_of_a_list_is_filled(page: Path, opening: str) -> None:
    mark = opening[-3:] if opening.endswith("~~~") else "```"
    end = f"> {mark}" if opening.startswith(">") else f"   {mark}"
    page.write_text(f"{opening}\n{end}\n\n<!-- compatcheck:begin releases -->\n<!-- compatcheck:end -->\n", "utf-8")
    assert run(str(page)).return_value == 1
    assert "0.33.0" in page.read_text(encoding="utf-8")


def test_inline_code_at_the_start_of_a_line_begins_no_code_block(page: Path) -> None:
    page.write_text(
        "```compatcheck docs``` fills:\n\n<!-- compatcheck:begin releases -->\n<!-- compatcheck:end -->\n", "utf-8"
    )
    assert run(str(page)).return_value == 1
    assert "0.33.0" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "line",
    [
        "Write `<!-- compatcheck:begin releases -->` on a line of its own.",
        "- ``<!-- compatcheck:begin NAME --> `x` `` and `<!-- compatcheck:end -->`",
    ],
)
def test_inline_code_may_speak_of_markers(page: Path, line: str) -> None:
    page.write_text(f"# A\n\n{line}\n", encoding="utf-8")
    assert run("--check", str(page)).return_value == 0


def test_a_name_that_is_missing_is_answered_with_some(page: Path) -> None:
    page.write_text("<!-- compatcheck:begin rule -->\n<!-- compatcheck:end -->\n", encoding="utf-8")
    refused = CliRunner().invoke(docs, [str(page)], standalone_mode=False)
    assert refused.return_value == 2
    assert " more" in refused.stderr


def test_a_link_to_a_file_stays_one(page: Path, tmp_path: Path) -> None:
    page.write_text("<!-- compatcheck:begin releases -->\n<!-- compatcheck:end -->\n", encoding="utf-8")
    link = tmp_path / "link.md"
    link.symlink_to(page.name)
    assert run(str(link)).return_value == 1
    assert link.is_symlink()
    assert "0.33.0" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name",
    [
        "backends",
        "kv-dtypes",
        "releases",
        "rule code=old-library",
        "backends kv=any kind=mla-sparse",
        "linear",
        "linear sm=9.x layer=w4a16 release=0.32.0 flashinfer=0.7.0",
        "linear-kernels",
        "linear-kernels sm=H100 layer=W4A4",
    ],
)
def test_every_region_fills(small: LoadedMatrix, name: str) -> None:
    site = Site(small, Path("docs"))
    filled = fill(f"<!-- compatcheck:begin {name} -->\n<!-- compatcheck:end -->\n", "x.md", lambda: site)
    assert "\n| --- |" in filled


def test_linear_regions_say_what_is_picked_and_what_asking_gives(small: LoadedMatrix) -> None:
    site = Site(small, Path("docs"))

    def filled(name: str) -> str:
        return fill(f"<!-- compatcheck:begin {name} -->\n<!-- compatcheck:end -->\n", "x.md", lambda: site)

    picked = filled("linear")
    assert "vLLM 0.33.0, FlashInfer 0.7.0, NVFP4 linear layers:" in picked
    assert "| 9.0 | `Late` weight-only: degraded | `Late` weight-only: yes |" in picked
    assert "| 11.0 | `Fast` native: ? |" in picked
    assert "| 12.0 | `Fast` native: fails |" in filled("linear layer=w4a4 flashinfer=0.6.14")
    kernels = filled("linear-kernels")
    assert "| `LateNvFp4LinearKernel` | degraded | no | no |" in kernels
    assert "FastNvFp4LinearKernel" not in filled("linear-kernels layer=w4a16")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "a\n<!-- compatcheck:begin backend -->\n<!-- compatcheck:end -->\n",
            ":2: no region is called 'backend'; did you mean backends?",
        ),
        (
            "a\n<!-- compatcheck:begin zzz -->\n<!-- compatcheck:end -->\n",
            ":2: no region is called 'zzz'; there are: backends, cell",
        ),
        ("<!-- compatcheck:begin -->\n<!-- compatcheck:end -->\n", ":1: a region needs a name"),
        ("a\n\n<!-- compatcheck:begin releases -->\n", ":3: the region releases is never closed"),
        ("<!-- compatcheck:end -->\n", ":1: this ends a region that no line begins"),
        (
            "<!-- compatcheck:begin releases -->\n<!-- compatcheck:begin releases -->\n<!-- compatcheck:end -->\n",
            ":2: a region inside the region that line 1 begins",
        ),
        ("text <!-- compatcheck:begin releases --> text\n", ":1: not a marker"),
        ("<!-- compatcheck:start releases -->\n", ":1: not a marker"),
        (
            "<!-- compatcheck:begin backends sm -->\n<!-- compatcheck:end -->\n",
            ":1: 'sm' is not an argument; write key=value",
        ),
        ("<!-- compatcheck:begin backends sm=9.0 sm=9.0 -->\n<!-- compatcheck:end -->\n", ":1: sm is given twice"),
        (
            "<!-- compatcheck:begin backends gpu=9.0 -->\n<!-- compatcheck:end -->\n",
            ":1: backends takes no gpu; it takes: sm, kv",
        ),
        (
            "<!-- compatcheck:begin backends sm=9.9 -->\n<!-- compatcheck:end -->\n",
            ":1: backends: sm: '9.9' is neither",
        ),
        ("<!-- compatcheck:begin rule code=old-librari -->\n<!-- compatcheck:end -->\n", "did you mean old-library?"),
        (
            "<!-- compatcheck:begin linear layer=w8a8 -->\n<!-- compatcheck:end -->\n",
            ":1: linear: layer=w8a8 is not known; there are: w4a4, w4a16",
        ),
        (
            "<!-- compatcheck:begin cell backend=PLAIN -->\n<!-- compatcheck:end -->\n",
            ":1: cell: sm=(nothing) has to be one SM or GPU; there are: 9.0, 11.0, 12.0",
        ),
        (
            "<!-- compatcheck:begin cell backend=PLAIN sm=9.0,12.0 -->\n<!-- compatcheck:end -->\n",
            ":1: cell: sm=9.0,12.0 has to be one SM or GPU; there are: 9.0, 12.0",
        ),
        ("\x0ca\u2028b\n\n<!-- compatcheck:end -->\n", ":3: this ends a region that no line begins"),
        ("a\u2028<!-- compatcheck:begin releases -->\n<!-- compatcheck:end -->\n", ":1: not a marker"),
        (
            "a\n```sh\n\n<!-- compatcheck:begin releases -->\n<!-- compatcheck:end -->\n",
            ":2: this code block is never closed, and line 4 is a marker inside it",
        ),
        ("<!-- compatcheck:begin rule 'x -->\n<!-- compatcheck:end -->\n", ":1: the arguments cannot be read"),
    ],
)
def test_errors_have_their_place_and_write_nothing(page: Path, text: str, said: str) -> None:
    page.write_text(text, encoding="utf-8")
    result = run(str(page))
    assert result.return_value == 2
    assert f"{page}" in result.stderr
    assert said in result.stderr
    assert page.read_text(encoding="utf-8") == text


def test_one_bad_file_does_not_keep_others_from_being_filled(page: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.md"
    bad.write_bytes(b"ok\n\xff\xfe <!-- compatcheck:begin releases -->\n")
    page.write_text("<!-- compatcheck:begin releases -->\n<!-- compatcheck:end -->\n", encoding="utf-8")
    result = run(str(bad), str(page), str(tmp_path / "absent.md"))
    assert result.return_value == 2
    assert "bad.md:2: not UTF-8" in result.stderr
    assert "absent.md: cannot be read: No such file or directory" in result.stderr
    assert "0.33.0" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("data", [b"# plain\n", b"caf\xe9\n"])
def test_a_file_without_regions_loads_no_matrix(page: Path, data: bytes) -> None:
    page.write_bytes(data)
    result = CliRunner().invoke(docs, ["--matrix", "no/such/matrix.yaml", str(page)], standalone_mode=False)
    assert result.return_value == 0
