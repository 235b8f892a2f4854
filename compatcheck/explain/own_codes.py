"""Codes that belong to no entry of the matrix: what follows from its lists of releases, backends and kernels."""

from __future__ import annotations

import re

from compatcheck.explain.entry import Entry
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.matrix.model import Engine


def own_entries(name: str, engine: Engine, loaded: LoadedMatrix) -> list[Entry]:
    """Return an entry for each such code (they are made in `compatcheck.resolve.findings`)."""
    line = loaded.line
    return [
        Entry(
            id="kv-cache-dtype-not-in-release",
            kind="rule",
            title=f"The {engine.title} release does not know the KV-cache dtype",
            words=tuple(engine.unknown_dtype_words),
            facts=(("refused by", "engine"), ("bites", "config"), ("effect", "unsupported")),
            why="The option takes the names that the release lists; a newer release may list more.",
            fix="Use a release that accepts the name, or another KV-cache dtype.",
            line=line(("engines", name, "kv_cache_dtypes")),
        ),
        Entry(
            id="backend-not-in-release",
            kind="rule",
            title=f"The {engine.title} release does not have the backend",
            words=tuple(engine.unknown_backend_words),
            facts=(("refused by", "engine"), ("bites", "config"), ("effect", "unsupported")),
            why="Backends come and go with releases.",
            fix="Use a release that has it, or another backend.",
            line=line(("engines", name, "backends")),
        ),
        Entry(
            id="backend-unimportable",
            kind="rule",
            title=f"{engine.title} lists the backend but cannot import it",
            words=tuple(b.unimportable for b in engine.backends.values() if b.unimportable),
            facts=(("refused by", "engine"), ("bites", "selection"), ("effect", "unsupported")),
            why="The registry names a module that the wheel does not contain.",
            fix="Choose another backend.",
            line=line(("engines", name, "backends")),
        ),
        Entry(
            id="no-valid-backend",
            kind="rule",
            title="No attention backend takes the configuration",
            words=(engine.none_words, f"/{re.escape(engine.none_words)}.{{1,1200}}Reasons: /"),
            facts=(("refused by", "engine"), ("bites", "selection"), ("exception", "ValueError")),
            why="The selector asked every backend in its order, and each refused for a reason of its own.",
            fix="compatcheck check with the same facts lists each refusal, and what works instead.",
            line=line(("engines", name, "priorities")),
        ),
        Entry(
            id="selector-not-asked",
            kind="rule",
            title="The model does not ask the selector for these layers",
            facts=(("refused by", "nobody"), ("bites", "selection"), ("effect", "note")),
            why="Some models pick the class of their sparse layers themselves, also one that the selector refuses.",
            fix="Nothing is to be done; the dense layers of the model still go through the selector.",
            line=line(("engines", name, "backends")),
        ),
        Entry(
            id="kernel-not-in-library",
            kind="rule",
            title="The installed FlashInfer does not have the kernel that the route uses",
            facts=(("refused by", "package"), ("bites", "init"), ("effect", "unsupported")),
            why="The route is the engine's choice; the library came with it, or was replaced by an older one.",
            fix="Install a FlashInfer that has the kernel, if the engine's pin allows it.",
            line=line(("kernels",)),
        ),
    ]
