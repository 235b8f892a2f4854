"""A release's pins and its names of KV-cache dtypes, against the matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatcheck.audit.reading.explore import Gate
from compatcheck.host.metadata import requirements
from compatcheck.matrix.versions import parse

if TYPE_CHECKING:
    from compatcheck.audit.comparison import Comparison

_PINS = {"flashinfer": "flashinfer-python", "torch": "torch"}


def compare_release(run: Comparison) -> None:
    """Compare whether the matrix has the release, and what it pins."""
    wanted = requirements(tuple(run.wheel.requires))
    found = {key: wanted.get(name, "") for key, name in _PINS.items()}
    pins = {key: text.removeprefix("==") for key, text in found.items() if text.startswith("==")}
    release = run.engine.releases.get(run.version)
    if release is None:
        newest = max(run.engine.releases, key=parse)
        run.add(
            kind="release",
            subject=run.version,
            matrix=f"not listed; the newest is {newest}",
            library=", ".join(f"{key} {version}" for key, version in pins.items()) or "no pins",
            values={"release": run.version, **pins},
        )
        return
    for key, text in found.items():
        said = getattr(release, key)
        run.compared += 1
        if pins.get(key) != said:
            run.add(
                kind="pin",
                subject=run.version,
                aspect=key,
                matrix=said,
                library=text or "not required",
                values={"was": said, "is": pins.get(key)},
            )


def compare_vocabulary(run: Comparison) -> None:
    """Compare the KV-cache dtypes that the option accepts."""
    said = run.read.kv_cache_dtypes
    if said is None:
        gate = Gate(
            file="vllm/config/cache.py", line=0, text="CacheDType", why="the KV-cache dtypes are no list of texts"
        )
        run.strange("vllm", [gate])
        return
    run.compared += 1
    matrix = run.program.kv_cache_dtypes
    added, gone = [d for d in said if d not in matrix], [d for d in matrix if d not in said]
    if added or gone:
        run.add(
            kind="vocabulary",
            subject="kv_cache_dtypes",
            matrix=(", ".join(gone) and f"has {', '.join(gone)}") or "lacks them",
            library=(", ".join(added) and f"adds {', '.join(added)}") or "lacks them",
            place="vllm/config/cache.py",
            values={"all": said, "added": added, "gone": gone},
        )
