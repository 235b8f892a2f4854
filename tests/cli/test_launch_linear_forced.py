"""A forced --linear-backend and checkpoints with layers quantised in several ways, through the real command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compatcheck.launch.linear_forced import has_kernel, table
from tests.cli.conftest import Cli
from tests.cli.test_launch_own_backends import at
from tests.cli.test_launch_unknowns import ask, codes

CODE = "launch-linear-backend-other-layers"
MODEL: dict[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "torch_dtype": "bfloat16",
    "hidden_size": 5120,
    "intermediate_size": 25600,
    "num_hidden_layers": 4,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
}
FP4 = {"num_bits": 4, "type": "float", "group_size": 16, "strategy": "tensor_group", "symmetric": True}
NVFP4 = {"weights": FP4, "input_activations": FP4}
FP8 = {
    "weights": {"num_bits": 8, "type": "float", "strategy": "channel", "symmetric": True},
    "input_activations": {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": True},
}
BLOCK = {**FP8, "weights": {**FP8["weights"], "strategy": "block"}}
W4A16 = {"weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}}
MXFP8 = {"weights": {"num_bits": 8, "type": "float", "strategy": "group", "group_size": 32, "symmetric": True}}


def checkpoint(tmp_path: Path, attention: dict[str, Any] | None, ignore: tuple[str, ...] = (), **more: Any) -> str:
    groups = {"group_0": {**NVFP4, "targets": ["re:.*mlp.*"]}}
    if attention is not None:
        groups["group_1"] = {**attention, "targets": ["re:.*self_attn.*", "re:.*linear_attn.*"]}
    quantization = {"quant_method": "compressed-tensors", "config_groups": groups, "ignore": ["lm_head", *ignore]}
    config = {**MODEL, "quantization_config": quantization, **more}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return str(tmp_path)


@pytest.mark.parametrize(
    ("release", "attention", "backend", "refused"),
    [
        ("0.22.0", FP8, "flashinfer_cudnn", "this layer type"),
        ("0.25.1", FP8, "flashinfer_cudnn", "this layer type"),
        ("0.27.1", FP8, "flashinfer_trtllm", "this layer type"),
        ("0.28.0", FP8, "flashinfer_cudnn", None),
        ("0.25.1", FP8, "cutlass", None),
        ("0.25.1", FP8, "marlin", None),
        ("0.25.1", BLOCK, "flashinfer_cudnn", "this layer type"),
        ("0.25.1", BLOCK, "flashinfer_cutlass", None),
        ("0.25.1", W4A16, "flashinfer_cutlass", "mixed-precision layers"),
        ("0.25.1", MXFP8, "cutlass", "MXFP8 layers"),
        ("0.25.1", MXFP8, "flashinfer_cutlass", None),
        ("0.25.1", None, "flashinfer_cudnn", None),
    ],
)
def test_layers_without_a_kernel_of_the_forced_backend(
    cli: Cli, tmp_path: Path, release: str, attention: dict[str, Any] | None, backend: str, refused: str | None
) -> None:
    folder = checkpoint(tmp_path, attention)
    document = ask(cli, *at("10.0", release), "--", "vllm", "serve", folder, "--linear-backend", backend)[1]
    found = [f["words"] for f in document["findings"] if f["code"] == CODE]
    words = f"--linear-backend={backend} was requested but no '{backend}' kernel exists for {refused}."
    assert found == ([words] if refused else [])
    if refused:
        assert document["verdict"] == "unsupported"
        offered = [alternative["changes"] for alternative in document["alternatives"]]
        assert ({"engine_version": "0.28.0"} in offered) is (backend != "flashinfer_trtllm")  # that has a fault itself
        assert ({"linear_backend": None} in offered) is (release != "0.22.0")  # so have all NVFP4 kernels there


def test_ignored_layers_are_16_bit(cli: Cli, tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, FP8, ("re:.*self_attn.*",))
    document = ask(cli, *at("10.0", "0.25.1"), "--", "vllm", "serve", folder, "--linear-backend", "flashinfer_cudnn")[1]
    assert CODE not in codes(document, "unsupported")


def test_layers_of_gated_delta_nets_count(cli: Cli, tmp_path: Path) -> None:
    folder = checkpoint(
        tmp_path, FP8, ("re:.*self_attn.*",), model_type="qwen3_next", layer_types=["linear_attention"] * 4
    )
    document = ask(cli, *at("12.0", "0.25.1"), "--", "vllm", "serve", folder, "--linear-backend", "flashinfer_cudnn")[1]
    assert CODE in codes(document, "unsupported")


@pytest.mark.parametrize(
    ("quantization", "refused"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, True),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, True),
        ({"quant_method": "gptq", "bits": 4, "sym": True}, True),
        (
            {
                "quant_method": "modelopt_mixed",
                "quant_algo": "MIXED_PRECISION",
                "quantized_layers": {
                    "model.layers.0.mlp.down_proj": {"quant_algo": "NVFP4"},
                    "model.layers.0.self_attn.o_proj": {"quant_algo": "FP8"},
                },
            },
            True,
        ),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, False),
    ],
)
def test_other_checkpoints(cli: Cli, tmp_path: Path, quantization: dict[str, Any], refused: bool) -> None:
    folder = checkpoint(tmp_path, None, quantization_config=quantization)
    document = ask(cli, *at("10.0", "0.25.1"), "--", "vllm", "serve", folder, "--linear-backend", "flashinfer_cudnn")[1]
    assert (CODE in codes(document, "unsupported")) is refused


def test_the_table_is_sorted_out_by_release() -> None:
    assert not has_kernel("humming", "fp8", "0.24.0")
    assert has_kernel("humming", "fp8", "0.25.0")
    assert has_kernel("triton", "integer", "0.23.0")
    assert not has_kernel("triton", "integer", "0.22.1")
    assert all(kind.list.startswith("_POSSIBLE_") for kind in table().kinds.values())
