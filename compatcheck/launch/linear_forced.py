"""A forced --linear-backend and layers that are quantised otherwise than NVFP4: up to 0.27 it needs a kernel for each.

Source: the packaged table data/linear_backends.json, read from the wheels. From 0.28 on such layers are served as if
the option were not given (vllm/model_executor/kernels/linear/__init__.py:_resolve_backend_kernels@0.28.0).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

import msgspec

from compatcheck.launch import findings
from compatcheck.launch.layer_schemes import Schemes
from compatcheck.launch.linear_kinds import NVFP4
from compatcheck.launch.linear_shapes import Shape
from compatcheck.matrix.versions import parse
from compatcheck.resolve.verdict import Finding, FindingSource

_WEIGHTS_ONLY = "fp8_a16"
"""What FP8 layers become where the GPU has no FP8 arithmetic."""


class _Kind(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    words: str
    list: str
    backends: dict[str, str | None]


class _Table(msgspec.Struct, frozen=True, kw_only=True):
    schema: int
    note: str
    since: str
    until: str
    source: str
    kinds: dict[str, _Kind]


@lru_cache(maxsize=1)
def table() -> _Table:
    """Return the packaged table."""
    text = (files("compatcheck.launch") / "data" / "linear_backends.json").read_bytes()
    return msgspec.json.decode(text, type=_Table)


def has_kernel(backend: str, kind: str, release: str) -> bool:
    """Return whether a release has a kernel of a --linear-backend value for layers of a kind."""
    known = table().kinds[kind].backends
    since = known.get(backend, "")
    return backend in known and (not since or parse(since) <= parse(release))


def narrows(backend: object, release: str) -> bool:
    """Return whether a release asks every kind of quantised layers for a kernel of a --linear-backend value."""
    return isinstance(backend, str) and parse(table().since) <= parse(release) < parse(table().until)


def forced_finding(
    kinds: Schemes | None, shapes: Sequence[Shape], layers: int, backend: object, release: str
) -> Finding | None:
    """Return the finding for layers that a forced --linear-backend has no kernel for; None where there are none.

    `kinds` say how the checkpoint's layers are quantised, `shapes` are the linear ones of one of `layers` layers.
    """
    known = table()
    if not isinstance(backend, str) or not narrows(backend, release) or kinds is None:
        return None
    for shape in shapes:
        for kind in kinds.at(shape.parts, layers, shape.fused):
            tried = {kind, _WEIGHTS_ONLY} if kind.startswith("fp8") else {kind}
            if kind != NVFP4 and not any(has_kernel(backend, one, release) for one in tried):
                return _refused(shape.name, known.kinds[kind], backend, release)
    return None


def _refused(layer: str, kind: _Kind, backend: str, release: str) -> Finding:
    usable = [name for name, since in kind.backends.items() if not since or parse(since) <= parse(release)]
    return findings.make(
        "launch-linear-backend-other-layers",
        "The forced linear backend has no kernel for some layers of the checkpoint",
        f"--linear-backend {backend} counts for every quantised linear layer, and {layer} is {kind.title}: vLLM "
        f"{release} has no such kernel for it.",
        effect="unsupported",
        bites="init",
        why="Up to 0.27 the option narrows the kernels of every kind of layers; from 0.28 on a kind without one is "
        "served as if it were not given.",
        required=", ".join(usable),
        actual=f"linear_backend={backend}",
        fix=f"Use vLLM {table().until} or newer, or leave --linear-backend out.",
        words=f"--linear-backend={backend} was requested but no '{backend}' kernel exists for {kind.words}.",
        exception="ValueError",
        confirmed="reported",
        source=FindingSource("vllm/model_executor/kernels/linear/__init__.py:_LINEAR_BACKEND_KERNEL_MAP@0.25.1"),
        more=(
            FindingSource(f"vllm/model_executor/kernels/linear/__init__.py:{kind.list}@0.25.1"),
            FindingSource("https://github.com/vllm-project/vllm/issues/49076", kind="thread"),
        ),
    )
