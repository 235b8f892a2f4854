"""The ways to get a linear kernel from an engine release: asking for nothing, or for one kernel by its own means."""

from __future__ import annotations

from typing import Any

import msgspec

from compatcheck.matrix.linear_model import Linear
from compatcheck.resolve.backend import of_release
from compatcheck.resolve.linear import LinearProgram

ENGINE = "engine"
BATCH_INVARIANT = "batch-invariant"


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One way to ask. `fields` are configuration fields; `kernel` is what they ask for, None where the engine picks."""

    id: str
    fields: dict[str, Any]
    kernel: str | None = None


def asks(program: LinearProgram) -> list[Ask]:
    """Return a release's ways: the engine's own choice, batch invariance, then each kernel that can be asked for."""
    found = [
        Ask(id=ENGINE, fields={}),
        Ask(id=BATCH_INVARIANT, fields={"use_batch_invariant": True}),
    ]
    for name in program.kernels:
        fields = way(program, name)
        if fields is not None:
            found.append(Ask(id=name, fields=fields, kernel=name))
    return found


def way(program: LinearProgram, kernel: str) -> dict[str, Any] | None:
    """Return what asks a release for one kernel, None where the matrix states no means.

    The option first, with the other kernels that it names disabled; then the environment variable that older releases
    read; then every other kernel disabled.
    """
    linear = program.linear
    option = next((name for name, kernels in program.options.items() if kernel in kernels), None)
    can_disable = program.words(linear.disabled_words) is not None
    if option is not None:
        others = tuple(name for name in program.options[option] if name != kernel and name in program.kernels)
        return {"linear_backend": option, **({"disabled_kernels": others} if others and can_disable else {})}
    variable = environment_value(linear, program.release, kernel)
    if variable is not None:
        return {"nvfp4_gemm_backend": variable}
    if can_disable:
        return {"disabled_kernels": tuple(name for name in program.kernels if name != kernel)}
    return None


def environment_value(linear: Linear, release: str, kernel: str) -> str | None:
    """Return the value of VLLM_NVFP4_GEMM_BACKEND that forces a kernel in a release, where the release reads it."""
    for case in of_release(linear.forced, release):
        value = (case.when or {}).get("nvfp4_gemm_backend")
        if case.value == kernel and isinstance(value, str):
            return value
    return None
