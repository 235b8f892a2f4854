"""Questions about a configuration, asked in clusters: one look-up answers all that depend on the same sizes.

A batch repeats SMs, dtypes and flags from line to line; what varies is sizes. Questions are therefore clustered by the
sizes they depend on, so that a cluster's key repeats often although whole configurations never do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter, itemgetter
from typing import Any, Generic, Protocol, TypeVar


class Question(Protocol):
    """Something that a configuration answers with True, False or None (a fact is missing)."""

    @property
    def told(self) -> frozenset[str]:
        """Return every field that the answer, or a text about it, depends on."""

    @property
    def key(self) -> Callable[[Any], Any]:
        """Return what gives the values of those fields."""

    def never(self, facts: Any) -> bool:
        """Return whether the answer is False for these facts, whatever their sizes."""

    @property
    def text(self) -> Callable[[Any], Any]:
        """Return what gives the values that the text names, where the answer is True."""


Q = TypeVar("Q", bound=Question)

SIZES = {
    "kv_cache_dtype": "cache",
    "head_size": "head",
    "block_size": "block",
    "num_qo_heads": "heads",
    "num_kv_heads": "heads",
    "kv_lora_rank": "latent",
    "qk_nope_head_dim": "latent",
    "qk_rope_head_dim": "latent",
    "v_head_dim": "latent",
    "in_features": "matrix",
    "out_features": "matrix",
}
"""Fields with many values, by what varies with them: head counts come together, and so do a latent's dimensions."""

_CACHE_LIMIT = 65536


class Answer(Generic[Q]):
    """What one cluster says: who holds (True) or cannot tell (None), each with its place in the full order.

    Facts that differ in nothing that is said give the same object, so answers are compared by identity.
    """

    __slots__ = ("open",)

    def __init__(self, open_: tuple[tuple[int, Q, bool | None], ...]) -> None:
        self.open = open_


class Cluster(Generic[Q]):
    """Questions that depend on the same sizes, in the order in which they were given."""

    def __init__(self, members: list[tuple[int, Q]], ask: Callable[[Q, Any], bool | None]) -> None:
        names = sorted(frozenset[str]().union(*(question.told for _, question in members)))
        key: Callable[[Any], Any] = attrgetter(*names) if names else (lambda facts: None)
        self.fields = frozenset(names)
        """The fields that the answer, or a text about it, depends on."""
        cache: dict[Any, Answer[Q]] = {}
        answers: dict[Any, Answer[Q]] = {}
        others = sorted(self.fields.difference(SIZES))
        frame: Callable[[Any], Any] = attrgetter(*others) if others else (lambda facts: None)
        left: dict[Any, list[tuple[int, Q]] | None] = {}

        def open_for(facts: Any) -> list[tuple[int, Q]]:
            """Return the questions that some sizes, all else being as here, may answer with other than False."""
            if not cache or len(others) == len(names):
                return members  # asked once, or of no sizes: sorting out first is more work than asking
            at = frame(facts)
            found = left.get(at, members)
            if found is members:
                if len(left) > _CACHE_LIMIT:
                    left.clear()
                left[at] = None  # until it is asked again with other sizes
                return members
            if found is None:
                found = left[at] = [(n, q) for n, q in members if not q.never(facts)]
            return found

        def answer(facts: Any) -> Answer[Q]:
            at = key(facts)
            try:
                return cache[at]
            except KeyError:
                if len(cache) > _CACHE_LIMIT:
                    cache.clear()
                    answers.clear()
                told = tuple([(n, q, holds) for n, q in open_for(facts) if (holds := ask(q, facts)) is not False])
                said = tuple([(n, holds, q.text(facts) if holds else q.key(facts)) for n, q, holds in told])
                found = answers.get(said)
                if found is None:
                    found = answers[said] = Answer(told)
                cache[at] = found
                return found

        self.answer = answer
        """Returns what these questions say of a configuration; those that answer False are left out.

        It is asked for every line of a batch, several times: a function is called faster than a method.
        """


def cluster(questions: Iterable[Q], ask: Callable[[Q, Any], bool | None]) -> list[Cluster[Q]]:
    """Return questions in clusters; one whose sizes a larger one has too is part of that."""
    by_sizes: dict[frozenset[str], list[tuple[int, Q]]] = {}
    for at, question in enumerate(questions):
        sizes = frozenset(SIZES[field] for field in question.told if field in SIZES)
        by_sizes.setdefault(sizes, []).append((at, question))
    for sizes in sorted((s for s in by_sizes if s), key=lambda s: (len(s), sorted(s))):
        few = len(by_sizes[sizes])  # not more than the wider one: its key repeats less often
        wider = next((other for other, there in by_sizes.items() if sizes < other and few <= len(there)), None)
        if wider is not None:
            by_sizes[wider] += by_sizes.pop(sizes)
    return [Cluster(sorted(members, key=itemgetter(0)), ask) for members in by_sizes.values()]


def in_order(answers: Iterable[Answer[Q]]) -> list[tuple[int, Q, bool | None]]:
    """Return what several clusters say, in the order in which the questions were given."""
    some = [answer.open for answer in answers if answer.open]
    if len(some) == 1:
        return list(some[0])
    return sorted([one for open_ in some for one in open_], key=itemgetter(0))
