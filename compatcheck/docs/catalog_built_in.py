"""What the resolver says itself, as entries of the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatcheck.docs.built_in_codes import BUILT_IN, BUILT_IN_LINEAR, NOTES
from compatcheck.docs.catalog_entry import Entry
from compatcheck.matrix.versions import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatcheck.matrix.linear_model import Linear
    from compatcheck.matrix.model import Engine


def built_in(engine: Engine) -> Iterator[Entry]:
    """Yield an entry for each code that the resolver makes itself."""
    linear = BUILT_IN_LINEAR if engine.linear is not None else {}
    for code, (title, bites, why, fix) in {**BUILT_IN, **linear}.items():
        refuser = "package" if bites == "init" else "engine"
        yield Entry(
            code=code,
            title=title,
            kind="built-in",
            refuser=refuser,
            bites=bites,
            effect="note" if code in NOTES else "unsupported",
            words=_linear_words(engine.linear, code) if engine.linear is not None else [],
            versions=_linear_versions(engine, code),
            why=why,
            fix=fix,
            sources=engine.linear.sources if engine.linear is not None and code in linear else [],
            linear=code in linear,
        )


def _linear_versions(engine: Engine, code: str) -> list[str]:
    """Return from which release on a warning about --linear-backend is logged; nothing for other codes."""
    lines = {"linear-backend-not-for-layer": "ignored_words", "linear-backend-overridden": "overridden_words"}
    if engine.linear is None or code not in lines:
        return []
    since = [line.since for line in getattr(engine.linear, lines[code]) if line.since]
    return [f"{engine.title} >={min(since, key=parse)}"] if since else []


def _linear_words(linear: Linear, code: str) -> list[str]:
    """Return what the engine prints; a line that is only the gate's words says nothing more."""
    by_code = {
        "no-linear-kernel": [*linear.none_words, *linear.forced_words, *linear.scheme_words, *linear.unmatched_words],
        "linear-backend-not-for-layer": linear.ignored_words,
        "linear-backend-overridden": linear.overridden_words,
    }
    return [line.words for line in by_code.get(code, []) if line.words != "{reason}"]
