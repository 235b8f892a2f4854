"""Shell text into words with their places; nothing is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compatcheck.launch.words import commands


def texts(script: str) -> list[list[str]]:
    return [[word.text for word in command] for command in commands(script)]


def test_quotes_escapes_continuations_and_comments() -> None:
    script = 'a \'b c\' "d\\"e" f\\ g \\\n  h # not this\ni'
    assert texts(script) == [["a", "b c", 'd"e', "f g", "h"], ["i"]]


def test_places_count_from_one() -> None:
    command = next(commands("  vllm serve \\\n    --dtype 'half'"))
    assert [(word.line, word.column) for word in command] == [(1, 3), (1, 8), (2, 5), (2, 13)]


def test_operators_and_redirections_end_or_leave_a_command() -> None:
    assert texts("a 1 > out.log 2>&1 && b | c; d &") == [["a", "1"], ["b"], ["c"], ["d"]]


def test_here_documents_are_skipped() -> None:
    assert texts("cat <<EOF > f\nvllm serve x\nEOF\nb") == [["cat"], ["b"]]


def test_variables_of_the_text() -> None:
    assert texts('M=a/b\nARGS="--x 1 --y"\nrun $M "$ARGS" $ARGS ${Z:-z}')[-1] == [
        "run",
        "a/b",
        "--x 1 --y",
        "--x",
        "1",
        "--y",
        "z",
    ]


def test_a_variable_that_a_branch_sets_is_not_known() -> None:
    script = 'if [ "$A" = 1 ]; then\n  K=fp8\nelse\n  K=auto\nfi\nrun $K'
    last = list(commands(script))[-1]
    assert last[1].dynamic


@pytest.mark.parametrize("word", ["$(nproc)", "`id`", "$UNSET", "${A[0]}", "<head_node_ip>"])
def test_what_only_the_shell_knows_is_marked(word: str) -> None:
    assert next(commands(f"run {word}"))[1].dynamic


@pytest.mark.parametrize("use", ["$A", '"$A"', '"${A}$A"', "${B[@]}", '"${B[@]}"', "${C:-$A}"])
def test_what_a_text_expands_is_bounded(use: str) -> None:
    script = f"A={'x' * 900}\nA=$A$A$A$A\nA=$A$A$A$A\nB=({'yy ' * 1900})\n" + f"run {use}\n" * 3_000
    assert sum(len(word.text) for command in commands(script) for word in command) < 5_000_000


@settings(max_examples=400, deadline=None)
@given(st.text(alphabet="ab $'\"\\\n#<>|&;(){}`=-EOF", max_size=60))
def test_any_text_is_read_without_a_crash(text: str) -> None:
    for command in commands(text):
        assert command
        assert all(word.line >= 1 and word.column >= 1 for word in command)


def test_nothing_is_run(tmp_path: Path) -> None:
    target = tmp_path / "made"
    for script in (f"$(touch {target})", f"`touch {target}`", f"touch {target}", f"X=$(touch {target}) vllm serve m"):
        list(commands(script))
    assert not target.exists()
