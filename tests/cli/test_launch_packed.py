"""TurboQuant caches: boundary layers keep the model's dtype, through the real command."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Cli
from tests.cli.test_launch_own_backends import at
from tests.cli.test_launch_unknowns import ask, codes

TURBO = ("--kv-cache-dtype", "turboquant_k8v4")
FORCED = (*TURBO, "--attention-backend", "TURBOQUANT")


def test_a_forced_backend_refuses_the_boundary_layers(cli: Cli) -> None:
    document = ask(cli, *at("9.0", "0.33.0"), "--", "vllm", "serve", "Qwen/Qwen3-8B", *FORCED)[1]
    assert document["verdict"] == "unsupported"
    found = {layer["kind"]: (layer["count"], layer["verdict"]) for layer in document["layers"]}
    assert found["boundary_attention"] == (4, "unsupported")
    assert found["full_attention"][0] == 32
    assert found["full_attention"][1] != "unsupported"


def test_selection_gives_them_another_backend(cli: Cli) -> None:
    document = ask(cli, *at("9.0", "0.33.0"), "--", "vllm", "serve", "Qwen/Qwen3-8B", *TURBO)[1]
    assert {layer["kind"]: layer["selected"] for layer in document["layers"]} == {
        "full_attention": "TURBOQUANT",
        "boundary_attention": "FLASH_ATTN",
    }


@pytest.mark.parametrize(("release", "refused"), [("0.20.2", True), ("0.21.0", False)])
def test_hybrid_models(cli: Cli, release: str, refused: bool) -> None:
    command = ("vllm", "serve", "Qwen/Qwen3-Next-80B-A3B-Instruct", *TURBO)
    document = ask(cli, *at("9.0", release), "--", *command)[1]
    assert ("launch-turboquant-hybrid" in codes(document, "unsupported")) is refused
    assert "boundary_attention" not in {layer["kind"] for layer in document["layers"]}


def test_unknown_layers_leave_a_forced_backend_open(cli: Cli) -> None:
    stated = (*at("9.0", "0.33.0"), "--head-size", "128")
    returncode, document = ask(cli, *stated, "--", "vllm", "serve", "org/unknown", *FORCED)
    assert (returncode, document["missing"]) == (3, ["whether the model is hybrid (its config.json)"])
