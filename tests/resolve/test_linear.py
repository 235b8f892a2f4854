"""Verdicts for linear layers: what is picked, what is refused and by whom, and what an option does."""

from __future__ import annotations

from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import ConfigurationError, normalise
from compatcheck.resolve.normaliser import Normaliser
from compatcheck.resolve.verdict import Verdict


def ask(loaded: LoadedMatrix, **fields: Any) -> Verdict:
    fields = {"linear": "nvfp4_w4a4", "engine_version": "0.33.0"} | fields
    verdict: Verdict = loaded.resolver.judge(normalise(loaded.matrix, Configuration(**fields)))
    return verdict


def codes(verdict: Verdict) -> set[str]:
    return {finding.code for finding in verdict.findings}


@pytest.mark.parametrize(
    ("sm", "scheme", "kernel", "verdict"),
    [
        ("8.0", "nvfp4_w4a4", "MarlinNvFp4LinearKernel", "degraded"),
        ("9.0", "nvfp4_w4a4", "HummingNvFp4LinearKernel", "degraded"),
        ("10.0", "nvfp4_w4a4", "FlashInferCuteDslNvFp4LinearKernel", "supported"),
        ("12.0", "nvfp4_w4a4", "FlashInferCutlassNvFp4LinearKernel", "supported"),
        ("9.0", "nvfp4_w4a16", "HummingNvFp4LinearKernel", "supported"),
        ("12.1", "nvfp4_w4a16", "MarlinNvFp4LinearKernel", "supported"),
        ("10.3", "nvfp4_w4a16", "FlashInferCuteDslNvFp4W4A16LinearKernel", "supported"),
    ],
)
def test_what_is_picked(loaded: LoadedMatrix, sm: str, scheme: str, kernel: str, verdict: str) -> None:
    answer = ask(loaded, sm=sm, linear=scheme)
    assert (answer.selected, answer.verdict) == (kernel, verdict)
    assert answer.engine_accepts is True
    assert answer.route is None
    assert answer.linear is not None
    assert answer.linear.kernel == kernel


def test_attention_rules_do_not_speak_of_linear_layers_nor_the_other_way(loaded: LoadedMatrix) -> None:
    rules = loaded.matrix.rules
    linear = {f.code for sm in loaded.matrix.sms for f in ask(loaded, sm=sm, in_features=3696).findings}
    assert {rules[code].kind for code in linear if code in rules} == {"linear"}
    for sm in loaded.matrix.sms:
        asked = Configuration(sm=sm, kv_cache_dtype="fp8", head_size=128)
        verdict = loaded.resolver.judge(normalise(loaded.matrix, asked))
        assert verdict.linear is None
        assert {rules[f.code].kind for f in verdict.findings if f.code in rules} <= {"attention"}


def test_every_slow_kernel_is_said_to_be_slow(loaded: LoadedMatrix) -> None:
    linear = loaded.matrix.engines["vllm"].linear
    assert linear is not None
    said = {"weight-only": "linear-weight-only", "emulated": "linear-emulated"}
    for code in said.values():
        named = set(loaded.matrix.rules[code].kernels)
        whole = {name for name, k in linear.kernels.items() if said.get(k.compute) == code and not k.compute_where}
        assert named == whole


@pytest.mark.parametrize(
    ("sm", "release", "compute"),
    [
        ("12.0", "0.33.0", "native"),
        ("12.1", "0.31.0", "native"),
        ("12.0", "0.30.0", "weight-only"),
        ("9.0", "0.33.0", "weight-only"),
    ],
)
def test_humming_computes_in_fp4_on_sm_12x_only(loaded: LoadedMatrix, sm: str, release: str, compute: str) -> None:
    answer = ask(loaded, sm=sm, engine_version=release, linear_backend="humming", in_features=3696, out_features=3000)
    assert answer.linear is not None
    assert (answer.selected, answer.linear.compute) == ("HummingNvFp4LinearKernel", compute)
    assert ("linear-humming-weight-only" in codes(answer)) is (compute == "weight-only")
    assert (answer.linear.padded_in_features, answer.linear.padded_out_features) == (3712, 3072)


@pytest.mark.parametrize("release", ["0.24.0", "0.27.1", "0.28.0"])
def test_an_option_may_name_a_kernel_that_is_in_no_order(loaded: LoadedMatrix, release: str) -> None:
    answer = ask(loaded, sm="12.0", engine_version=release, linear_backend="flashinfer_b12x")
    named = loaded.resolver.linear.program("vllm", release).named_by("flashinfer_b12x")
    assert (answer.engine_accepts, bool(named)) == ((True, True) if release == "0.28.0" else (False, False))


@pytest.mark.parametrize("sm", ["7.5", "8.9", "9.0", "11.0", "12.0", "12.1"])
def test_trtllm_is_accepted_by_the_engine_and_fails_later(loaded: LoadedMatrix, sm: str) -> None:
    answer = ask(loaded, sm=sm, linear_backend="flashinfer_trtllm")
    assert answer.engine_accepts is True
    assert (answer.verdict, answer.fails_at) == ("unsupported", "init")
    assert "linear-trtllm-sm" in codes(answer)
    assert not any(finding.kernel for finding in answer.findings), "the library's refusal is not said twice"


def test_the_librarys_refusal_is_asked_for_the_padded_layer(loaded: LoadedMatrix) -> None:
    fine = ask(loaded, sm="12.0", linear_backend="flashinfer_b12x", in_features=3696, out_features=100)
    assert fine.linear is not None
    assert (fine.linear.padded_in_features, fine.linear.padded_out_features) == (3712, 128)
    assert "fi-mm-fp4-b12x-k32" not in codes(fine)
    fp16 = ask(loaded, sm="10.0", linear_backend="flashinfer_trtllm", dtype="float16")
    assert "fi-mm-fp4-trtllm-out" in codes(fp16)
    assert fp16.verdict == "unsupported"


def test_k_that_splits_a_block_is_refused_and_an_unaligned_one_is_known_to_be_wrong(loaded: LoadedMatrix) -> None:
    assert "linear-k-multiple-of-16" in codes(ask(loaded, sm="10.0", in_features=3700))
    asked = {"sm": "12.0", "engine_version": "0.25.1"}
    unaligned = ask(loaded, in_features=3696, **asked)
    assert (unaligned.verdict, "linear-unaligned-k-sm12x" in codes(unaligned)) == ("degraded", True)
    assert ask(loaded, in_features=7392, **asked).verdict == "supported"
    assert ask(loaded, **asked).verdict == "supported"
    marlin = ask(loaded, in_features=3696, linear_backend="marlin", **asked)
    assert "linear-unaligned-k-sm12x" not in codes(marlin)


def test_disabled_kernels_are_passed_over_in_the_engines_words(loaded: LoadedMatrix) -> None:
    answer = ask(loaded, sm="12.0", disabled_kernels=("FlashInferCutlassNvFp4LinearKernel",))
    assert answer.selected == "FlashInferB12xNvFp4LinearKernel"
    words = (" FlashInferCutlassNvFp4LinearKernel disabled by environment variable",)
    assert answer.rejected is not None
    assert answer.rejected["FlashInferCutlassNvFp4LinearKernel"] == words


def test_none_left_gives_the_engines_lines(loaded: LoadedMatrix) -> None:
    answer = ask(loaded, sm="12.0", linear_backend="torch", disabled_kernels=("TorchNvFp4LinearKernel",))
    said = "Failed to find a kernel that can implement the NVFP4 linear layer. Reasons: \n"
    assert answer.engine_reasons == (said + " TorchNvFp4LinearKernel disabled by environment variable",)
    assert answer.verdict == "unsupported"


def test_the_environment_variable_forces_until_it_is_gone(loaded: LoadedMatrix) -> None:
    asked = {"sm": "12.0", "nvfp4_gemm_backend": "marlin", "in_features": 4096, "out_features": 4096}
    forced = ask(loaded, engine_version="0.21.0", **asked)
    assert (forced.selected, codes(forced)) == (
        "MarlinNvFp4LinearKernel",
        {"linear-weight-only", "linear-no-native-fp4-words"},
    )
    assert "linear-gemm-env-deprecated" in codes(ask(loaded, engine_version="0.23.0", **asked))
    gone = ask(loaded, engine_version="0.24.0", **asked)
    assert gone.selected == "FlashInferCutlassNvFp4LinearKernel"
    assert codes(gone) == {"linear-gemm-env-removed"}


@pytest.mark.parametrize(
    ("release", "selected", "verdict"),
    [
        ("0.21.0", "EmulationNvFp4LinearKernel", "degraded"),
        ("0.22.0", "CutlassNvFp4LinearKernel", "degraded"),
        ("0.33.0", "CutlassNvFp4LinearKernel", "supported"),
    ],
)
def test_batch_invariance(loaded: LoadedMatrix, release: str, selected: str, verdict: str) -> None:
    answer = ask(loaded, sm="10.0", engine_version=release, use_batch_invariant=True)
    assert (answer.selected, answer.verdict) == (selected, verdict)


def test_a_w4a16_layer_cannot_be_batch_invariant(loaded: LoadedMatrix) -> None:
    answer = ask(loaded, sm="10.0", linear="nvfp4_w4a16", use_batch_invariant=True, linear_backend="marlin")
    assert answer.engine_reasons == ("CutlassNvFp4LinearKernel does not support W4A16",)
    assert codes(answer) == {"no-linear-kernel", "linear-backend-overridden"}
    before = ask(loaded, sm="10.0", linear="nvfp4_w4a16", use_batch_invariant=True, engine_version="0.25.1")
    assert before.selected == "CutlassNvFp4LinearKernel"
    assert "linear-a16-on-w4a4-kernel" in codes(before)


@pytest.mark.parametrize(
    ("sm", "option", "overridden"),
    [
        ("12.0", "cutlass", False),
        ("12.0", "marlin", True),
        ("12.0", "machete", True),
        ("9.0", "emulation", False),
        ("9.0", "cutlass", True),
    ],
)
def test_batch_invariance_overrides_what_it_would_not_pick(
    loaded: LoadedMatrix, sm: str, option: str, overridden: bool
) -> None:
    answer = ask(loaded, sm=sm, linear_backend=option, use_batch_invariant=True)
    said = [f.words for f in answer.findings if f.code == "linear-backend-overridden"]
    assert said == ([f"VLLM_BATCH_INVARIANT overrides --linear-backend={option}"] if overridden else [])


def test_an_option_without_a_kernel_is_refused_or_ignored(loaded: LoadedMatrix) -> None:
    asked = {"sm": "12.0", "linear_backend": "machete", "in_features": 4096}
    refused = ask(loaded, engine_version="0.27.1", **asked)
    assert refused.engine_reasons == (
        "--linear-backend=machete was requested but no 'machete' kernel exists for NVFP4 layers.",
    )
    ignored = ask(loaded, engine_version="0.28.0", **asked)
    assert ignored.selected == "FlashInferCutlassNvFp4LinearKernel"
    assert codes(ignored) == {"linear-backend-not-for-layer"}
    assert ignored.findings[0].words == (
        "--linear-backend=machete was requested, but no machete kernel exists for NVFP4 layers; "
        "falling back to normal kernel selection for this layer."
    )


def test_an_option_that_the_release_lacks(loaded: LoadedMatrix) -> None:
    answer = ask(loaded, sm="12.0", engine_version="0.24.0", linear_backend="humming")
    assert (answer.verdict, answer.fails_at, codes(answer)) == (
        "unsupported",
        "config",
        {"linear-backend-not-in-release"},
    )


def test_a_missing_gpu_is_asked_for(loaded: LoadedMatrix) -> None:
    answer = ask(loaded)
    assert (answer.verdict, answer.missing) == ("unknown", ("sm",))


def test_alternatives_drop_the_option_that_fails(loaded: LoadedMatrix) -> None:
    asked = Configuration(linear="nvfp4_w4a4", sm="12.0", engine_version="0.33.0", linear_backend="flashinfer_trtllm")
    verdict = loaded.resolver.resolve(asked)
    assert verdict.alternatives[0].changes == {"linear_backend": None}
    assert verdict.alternatives[0].selected == "FlashInferCutlassNvFp4LinearKernel"


def test_spellings(loaded: LoadedMatrix) -> None:
    facts = normalise(
        loaded.matrix, Configuration(linear="W4A16_NVFP4", linear_backend="FlashInfer-CuteDSL", sm="H200")
    ).facts
    assert (facts.linear, facts.linear_backend, facts.sm) == ("nvfp4_w4a16", "flashinfer_cutedsl", "9.0")
    assert normalise(loaded.matrix, Configuration(linear="w4a4", linear_backend="auto")).facts.linear_backend is None


@pytest.mark.parametrize(
    ("fields", "field", "text"),
    [
        ({"linear": "nvfp4_w4a8"}, "linear", "Did you mean nvfp4_w4a"),
        ({"linear": "nvfp4_w4a4", "linear_backend": "marlinn"}, "linear_backend", "Did you mean marlin?"),
        ({"linear": "nvfp4_w4a4", "backend": "FLASHINFER"}, "backend", "linear_backend"),
        ({"linear": "nvfp4_w4a4", "disabled_kernels": ("Marlin",)}, "disabled_kernels", "Known: "),
        ({"linear": "nvfp4_w4a4", "nvfp4_gemm_backend": "cutlas"}, "nvfp4_gemm_backend", "Did you mean cutlass?"),
        ({"linear": "nvfp4_w4a4", "in_features": 0}, "in_features", "positive"),
        ({"linear_backend": "marlin"}, "linear_backend", "only for a linear layer"),
    ],
)
def test_what_cannot_be_judged(loaded: LoadedMatrix, fields: dict[str, Any], field: str, text: str) -> None:
    for make in (lambda c: normalise(loaded.matrix, c), Normaliser(loaded.matrix)):
        with pytest.raises(ConfigurationError) as caught:
            make(Configuration(**fields))
        assert any(name == field and text in said for name, said in caught.value.problems), caught.value.problems
