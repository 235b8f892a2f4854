"""Shell texts in which another program fills in values: what stands there is open, at its place, and no refusal."""

from __future__ import annotations

import pytest

from compatcheck.launch.files.registry import reader_for
from compatcheck.launch.model import Launch


def read(name: str, text: str) -> list[Launch]:
    reader = reader_for(name, text)
    assert reader is not None
    return reader.launches(text)


def words(launch: Launch) -> list[str]:
    return [("?" if word.dynamic else "") + word.text for word in launch.words]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "{{ model }} --kv-cache-dtype {{kv | default('a b')}} --x",
            ["?{{ model }}", "?{{kv | default('a b')}}", "--x"],
        ),
        ("m --kv-cache-dtype __KV__ --port @PORT@ -x %KV%", ["m", "?__KV__", "--port", "?@PORT@", "-x", "?%KV%"]),
        ("m --kv-cache-dtype {kv}", ["m", "?{kv}"]),
        ("m --chat-template '{{ a }}'", ["m", "--chat-template", "?{{ a }}"]),
        ("m {% if x %}--enforce-eager{% endif %} --y", ["m", "?{% if x %}", "--y"]),
    ],
)
@pytest.mark.parametrize(("name", "frame"), [("a.sh", "{}"), ("a.md", "x\n```bash\n{}\n```\n")])
def test_what_is_filled_in_is_open(name: str, frame: str, given: str, said: list[str]) -> None:
    (launch,) = read(name, frame.format(f"vllm serve {given}"))
    assert [word for word in words(launch) if word != "--kv-cache-dtype"] == said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.sh.j2", "vllm serve {{ m }}"),
        ("a.container.j2", "[Container]\nImage={{ i }}\nExec=vllm serve {{ m }}"),
        ("a.service.tmpl", "[Service]\nExecStart=vllm serve {{ m }}"),
    ],
)
def test_a_template_of_a_file_is_read_as_one(name: str, text: str) -> None:
    (launch,) = read(name, text)
    assert words(launch) == ["?{{ m }}"]


def test_a_copy_of_a_file_is_none() -> None:
    assert reader_for("run.sh.orig", "vllm serve m") is None
    assert reader_for("a.py.j2", "from vllm import LLM") is None


def test_what_stands_behind_a_template_keeps_its_place() -> None:
    (launch,) = read("a.sh", "# {{ x }}\nX={{ y\n}} vllm serve {{ m }} --a \\\n  {{ b }} --c\n")
    assert [(word.text, word.line, word.column) for word in launch.words] == [
        ("{{ m }}", 3, 15),
        ("--a", 3, 23),
        ("{{ b }}", 4, 3),
        ("--c", 4, 11),
    ]
