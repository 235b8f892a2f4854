"""The fields of a configuration: named as the contract names them, each an option, each with an answer for absence."""

from __future__ import annotations

import msgspec
import pytest

from compatcheck.cli.check import check
from compatcheck.resolve.configuration import (
    DEFAULTS,
    FIELDS,
    NULLABLE,
    QUIET_DEFAULTS,
    VERSION_FIELDS,
    Configuration,
    spell_dtype,
)

CONTRACT = """
engine engine_version flashinfer_version torch_version cuda_version sm backend dtype kv_cache_dtype head_size block_size
use_mla use_sparse has_sink num_qo_heads num_kv_heads kv_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim
index_topk compress_ratios sliding_window use_mm_prefix use_non_causal use_dcp use_per_head_quant_scales
use_batch_invariant use_kv_connector attn_type cubins_available
"""


def test_every_field_of_the_contract_is_there() -> None:
    assert set(CONTRACT.split()) <= set(FIELDS)


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_is_an_option(field: str) -> None:
    option = next(parameter for parameter in check.params if parameter.name == field)
    assert f"--{field.replace('_', '-')}" in option.opts


def test_what_is_said_of_fields_names_fields() -> None:
    assert set(FIELDS) >= NULLABLE | VERSION_FIELDS | DEFAULTS.keys()
    assert DEFAULTS.keys() >= QUIET_DEFAULTS
    assert not NULLABLE & DEFAULTS.keys()


def test_strict() -> None:
    decode = msgspec.json.Decoder(Configuration).decode
    assert decode(b"{}") == Configuration()
    with pytest.raises(msgspec.ValidationError, match="unknown field `sn`"):
        decode(b'{"sn": "9.0"}')


@pytest.mark.parametrize(
    ("written", "name"),
    [("torch.float16", "float16"), ("BF16", "bfloat16"), ("half", "float16"), ("int8", "int8"), ("float", "float32")],
)
def test_dtypes(written: str, name: str) -> None:
    assert spell_dtype(written) == name
