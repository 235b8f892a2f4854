"""Files that a script sources: what they hold is not known, unless all it does is set up a shell or an interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest

from compatcheck.launch.scan import ScanOptions, scan_text
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration

GIVEN = ScanOptions(given=Configuration(sm="9.0", engine_version="0.33.0"), strict=True)
SERVE = "vllm serve Qwen/Qwen3-8B"


def missing(loaded: LoadedMatrix, script: str, directory: str | None = None) -> str:
    scan = scan_text(loaded, "run.sh", f"{script}\n", GIVEN, directory)
    (launch,) = scan.launches
    unknown = [d.message for d in scan.diagnostics if d.code == "unknown"]
    return unknown[0].removeprefix("The verdict is unknown: ").removesuffix(".") if unknown else launch.verdict


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("source env.sh", "what env.sh holds"),
        (". ./common/env.sh", "what ./common/env.sh holds"),
        ('source "$(dirname "$0")/lib.sh"', 'what $(dirname "$0")/lib.sh holds'),
        ("[ -f .env ] && source .env", "what .env holds"),
        ("if [ -f x.sh ]; then . x.sh; fi", "what x.sh holds"),
        ("load() { . x.sh; }\nload", "what x.sh holds"),
        ('eval "$(./flags)"', "what $(./flags) holds"),
        ("(. x.sh)", "supported"),
        ("load() { . x.sh; }", "supported"),
        ("source .venv/bin/activate", "supported"),
        ("source <venv>/bin/activate", "supported"),
        ('. "$HOME/.cargo/env"', "supported"),
        ("source /opt/conda/etc/profile.d/conda.sh && conda activate vllm", "supported"),
        ("source /etc/profile.d/modules.sh\nmodule load cuda/12.9", "supported"),
        ("source ~/.bashrc", "supported"),
        ("source /opt/intel/oneapi/setvars.sh", "supported"),
        ('eval "$(conda shell.bash hook)"', "supported"),
    ],
)
def test_what_is_sourced(before: str, said: str, loaded: LoadedMatrix) -> None:
    assert missing(loaded, f"{before}\n{SERVE}") == said


def test_it_may_change_what_was_set_before_and_nothing_behind(loaded: LoadedMatrix) -> None:
    script = f"KV=nvfp4 B=TRITON_ATTN\nsource x.sh\n{SERVE} --kv-cache-dtype $KV --attention-backend $B"
    assert missing(loaded, script) == "kv_cache_dtype, backend, what x.sh holds"
    scan = scan_text(loaded, "run.sh", script.replace("source x.sh\n", "") + "\n", GIVEN, None)
    assert [one.verdict for one in scan.launches] == ["unsupported"]


def test_a_container_knows_nothing_of_it(loaded: LoadedMatrix) -> None:
    assert missing(loaded, "source x.sh\ndocker run vllm/vllm-openai:v0.33.0 --model Qwen/Qwen3-8B") == "supported"


def test_a_file_of_variables_is_read_where_it_may_be(loaded: LoadedMatrix, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("VLLM_MLA_DISABLE=1\n", "utf-8")
    script = f"set -a\nsource .env\nset +a\n{SERVE}"
    assert missing(loaded, script, str(tmp_path)) == "supported"
    assert missing(loaded, script) == "the variables in .env"
    assert missing(loaded, f"source .env\n{SERVE}", str(tmp_path)) == "what .env holds"
