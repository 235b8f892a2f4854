"""Variables of a script of which a part is not known, what is started with eval, and arguments with a default."""

from __future__ import annotations

import pytest

from compatcheck.launch.command_line import launches_in_script
from compatcheck.launch.scan import ScanOptions, scan_text
from compatcheck.matrix.load import LoadedMatrix

BAD = "--kv-cache-dtype nvfp4 --attention-backend TRITON_ATTN"


def words(script: str) -> list[tuple[str, bool]]:
    (launch,) = launches_in_script(script)
    return [(word.text, word.dynamic) for word in launch.words]


@pytest.mark.parametrize(
    "script",
    [
        f'CMD="vllm serve Qwen/Qwen3-8B {BAD}"\neval "$CMD"',
        f'CMD="vllm serve Qwen/Qwen3-8B {BAD}"\neval $CMD',
        f'CMD="vllm serve Qwen/Qwen3-8B {BAD}"\nbash -c "$CMD"',
        f"eval 'vllm serve Qwen/Qwen3-8B {BAD}' ",
        f'sbatch -N 1 --wrap "vllm serve Qwen/Qwen3-8B {BAD}"',
        f'sbatch --wrap="vllm serve Qwen/Qwen3-8B {BAD}"',
        f'set -e\nCMD="vllm serve Qwen/Qwen3-8B"\nCMD+=" {BAD}"\n$CMD',
        'B=${1:-TRITON_ATTN}\nA=(--kv-cache-dtype nvfp4 --attention-backend "$B")\nvllm serve Qwen/Qwen3-8B "${A[@]}"',
        'B=${2:-"TRITON_ATTN"}\nvllm serve ${1:-Qwen/Qwen3-8B} --kv-cache-dtype ${KV:-nvfp4} --attention-backend $B',
    ],
)
def test_what_is_known_is_used(script: str) -> None:
    assert words(script) == [(word, False) for word in ["Qwen/Qwen3-8B", *BAD.split()]]


@pytest.mark.parametrize(
    "script",
    [
        f'CMD="vllm serve Qwen/Qwen3-8B"\n[ -n "$X" ] && CMD+=" --dtype $X"\nCMD+=" {BAD}"\nexec $CMD',
        f'CMD="vllm serve Qwen/Qwen3-8B"\nif test $X; then CMD+=" --dtype half"; fi\nCMD="$CMD {BAD}"\neval "$CMD"',
        f'O=""\nif [ -n "$B" ]; then O="$O --port $B"; fi\nO="$O {BAD}"\nvllm serve Qwen/Qwen3-8B $O',
        f'CMD="vllm serve Qwen/Qwen3-8B"\nif [ -n "$B" ]; then CMD="$CMD --port $B"; fi\nCMD="$CMD {BAD}"\n$CMD',
        f'CMD="vllm serve Qwen/Qwen3-8B $EXTRA {BAD}"\n$CMD',
        f'CMD="vllm serve Qwen/Qwen3-8B $(flags a b) {BAD}"\n$CMD',
        f'CMD="vllm serve Qwen/Qwen3-8B"\nfor x in a b; do CMD+=" --x $x"; done\nCMD+=" {BAD}"\nbash -c "$CMD"',
    ],
)
def test_a_part_that_is_not_known_leaves_the_rest(script: str, loaded: LoadedMatrix) -> None:
    found = words(script)
    assert found[0] == ("Qwen/Qwen3-8B", False)
    assert found[1][1]
    assert found[2:] == [(word, False) for word in BAD.split()]
    scan = scan_text(loaded, "run.sh", script + "\n", ScanOptions(), None)
    assert [d.code for d in scan.diagnostics] == ["selector-kv-cache-dtype"]
    open_ = scan_text(loaded, "run.sh", script.replace(BAD, "--seed 1") + "\n", ScanOptions(), None)
    assert [one.verdict for one in open_.launches] == ["unknown"]


def test_a_value_of_which_nothing_is_known_stays_open() -> None:
    assert words('M=$(pick)\nvllm serve $M --seed "$S"') == [("$M", True), ("--seed", False), ("$S", True)]
    assert words("vllm serve $1 --dtype ${2}")[0][1]
    assert not launches_in_script("CMD=$(build)\neval $CMD")
    assert not launches_in_script('eval "echo vllm serve x"')


@pytest.mark.parametrize(
    ("script", "verdict"),
    [
        ("vllm serve --model Qwen/Qwen3-8B $EXTRA", "unknown"),
        ("python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B $EXTRA", "unknown"),
        ("vllm serve --model Qwen/Qwen3-8B", "supported"),
        ("vllm serve --model Qwen/Qwen3-8B --port $PORT", "supported"),
    ],
)
def test_a_word_beside_the_model_may_hold_options(script: str, verdict: str, loaded: LoadedMatrix) -> None:
    (launch,) = scan_text(loaded, "run.sh", f"{script}\n", ScanOptions(), None).launches
    assert (launch.model, launch.verdict) == ("Qwen/Qwen3-8B", verdict)
