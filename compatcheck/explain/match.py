"""Which entries a pasted text fits, best first.

An exact id wins. Then entries whose words occur in the text (the longer the words, the surer), then entries in whose
words the text occurs, then entries that share rare terms with it.
"""

from __future__ import annotations

import math
import re
from collections import Counter

import msgspec

from compatcheck.explain.entries import Entry
from compatcheck.resolve.words import as_regex

_TERM = re.compile(r"[a-z0-9_]{3,}")
_MINIMUM = 0.45
_KIND_ORDER = {"rule": 0, "selector check": 1, "library refusal": 2, "selector rule": 3, "advisory": 4}


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """An entry and how well the text fits it: 1.0 is its id, above 0.5 its words were found."""

    score: float
    how: str
    entry: Entry


def find(index: list[Entry], text: str, limit: int = 5) -> list[Match]:
    """Return the best matches for a code, an id or an error text; empty if nothing fits."""
    wanted = " ".join(text.split())
    if not wanted:
        return []
    exact = [e for e in index if e.id.lower() == wanted.lower()]
    if exact:
        return [Match(score=1.0, how="id", entry=e) for e in exact][:limit]
    weights = _weights(index)
    terms = set(_TERM.findall(wanted.lower()))
    matches = [m for m in (_match(entry, wanted, terms, weights) for entry in index) if m is not None]
    matches.sort(key=lambda m: (-m.score, _KIND_ORDER.get(m.entry.kind, 9), m.entry.id))
    return matches[:limit]


def _match(entry: Entry, text: str, terms: set[str], weights: dict[str, float]) -> Match | None:
    best: tuple[float, str] | None = None
    for words in entry.words:
        score = _words_score(words, text)
        if score and (best is None or score[0] > best[0]):
            best = score
    if best is None:
        shared = _shared(entry, terms, weights)
        if shared >= _MINIMUM:
            best = (min(0.5, shared * 0.5), "shared terms")
    return Match(score=round(best[0], 3), how=best[1], entry=entry) if best else None


def _words_score(words: str, text: str) -> tuple[float, str] | None:
    found = as_regex(words).search(text)
    if found is not None and len(found[0]) >= 8:
        return 0.7 + 0.29 * min(1.0, len(found[0]) / max(len(text), 1)), "its words are in the text"
    if 8 <= len(text) <= len(words) and text.lower() in words.lower():
        return 0.6 + 0.29 * len(text) / len(words), "the text is in its words"
    return None


def _weights(index: list[Entry]) -> dict[str, float]:
    """Return the weight of each term: rare terms say more."""
    counts = Counter(term for entry in index for term in _terms(entry))
    return {term: math.log(1 + len(index) / count) for term, count in counts.items()}


def _terms(entry: Entry) -> set[str]:
    return set(_TERM.findall(" ".join((entry.id.replace("-", " "), entry.title, *entry.words)).lower()))


def _shared(entry: Entry, terms: set[str], weights: dict[str, float]) -> float:
    total = sum(weights.get(term, 3.0) for term in terms)
    return sum(weights[term] for term in terms & _terms(entry)) / total if total else 0.0
