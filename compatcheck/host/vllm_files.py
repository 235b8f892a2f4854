"""What the installed vLLM asks of FlashInfer and of the environment, read from its source files."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from compatcheck.host.module_names import Names
from compatcheck.host.source_files import UnreadableSourceError, parse_source, read_source

ATTENTION_BACKEND = "v1/attention/backends/flashinfer.py"
"""The module of the FLASHINFER backend, vLLM 0.19.0 to 0.33.0."""

VARIABLES = (
    "VLLM_ATTENTION_BACKEND",
    "VLLM_BATCH_INVARIANT",
    "VLLM_HAS_FLASHINFER_CUBIN",
    "VLLM_KV_CACHE_LAYOUT",
    "VLLM_USE_FLASHINFER_SAMPLER",
    "VLLM_USE_TRTLLM_ATTENTION",
)
"""Variables of vLLM that users set for attention; some are no longer read by newer releases."""


class VllmFiles(NamedTuple):
    """What the files say: see the fields `vllm_imports` and `vllm_reads` of `compatcheck.host.model.Host`."""

    imports: dict[str, bool | None]
    reads: dict[str, bool | None]
    unreadable: tuple[str, ...]


def inspect_vllm(package: Path | None, flashinfer: Names | None, variables: Sequence[str] = VARIABLES) -> VllmFiles:
    """Return what an installed vLLM needs; `package` is its directory, `flashinfer` the one beside it.

    Without a FlashInfer every import is None (cannot tell). A variable counts as read where vllm/envs.py
    names it.
    """
    if package is None:
        return VllmFiles({}, {}, ())
    unreadable: list[str] = []
    imports: dict[str, bool | None] = {}
    try:
        tree = parse_source(read_source(package / ATTENTION_BACKEND))
    except FileNotFoundError:
        pass
    except UnreadableSourceError as error:
        unreadable.append(f"vllm/{ATTENTION_BACKEND}: {error}")
    else:
        for module, name in _flashinfer_imports(tree):
            imports[f"{module}:{name}"] = flashinfer.binds(module, name) if flashinfer else None
    reads: dict[str, bool | None] = dict.fromkeys(variables)
    try:
        text = read_source(package / "envs.py")
    except FileNotFoundError:
        pass
    except UnreadableSourceError as error:
        unreadable.append(f"vllm/envs.py: {error}")
    else:
        reads = {name: re.search(rf"\b{name}\b", text) is not None for name in variables}
    return VllmFiles(imports, reads, tuple(unreadable))


def _flashinfer_imports(tree: ast.Module) -> list[tuple[str, str]]:
    """Return (module, name) of every unconditional import from FlashInfer: each can stop the backend."""
    return [
        (node.module, alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        and node.level == 0
        and node.module is not None
        and node.module.partition(".")[0] == "flashinfer"
        for alias in node.names
    ]
