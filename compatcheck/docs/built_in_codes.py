"""Codes of findings that the resolver makes itself: title, when each bites, why, fix."""

from __future__ import annotations

from compatcheck.resolve.findings import NOT_ASKED

BUILT_IN = {
    "kv-cache-dtype-not-in-release": (
        "The release's --kv-cache-dtype option does not know this dtype",
        "config",
        "Each release has its own list of KV-cache dtypes; its option parser refuses every other name.",
        "Use a release that accepts the dtype, or another dtype.",
    ),
    "backend-not-in-release": (
        "The release has no backend of this name",
        "config",
        "Backends come and go with releases; a name of another release is refused.",
        "Use a release that has the backend, or another backend.",
    ),
    "backend-unimportable": (
        "The engine lists this backend but cannot import it",
        "selection",
        "The name is in the engine's list of backends, and its module is not in the wheel.",
        "Choose another backend.",
    ),
    "no-valid-backend": (
        "No attention backend is left after every candidate was refused",
        "selection",
        "The selector tried every backend of its order, and each refused.",
        "See the alternatives that `compatcheck check` prints: another KV-cache dtype, release or GPU.",
    ),
    "selector-not-asked": (
        "The model does not ask the selector for these layers",
        "selection",
        "DeepSeek V4, V4.1 and MiniMax M3 pick the class of their sparse layers themselves, also a refused one.",
        "Nothing is to be done; the dense layers of the model still go through the selector.",
    ),
    "kernel-not-in-library": (
        "The installed FlashInfer does not have the kernel that the route needs",
        "init",
        "The engine's route calls a kernel that this FlashInfer version does not have yet, or no longer has.",
        "Install a FlashInfer version that has the kernel, if the engine's pin allows it.",
    ),
}
"""Findings that the resolver makes itself: title, when it bites, why, fix."""

BUILT_IN_LINEAR = {
    "no-linear-kernel": (
        "No kernel is left for the NVFP4 linear layer, or the one asked for is refused",
        "selection",
        "Every kernel of the order, or the one asked for, is refused by a gate of its own, whose words follow.",
        "Drop what was asked for: `compatcheck check --linear` with the same facts names what is picked without it.",
    ),
    "linear-backend-not-in-release": (
        "The release's command line does not know this value of --linear-backend",
        "config",
        "The option and its values came release by release; its parser refuses every other value.",
        "Use a release that has the value, or another way to choose the kernel.",
    ),
    "linear-gemm-env-not-in-release": (
        "The release does not know this value of VLLM_NVFP4_GEMM_BACKEND",
        "init",
        "Releases up to 0.23 read the variable, each with its own values, and refuse every other one.",
        "Write one of the release's values, or remove it; from 0.24 on use --linear-backend.",
    ),
    "linear-backend-not-for-layer": (
        "--linear-backend names no kernel for this layer, and the release picks as if it were not given",
        "selection",
        "The value is meant for layers of another quantisation or scheme; the release warns and walks its order.",
        "Leave it out, or name a value that has a kernel for the layer.",
    ),
    "linear-backend-overridden": (
        "VLLM_BATCH_INVARIANT overrides --linear-backend",
        "selection",
        "Batch invariance is decided before the option is looked at.",
        "Leave one of them out.",
    ),
}
"""The same, about linear layers."""

NOTES = frozenset({"linear-backend-not-for-layer", "linear-backend-overridden", NOT_ASKED})
"""Codes of findings that the resolver makes itself and that refuse nothing."""
