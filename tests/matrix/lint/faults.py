"""Faults to plant in the sample matrix, one for each thing that lint proves."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """One replacement in the sample, and what lint must say of it."""

    old: str
    new: str
    at: str
    code: str
    says: tuple[str, ...]
    severity: str = "error"


OPEN_RULE = """\
  forever:
    title: t
    refuser: engine
    bites: init
    effect: degraded
    when: {use_mla: true}
    why: w
    fix: f
    sources: [{ref: H200 0.6.15, kind: run}]
"""

FAULTS = {
    # structure
    "typo in a key": Fault("    fix: Upgrade.", "    fix: U.\n    wrods: []", "wrods: []", "unknown-key", ("words",)),
    "missing key": Fault("    why: They are there.\n", "", "helpers-there:", "missing-key", ("'why'",)),
    "wrong literal": Fault("refuser: package", "refuser: pakage", "refuser: pakage", "wrong-value", ("package",)),
    "version as float": Fault('until: "0.3.0"', "until: 0.3", "until: 0.3", "wrong-type", ("quote it",)),
    # sms
    "wrong family": Fault("{family: 9.x", "{family: 8.x", "family: 8.x, arch: Hopper", "sm", ("9.x",)),
    "gpu sold twice": Fault("gpus: [H200]", "gpus: [NVIDIA A100]", "NVIDIA A100", "sm", ("8.0",)),
    "kernel on no SM": Fault('sms: [8.x, "9.0"]', 'sms: [8.x, "9.1"]', '"9.1"', "sm", ("'9.1'", "9.0")),
    # names
    "dtype": Fault("{dtypes: [float16, bf", "{dtypes: [flaot16, bf", "flaot16", "name", ("float16",)),
    "accepted KV dtype": Fault("values: [auto, fp8, nvfp4]", "values: [auto, nvpf4]", "nvpf4]", "name", ("nvfp4",)),
    "selector question": Fault("check: head_size,", "check: head_sise,", "check: head_sise", "name", ("head_size",)),
    "bits": Fault("bits: 9/2", "bits: some", "bits: some", "name", ("9/2",)),
    # releases
    "since is no release": Fault(
        '{since: "0.3.0", sinks', '{since: "0.2.5", sinks', 'since: "0.2.5"', "release", ("0.2.5",)
    ),
    "since is no version": Fault(
        '{since: "0.3.0", sinks', "{since: soon, sinks", "since: soon", "release", ("PEP 440",)
    ),
    "until before since": Fault('until: "0.3.0"', 'until: "0.1.0"', 'until: "0.1.0"', "release", ("after since",)),
    "changes out of order": Fault(
        '{since: "0.2.0", sinks: {sm: [9.x, "12.0"]}}\n          - {since: "0.3.0", sinks: true}',
        '{since: "0.3.0", sinks: true}\n          - {since: "0.2.0", sinks: false}',
        'since: "0.2.0", sinks: false',
        "release",
        ("oldest first",),
    ),
    "duplicate since": Fault(
        '{since: "0.3.0", sinks', '{since: "0.2.0", sinks', 'since: "0.2.0", sinks: true', "release", ("twice",)
    ),
    "releases out of order": Fault(
        '"0.6.12", "0.6.14", "0.6.15"', '"0.6.14", "0.6.12", "0.6.15"', '"0.6.12", "0.6.15"', "release", ("oldest",)
    ),
    "pin": Fault('torch: "2.10.0"', 'torch: "two"', 'torch: "two"', "release", ("PEP 440",)),
    "kernel since": Fault(
        'since: "0.6.12"\n', 'since: "0.6.13"\n', 'since: "0.6.13"', "release", ("libraries.flashinfer",)
    ),
    # empty
    "library without releases": Fault(
        'releases: ["0.6.12", "0.6.14", "0.6.15"]', "releases: []", "releases: []", "empty", ("libraries.flashinfer",)
    ),
    "no KV-cache dtype": Fault(
        "values: [auto, fp8, nvfp4]", "values: []", "values: []", "empty", ("kv_cache_dtypes.1.values",)
    ),
    # coverage
    "late orders": Fault(
        'priorities:\n      - since: "0.1.0"',
        'priorities:\n      - since: "0.2.0"',
        "priorities:\n      - since",
        "coverage",
        ("0.1.0",),
    ),
    # references
    "extends": Fault(
        "extends: FLASH_ATTN", "extends: FLASH_ATTEN", "extends: FLASH_ATTEN", "reference", ("FLASH_ATTN",)
    ),
    "extends itself": Fault(
        "extends: FLASH_ATTN", "extends: FLASHINFER", "extends: FLASHINFER", "reference", ("itself",)
    ),
    "moment": Fault(
        "    bites: init\n    effect: unsupported",
        "    bites: first_decode\n    effect: unsupported",
        "bites: first_decode",
        "reference",
        ("derived fact of vllm", "first_decode"),
    ),
    "members": Fault("extends: FLASH_ATTN", "members: [FLASHATTN]", "FLASHATTN]", "reference", ("FLASH_ATTN",)),
    "order": Fault(
        "{order: [FLASH_ATTN, FLASHINFER]}",
        "{order: [FLASH_ATTN, FLASHINFRE]}",
        "FLASHINFRE",
        "reference",
        ("FLASHINFER",),
    ),
    "route": Fault(
        "route: flash_attn.any}", "route: flash_attn.all}", "route: flash_attn.all", "reference", ("flash_attn.any",)
    ),
    "kernel of a route": Fault(
        "prefill: flashinfer.fa2.prefill",
        "prefill: flashinfer.fa3.prefill",
        "prefill: flashinfer.fa3",
        "reference",
        ("flashinfer.fa2.prefill",),
    ),
    "kernel of another phase": Fault(
        "prefill: flashinfer.fa2.prefill",
        "prefill: flashinfer.append",
        "prefill: flashinfer.append",
        "reference",
        ("for write",),
    ),
    "the engine's kernel": Fault(
        "prefill: flashinfer.fa2.prefill",
        "prefill: vllm.fa2",
        "prefill: vllm.fa2",
        "reference",
        ("nothing is stated",),
        "warning",
    ),
    "kernel of a rule": Fault(
        "    fix: Upgrade.",
        "    fix: U.\n    kernels: [flashinfer.apend]",
        "flashinfer.apend",
        "reference",
        ("flashinfer.append",),
    ),
    "library": Fault(
        "library: flashinfer\n    symbol: flashinfer.page",
        "library: flashinfre\n    symbol: flashinfer.page",
        "library: flashinfre",
        "reference",
        ("flashinfer",),
    ),
    # conditions
    "unknown field": Fault(
        "{backend: FLASH_ATTN}, route", "{backedn: FLASH_ATTN}, route", "backedn", "condition", ("backend",)
    ),
    "unknown fact": Fault("reads_fp8: false}", "reads_fp9: false}", "reads_fp9: false", "condition", ("reads_fp8",)),
    "fact further down": Fault(
        "{value: 3, when: {sm: 9.x}}",
        "{value: 3, when: {reads_fp8: true}}",
        "reads_fp8: true}",
        "condition",
        ("further down",),
    ),
    "value the fact never has": Fault(
        "when: {fa_version: 3}", "when: {fa_version: 4}", "fa_version: 4", "condition", ("never the value",)
    ),
    "unknown comparison": Fault("{multiple_of: 8, le: 256}", "{multiple_of: 8, leq: 256}", "leq", "grant", ("le",)),
    "SM that is not there": Fault(
        'sinks: {sm: [9.x, "12.0"]}', 'sinks: {sm: [9.x, "12.5"]}', '"12.5"', "condition", ("neither", "12.x")
    ),
    "SM without quotes": Fault(
        'sinks: {sm: [9.x, "12.0"]}', "sinks: {sm: 12.0}", "sm: 12.0", "condition", ("'12.0' in quotes",)
    ),
    "SM bound": Fault('sinks: {sm: [9.x, "12.0"]}', "sinks: {sm: {ge: 90}}", "ge: 90", "condition", ("never ge",)),
    "version range": Fault(
        "kv_cache_dtype: fp8, reads",
        'flashinfer_version: ">=0.6..1", reads',
        "flashinfer_version: ",
        "condition",
        ("PEP 440",),
    ),
    "version as number": Fault(
        "kv_cache_dtype: fp8, reads",
        "flashinfer_version: 0.6, reads",
        "flashinfer_version: 0.6",
        "condition",
        ("quoted",),
    ),
    "KV dtype typo": Fault(
        "kv_cache_dtype: fp8, reads", "kv_cache_dtype: pf8, reads", "kv_cache_dtype: pf8", "condition", ("fp8",)
    ),
    "prefix of nothing": Fault(
        "kv_cache_dtype: fp8, reads",
        "kv_cache_dtype: {prefix: fp4}, reads",
        "prefix: fp4",
        "condition",
        ("no known value",),
    ),
    "text for a number": Fault(
        "kv_cache_dtype: fp8, reads", 'head_size: "64", reads', 'head_size: "64"', "condition", ("whole number",)
    ),
    "number for a flag": Fault(
        "kv_cache_dtype: fp8, reads", "use_mla: 1, reads", "use_mla: 1", "condition", ("true or false",)
    ),
    "zero modulus": Fault(
        "{multiple_of: 8, le: 256}", "{multiple_of: 0, le: 256}", "multiple_of: 0", "grant", ("above 0",)
    ),
    "absent of a fact that must be known": Fault(
        "kv_cache_dtype: fp8, reads", "head_size: {absent: true}, reads", "absent: true", "condition", ("not known",)
    ),
    "null": Fault(
        "kv_cache_dtype: fp8, reads", "block_size: null, reads", "block_size: null", "condition", ("absent: true",)
    ),
    "empty list": Fault(
        "kv_cache_dtype: fp8, reads",
        "kv_cache_dtype: [], reads",
        "kv_cache_dtype: []",
        "condition",
        ("accepts nothing",),
    ),
    "any_of of a mapping": Fault(
        "kv_cache_dtype: fp8, reads",
        "any_of: {head_size: 64}, reads",
        "any_of: {",
        "condition",
        ("list of conditions",),
    ),
    "cell field": Fault(
        "when: {q_dtype: fp8_e4m3}",
        "when: {kv_cache_dtype: fp8}",
        "kv_cache_dtype: fp8}\n        exc",
        "condition",
        ("kv_dtype",),
    ),
    # grants
    "kernel KV dtype": Fault("values: [fp8_e4m3, nvfp4]", "values: [fp8_e4m3, nvpf4]", "nvpf4", "grant", ("nvfp4",)),
    "block size of a kind": Fault(
        "values: [16, 32]", "values: {multiple_of: 16}", "values: {multiple_of: 16}", "grant", ("numbers",)
    ),
    "value listed twice": Fault("values: [64, 128]", "values: [64, 64]", "64]}]\n    tol", "grant", ("twice",)),
    "tolerance of a query": Fault(
        "tolerance: {nvfp4", "query_tolerance: {fp8: 0.1}\n    tolerance: {nvfp4", "fp8: 0.1", "grant", ("fp8_e4m3",)
    ),
    "tolerance": Fault("tolerance: {nvfp4", "tolerance: {nvpf4", "nvpf4", "grant", ("nvfp4",)),
    # decision lists
    "list that runs out": Fault(
        "{value: true, when: {fa_version: 3}}, {value: false}]",
        "{value: true, when: {fa_version: 3}}]",
        "{value: true, when",
        "decision-list",
        ("{value: null}",),
    ),
    "unreachable case": Fault(
        "[{value: 3, when: {sm: 9.x}}, {value: 2}]",
        "[{value: 3}, {value: 2}]",
        "{value: 2}]",
        "decision-list",
        ("never reached",),
    ),
    "same condition": Fault(
        "{value: 3, when: {sm: 9.x}}, {value: 2}",
        "{value: 3, when: {sm: 9.x}}, {value: 2, when: {sm: 9.x}}, {value: 2}",
        "{value: 2, when: {sm: 9.x}}",
        "decision-list",
        ("same condition",),
    ),
    "orders run out": Fault(
        "{order: [FLASH_ATTN, FLASHINFER]}",
        "{order: [FLASH_ATTN], when: {sm: 8.x}}",
        "{order: [FLASH_ATTN], when",
        "decision-list",
        ("nothing is decided",),
    ),
    "case of no release": Fault(
        "{value: 3, when: {sm: 9.x}}, {value: 2}",
        '{value: 3, when: {sm: 9.x}}, {value: 2, until: "0.1.0"}, {value: 2}',
        '{value: 2, until: "0.1.0"}',
        "decision-list",
        ("no release",),
    ),
    "routing": Fault(
        "routing:\n",
        "routing:\n      - {when: {backend: FLASH_ATTN}, route: flash_attn.any}\n",
        "{when: {backend: FLASH_ATTN}, route: flash_attn.any}\nkernels",
        "decision-list",
        ("never reached",),
    ),
    # versions
    "range of a refusal": Fault(
        'versions: "<=0.6.14"', 'versions: "0.6.14"', 'versions: "0.6.14"', "version-range", ("PEP 440",)
    ),
    "range that is empty": Fault(
        'versions: "<=0.6.14"', 'versions: ">0.6.15,<0.6.14"', 'versions: ">0.6.15', "version-range", ("no version",)
    ),
    "range with a local part": Fault(
        'versions: "<=0.6.14"', 'versions: "==0.6.14+cu130"', 'versions: "==', "version-range", ("local",)
    ),
    "bounds with nothing between": Fault(
        "kv_cache_dtype: fp8, reads",
        "head_size: {gt: 256, lt: 100}, reads",
        "head_size: {gt",
        "condition",
        ("nothing between",),
    ),
    "divisor with nothing between": Fault(
        "kv_cache_dtype: fp8, reads",
        "head_size: {ge: 65, lt: 128, multiple_of: 64}, reads",
        "head_size: {ge",
        "condition",
        ("nothing between",),
    ),
    "known where nothing is ever absent": Fault(
        "kv_cache_dtype: fp8, reads", "head_size: {known: true}, reads", "known: true", "condition", ("never absent",)
    ),
    "range between releases": Fault(
        'versions: "<=0.6.14"',
        'versions: ">=0.6.14.1,<0.6.15.dev0"',
        'versions: ">=0.6.14.1',
        "version-range",
        ("no release",),
        "warning",
    ),
    "slow pattern": Fault(
        "/cannot import .*helper/", "/cannot (import )+(.+)+helper/", '"/cannot (import', "words", ("for ever", "bound")
    ),
    "slow pattern by choices": Fault(
        "/cannot import .*helper/", "/cannot (?:a|ab|b)*helper/", '"/cannot (?:a', "words", ("begin alike",)
    ),
    "range by text": Fault('versions: "<=0.6.14"', 'versions: "===0.6.14"', 'versions: "===', "version-range", ("==",)),
    # ids, codes
    "rule id": Fault("  helpers-there:", "  Helpers_There:", "Helpers_There:", "id", ("kebab",)),
    "kernel id": Fault("  flashinfer.append:\n", "  append:\n", "append:\n    title", "id", ("dotted",)),
    "joint code": Fault("code: fa-fp8,", "code: fa_fp8,", "code: fa_fp8", "id", ("kebab",)),
    "code twice": Fault(
        "code: selector-sm,", "code: selector-head-size,", 'code: selector-head-size, words: "SM', "code", ("already",)
    ),
    "code of a rule": Fault("code: fa-fp8,", "code: helpers-there,", "code: helpers-there", "code", ("rules",)),
    "code of compatcheck": Fault(
        "code: fa-fp8,", "code: no-valid-backend,", "code: no-valid", "code", ("compatcheck",)
    ),
    # words
    "placeholder": Fault(
        '"no {kv_cache_dtype} here"',
        '"no {kv_cache_dtpe} here"',
        'words: "no {kv_cache_dtpe} here',
        "words",
        ("{kv_cache_dtype}",),
    ),
    "placeholder of a rule": Fault(
        '"no {kv_cache_dtype}",', '"no {kv_dtype}",', '"no {kv_dtype}"', "words", ("{kv_dtype}",)
    ),
    "placeholder of the engine": Fault('"{backend} is', '"{backends} is', "forced_words", "words", ("{backend}",)),
    "regex in words": Fault(
        "/cannot import .*helper/", "/cannot import (/", '"/cannot import (/"', "words", ("regular expression",)
    ),
    "one slash": Fault("/cannot import .*helper/", "/cannot import .*helper", '"/cannot', "words", ("slash",)),
    "regex of a refusal": Fault("fp8 .* not supported", "fp8 [", "match:", "words", ("regular expression",)),
    "regex for everything": Fault("fp8 .* not supported", "", "match:", "words", ("every text", "^$")),
    "exception": Fault("exception: AssertionError", "exception: an error", "exception: an", "words", ("class",)),
    # sources
    "no source of a rule": Fault(
        'sources: [{ref: "H200", kind: run}]', "sources: []", "sources: []", "source", ("no source",)
    ),
    "no source of a backend": Fault(
        '        extends: FLASH_ATTN\n        sources: [{ref: "vllm/b.py:B@0.1.0"}]',
        "        extends: FLASH_ATTN",
        "FLASHINFER:",
        "source",
        ("no source",),
    ),
    "no source of a kernel": Fault(
        'sources: [{ref: "flashinfer/page.py:append@0.6.12"}]',
        "note: none",
        "flashinfer.append:\n",
        "source",
        ("no source",),
    ),
    "source without a version": Fault("vllm/b.py:B@0.1.0", "vllm/b.py", 'ref: "vllm/b.py', "source", ("@version",)),
    "thread without a URL": Fault("https://github.com/o/r/issues/1", "issue 1", 'ref: "issue', "source", ("URL",)),
    # negative facts, unused
    "open end": Fault(
        'versions: ">=0.6.15.dev0"\n    axis: flashinfer_version\n',
        'versions: ">=0.6.15.dev0"\n    axis: flashinfer_version\n' + OPEN_RULE,
        "forever:",
        "recheck",
        ("degraded",),
        "warning",
    ),
    "unused fact": Fault(
        "{value: true, when: {fa_version: 3}}",
        "{value: true, when: {sm: 9.x}}",
        "fa_version:\n",
        "unused",
        ("no condition",),
        "warning",
    ),
    "unused route": Fault(
        "    routes:\n",
        "    routes:\n      flash_attn.other: {title: o}\n",
        "flash_attn.other",
        "unused",
        ("never takes",),
        "warning",
    ),
    # forbidden words, privacy
    "marketing name": Fault(
        "{backend: FLASH_ATTN}, route",
        "{model_type: Blackwell}, route",
        "model_type: Bl",
        "forbidden-word",
        ("Blackwell",),
    ),
    "SM bound in text": Fault(
        "{backend: FLASH_ATTN}, route",
        '{model_type: "sm >= 100"}, route',
        "model_type: ",
        "forbidden-word",
        (">= 100",),
    ),
    "marketing name in an id": Fault(
        "  helpers-there:", "  blackwell-there:", "blackwell-there", "forbidden-word", ("blackwell",)
    ),
    "machine path": Fault(
        "why: They are there.", "why: seen in /home/somebody/x.log", "why: seen", "privacy", ("path",)
    ),
    "internal host": Fault("why: They are there.", "why: see wiki.corp", "why: see", "privacy", ("host",)),
    "mail": Fault("why: They are there.", "why: ask a.b@example.com", "why: ask", "privacy", ("mail",)),
}
