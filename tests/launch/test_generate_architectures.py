"""The generator of architectures over tiny wheels, and what the packaged table says of a model and a release."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from compatcheck.launch.architectures import not_implemented

SCRIPT = Path(__file__).parents[2] / "tools" / "generate_architectures.py"


def test_it_reads_tables_and_makes_spans(tmp_path: Path) -> None:
    tables = {"1.0": ["A"], "1.1": ["A", "B"], "1.2": ["B"]}
    for release, names in tables.items():
        folder = tmp_path / release / "vllm" / "model_executor" / "models"
        folder.mkdir(parents=True)
        body = "".join(f'    "{name}": ("file", "{name}"),\n' for name in names)
        (folder / "registry.py").write_text(f'_MODELS = {{\n{body}}}\n_GONE = {{"C": "0.9"}}\n', "utf-8")
    pairs = [f"{release}={tmp_path / release}" for release in tables]
    subprocess.run([sys.executable, str(SCRIPT), *pairs, "--out", str(tmp_path)], check=True, capture_output=True)
    found = json.loads((tmp_path / "architectures.json").read_text("utf-8"))
    assert found["architectures"] == {"A": [[None, "1.2"]], "B": [["1.1", None]]}


@pytest.mark.parametrize(
    ("config", "release", "expected"),
    [
        ({"model_type": "deepseek_v4"}, "0.19.1", "whether vLLM 0.19.1 runs DeepseekV4ForCausalLM (vLLM 0.20.0"),
        ({"model_type": "deepseek_v4"}, "0.20.0", None),
        ({"architectures": ["LlamaForCausalLM"]}, "0.18.1", None),
        ({"architectures": ["LlamaForSequenceClassification"]}, "0.33.0", None),
        ({"architectures": ["Own"]}, "0.33.0", "whether vLLM 0.33.0 runs Own (no covered release has it)"),
        ({"model_type": "own"}, "0.33.0", None),
    ],
)
def test_the_registry_of_a_release(config: dict[str, object], release: str, expected: str | None) -> None:
    found = not_implemented(config, release)
    assert found is None if expected is None else str(found).startswith(expected)
