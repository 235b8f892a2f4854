"""The linear side of a launch, through the real command: scheme, K and N on a rank, the kernel and its choice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli

HERE = {"HF_HOME": "/nonexistent", "HF_HUB_CACHE": "/nonexistent"}
LLAMA = {
    "model_type": "llama",
    "hidden_size": 8192,
    "intermediate_size": 29568,
    "num_hidden_layers": 4,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
}
FP4 = {"num_bits": 4, "type": "float", "group_size": 16, "strategy": "tensor_group", "symmetric": True}
MODELOPT = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}


def compressed(activations: Any, ignore: list[str], targets: list[str] | None = None) -> dict[str, Any]:
    group = {"weights": FP4, "input_activations": activations, "targets": targets or ["Linear"]}
    return {
        "quant_method": "compressed-tensors",
        "format": "nvfp4-pack-quantized",
        "ignore": ignore,
        "config_groups": {"g": group},
    }


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "m").mkdir()
    return tmp_path / "m"


def write(model: Path, quantization: dict[str, Any] | None, **more: Any) -> None:
    config = LLAMA | more | ({"quantization_config": quantization} if quantization else {})
    (model / "config.json").write_text(json.dumps(config), "utf-8")


def ask(cli: Cli, sm: str, release: str, *words: str, before: tuple[str, ...] = ()) -> tuple[int, dict[str, Any]]:
    at = ("check", "--no-host", "--sm", sm, "--vllm", release, "--no-alternatives", "--format", "json", *before)
    done = cli(*at, "--", *words, **HERE)
    return done.returncode, json.loads(done.stdout)


def layers(document: dict[str, Any]) -> dict[str, tuple[str, int | None, int | None]]:
    return {
        name: (entry["scheme"], entry["in_features"], entry["out_features"])
        for entry in document["linear_layers"]
        for name in entry["layers"]
    }


def test_sizes_on_a_rank(cli: Cli, model: Path) -> None:
    write(model, MODELOPT)
    document = ask(cli, "10.0", "0.33.0", "vllm", "serve", "m", "-tp", "8")[1]
    assert layers(document) == {
        "qkv_proj": ("nvfp4_w4a4", 8192, 1280),
        "o_proj": ("nvfp4_w4a4", 1024, 8192),
        "gate_up_proj": ("nvfp4_w4a4", 8192, 7392),
        "down_proj": ("nvfp4_w4a4", 3696, 8192),
    }
    shell = ask(cli, "10.0", "0.33.0", "vllm serve m -tp $N")[1]
    assert set(layers(shell).values()) == {("nvfp4_w4a4", None, None)}


def test_the_worst_leads(cli: Cli, model: Path) -> None:
    write(model, MODELOPT)
    code, document = ask(cli, "9.0", "0.33.0", "vllm", "serve", "m")
    assert (code, document["verdict"], document["selected"]) == (1, "degraded", "HummingNvFp4LinearKernel")
    assert document["layers"][0]["verdict"] == "supported"
    code, document = ask(cli, "12.0", "0.25.1", "vllm", "serve", "m", "-tp", "8")
    assert (code, document["linear_layers"][0]["layers"]) == (1, ["down_proj"])
    assert "linear-unaligned-k-sm12x" in {f["code"] for f in document["findings"]}
    assert ask(cli, "12.0", "0.25.1", "vllm", "serve", "m", "-tp", "4")[0] == 0
    text = cli("check", "--no-host", "--sm", "9.0", "--vllm", "0.33.0", "--model", "m", **HERE).stdout
    assert text.startswith("degraded  linear layer nvfp4_w4a4, K 8192, N 10240, HummingNvFp4LinearKernel")
    assert "attention:\n  4 x full_attention: supported (FLASH_ATTN)" in text


def test_attention_leads_where_it_is_worse(cli: Cli, model: Path) -> None:
    write(model, MODELOPT)
    words = ("vllm", "serve", "m", "--attention-backend", "FLASH_ATTN", "--kv-cache-dtype", "nvfp4")
    code, document = ask(cli, "9.0", "0.33.0", *words)
    assert (code, document["verdict"]) == (1, "unsupported")
    found = {f["code"] for f in document["findings"]}
    assert {"selector-kv-cache-dtype", "linear-humming-weight-only"} <= found


@pytest.mark.parametrize(
    ("quantization", "expected"),
    [
        (compressed(FP4, ["lm_head"]), {"nvfp4_w4a4"}),
        (compressed(None, ["lm_head"]), {"nvfp4_w4a16"}),
        ({**MODELOPT, "quant_algo": "W4A16_NVFP4"}, {"nvfp4_w4a16"}),
        ({**MODELOPT, "config_groups": {"g": {"input_activations": None, "weights": FP4}}}, {"nvfp4_w4a16"}),
        (
            {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}},
            {"nvfp4_w4a4"},
        ),
        ({"quant_method": "fp8"}, set()),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"g": {"weights": {"num_bits": 8, "type": "float"}}},
            },
            set(),
        ),
        (None, set()),
    ],
)
def test_schemes(cli: Cli, model: Path, quantization: dict[str, Any] | None, expected: set[str]) -> None:
    write(model, quantization)
    document = ask(cli, "10.0", "0.33.0", "vllm", "serve", "m")[1]
    assert {scheme for scheme, _, _ in layers(document).values()} == expected


def test_what_is_left_unquantised_and_what_is_mixed(cli: Cli, model: Path) -> None:
    for ignored in (compressed(FP4, ["re:.*self_attn.*"]), {**MODELOPT, "ignore": ["*self_attn*", "lm_head"]}):
        write(model, ignored)
        assert layers(ask(cli, "10.0", "0.33.0", "vllm", "serve", "m")[1]).keys() == {"gate_up_proj", "down_proj"}
    mixed = {
        "quant_method": "modelopt",
        "quant_algo": "MIXED_PRECISION",
        "quantized_layers": {
            "model.layers.0.self_attn.o_proj": {"quant_algo": "FP8"},
            "model.layers.0.mlp.down_proj": {"quant_algo": "NVFP4"},
            "model.layers.1.mlp.down_proj": {"quant_algo": "W4A16_NVFP4"},
        },
    }
    write(model, mixed)
    document = ask(cli, "10.0", "0.33.0", "vllm", "serve", "m")[1]
    assert {(e["layers"][0], e["scheme"]) for e in document["linear_layers"]} == {
        ("down_proj", "nvfp4_w4a4"),
        ("down_proj", "nvfp4_w4a16"),
    }


FP8 = {"num_bits": 8, "type": "float", "strategy": "channel", "symmetric": True}


@pytest.mark.parametrize(
    ("ignore", "targets", "expected"),
    [
        ([], ["re:.*qkv_proj", "re:.*gate_up_proj"], {"qkv_proj", "gate_up_proj"}),
        ([], ["model.layers.0.self_attn.qkv_proj"], {"qkv_proj"}),
        (["re:.*qkv_proj"], ["Linear"], {"o_proj", "gate_up_proj", "down_proj"}),
    ],
)
def test_layers_may_be_named_as_the_engine_fuses_them(
    cli: Cli, model: Path, ignore: list[str], targets: list[str], expected: set[str]
) -> None:
    write(model, compressed(FP4, ignore, targets))
    assert layers(ask(cli, "10.0", "0.33.0", "vllm", "serve", "m")[1]).keys() == expected


@pytest.mark.parametrize("targets", [["re:.*self_attn.*"], [f"model.layers.{n}.self_attn.o_proj" for n in range(4)]])
def test_a_layer_that_another_group_names_is_not_of_the_class_group(cli: Cli, model: Path, targets: list[str]) -> None:
    quantization = compressed(FP4, ["lm_head"])
    quantization["config_groups"]["other"] = {"weights": FP8, "input_activations": FP8, "targets": targets}
    write(model, quantization)
    assert "o_proj" not in layers(ask(cli, "10.0", "0.33.0", "vllm", "serve", "m")[1])


@pytest.mark.parametrize(
    ("ignore", "targets", "open_"),
    [
        (["re:.*(mlp).*\\1"], ["Linear"], "which layers the checkpoint's re:.*(mlp).*\\1 names"),
        ([], ["re:(?i).*MLP.*"], "which layers the checkpoint's re:(?i).*MLP.* names"),
        (["re:(a+)+$"], ["re:.*mlp.*"], None),
    ],
)
def test_expressions_that_are_not_judged_leave_the_answer_open(
    cli: Cli, model: Path, ignore: list[str], targets: list[str], open_: str | None
) -> None:
    write(model, compressed(FP4, ignore, targets))
    document = ask(cli, "10.0", "0.33.0", "vllm", "serve", "m")[1]
    assert document.get("missing", []) == ([open_] if open_ else [])
    assert document["verdict"] == ("unknown" if open_ else "supported")


COMPRESSED = {"quant_method": "compressed-tensors"}


@pytest.mark.parametrize(
    ("quantization", "verdict", "says"),
    [
        ({**COMPRESSED, "config_groups": None}, "unknown", "which layers the checkpoint's config_groups names"),
        ({**COMPRESSED, "config_groups": [{}]}, "unknown", "which layers the checkpoint's config_groups names"),
        ({**COMPRESSED, "config_groups": {"g": {"weights": "fp4", "targets": ["Linear"]}}}, "unknown", "config_groups"),
        ({**COMPRESSED, "config_groups": {"g": {"weights": FP4, "targets": "Linear"}}}, "unknown", "config_groups"),
        ({**COMPRESSED, "config_groups": {}}, "supported", ""),
        ({**MODELOPT, "quant_algo": "NVFP3"}, "unsupported", "it knows no ModelOpt algorithm 'NVFP3'"),
        ({**MODELOPT, "quant_algo": "fp8_pb_wo"}, "supported", ""),
        ({"quant_method": "modelopt"}, "unsupported", "Missing 'quant_algo' in quantization config"),
        ({"quant_method": "modelopt_mxfp8"}, "supported", ""),
        (
            {**MODELOPT, "quant_algo": "MIXED_PRECISION"},
            "unknown",
            "which layers the checkpoint's quantized_layers names",
        ),
        (
            {**MODELOPT, "quant_algo": "MIXED_PRECISION", "quantized_layers": {"*mlp*": {"quant_algo": "NVFP4"}}},
            "unknown",
            "which layers the checkpoint's *mlp* names",
        ),
        ({"quant_method": 5}, "unknown", "whether quant_method 5 is read"),
    ],
)
def test_quantisations_that_are_odd(
    cli: Cli, model: Path, quantization: dict[str, Any], verdict: str, says: str
) -> None:
    write(model, quantization)
    document = ask(cli, "10.0", "0.33.0", "vllm", "serve", "m")[1]
    assert document["verdict"] == verdict
    assert says in json.dumps([document["findings"], document.get("missing")], ensure_ascii=False)


def test_hf_quant_config_beside_the_configuration(cli: Cli, model: Path) -> None:
    write(model, None)
    separate = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}}
    (model / "hf_quant_config.json").write_text(json.dumps(separate), "utf-8")
    document = ask(cli, "12.0", "0.33.0", "vllm", "serve", "m")[1]
    assert {scheme for scheme, _, _ in layers(document).values()} == {"nvfp4_w4a4"}


def test_options_and_variables_choose_the_kernel(cli: Cli, model: Path) -> None:
    write(model, MODELOPT)
    picked = ask(cli, "12.0", "0.33.0", "vllm", "serve", "m", "--linear-backend", "marlin")[1]
    assert {entry["selected"] for entry in picked["linear_layers"]} == {"MarlinNvFp4LinearKernel"}
    given = ask(cli, "12.0", "0.33.0", "vllm", "serve", "m", before=("--linear-backend", "cutlass"))[1]
    assert {entry["selected"] for entry in given["linear_layers"]} == {"CutlassNvFp4LinearKernel"}
    off = "VLLM_DISABLED_KERNELS=FlashInferCutlassNvFp4LinearKernel,FlashInferB12xNvFp4LinearKernel"
    passed = ask(cli, "12.0", "0.33.0", off, "vllm", "serve", "m")[1]
    assert {entry["selected"] for entry in passed["linear_layers"]} == {"CutlassNvFp4LinearKernel"}
    code, refused = ask(cli, "12.0", "0.33.0", "vllm", "serve", "m", "--linear-backend", "flashinfer_trtllm")
    assert (code, refused["verdict"], refused["fails_at"]) == (1, "unsupported", "init")


def test_the_gemm_variable_by_release(cli: Cli, model: Path) -> None:
    write(model, MODELOPT)
    words = ("VLLM_NVFP4_GEMM_BACKEND=marlin", "vllm", "serve", "m")
    read = ask(cli, "12.0", "0.21.0", *words)[1]
    assert {entry["selected"] for entry in read["linear_layers"]} == {"MarlinNvFp4LinearKernel"}
    gone = ask(cli, "12.0", "0.33.0", *words)[1]
    assert {entry["selected"] for entry in gone["linear_layers"]} == {"FlashInferCutlassNvFp4LinearKernel"}
    fix = next(f["fix"] for f in gone["findings"] if f["code"] == "launch-variable-ignored")
    assert fix == "Use --linear-backend marlin."
    bad = ask(cli, "12.0", "0.21.0", "VLLM_NVFP4_GEMM_BACKEND=marlinn", "vllm", "serve", "m")
    assert (bad[0], "launch-bad-variable" in {f["code"] for f in bad[1]["findings"]}) == (1, True)
    open_ = ask(cli, "12.0", "0.23.0", "VLLM_USE_FBGEMM=yes", "vllm", "serve", "m")[1]
    assert (open_["verdict"], open_["missing"]) == ("unknown", ["what VLLM_USE_FBGEMM forces"])


def test_what_a_name_says_of_a_checkpoint_that_is_not_here(cli: Cli) -> None:
    code, document = ask(cli, "12.0", "0.33.0", "vllm", "serve", "nvidia/Llama-3.1-8B-Instruct-NVFP4")
    assert (code, document["verdict"]) == (3, "unknown")
    assert document["missing"] == ["how nvidia/Llama-3.1-8B-Instruct-NVFP4 is quantised (its config.json)"]
    stated = ask(cli, "12.0", "0.33.0", "vllm", "serve", "meta-llama/Llama-3.1-8B", before=("--linear", "nvfp4_w4a4"))[
        1
    ]
    assert layers(stated)["down_proj"] == ("nvfp4_w4a4", 14336, 4096)


def test_scan_reports_linear_findings_at_the_option(cli: Cli, model: Path) -> None:
    write(model, MODELOPT)
    (model.parent / "a.sh").write_text("vllm serve m \\\n  --linear-backend flashinfer_trtllm\n", "utf-8")
    done = cli("scan", "a.sh", "--sm", "12.0", "--vllm", "0.33.0", "--format", "json", **HERE)
    document = json.loads(done.stdout)
    assert [(d["line"], d["column"], d["level"]) for d in document["diagnostics"]] == [(2, 3, "error")]
    assert set(document["launches"][0]["linear"].values()) == {"unsupported"}


def test_engine_words_say_both(cli: Cli, model: Path) -> None:
    write(model, MODELOPT)
    at = ("check", "--no-host", "--sm", "12.0", "--vllm", "0.33.0", "--engine-words")
    said = cli(*at, "--model", "m", **HERE).stdout.splitlines()
    assert said[0] == "Using FlashInferCutlassNvFp4LinearKernel for NVFP4 GEMM"
    assert said[1].startswith("Using FLASH_ATTN attention backend out of potential backends: ")


def test_quantisation_methods(cli: Cli, model: Path) -> None:
    for words, near in (
        (("--quantization", "modelopt_fp5"), "modelopt_fp4"),
        (("-q", "compresed-tensors"), "compressed-tensors"),
    ):
        code, document = ask(cli, "9.0", "0.33.0", "vllm", "serve", "Qwen/Qwen3-8B", *words)
        assert code == 1
        fix = next(f["fix"] for f in document["findings"] if f["code"] == "launch-unknown-quantization")
        assert fix == f"Did you mean {near}?"
    for release, expected in (("0.27.1", 0), ("0.28.0", 3)):
        code, document = ask(cli, "9.0", release, "vllm", "serve", "Qwen/Qwen3-8B", "-q", "bitsandbytes")
        assert code == expected
    assert document["missing"] == ["whether vllm-bnb-plugin is installed"]
    write(model, {"quant_method": "own_method"})
    code, document = ask(cli, "9.0", "0.33.0", "vllm", "serve", "m")
    assert (code, document["missing"]) == (3, ["whether quant_method own_method is read"])
    write(model, {**MODELOPT, "quant_algo": "W4A16_NVFP4"})
    code, document = ask(cli, "9.0", "0.20.2", "vllm", "serve", "m")
    assert (code, "launch-quant-algo" in {f["code"] for f in document["findings"]}) == (1, True)


def test_experts_are_said_not_to_be_judged(cli: Cli, model: Path) -> None:
    moe = {"num_experts": 128, "moe_intermediate_size": 768, "shared_expert_intermediate_size": 1024}
    write(model, MODELOPT, model_type="qwen3_moe", **moe)
    code, document = ask(cli, "10.0", "0.33.0", "vllm", "serve", "m", "-tp", "2")
    assert (code, layers(document)["shared down_proj"]) == (0, ("nvfp4_w4a4", 512, 8192))
    assert {"gate_up_proj", "down_proj"}.isdisjoint(layers(document))
    assert "launch-experts-not-judged" in {f["code"] for f in document["findings"]}


def test_mla_projections(cli: Cli, model: Path) -> None:
    mla = {"kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
    write(model, MODELOPT, model_type="deepseek_v3", hidden_size=7168, num_attention_heads=128, **mla)
    document = ask(cli, "10.0", "0.33.0", "vllm", "serve", "m", "-tp", "8")[1]
    sizes = {name: (k, n) for name, (_, k, n) in layers(document).items()}
    assert sizes["fused_qkv_a_proj"] == (7168, 2112)
    assert sizes["q_b_proj"] == (1536, 3072)
    assert sizes["kv_b_proj"] == (512, 4096)
    assert sizes["o_proj"] == (2048, 7168)


def test_engine_words_of_a_refused_configuration_name_no_kernel(cli: Cli, tmp_path: Path) -> None:
    config = {
        "model_type": "deepseek_v3",
        "num_hidden_layers": 4,
        "num_attention_heads": 128,
        "hidden_size": 7168,
        "intermediate_size": 18432,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "q_lora_rank": 1536,
        "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16, "ignore": []},
    }
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    command = ("vllm", "serve", str(tmp_path), "--kv-cache-dtype", "nvfp4")
    said = cli("check", "--no-host", "--sm", "8.9", "--vllm", "0.33.0", "--engine-words", "--", *command)
    assert said.stdout.startswith("ValueError: nvfp4 KV cache is not supported with MLA")


def test_words_of_a_cache_in_another_dtype_than_the_model(cli: Cli) -> None:
    for dtype, allowed in (("float16", "`auto` or `float16`."), ("float32", "`auto`.")):
        command = ("vllm", "serve", "Qwen/Qwen3-8B", "--kv-cache-dtype", "bfloat16", "--dtype", dtype)
        said = cli("check", "--no-host", "--sm", "9.0", "--vllm", "0.33.0", "--engine-words", "--", *command)
        assert said.stdout.strip().endswith(f"Please set `--kv-cache-dtype` to {allowed}")
