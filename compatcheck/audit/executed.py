"""The executed way: a release's own selector is asked, in an environment and in processes of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compatcheck.audit.archives import ReleaseError, WheelFiles
from compatcheck.audit.cells import arguments, cells
from compatcheck.audit.difference import Audit, Difference
from compatcheck.audit.metadata import described, expect
from compatcheck.audit.points import spelled
from compatcheck.audit.run import proved
from compatcheck.audit.trees import TreeFiles
from compatcheck.matrix.versions import parse

if TYPE_CHECKING:
    from compatcheck.audit.messages import Source
    from compatcheck.docs.evidence import Proof
    from compatcheck.matrix.load import LoadedMatrix
    from compatcheck.resolve.engine import EngineProgram

_BOOT = Path(__file__).resolve().parent / "executed_boot.py"
_SECONDS = 1200
_SHOWN = (
    "sm",
    "kv_cache_dtype",
    "head_size",
    "block_size",
    "dtype",
    "has_sink",
    "use_mm_prefix",
    "use_non_causal",
    "attn_type",
)


def audit(
    loaded: LoadedMatrix,
    vllm: Source | None,
    flashinfer: Source | None,
    proofs: Iterable[Proof],
    python: Path | None,
    sms: tuple[str, ...] = (),
) -> Audit:
    """Return where the release's selector and the matrix differ. Raises `ReleaseError`."""
    if vllm is None:
        raise ReleaseError("--executed asks vLLM's selector: give --vllm, --wheel or --tree of a vLLM")
    with tempfile.TemporaryDirectory(prefix="compatcheck-executed-") as folder:
        root, version, compiled = _unpacked(vllm, "vllm", Path(folder))
        paths = [root]
        library = None
        if flashinfer is not None:
            second, library, more = _unpacked(flashinfer, "flashinfer-python", Path(folder))
            paths.append(second)
            compiled += more
        interpreter = python or _environment(vllm, version, Path(folder))
        public = parse(version).public
        engine = loaded.resolver.engine("vllm", public)
        release = loaded.matrix.engines["vllm"].releases.get(public)
        facts = {
            "engine": "vllm",
            "engine_version": public,
            "flashinfer_version": library or (release.flashinfer if release else None),
            "torch_version": release.torch if release else None,
            "cuda_version": "13.0",
        }
        differences: list[Difference] = []
        compared = 0
        for sm in sms or loaded.matrix.sms:
            found, count = _ask(engine, interpreter, paths, compiled, {**facts, "sm": sm})
            differences += found
            compared += count
    shown = list(proofs)
    return Audit(
        vllm=version,
        flashinfer=library,
        way="executed",
        compared=compared,
        differences=tuple(proved(d, loaded, shown) for d in differences),
        assumed=("machine code of the wheel is not loaded: its modules are empty", "flashinfer-cubin is installed"),
    )


def _unpacked(source: Source, distribution: str, folder: Path) -> tuple[str, str, list[str]]:
    """Return a folder to import from, the version, and the names of modules that are machine code."""
    path = Path(source.path)
    files = (
        TreeFiles(path, distribution, Path(source.packages) if source.packages else None)
        if path.is_dir()
        else WheelFiles(path)
    )
    version = expect(described(files.metadata()), path.name, distribution, source.version)
    compiled = [
        f"{name.rpartition('/')[0]}/{name.rpartition('/')[2].partition('.')[0]}".replace("/", ".")
        for name in files.names
        if name.endswith(".so")
    ]
    if isinstance(files, TreeFiles):
        return str(files.root), version, compiled
    root = folder / distribution
    for name in files.names:
        if name.endswith((".py", ".json", "METADATA", "entry_points.txt")) and not name.startswith("flashinfer/data/"):
            target = root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(files.raw(name))
    return str(root), version, compiled


def _environment(vllm: Source, version: str, folder: Path) -> Path:
    """Return the interpreter of a new environment with all that the release requires: several GB, some minutes."""
    root = folder / "environment"
    wanted = vllm.path if vllm.path.endswith(".whl") else f"vllm=={version}"
    python = root / "bin" / "python"
    steps = [
        [sys.executable, "-m", "venv", str(root)],
        [str(python), "-m", "pip", "install", "-q", "--no-input", wanted],
    ]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)  # noqa: S603 - our interpreter, pip
        if done.returncode != 0:
            said = done.stderr.strip().splitlines() or ["no reason given"]
            raise ReleaseError(f"{wanted}: its environment cannot be made: {said[-1]}; give one with --python")
    return python


def _ask(
    engine: EngineProgram, python: Path, paths: list[str], compiled: list[str], facts: dict[str, Any]
) -> tuple[list[Difference], int]:
    asked = [(name, cell) for name in engine.backends for cell in cells(engine, name, facts)]
    request = {
        "paths": paths,
        "compiled": compiled,
        "sm": facts["sm"],
        "cuda": facts["cuda_version"],
        "cells": [{"backend": name, "facts": _plain(cell), "arguments": arguments(cell)} for name, cell in asked],
    }
    if shutil.which(str(python)) is None:
        raise ReleaseError(f"{python}: no interpreter that can be run")
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter that the user names, our own file
            [str(python), "-I", str(_BOOT)],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ReleaseError(
            f"vLLM {engine.release} on SM {facts['sm']}: asking its selector took longer than {_SECONDS} s"
        ) from None
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) != len(asked) + 1:
        said = done.stderr.strip().splitlines() or [f"code {done.returncode}"]
        raise ReleaseError(f"vLLM {engine.release} cannot be asked in {python}: {said[-1]}")
    grouped: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for (name, cell), line in zip(asked, lines[1:], strict=True):
        said = json.loads(line)
        judged = engine.judge(name, _Facts(cell))
        matrix = (
            _shown(list(judged.words))
            if judged.accepted is not None
            else f"unknown, for want of {', '.join(sorted(judged.missing))}"
        )
        library = f"fails: {said['error']}" if "error" in said else _shown(said["reasons"])
        imported = _imported(said)
        if imported is not None and engine.program(name).facts["unimportable"] is None:
            matrix, library = "imports", imported  # once a backend, not once a configuration
        if matrix != library:
            grouped.setdefault((name, matrix, library), []).append(cell)
    axes = {field: tuple(dict.fromkeys(cell[field] for _, cell in asked)) for field in _SHOWN}
    found = [
        Difference(
            kind="executed",
            subject=name,
            where=spelled(at, {"sm": (*axes["sm"], None), **axes}),
            matrix=matrix,
            library=library,
            read="executed",
        )
        for (name, matrix, library), at in grouped.items()
    ]
    return found, len(asked)


def _imported(said: dict[str, Any]) -> str | None:
    """Return why a backend's class cannot be had, or None where it can."""
    reasons = said.get("reasons") or [""]
    return reasons[0] if len(reasons) == 1 and reasons[0].startswith("import: ") else None


class _Facts:
    def __init__(self, facts: dict[str, Any]) -> None:
        self.__dict__.update(facts)


def _plain(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value is not None}


def _shown(reasons: list[str]) -> str:
    return f"refuses: {'; '.join(reasons)}" if reasons else "accepts"
