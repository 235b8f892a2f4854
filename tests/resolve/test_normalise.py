"""Spellings, defaults with their ground, versions that are not releases, and everything that cannot be judged."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.matrix.older_gpus import OLDER_GPUS
from compatcheck.resolve.configuration import DEFAULTS, FIELDS, Configuration
from compatcheck.resolve.normalise import ConfigurationError, Normalised, nearest, normalise
from compatcheck.resolve.normaliser import Normaliser


def facts(loaded: LoadedMatrix, **fields: Any) -> Configuration:
    return normalise(loaded.matrix, Configuration(**fields)).facts


@pytest.mark.parametrize(
    "written",
    ["9.0", "90", "sm_90", "sm90", "SM90a", "compute_90", 90, 9.0, " 9.0 ", "H200", "h100", "NVIDIA H200 NVL", "GH200"],
)
def test_spellings_of_one_sm(loaded: LoadedMatrix, written: Any) -> None:
    assert facts(loaded, sm=written).sm == "9.0"


@pytest.mark.parametrize(
    ("name", "sm"),
    [
        ("RTX 5090", "12.0"),
        ("NVIDIA GeForce RTX 5090 D", "12.0"),
        ("rtx5090", "12.0"),
        ("NVIDIA A100-SXM4-80GB", "8.0"),
        ("A10G", "8.6"),
        ("L40S", "8.9"),
        ("B200", "10.0"),
        ("GB300", "10.3"),
        ("DGX Spark", "12.1"),
        ("Jetson AGX Thor", "11.0"),
        ("H20-3e", "9.0"),
    ],
)
def test_gpu_names(loaded: LoadedMatrix, name: str, sm: str) -> None:
    assert facts(loaded, sm=name).sm == sm


@pytest.mark.parametrize(
    ("name", "sm"),
    [
        ("Tesla V100-SXM2-16GB", "7.0"),
        ("P100", "6.0"),
        ("GTX 1080 Ti", "6.1"),
        ("P4", "6.1"),
        ("sm_70", "7.0"),
        ("NVIDIA GeForce GTX TITAN X", "5.2"),
        ("NVIDIA TITAN X", "6.1"),
        ("Quadro M6000 24GB", "5.2"),
        ("Quadro P2000", "6.1"),
    ],
)
def test_older_gpus_are_known_and_not_covered(loaded: LoadedMatrix, name: str, sm: str) -> None:
    normal = normalise(loaded.matrix, Configuration(sm=name))
    assert normal.facts.sm == sm
    assert normal.beyond is not None
    assert normal.beyond.startswith(f"SM {sm} is not covered; the matrix knows SM 7.5, 8.0")
    assert not OLDER_GPUS.keys() & loaded.matrix.sms.keys()


@pytest.mark.parametrize(
    "written", ["", "9", "sm_9", "H201", "A1000", "99.9", "MI300X", "GPU", "9.0.0", "\uff19.\uff10", 7, 1e9]
)
def test_what_is_no_gpu(loaded: LoadedMatrix, written: Any) -> None:
    with pytest.raises(ConfigurationError, match="is neither a compute capability nor a GPU of the matrix"):
        facts(loaded, sm=written)


@pytest.mark.parametrize(
    ("field", "written", "read"),
    [
        ("backend", "flashinfer", "FLASHINFER"),
        ("engine", "vLLM", "vllm"),
        ("dtype", "torch.bfloat16", "bfloat16"),
        ("dtype", "half", "float16"),
        ("dtype", "BF16", "bfloat16"),
        ("dtype", "auto", "bfloat16"),
        ("kv_cache_dtype", "torch.float8_e4m3fn", None),
        ("kv_cache_dtype", "FP8", "fp8"),
        ("kv_cache_dtype", "bf16", "bfloat16"),
        ("kv_cache_dtype", "half", "float16"),
        ("kv_cache_dtype", "fp8_e4m3fn", "fp8_e4m3"),
        ("attn_type", "ENCODER_ONLY", "encoder_only"),
        ("engine_version", "v0.33.0", "0.33.0"),
        ("flashinfer_version", "0.7.2.post1+cu130", "0.7.2.post1"),
        ("torch_version", "2.14.0+cu130", "2.14.0"),
        ("cuda_version", "13.0", "13.0"),
        ("sliding_window", 0, None),
        ("sliding_window", False, None),
        ("sliding_window", True, True),
    ],
)
def test_spellings(loaded: LoadedMatrix, field: str, written: Any, read: Any) -> None:
    if field == "kv_cache_dtype" and read is None:
        with pytest.raises(ConfigurationError, match="no release of vLLM knows 'float8_e4m3fn'"):
            facts(loaded, **{field: written})
        return
    assert getattr(facts(loaded, **{field: written}), field) == read


@pytest.mark.parametrize(
    ("version", "release", "said"),
    [
        ("0.33.0", "0.33.0", None),
        ("0.33.0+cu129", "0.33.0", None),
        ("0.33", "0.33.0", None),
        ("0.33.0rc1", "0.33.0", "is a pre-release of 0.33.0"),
        ("0.33.1", "0.33.0", "is newer than 0.33.0, the newest release in the matrix"),
        ("0.33.1rc1.dev5+gabc123", "0.33.0", "is newer than 0.33.0"),
        ("1.0", "0.33.0", "is newer than 0.33.0"),
        ("0.26.1", "0.26.0", "is not a release in the matrix; 0.26.0 is the one before it"),
        ("0.1.0", "0.18.1", "is older than 0.18.1, the oldest release in the matrix"),
    ],
)
def test_versions_that_are_not_releases(loaded: LoadedMatrix, version: str, release: str, said: str | None) -> None:
    normal = normalise(loaded.matrix, Configuration(engine_version=version))
    assert normal.release == release
    if said is None:
        assert normal.answered_as is None
    else:
        assert normal.answered_as is not None
        assert normal.answered_as.startswith(f"answered as vLLM {release}: ")
        assert said in normal.answered_as


def test_what_is_assumed_has_a_ground(loaded: LoadedMatrix) -> None:
    normal = normalise(loaded.matrix, Configuration())
    told = {assumption.field: assumption for assumption in normal.assumed}
    pins = loaded.matrix.engines["vllm"].releases["0.33.0"]
    assert told["flashinfer_version"].value == pins.flashinfer
    assert told["flashinfer_version"].ground == "what vLLM 0.33.0 requires"
    assert told["engine_version"].ground == "the newest release in the matrix"
    assert {*DEFAULTS, "engine_version", "flashinfer_version", "torch_version", "cuda_version"} == told.keys()
    for field in FIELDS:
        assert (getattr(normal.facts, field) is None) is (field not in told)


def test_what_is_given_is_not_assumed(loaded: LoadedMatrix) -> None:
    given = {field: value for field, (value, _) in DEFAULTS.items()}
    normal = normalise(loaded.matrix, Configuration(**given))
    assert given.keys().isdisjoint({assumption.field for assumption in normal.assumed})


def test_a_latent_rank_makes_it_mla(loaded: LoadedMatrix) -> None:
    read = facts(loaded, kv_lora_rank=512, qk_rope_head_dim=64)
    assert (read.use_mla, read.head_size) == (True, 576)
    read = facts(loaded, kv_lora_rank=512, qk_rope_head_dim=0)
    assert (read.use_mla, read.head_size) == (True, 512)
    read = facts(loaded, kv_lora_rank=512, qk_rope_head_dim=64, head_size=512)
    assert read.head_size == 512
    read = facts(loaded, use_mla=False, kv_lora_rank=512, qk_rope_head_dim=64)  # VLLM_MLA_DISABLE
    assert (read.use_mla, read.head_size) == (False, None)


def test_every_problem_at_once(loaded: LoadedMatrix) -> None:
    with pytest.raises(ConfigurationError) as caught:
        facts(
            loaded,
            sm="1.0",
            engine_version="x",
            torch_version="",
            dtype="int8",
            attn_type="q",
            backend="FLASH",
            kv_cache_dtype="fp3",
            head_size=0,
            block_size=-16,
            qk_nope_head_dim=-1,
            sliding_window=-1,
        )
    assert sorted(field for field, _ in caught.value.problems) == [
        "attn_type",
        "backend",
        "block_size",
        "dtype",
        "engine_version",
        "head_size",
        "kv_cache_dtype",
        "qk_nope_head_dim",
        "sliding_window",
        "sm",
        "torch_version",
    ]


def test_an_engine_that_the_matrix_lacks(loaded: LoadedMatrix) -> None:
    with pytest.raises(ConfigurationError, match="engine: 'sglang' is not in the matrix; it has: vllm"):
        facts(loaded, engine="sglang")


def test_nearest() -> None:
    assert nearest("head_sise", ["head_size", "block_size"]) == " Did you mean head_size?"
    assert nearest("zzz", ["head_size"]) == ""


def answer(read: Callable[[Configuration], Normalised], given: Configuration) -> Normalised | list[tuple[str, str]]:
    """Return what a reader makes of a configuration, or what it says is wrong with it."""
    try:
        return read(given)
    except ConfigurationError as error:
        return error.problems


VALUES: dict[str, list[Any]] = {
    "sm": ["9.0", "H200", 90, 9.0, 9, "nope"],
    "engine_version": ["0.33.0", "0.26.0", "0.26.1.dev1", "x"],
    "flashinfer_version": ["0.6.14", "0.6.14+cu130"],
    "backend": ["FLASHINFER", "flashinfer", "FLASHMLA"],
    "kv_cache_dtype": ["auto", "FP8", "nvfp4", "fp9"],
    "dtype": ["auto", "bf16", "float16"],
    "head_size": [128, 0, 576, 2**40],
    "block_size": [16, 0, -1],
    "num_qo_heads": [8, 0],
    "kv_lora_rank": [512, 0],
    "qk_rope_head_dim": [64, 0, -1],
    "use_mla": [True, False],
    "sliding_window": [True, False, 0, 4096, -1],
    "attn_type": ["decoder", "DECODER", "x"],
    "index_topk": [2048, 0],
}
ROWS = st.lists(
    st.fixed_dictionaries({}, optional={field: st.sampled_from(values) for field, values in VALUES.items()}),
    min_size=1,
    max_size=8,
)


@settings(max_examples=80, deadline=None)
@given(rows=ROWS, defaults=st.sampled_from([{}, {"sm": "8.0", "head_size": 64}, {"sliding_window": 128}]))
def test_many_are_read_as_each_alone(
    loaded: LoadedMatrix, rows: list[dict[str, Any]], defaults: dict[str, Any]
) -> None:
    """The batch reader keeps what repeats; no line may change what a later one means."""
    many = Normaliser(loaded.matrix, Configuration(**defaults))
    for row in rows:
        alone = Configuration(**defaults | row)
        assert answer(many, Configuration(**row)) == answer(partial(normalise, loaded.matrix), alone)


@pytest.mark.parametrize(
    ("sm", "dtype"), [("7.5", "float16"), ("T4", "float16"), ("8.0", "bfloat16"), (None, "bfloat16")]
)
def test_the_dtype_taken_where_none_is_given(sm: str | None, dtype: str, loaded: LoadedMatrix) -> None:
    normal = normalise(loaded.matrix, Configuration(sm=sm, head_size=128))
    assert normal.facts.dtype == dtype
    assert [a.value for a in normal.assumed if a.field == "dtype"] == [dtype]
    assert normalise(loaded.matrix, Configuration(sm=sm, dtype="bfloat16")).facts.dtype == "bfloat16"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("CUSTOM", "a place that a plugin fills"),
        ("TORCH_SDPA", "vision encoders"),
        ("ROCM_ATTN", "a ROCm backend"),
        ("CPU_ATTN", "a CPU backend"),
    ],
)
def test_what_is_no_cuda_backend(loaded: LoadedMatrix, name: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        normalise(loaded.matrix, Configuration(backend=name))


def test_a_flash_attn_version_that_does_not_exist(loaded: LoadedMatrix) -> None:
    with pytest.raises(ConfigurationError, match="7 is not one of 2, 3, 4"):
        normalise(loaded.matrix, Configuration(flash_attn_version=7))


@pytest.mark.parametrize("version", ["2026.1", "1!0.33.0", "1.0.0"])
@pytest.mark.parametrize("field", ["engine_version", "flashinfer_version"])
def test_a_version_like_none_that_is_known_leaves_everything_open(
    loaded: LoadedMatrix, field: str, version: str
) -> None:
    given: dict[str, Any] = {"sm": "9.0", "head_size": 128, "backend": "FLASH_ATTN", field: version}
    answer = loaded.resolver.resolve(Configuration(**given))
    assert (answer.verdict, answer.engine_accepts, answer.alternatives) == ("unknown", None, ())
    assert answer.untested is not None
    assert answer.untested.endswith(f"and nothing of {version}")


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("0.7.4", None),
        ("0.6.14.dev20260601", None),
        ("0.7.5", "answered as FlashInfer 0.7.4: 0.7.5 is newer than 0.7.4, the newest release in the matrix"),
        ("0.8.0", "answered as FlashInfer 0.7.4: 0.8.0 is newer than 0.7.4, the newest release in the matrix"),
        ("0.7.3", "answered as FlashInfer 0.7.2.post1: 0.7.3 is not a release in the matrix; 0.7.2.post1 is the one"),
    ],
)
def test_a_flashinfer_that_is_not_in_the_matrix(loaded: LoadedMatrix, version: str, said: str | None) -> None:
    normal = normalise(loaded.matrix, Configuration(flashinfer_version=version, engine_version="0.33.0"))
    assert (normal.answered_as or "").startswith(said or "")
    assert (normal.answered_as is None) is (said is None)


V4: dict[str, Any] = {
    "head_size": 512,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 448,
    "qk_rope_head_dim": 64,
    "v_head_dim": 512,
    "index_topk": 512,
    "use_sparse": True,
    "num_qo_heads": 64,
}


@pytest.mark.parametrize(("sm", "picked"), [("9.0", "FLASHMLA_SPARSE_DSV4"), ("12.1", "FLASHINFER_MLA_SPARSE_DSV4")])
def test_compression_ratios_are_deepseek_v4s(loaded: LoadedMatrix, sm: str, picked: str) -> None:
    """Its layers ask no selector, whose answer would be another backend, or none."""
    asked = Configuration(sm=sm, compress_ratios=(4, 128), **V4)
    one_by_one, in_a_row = normalise(loaded.matrix, asked), Normaliser(loaded.matrix)(asked)
    assert one_by_one.facts == in_a_row.facts
    assert one_by_one.facts.model_type == "deepseek_v4"
    assert ("model_type", "compress_ratios is given") in [(a.field, a.ground) for a in one_by_one.assumed]
    verdict = loaded.resolver.judge(one_by_one)
    assert (verdict.verdict, verdict.selected or one_by_one.facts.backend) == ("supported", picked)
    changed: tuple[dict[str, Any], ...] = (
        {"backend": "FLASHMLA_SPARSE"},
        {"model_type": "deepseek_v41"},
        {"compress_ratios": ()},
    )
    for changes in changed:
        other = normalise(loaded.matrix, msgspec.structs.replace(asked, **changes))
        assert other.facts.model_type == changes.get("model_type")
        assert Normaliser(loaded.matrix)(msgspec.structs.replace(asked, **changes)).facts == other.facts


@pytest.mark.parametrize(
    ("field", "given", "taken", "wrong", "said"),
    [
        ("cudagraph_mode", "full_decode_only", "FULL_DECODE_ONLY", "EAGER", "is not one of NONE, PIECEWISE, FULL"),
        ("mla_prefill_backend", "trtllm_ragged", "TRTLLM_RAGGED", "FLASHINFR", "Known: FLASH_ATTN, TRTLLM_RAGGED"),
        ("mla_prefill_backend", "flash_attn", "FLASH_ATTN", "rocm_aiter_fa", "is a ROCm backend; the matrix covers"),
    ],
)
def test_the_engines_names_in_any_case(
    field: str, given: str, taken: str, wrong: str, said: str, loaded: LoadedMatrix
) -> None:
    values: dict[str, Any] = {field: given}
    assert getattr(normalise(loaded.matrix, Configuration(**values)).facts, field) == taken
    values[field] = wrong
    with pytest.raises(ConfigurationError, match=said):
        normalise(loaded.matrix, Configuration(**values))
