"""Code blocks of Markdown: what a terminal shows, lines of Windows, and other kinds of files."""

from __future__ import annotations

import pytest

from compatcheck.launch.files.markdown import Markdown


@pytest.mark.parametrize(
    ("language", "block", "said"),
    [
        ("console", "$ vllm serve m \\\n>   --kv-cache-dtype fp8 \\\n> -x\nINFO > y", "m --kv-cache-dtype fp8 -x"),
        ("", "user@host:~$ vllm serve m \\\n>--x", "m"),
        ("bash", "vllm serve m \\\n  > log.txt\nvllm list", "m"),
        ("powershell", "docker run --gpus all `\n  vllm/vllm-openai `\n  --model m", "--model m"),
        ("bat", "vllm serve m ^\n  --x", "m --x"),
        ("makefile", "KV = fp8\na:\n\tvllm serve m --x $(KV)", "m --x fp8"),
        ("just", "a kv='fp8':\n  vllm serve m --x {{kv}}", "m --x fp8"),
        ("ini", "[Service]\nExecStart=/bin/vllm serve m \\\n  --x", "m --x"),
        ("systemd", "[Container]\nImage=vllm/vllm-openai\nExec=--model m", "--model m"),
        ("ini", "# vllm\nvllm serve m", "m"),
    ],
)
def test_a_block_is_read_as_its_language_says(language: str, block: str, said: str) -> None:
    (launch,) = Markdown().launches(f"```{language}\n{block}\n```\n")
    assert " ".join(word.text for word in launch.words) == said


def test_a_shown_command_keeps_its_places() -> None:
    (launch,) = Markdown().launches("```\n$ vllm serve m \\\n>   --x\n```\n")
    assert [(word.line, word.column) for word in launch.words] == [(2, 14), (3, 5)]
