"""While alternatives are looked for, a model's files are read once."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from compatcheck.launch import model_memory
from compatcheck.launch.command_line import launches_in_script
from compatcheck.launch.facts import read_changed, read_launch
from compatcheck.launch.judge import judge_launch
from compatcheck.launch.model_memory import ModelMemory
from compatcheck.launch.model_source import ModelError, ModelSource, find_model
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration

CONFIG = {"model_type": "qwen3", "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128}


def test_alternatives_read_no_file_again(loaded: LoadedMatrix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def find(name: str, directory: str | None = None) -> ModelSource | None:
        read.append(name)
        return find_model(name, directory)

    monkeypatch.setattr(model_memory, "find_model", find)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG), "utf-8")
    launch = launches_in_script(f"vllm serve {tmp_path} --attention-backend FLASHMLA")[0]
    given, memory = Configuration(sm="9.0", engine_version="0.33.0"), ModelMemory()
    facts = read_launch(loaded.matrix, launch, given, memory=memory)
    again = partial(read_changed, loaded.matrix, launch, given, memory=memory)
    assert judge_launch(loaded, facts, reread=again).lead.alternatives
    assert read == [str(tmp_path)]


def test_an_unreadable_file_stays_one(tmp_path: Path) -> None:
    memory = ModelMemory()
    (tmp_path / "config.json").write_text("{", "utf-8")
    for _ in range(2):
        with pytest.raises(ModelError, match="not JSON"):
            memory.find(str(tmp_path), None)
