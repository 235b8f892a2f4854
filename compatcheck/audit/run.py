"""One audit: read the releases, compare them with the matrix, add what GPUs have shown, say which gates are known."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from compatcheck.audit import acknowledged
from compatcheck.audit.difference import Audit, Difference, NotUnderstood
from compatcheck.audit.guards import records as guard_records
from compatcheck.audit.guards.item import Guard
from compatcheck.audit.messages import Request, Source
from compatcheck.audit.reader import read
from compatcheck.matrix.versions import parse

if TYPE_CHECKING:
    from compatcheck.docs.evidence import Proof
    from compatcheck.matrix.load import LoadedMatrix


def audit(
    loaded: LoadedMatrix,
    vllm: Source | None,
    flashinfer: Source | None,
    proofs: Iterable[Proof] = (),
    known: acknowledged.Acknowledged | None = None,
    records: guard_records.Records | None = None,
) -> Audit:
    """Return what differs between the matrix and releases that are only read. Raises `ReleaseError`."""
    known = known or acknowledged.load()
    records = records or guard_records.load()
    matrix = loaded.matrix
    symbols = sorted({kernel.symbol for kernel in matrix.kernels.values() if kernel.library == "flashinfer"})
    said = read(
        Request(
            vllm=vllm,
            flashinfer=flashinfer,
            sms=list(matrix.sms),
            kv_cache_dtypes=list(matrix.kv_cache_dtypes),
            symbols=symbols,
        )
    )
    differences: list[Difference] = []
    unclear: list[NotUnderstood] = []
    notes: list[str] = []
    assumed: list[str] = []
    compared = guards = 0
    if said.vllm is not None and said.vllm_wheel is not None:
        from compatcheck.audit.compare_vllm import compare_vllm

        beside = said.flashinfer_wheel.version if said.flashinfer_wheel else None
        engine = compare_vllm(loaded, said.vllm_wheel, said.vllm, beside)
        differences += engine.differences
        unclear += engine.not_understood
        compared += engine.compared
        assumed += said.vllm.assumed
        guards += len(said.vllm.guards)
        unclear += guarded(records.vllm, said.vllm_wheel.version, said.vllm.guards)
        if beside is None:
            notes.append("no FlashInfer beside vLLM: gates that look into it are not understood")
    if said.flashinfer is not None and said.flashinfer_wheel is not None:
        from compatcheck.audit.compare_flashinfer import FlashInferComparer

        library = FlashInferComparer(loaded, said.flashinfer_wheel, said.flashinfer, known)
        library.compare()
        differences += library.differences
        unclear += library.not_understood
        compared += library.compared
        notes += library.notes
        changed = guarded(records.flashinfer, said.flashinfer_wheel.version, said.flashinfer.guards)
        guards += len(said.flashinfer.guards)
        unclear += [item for item in changed if not _is_symbol(item, symbols)]
    shown = list(proofs)
    return Audit(
        vllm=said.vllm_wheel.version if said.vllm_wheel else None,
        flashinfer=said.flashinfer_wheel.version if said.flashinfer_wheel else None,
        differences=tuple(proved(difference, loaded, shown) for difference in differences),
        not_understood=_known(unclear, known),
        compared=compared,
        guards=guards,
        assumed=tuple(assumed),
        notes=tuple(notes),
    )


def guarded(table: guard_records.Table, version: str, guards: list[Guard]) -> list[NotUnderstood]:
    """Return guards of a release whose fingerprints nobody has compared."""
    return [
        NotUnderstood(
            subject=f"guard: {guard.group}",
            aspect="",
            place=guard.key.partition(":")[0] + (f":{guard.line}" if guard.line else ""),
            expression=guard.key.partition(":")[2],
            why=why,
            digest=guard.digest,
        )
        for guard, why in guard_records.unrecorded(table, parse(version).public, guards)
    ]


def _is_symbol(item: NotUnderstood, symbols: list[str]) -> bool:
    """Return whether a guard is gone together with a function that a kernel names: that is a difference already."""
    module = item.place.partition(":")[0].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return item.why == guard_records.GONE and f"{module}:{item.expression.partition('.')[0]}" in symbols


def _known(found: list[NotUnderstood], known: acknowledged.Acknowledged) -> tuple[NotUnderstood, ...]:
    """Return gates once each, those that a person has compared marked so."""
    seen: dict[tuple[str, str, str, str], NotUnderstood] = {}
    for item in found:
        gate = f"{item.subject}.{item.aspect}" if item.aspect else item.subject
        covered = acknowledged.covered(known, gate, item.digest)
        seen.setdefault(
            (item.subject, item.aspect, item.place, item.expression), msgspec.structs.replace(item, known=covered)
        )
    return tuple(seen.values())


def proved(difference: Difference, loaded: LoadedMatrix, proofs: list[Proof]) -> Difference:
    """Return a difference with what runs on GPUs say of the kernels that it is about."""
    lines = [line for kernel in _kernels(difference, loaded) for proof in proofs for line in _told(proof, kernel)]
    return msgspec.structs.replace(difference, evidence="; ".join(dict.fromkeys(lines)))


def _told(proof: Proof, kernel: str) -> list[str]:
    return [f"{kernel}: {line}" for line in proof.of_kernel(kernel)]


def _kernels(difference: Difference, loaded: LoadedMatrix) -> list[str]:
    matrix = loaded.matrix
    if difference.subject in matrix.kernels:
        return [difference.subject]
    if ":" in difference.subject:
        return [id_ for id_, kernel in matrix.kernels.items() if kernel.symbol == difference.subject]
    engine = matrix.engines["vllm"]
    if engine.linear is not None and difference.subject in engine.linear.kernels:
        kernel = engine.linear.kernels[difference.subject].kernel
        return [kernel] if kernel else []
    found: list[str] = []
    for case in engine.routing:
        named = case.when.get("backend")
        if difference.subject in (named if isinstance(named, list) else [named]):
            route = engine.routes[case.route]
            found += [k for k in (route.kv_write, route.prefill, route.decode) if k and k not in found]
    return found


def evidence(folder: Path | None) -> list[Proof]:
    """Return the evidence files of a folder. Raises `DocsError`, a ValueError, for one that cannot be used."""
    if folder is None:
        return []
    from compatcheck.docs.evidence import read_all

    return read_all(folder)
