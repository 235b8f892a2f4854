"""Which functions the installed FlashInfer really has, found in its source files and never by import.

A version alone does not tell: a 0.6.14 nightly had the NVFP4 slot-mapping helpers that the 0.6.14 release
lacks (https://github.com/vllm-project/vllm/issues/47684), and a patched or editable install can have
anything.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from compatcheck.host.module_names import Names
from compatcheck.host.source_files import UnreadableSourceError, parse_source, read_source
from compatcheck.host.symbols import SYMBOLS

_GPU_QUERY = re.compile(r"\bget_device_properties\b")
_IMPORT_TIME_FILES = ("gdn_kernels/gdn_decode_bf16_state.py",)


class FlashInferFiles(NamedTuple):
    """What the files say: see the fields of the same names in `compatcheck.host.model.Host`."""

    symbols: dict[str, bool | None]
    exports: dict[str, bool | None]
    import_queries_gpu: bool | None
    unreadable: tuple[str, ...]


def inspect_flashinfer(
    package: Path | None, symbols: Mapping[str, Sequence[str]] = SYMBOLS, names: Names | None = None
) -> FlashInferFiles:
    """Return what an installed FlashInfer has; `package` is its directory, or None where there is none."""
    if package is None:
        nothing: dict[str, bool | None] = dict.fromkeys(symbols)
        return FlashInferFiles(nothing, dict(nothing), None, ())
    known = names or Names(package)
    exports = {name: known.binds(package.name, name) for name in symbols}
    found = {}
    for name, modules in symbols.items():
        answers = [exports[name], *(known.binds(module, name) for module in modules)]
        found[name] = True if True in answers else None if None in answers else False
    queries = _queries_gpu_at_import(package)
    unreadable = tuple(f"{module}: {why}" for module, why in sorted(known.unreadable.items()))
    return FlashInferFiles(found, exports, queries, unreadable)


def _queries_gpu_at_import(package: Path) -> bool | None:
    """Return whether a module that `import flashinfer` reaches asks for GPU 0's properties at once."""
    result: bool | None = False
    for name in _IMPORT_TIME_FILES:
        try:
            text = read_source(package / name)
            if not _GPU_QUERY.search(text):
                continue
            tree = parse_source(text)
        except FileNotFoundError:
            continue
        except UnreadableSourceError:
            result = None
            continue
        for statement in tree.body:
            if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr)) and any(
                isinstance(node, ast.Attribute) and node.attr == "get_device_properties" for node in ast.walk(statement)
            ):
                return True
    return result
