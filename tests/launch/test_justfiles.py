"""Justfiles: what expressions, parameters, settings and exports make of the lines of recipes."""

from __future__ import annotations

import pytest

from compatcheck.launch.files.justfile import Justfile
from compatcheck.launch.model import Launch

SHEBANG = "a:\n    #!/usr/bin/env bash\n    export VLLM_A=1\n"
LINES = "a:\n    export VLLM_A=1\n"


def shown(launch: Launch) -> str:
    """Return the words, those that are open with a question mark in front of them."""
    return " ".join(f"?{word.text}" if word.dynamic else word.text or "''" for word in launch.words)


def one(text: str) -> Launch:
    (launch,) = Justfile().launches(text)
    return launch


@pytest.mark.parametrize(
    ("head", "recipe", "expected"),
    [
        ("kv := 'fp8'", "a:\n  vllm serve m --x {{kv}}", "m --x fp8"),
        ("x := 'a' + y\ny := \"b\\tc\"", "a:\n  vllm serve '{{x}}'", "ab\tc"),
        ("x := '/m' / 'q'", "a:\n  vllm serve {{x}}", "/m/q"),
        ("x := (\n  '--a ' + # one\n  '1'\n)", "a:\n  vllm serve m {{ x }}", "m --a 1"),
        ("extra := ''", "a:\n  vllm serve m {{extra}} --y", "m --y"),
        ("tag := env('TAG', 'v1')", "a:\n  vllm serve {{tag}}", "v1"),
        (
            "set dotenv-load\nt := env('T', 'v1')",
            "a:\n  vllm serve {{t}} {{env('T', 'v1')}}",
            "?{{ env('T', 'v1') }} ?{{ env('T', 'v1') }}",
        ),
        ("tag := env('TAG')", "a:\n  vllm serve {{tag}}", "?{{ env('TAG') }}"),
        ("n := `nproc`", "a:\n  vllm serve m --x {{n}}", "m --x ?`nproc`"),
        ("k := 'a'", "a:\n  vllm serve {{ if k == 'a' { 'm' } else { 'n' } }}", "m"),
        ("k := 'b'", "a:\n  vllm serve {{ if k == 'a' { 'm' } else if k != 'b' { 'o' } else { 'n' } }}", "n"),
        (
            "",
            "a k:\n  vllm serve m {{ if k == 'a' { '-x' } else { '' } }}",
            "m ?{{ if k == 'a' { '-x' } else { '' } }}",
        ),
        ("", "a:\n  vllm serve m '{{num_cpus()}}' {{{{x", "m ?{{ num_cpus() }} {{x"),
        ("", "a k='f:8' t=\"v:1\":\n  vllm serve m {{k}} {{t}}", "m f:8 v:1"),
        ("k := 'a'", "a k n=k o=(k + 'x'): b\n  vllm serve m {{k}} {{n}} {{o}}", "m ?{{k}} ?{{k}} ?{{k}}x"),
        ("d := 'a'", "a k=d *r='--z':\n  @-vllm serve m {{k}} {{r}}", "m a --z"),
        ("", "a *r:\n  vllm serve m {{quote(r)}}", "m ?{{r}}"),
        ("", "a:\n  vllm serve m \\\n    --x 1", "m --x 1"),
        ("", SHEBANG + "    A=1\n    vllm serve m $A", "m 1"),
        ("", "[script]\n" + LINES + "    A=1\n    vllm serve m $A", "m 1"),
        ("", LINES + "    A=1\n    vllm serve m $A", "m ?$A"),
        ("x := (", "a:\n  vllm serve m", "m"),
        ("x := x", "a:\n  vllm serve m {{x}}", "m ?{{x}}"),
    ],
)
def test_words(head: str, recipe: str, expected: str) -> None:
    text = f"{head}\n{recipe}\n" if head != "x := (" else f"{recipe}\n{head}\n"
    assert shown(one(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("export VLLM_A := '1'\nVLLM_B := '2'\na:\n  vllm serve m\n", {"VLLM_A": "1"}),
        ("set export\nV := '1'\na k='2':\n  vllm serve m\n", {"V": "1", "k": "2"}),
        ("set export := false\nV := '1'\na k='2':\n  vllm serve m\n", {}),
        ("set export\nunexport V\nV := '1'\na:\n  vllm serve m\n", {}),
        ("a $V='1' k='2':\n  vllm serve m\n", {"V": "1"}),
        ("a $V:\n  vllm serve m\n", {"V": "?{{V}}"}),
        ("export V := `date`\na:\n  vllm serve m\n", {"V": "?`date`"}),
        ("[env('V', '1')]\n[private]\na:\n  vllm serve m\nb:\n", {"V": "1"}),
        (f"{SHEBANG}    vllm serve m\n", {"VLLM_A": "1"}),
        (f"{LINES}    vllm serve m\n", {}),
        ("export V := '1'\na:\n  docker run vllm/vllm-openai:v0.25.1 --model m\n", {}),
        ("export V := '1'\na:\n  docker run -e V vllm/vllm-openai:v0.25.1 --model m\n", {"V": "1"}),
    ],
)
def test_environment(text: str, expected: dict[str, str]) -> None:
    words = one(text).environment
    assert {name: f"?{word.text}" if word.dynamic else word.text for name, word in words.items()} == expected


@pytest.mark.parametrize(
    ("head", "files", "elsewhere"),
    [
        ("set dotenv-load", [".env"], []),
        ("set dotenv-load := true", [".env"], []),
        ("set dotenv-load := false", [], []),
        ("set dotenv-required", [".env"], []),
        ("set dotenv-filename := 'prod' + '.env'", ["prod.env"], []),
        ('set dotenv-load\nset dotenv-path := "a/.env"', ["a/.env"], []),
        ("import 'common.just'\nmod x", [], ["common.just"]),
        ("import? 'local.just'", [], ["local.just"]),
    ],
)
def test_variables_from_elsewhere(head: str, files: list[str], elsewhere: list[str]) -> None:
    launch = one(f"{head}\na:\n  vllm serve m\n")
    assert [word.text for word in launch.env_files] == files
    assert [word.text for word in launch.elsewhere] == elsewhere
    inner = one(f"{head}\na:\n  docker run vllm/vllm-openai:v0.25.1 --model m\n")
    assert (inner.env_files, inner.elsewhere) == ((), ())  # a container has an environment of its own


def test_a_release_that_a_line_installs() -> None:
    version = one("a:\n  pip install vllm==0.30.0\n  vllm serve m\n").engine_version
    assert version is not None
    assert version.text == "0.30.0"


def test_a_script_of_another_language_is_none_of_a_shell() -> None:
    assert not Justfile().launches("a:\n    #!/usr/bin/env python3\n    vllm serve m\n")


def test_places() -> None:
    launch = one("kv := 'fp8'\na:\n    @vllm serve {{kv}} --x \\\n      {{kv}} --y\n")
    assert [(word.line, word.column) for word in launch.words] == [(3, 17), (3, 24), (4, 7), (4, 14)]
