"""Which entries a pasted text fits, best first.

An exact id wins. Then entries whose words occur in the text (the longer the words, the surer), then entries in whose
words the text occurs, then those that say which causes a general text has, then entries that share most of its telling
terms, or the name of a function or an option. The name of an exception is no evidence, nor is a backend's. What only
shares terms is left out where words were found: it would be another cause, named without a reason.
"""

from __future__ import annotations

import math
import re
from collections import Counter

import msgspec

from compatcheck.explain.entries import Entry
from compatcheck.explain.log_text import plain
from compatcheck.resolve.words import as_regex

_TERM = re.compile(r"[a-z0-9_]{3,}")
_EXCEPTION = re.compile(r"[A-Za-z_.]*(?:Error|Exception|Warning)")
_RAISED = re.compile(r"\A[A-Za-z_.]*(?:Error|Exception): ")
_ANY = {
    re.compile(
        r"CUDA error: (?:an illegal memory access was encountered|unspecified launch failure)"
    ): "words that any fault on the GPU prints",
    re.compile(r"Ninja build failed"): "words that any failed build prints",
    re.compile(r"Missing TRTLLM-GEN kernel|Trtllm-gen kernels not found"): "words that any missing cubin prints",
}
"""Words that an entry has and that say nothing of its cause, and how they are called."""
_FOUND = 0.5
"""Above it, words were found; up to it, there are only terms in common."""
_EVERYWHERE = (
    "the not and are for was has have had with from this that but can cannot use used using only does did its any all "
    "info error warning file line such directory permission denied errno traceback most recent call last raise raised "
    "return returned value values name none true false python module import found failed fails failure unsupported "
    "supported support"
)
_SAYS_NOTHING = frozenset(_EVERYWHERE.split())
"""Terms that any log has: they are no evidence for an entry."""
_PAGE = re.compile(r"(?:\S*\.(?:md|html))?#([A-Za-z0-9_.-]+)|(?:\S*/)?rules/([A-Za-z0-9_.-]+?)(?:\.md)?")
"""A heading of the docs (kernels.md#flashinferxqadecode), or a rule's page."""
_ALONE = 0.75
"""Share of a text's terms from which two shared ones are evidence; of three or more, `_MINIMUM` is enough."""
_MINIMUM = 0.45
_NAME_LENGTH = 24
"""From this length on, a term is the name of one function or option, and evidence by itself."""
_KIND_ORDER = {"rule": 0, "selector check": 1, "library refusal": 2, "selector rule": 3, "advisory": 4}


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """An entry and how well the text fits it: 1.0 is its id, above 0.5 its words were found."""

    score: float
    how: str
    entry: Entry


def find(index: list[Entry], text: str, limit: int = 5) -> list[Match]:
    """Return the best matches for a code, an id or an error text; empty if nothing fits."""
    wanted = " ".join(plain(text).split())
    if not wanted:
        return []
    exact = [e for e in index if e.id.lower() == wanted.lower()]
    if exact:
        return [Match(score=1.0, how="id", entry=e) for e in exact][:limit]
    if _EXCEPTION.fullmatch(wanted):
        return []
    page = _PAGE.fullmatch(wanted)
    if page is not None:
        name = (page[1] or page[2]).lower()
        return [Match(score=1.0, how="anchor", entry=e) for e in index if name in (_slug(e.id), e.id.lower())][:limit]
    weights = _weights(index)
    terms = {term for term in _TERM.findall(wanted.lower()) if _telling(term)}
    names = {term for term in terms if len(term) >= _NAME_LENGTH} - {entry.id.lower() for entry in index}
    matches = [m for m in (_match(entry, wanted, terms, names, weights) for entry in index) if m is not None]
    if any(match.score > _FOUND for match in matches):
        matches = [match for match in matches if match.score > _FOUND]
    matches.sort(key=lambda m: (-m.score, m.entry.narrow, _KIND_ORDER.get(m.entry.kind, 9), m.entry.id))
    return matches[:limit]


def _match(entry: Entry, text: str, terms: set[str], names: set[str], weights: dict[str, float]) -> Match | None:
    best: tuple[float, str] | None = None
    for words in (form for stated in entry.words for form in _forms(stated)):
        score = _words_score(words, text, entry.symptom)
        if score and (best is None or score[0] > best[0]):
            best = score
    if best is None:
        common = terms & _terms(entry)
        shared = _share(common, terms, weights)
        if len(common) >= 2 and shared >= (_ALONE if len(common) == 2 else _MINIMUM):
            best = (min(0.5, shared * 0.5), "shared terms")
        elif common & names:
            best = (min(0.5, shared * 0.5), "a name in the text")
    return Match(score=round(best[0], 3), how=best[1], entry=entry) if best else None


def _forms(words: str) -> tuple[str, ...]:
    """Return an entry's words, and without the name of the exception before them, as not every log has it."""
    bare = _RAISED.sub("", words)
    return (words,) if bare == words else (words, bare)


def _words_score(words: str, text: str, symptom: bool) -> tuple[float, str] | None:
    found = as_regex(words).search(text)
    if found is not None and not symptom:
        for general, how in _ANY.items():
            if general.fullmatch(found[0]):
                return 0.3, how
    if found is not None and len(found[0]) >= 8 and not _EXCEPTION.fullmatch(found[0]):
        if symptom:
            return 0.51 + 0.08 * min(1.0, len(found[0]) / max(len(text), 1)), "words that several causes print"
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


def _share(common: set[str], terms: set[str], weights: dict[str, float]) -> float:
    total = sum(weights.get(term, 3.0) for term in terms)
    return sum(weights[term] for term in common) / total if total else 0.0


def _telling(term: str) -> bool:
    return term not in _SAYS_NOTHING and not term.endswith(("error", "exception"))


def _slug(id_: str) -> str:
    """Return the anchor that Markdown makes of a heading: 'flashinfer.xqa.decode' -> 'flashinferxqadecode'."""
    return re.sub(r"[^a-z0-9_ -]", "", id_.lower()).replace(" ", "-")


def suggest(index: list[Entry], text: str) -> list[str]:
    """Return the ids that one mistyped word may have meant, nearest first."""
    import difflib

    word = text.strip().lower()
    if not word or any(character.isspace() for character in word):
        return []
    known = {entry.id.lower(): entry.id for entry in index}
    return [known[name] for name in difflib.get_close_matches(word, list(known), n=3, cutoff=0.8)]
