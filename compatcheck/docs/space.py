"""The axes' values for one engine, and the configurations that their positions stand for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from compatcheck.docs.axes import SHAPES, Kind, Shape, flashinfer_versions, kind_of, releases
from compatcheck.docs.lines import Unplaced
from compatcheck.docs.never import Never
from compatcheck.docs.questions import Asker
from compatcheck.resolve.backend import in_release
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import dtype_on, normalise
from compatcheck.resolve.resolver import Resolver

if TYPE_CHECKING:
    from compatcheck.matrix.load import LoadedMatrix


class Space:
    """Releases, backends, SMs, KV-cache dtypes, FlashInfer versions of one engine; its resolver.

    The resolver's findings name the entry that they are about in place of its line: `Unplaced.placed` gives that.
    """

    def __init__(self, loaded: LoadedMatrix, engine_name: str = "vllm") -> None:
        self.loaded = Unplaced(loaded)
        self.resolver = Resolver(self.loaded)
        self.matrix = loaded.matrix
        self.engine_name = engine_name
        self.engine = loaded.matrix.engines[engine_name]
        self.releases = releases(self.engine)
        self.newest = self.releases[-1]
        self.sms = list(self.matrix.sms)
        self.kv_dtypes = list(self.matrix.kv_cache_dtypes)
        self.flashinfer = flashinfer_versions(self.matrix, self.engine)
        self.at: dict[tuple[str, str], int] = {("sm", sm): n for n, sm in enumerate(self.sms)}
        """(axis or kind, value) -> its position."""
        self.at |= {("kv", kv): n for n, kv in enumerate(self.kv_dtypes)}
        self.at |= {("fi", version): n for n, version in enumerate(self.flashinfer)}
        self.at |= {(kind, shape.id): n for kind, shapes in SHAPES.items() for n, shape in enumerate(shapes)}
        self._bases = {release: self._base(release) for release in self.releases}
        self._dtypes: dict[tuple[str, str], str] = {}
        self._kinds: dict[str, Kind] = {}
        self._present: dict[str, list[str]] = {}
        self._kv_of: dict[str, list[str]] = {}
        self._never = Never(self.resolver.engine(engine_name, self.newest).compiler)
        self._rules_of: dict[str, list[str]] = {}
        self._routing_of: dict[str, list[int]] = {}

    @cached_property
    def asker(self) -> Asker:
        """What decides each backend's answers."""
        return Asker(self)

    def backends(self, release: str, kind: Kind | None = None) -> list[str]:
        """Return the backends of a release, of one kind or of all."""
        present = self._present.get(release)
        if present is None:
            found = [n for n, b in self.engine.backends.items() if in_release(b.since, b.until, release)]
            present = self._present[release] = found
        return present if kind is None else [n for n in present if self.kind(n) == kind]

    def kind(self, backend: str) -> Kind:
        """Return the kind of attention a backend is for, as its newest release states it."""
        known = self._kinds.get(backend)
        if known is None:
            last = [release for release in self.releases if backend in self.backends(release)][-1]
            facts = self.resolver.engine(self.engine_name, last).program(backend).facts
            known = self._kinds[backend] = kind_of(mla=bool(facts["mla"]), sparse=bool(facts["sparse"]))
        return known

    def kv_of(self, release: str) -> list[str]:
        """Return the KV-cache dtypes that a release's option accepts, in the matrix's order."""
        known = self._kv_of.get(release)
        if known is None:
            accepted = self.resolver.engine(self.engine_name, release).kv_cache_dtypes
            known = self._kv_of[release] = [name for name in self.kv_dtypes if name in accepted]
        return known

    def rules_of(self, backend: str) -> list[str]:
        """Return the codes of the rules about attention that may hold for a backend."""
        known = self._rules_of.get(backend)
        if known is None:
            kind = self.kind(backend)
            rules = [(code, rule) for code, rule in self.matrix.rules.items() if rule.kind == "attention"]
            codes = [code for code, rule in rules if not self._never.of(rule.when, backend, kind)]
            known = self._rules_of[backend] = codes
        return known

    def routing_of(self, backend: str) -> list[int]:
        """Return the places in the engine's routing of the cases that may hold for a backend."""
        known = self._routing_of.get(backend)
        if known is None:
            kind = self.kind(backend)
            cases = enumerate(self.engine.routing)
            found = [place for place, case in cases if not self._never.of(case.when, backend, kind)]
            known = self._routing_of[backend] = found
        return known

    def base(self, release: str) -> Configuration:
        """Return the facts of a release with every default filled in, and no SM, backend or shape."""
        return self._bases[release]

    def on(self, sm: str, release: str) -> Configuration:
        """Return the base facts on an SM: with float16 where the engine does not run bfloat16 models."""
        return msgspec.structs.replace(self._bases[release], sm=sm, dtype=self._dtype(sm, release))

    def facts(
        self, release: str, backend: str, sm: str, kv: str, shape: Shape, *, sink: bool = False, fi: str | None = None
    ) -> Configuration:
        """Return the configuration of a cell, with every default filled in."""
        base, kind = self._bases[release], self.kind(backend)
        return msgspec.structs.replace(
            base,
            sm=sm,
            dtype=self._dtype(sm, release),
            backend=backend,
            kv_cache_dtype=kv,
            has_sink=sink,
            use_mla=kind.use_mla,
            use_sparse=kind.use_sparse,
            flashinfer_version=fi or base.flashinfer_version,
            **shape.fields,
        )

    def _dtype(self, sm: str, release: str) -> str:
        known = self._dtypes.get((sm, release))
        if known is None:
            known = self._dtypes[sm, release] = dtype_on(self.matrix, sm, str(self._bases[release].dtype))
        return known

    def _base(self, release: str) -> Configuration:
        given = Configuration(engine=self.engine_name, engine_version=release)
        facts: Configuration = normalise(self.matrix, given).facts
        return facts
