"""What pages say of the real matrix where a reader was misled before."""

from __future__ import annotations

import re

import pytest

from compatcheck.docs.axes import KINDS
from compatcheck.docs.catalog import catalog
from compatcheck.docs.environment import environment, render
from compatcheck.docs.pages.attention_backends import section
from compatcheck.docs.pages.kernels import pages as kernel_pages
from compatcheck.docs.site import Site
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.matrix.versions import contains, parse


@pytest.mark.parametrize(("sm", "backend"), [("9.0", "FLASHMLA_SPARSE_DSV41"), ("10.0", "FLASHMLA_MEGA_ATTN_DSV41")])
def test_features_are_asked_of_a_model_that_the_backend_serves(real_site: Site, sm: str, backend: str) -> None:
    sparse = next(kind for kind in KINDS if kind.id == "mla-sparse")
    features = section(real_site, sparse, [sm]).features
    found = next(one for one in features if one.backend == backend)
    assert found.asked_with == "auto, 512 (DeepSeek V4.1)"
    assert found.flags["Sinks"] == ("yes", None)


def test_versions_that_a_condition_asks_for_are_the_rules_versions(real: LoadedMatrix) -> None:
    entries = catalog(real.matrix)
    assert entries["vllm-xqa-head-512"].versions == ["FlashInfer <0.6.18.dev0"]
    both = entries["vllm-flashinfer-fp8-head512-sm90"].versions
    assert both == ["vLLM >=0.25.0.dev0 and FlashInfer <0.7.4.dev0"]
    assert entries["vllm-nvfp4-trtllm-unusable"].versions == ["vLLM >=0.23.0.dev0,<0.25.0.dev0"]


def test_a_fix_names_only_what_can_be_asked_for(real: LoadedMatrix) -> None:
    entries = catalog(real.matrix)
    assert entries["fa4-unavailable"].fix == "Choose another backend."
    assert entries["fa-mla-sparse-dcp"].fix == "Choose another backend, or other values of `use_dcp`."


def test_a_gemm_has_a_weight_and_no_cache(real_site: Site) -> None:
    page = next(page for page in kernel_pages(real_site) if page.path == "kernels.md")
    text = render(environment(), page.template, page.variables)
    gemm = text[text.index("## flashinfer.mm_bf16_fp4.cute_dsl") :]
    assert "| Weight | nvfp4 |" in gemm[: gemm.index("Routes that use it")]
    decode = text[text.index("## flashinfer.xqa.decode") :]
    assert "| KV cache | same" in decode[: decode.index("Routes that use it")]


@pytest.mark.parametrize(
    ("kernel", "code", "first"),
    [
        ("flashinfer.mm_fp4.cute_dsl", "fi-mm-fp4-cute-dsl-n8", "0.6.14"),
        ("flashinfer.mm_fp4.b12x", "fi-mm-fp4-b12x-k32", "0.6.14"),
        ("flashinfer.nvfp4_quantize_paged", "fi-fp4-paged-v-swizzle", "0.6.8"),
    ],
)
def test_a_refusal_begins_with_the_release_that_was_read(
    real: LoadedMatrix, kernel: str, code: str, first: str
) -> None:
    refusal = next(one for one in real.matrix.kernels[kernel].refusals if one.code == code)
    releases = real.matrix.libraries["flashinfer"].releases
    assert refusal.versions is not None
    spoken = [release for release in releases if contains(refusal.versions, release)]
    assert spoken[0] == first


def test_no_range_of_releases_is_empty(real: LoadedMatrix) -> None:
    for entry in catalog(real.matrix).values():
        for said in entry.versions:
            found = re.search(r">=([^, ]+),<(?!=)([^, ]+)", said)
            assert found is None or parse(found[1]) < parse(found[2]), (entry.code, said)
