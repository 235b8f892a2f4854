from __future__ import annotations

import pytest

from compatcheck.host.environment import PATHS, VALUES, collect_environment


def test_only_the_variables_that_matter_are_recorded() -> None:
    assert collect_environment({"HOME": "/home/somebody", "NO_COLOR": "1", "PATH": "/bin"}) == {}


@pytest.mark.parametrize("name", PATHS)
def test_a_path_is_recorded_as_set_and_withheld(name: str) -> None:
    assert collect_environment({name: "relative-and-harmless"}) == {name: None}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_is_recorded_unless_it_could_name_something_private(name: str) -> None:
    plain = "0,1"
    assert collect_environment({name: plain}) == {name: plain}
    for private in ("/secret/place", "C:\\place", "9" * 201, "a\nb"):
        assert collect_environment({name: private}) == {name: None}, private


def test_uuids_are_withheld() -> None:
    assert collect_environment({"CUDA_VISIBLE_DEVICES": "GPU-8932f937"}) == {"CUDA_VISIBLE_DEVICES": None}
    assert collect_environment({"CUDA_VISIBLE_DEVICES": ""}) == {"CUDA_VISIBLE_DEVICES": ""}


def test_the_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_BATCH_INVARIANT", "1")
    assert collect_environment()["VLLM_BATCH_INVARIANT"] == "1"
