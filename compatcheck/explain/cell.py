"""A cell by its id, as `compatcheck smoke --list` prints it: what the matrix says of that call, and where."""

from __future__ import annotations

import re
from typing import Any

from compatcheck.explain.entry import Entry
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.matrix.model import Kernel
from compatcheck.matrix.versions import parse
from compatcheck.resolve.findings import sources
from compatcheck.resolve.kernel import KernelCell, KernelProgram
from compatcheck.smoke.cell import SHORT_DTYPE

_DTYPES = {short: name for name, short in SHORT_DTYPE.items()}
_LABELS = {"q": "q_dtype", "kv": "kv_dtype", "o": "o_dtype", "d": "head_size"}
_WORDS: dict[str, tuple[str, Any]] = {
    "NHD": ("layout", "NHD"),
    "HND": ("layout", "HND"),
    "causal": ("causal", True),
    "full": ("causal", False),
    "tc": ("tensor_cores", True),
    "notc": ("tensor_cores", False),
}
_SIZE = re.compile(r"([pg])([0-9]{1,9})")
_ROUTE = "route."
_OWN = "compatcheck.reference."


def explain_cell(loaded: LoadedMatrix, text: str) -> Entry | None:
    """Return an entry for a cell's id, or None where the text is no id of a kernel or route in the matrix."""
    name, sm, *parts = [*text.strip().split("/"), "", ""]
    if not (sm == "cpu" or sm.startswith("sm")):
        return None
    point, rest = _point([part for part in parts if part])
    sm = sm.removeprefix("sm")
    if name.startswith(_ROUTE):
        return _route(loaded, text.strip(), name.removeprefix(_ROUTE), sm)
    if name.startswith(_OWN):
        return Entry(
            id=text.strip(),
            kind="cell",
            title="compatcheck's own check of its reference, on this host's torch",
            facts=(("check", name), ("SM", sm)),
            fix=f"compatcheck smoke --only '{text.strip()}' runs it.",
        )
    kernel = loaded.matrix.kernels.get(name)
    return None if kernel is None else _kernel(loaded, text.strip(), name, kernel, sm, point, rest)


def _point(parts: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the call's dtypes and sizes, and what else the id says: a feature, a refusal's code, a shape."""
    point: dict[str, Any] = {}
    rest: list[str] = []
    for part in parts:
        label, _, value = part.partition("=")
        size = _SIZE.fullmatch(part)
        if part in _WORDS:
            field, answer = _WORDS[part]
            point[field] = answer
        elif label in _LABELS and value:
            point[_LABELS[label]] = int(value) if label == "d" and value.isdigit() else _DTYPES.get(value, value)
        elif size is not None:
            point["page_size" if size[1] == "p" else "group"] = int(size[2])
        else:
            rest.append(part)
    return point, rest


def _kernel(
    loaded: LoadedMatrix, id_: str, name: str, kernel: Kernel, sm: str, point: dict[str, Any], rest: list[str]
) -> Entry:
    releases = loaded.matrix.libraries[kernel.library].releases if kernel.library in loaded.matrix.libraries else []
    version = max(releases, key=parse) if releases and kernel.library == "flashinfer" else None
    cell = KernelCell(sm=None if sm == "cpu" else sm, flashinfer_version=version, **point)
    program = loaded.resolver.kernel(name)
    said, codes, why = _says(program, cell)
    codes = list(dict.fromkeys([*codes, *(part for part in rest if _known(loaded, kernel, part))]))
    facts = [("kernel", name), ("SM", sm), *((field, str(value)) for field, value in point.items())]
    if rest:
        facts.append(("run as", ", ".join(rest)))
    if version is not None:
        facts.append(("with", f"FlashInfer {version}, the newest in the matrix"))
    facts.append(("the matrix says", said))
    if codes:
        facts.append(("codes", ", ".join(codes)))
    return Entry(
        id=id_,
        kind="cell",
        title=kernel.title,
        facts=tuple(facts),
        why=why or kernel.note,
        fix=f"compatcheck smoke --only '{id_}' runs it on a GPU that can; compatcheck explain {name} says more.",
        sources=sources(kernel.sources),
        line=loaded.line(("kernels", name)),
    )


def _says(program: KernelProgram, cell: KernelCell) -> tuple[str, list[str], str | None]:
    refusal = program.refusal(cell)
    if refusal is not None:
        verb = "does not compile" if refusal.outcome == "compile-error" else "refused"
        return f"{verb}: {refusal.exception} matching {refusal.match!r}", [refusal.code], refusal.why
    supported, axes = program.supports(cell)
    if cell.sm is None:
        return "runs on the CPU, as a reference", [], None
    if supported is False:
        return f"nothing stated for {', '.join(axis for axis, ok in axes.items() if ok is False)}", [], None
    return ("supported" if supported else "supported, as far as the id tells"), [], None


def _known(loaded: LoadedMatrix, kernel: Kernel, part: str) -> bool:
    return part in loaded.matrix.rules or any(refusal.code == part for refusal in kernel.refusals)


def _route(loaded: LoadedMatrix, id_: str, name: str, sm: str) -> Entry | None:
    for engine_name, engine in loaded.matrix.engines.items():
        route = engine.routes.get(name)
        if route is not None:
            phases = (("write", route.kv_write), ("prefill", route.prefill), ("decode", route.decode))
            return Entry(
                id=id_,
                kind="cell",
                title=f"{route.title}, as one",
                facts=(("route", name), ("SM", sm), *((phase, kernel) for phase, kernel in phases if kernel)),
                why=route.note,
                fix=f"compatcheck smoke --only '{id_}' runs it on a GPU that can.",
                sources=sources(route.sources),
                line=loaded.line(("engines", engine_name, "routes", name)),
            )
    return None
