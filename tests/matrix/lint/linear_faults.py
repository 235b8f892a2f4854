"""Faults of a section on linear layers, which is planted in the sample with each; the section itself lints clean."""

from __future__ import annotations

from .faults import Fault

LINEAR = """\
    linear:
      title: linear layers
      schemes: {nvfp4_w4a4: {title: both}, nvfp4_w4a16: {title: weights}}
      compute: {native: {title: FP4, speed: fast, accuracy: good}}
      kernels:
        Fp4Kernel:
          title: FP4
          since: "0.1.0"
          serves: [nvfp4_w4a4]
          compute: native
          sources: [{ref: "vllm/l.py:L@0.1.0"}]
      orders: [{since: "0.1.0", cases: [{order: [Fp4Kernel]}]}]
      forced: [{when: {use_batch_invariant: true}, value: Fp4Kernel}, {value: null}]
      options: {cutlass: {since: "0.2.0", kernels: [Fp4Kernel]}}
      selected_words: "Using {kernel}"
      none_words: [{until: "0.2.0", words: none}, {since: "0.2.0", words: none left}]
      forced_words: [{words: "refused: {reason}"}]
      scheme_words: []
      disabled_words: []
      unmatched_words: []
"""
LEFT = "none_words: ["
ROUTES = "    routes:\n      flash_attn.any"


def in_linear(old: str, new: str, at: str, says: tuple[str, ...], code: str = "linear") -> Fault:
    """Return a fault planted in a linear section, which is planted in the sample with it."""
    assert LINEAR.count(old) == 1, f"{old!r} occurs {LINEAR.count(old)} times"
    return Fault(ROUTES, LINEAR.replace(old, new) + ROUTES, at, code, says)


FAULTS = {
    "forced linear kernel": in_linear("value: Fp4Kernel}", "value: Fp4Kernle}", "value: Fp4Kernle", ("Fp4Kernel",)),
    "forced linear kernel that came later": in_linear(
        'since: "0.1.0"\n          serves', 'since: "0.2.0"\n          serves', "value: Fp4Kernel}", ("0.1.0",)
    ),
    "release of a linear option": in_linear(
        'cutlass: {since: "0.2.0"', "cutlass: {since: soon", "since: soon", ("PEP 440",), "release"
    ),
    "forced list without an end": in_linear(", {value: null}]", "]", "forced: [", ("{value: null}",)),
    "kernel of a linear option": in_linear(
        "kernels: [Fp4Kernel]", "kernels: [Fp8Kernel]", "Fp8Kernel]", ("Fp4Kernel",)
    ),
    "linear words of two lines": in_linear('{until: "0.2.0", words: none}', "{words: none}", LEFT, ("two", "0.2.0")),
    "linear words that end": in_linear('{until: "0.2.0", words: none}, ', "", LEFT, ("0.1.0",)),
    "linear scheme": in_linear(", nvfp4_w4a16: {title: weights}", "", "schemes: {nvfp4_w4a4", ("nvfp4_w4a16",)),
    "way of computing": in_linear("compute: {native:", "compute: {emulated:", "compute: native", ("native",)),
    "linear kernel in an order": in_linear(
        "order: [Fp4Kernel]", "order: [Fp5Kernel]", "Fp5Kernel", ("Fp4",), "reference"
    ),
}
