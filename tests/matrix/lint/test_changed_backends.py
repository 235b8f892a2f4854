"""Build compiles a backend only where a release changes it: no facts of any release are left uncompiled."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from compatcheck.matrix.lint.compiles import _Changed
from compatcheck.matrix.load import load
from compatcheck.resolve.backend import in_release, merge


@pytest.mark.parametrize(
    ("backends", "selector"), [("backends", "selector"), ("mla_prefill_backends", "prefill_selector")]
)
def test_every_release_is_as_one_that_is_compiled(backends: str, selector: str) -> None:
    engine = load().matrix.engines["vllm"]
    known: dict[str, Any] = getattr(engine, backends)
    changed = _Changed(msgspec.to_builtins(engine))
    compiled: dict[str, list[Any]] = {name: [] for name in known}
    counted = 0
    for release in engine.releases:
        now = changed.of(backends, selector, release)
        counted += len(now)
        for name in known:
            members = [merge(known, one, release, engine.defaults) for one in (name, *known[name].members)]
            asked = [c for c in getattr(engine, selector) if in_release(c.since or "0", c.until, release)]
            if name in now:
                compiled[name].append((members, asked))
            else:
                assert (members, asked) in compiled[name], (name, release)
    assert counted < len(known) * len(engine.releases)
