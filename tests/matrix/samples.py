"""A small matrix that lints clean, and ways to plant one fault in it."""

from __future__ import annotations

from pathlib import Path

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint import lint_files

SMALL = """\
schema: 1
sms:
  "8.0": {family: 8.x, arch: Ampere, gpus: [A100]}
  "9.0": {family: 9.x, arch: Hopper, gpus: [H200]}
  "12.0": {family: 12.x, arch: Blackwell, gpus: [RTX 5090]}
kv_cache_dtypes:
  auto: {title: own, bits: "16"}
  fp8: {title: FP8, bits: "8"}
  nvfp4: {title: NVFP4, bits: 9/2}
libraries:
  flashinfer: {title: FlashInfer, releases: ["0.6.12", "0.6.14", "0.6.15"]}
engines:
  vllm:
    title: vLLM
    releases:
      "0.1.0": {flashinfer: "0.6.12", torch: "2.10.0", cuda: "13.0"}
      "0.2.0": {flashinfer: "0.6.14", torch: "2.11.0"}
      "0.3.0": {flashinfer: "0.6.15", torch: "2.11.0"}
    forced_words: "{backend} is not valid: {reasons}"
    none_words: none found
    kv_cache_dtypes:
      - {since: "0.1.0", values: [auto, fp8]}
      - {since: "0.2.0", values: [auto, fp8, nvfp4]}
    defaults: {dtypes: [float16, bfloat16], kv_cache_dtypes: [{values: auto}], sms: true, attn_types: [decoder]}
    selector:
      - {check: head_size, code: selector-head-size, words: head_size not supported}
      - {check: sm, code: selector-sm, words: "SM {sm.major} not supported"}
    prefill_selector: []
    facts:
      fa_version:
        title: version
        versions:
          - since: "0.1.0"
            cases: [{value: 3, when: {sm: 9.x}}, {value: 2}]
      reads_fp8:
        title: reads FP8
        versions:
          - since: "0.1.0"
            cases: [{value: true, when: {fa_version: 3}}, {value: false}]
    backends:
      FLASH_ATTN:
        title: FlashAttention
        since: "0.1.0"
        head_sizes: [{values: {multiple_of: 8, le: 256}}]
        block_sizes: [{values: [16, 32]}]
        joint_rules:
          - {code: fa-fp8, when: {kv_cache_dtype: fp8, reads_fp8: false}, words: "no {kv_cache_dtype} here"}
        sources: [{ref: "vllm/a.py:A@0.1.0"}]
        changes:
          - {since: "0.2.0", sinks: {sm: [9.x, "12.0"]}}
          - {since: "0.3.0", sinks: true}
      FLASHINFER:
        title: FlashInfer
        since: "0.1.0"
        until: "0.3.0"
        extends: FLASH_ATTN
        sources: [{ref: "vllm/b.py:B@0.1.0"}]
    mla_prefill_backends: {}
    priorities:
      - since: "0.1.0"
        cases: [{order: [FLASHINFER, FLASH_ATTN], when: {sm: 12.x}}, {order: [FLASH_ATTN, FLASHINFER]}]
    mla_prefill_priorities: []
    mla_model_types: []
    routes:
      flash_attn.any: {title: any, kv_write: flashinfer.append, prefill: flashinfer.fa2.prefill}
    routing:
      - {when: {backend: FLASH_ATTN}, route: flash_attn.any}
kernels:
  flashinfer.append:
    title: append
    library: flashinfer
    symbol: flashinfer.page:append
    phase: write
    sms: [8.x, 9.x, 12.x]
    sources: [{ref: "flashinfer/page.py:append@0.6.12"}]
  flashinfer.fa2.prefill:
    title: prefill
    library: flashinfer
    symbol: flashinfer.prefill:run
    since: "0.6.12"
    phase: prefill
    sms: [8.x, "9.0"]
    q_dtypes: [float16, bfloat16]
    kv_dtypes: [{values: same}, {values: [fp8_e4m3, nvfp4]}]
    head_sizes: [{values: [64, 128]}]
    tolerance: {nvfp4: 0.03}
    refusals:
      - code: fa2-fp8-query
        when: {q_dtype: fp8_e4m3}
        exception: AssertionError
        match: "fp8 .* not supported"
        versions: "<=0.6.14"
    sources: [{ref: "flashinfer/prefill.py:run@0.6.12"}]
rules:
  helpers-missing:
    title: no helpers
    refuser: package
    bites: init
    effect: unsupported
    when: {kv_cache_dtype: nvfp4}
    why: They are not there.
    fix: Upgrade.
    sources: [{ref: "https://github.com/o/r/issues/1", kind: thread}]
    words: ["no {kv_cache_dtype}", "/cannot import .*helper/"]
    subject: helpers
    versions: "<0.6.15.dev0"
    axis: flashinfer_version
  helpers-there:
    title: helpers
    refuser: advisory
    bites: init
    effect: note
    when: {kv_cache_dtype: nvfp4}
    why: They are there.
    fix: Nothing to do.
    sources: [{ref: "H200", kind: run}]
    subject: helpers
    versions: ">=0.6.15.dev0"
    axis: flashinfer_version
"""


def planted(old: str, new: str) -> str:
    """Return the small matrix with its only `old` replaced."""
    assert SMALL.count(old) == 1, f"{old!r} occurs {SMALL.count(old)} times"
    return SMALL.replace(old, new)


def lint_text(folder: Path, text: str, *overlays: str) -> list[Problem]:
    """Return what lint says of a matrix text and overlays."""
    paths = []
    for index, content in enumerate((text, *overlays)):
        path = folder / ("matrix.yaml" if index == 0 else f"overlay{index}.yaml")
        path.write_text(content, encoding="utf-8")
        paths.append(path)
    return lint_files(paths)


def place_of(text: str, at: str) -> tuple[int, int]:
    """Return line and column, from 1, of the only occurrence of `at`."""
    assert text.count(at) == 1, f"{at!r} occurs {text.count(at)} times"
    before = text[: text.index(at)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")
