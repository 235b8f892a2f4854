"""A vLLM release as it was read, against the matrix as the resolver answers for that release."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from compatcheck.audit.compare_gates import GateComparer, checks_of
from compatcheck.audit.difference import Difference, NotUnderstood
from compatcheck.audit.grants import entry
from compatcheck.audit.points import base, points, spelled
from compatcheck.audit.reading.axes import domains
from compatcheck.audit.reading.explore import Gate, Reading
from compatcheck.audit.vllm_reading import BackendReading, VllmReading
from compatcheck.host.metadata import requirements
from compatcheck.matrix.versions import parse

if TYPE_CHECKING:
    from compatcheck.audit.messages import Wheel
    from compatcheck.matrix.load import LoadedMatrix

ENGINE = "vllm"
_PINS = {"flashinfer": "flashinfer-python", "torch": "torch"}


class VllmComparer:
    """Collects differences."""

    def __init__(self, loaded: LoadedMatrix, wheel: Wheel, read: VllmReading, flashinfer: str | None) -> None:
        self.loaded = loaded
        self.wheel = wheel
        self.read = read
        self.version = parse(wheel.version).public
        self.engine = loaded.matrix.engines[ENGINE]
        self.program = loaded.resolver.engine(ENGINE, self.version)
        self.domains = domains(loaded.matrix.sms, read.kv_cache_dtypes or self.program.kv_cache_dtypes)
        release = self.engine.releases.get(self.version)
        self.facts: dict[str, Any] = {
            "engine": ENGINE,
            "engine_version": self.version,
            "flashinfer_version": flashinfer or (release.flashinfer if release else None),
            "torch_version": release.torch if release else None,
            "cuda_version": "13.0",
        }
        self.differences: list[Difference] = []
        self.not_understood: list[NotUnderstood] = []
        self.compared = 0

    def compare(self) -> None:
        """Compare everything."""
        self._release()
        self._vocabulary()
        self._selector()
        self._backends()
        self._prefill()
        self._order()
        self._linear()
        self._strange("vllm", self.read.strange)
        for file, why in self.read.unreadable.items():
            self._strange("vllm", [Gate(file=file, line=0, text=file, why=why)])

    def _add(self, **fields: Any) -> None:
        self.differences.append(Difference(**fields))

    # ------------------------------------------------------------------------------ release, vocabulary

    def _release(self) -> None:
        wanted = requirements(tuple(self.wheel.requires))
        found = {key: wanted.get(name, "") for key, name in _PINS.items()}
        pins = {key: text.removeprefix("==") for key, text in found.items() if text.startswith("==")}
        release = self.engine.releases.get(self.version)
        if release is None:
            newest = max(self.engine.releases, key=parse)
            self._add(
                kind="release",
                subject=self.version,
                matrix=f"not listed; the newest is {newest}",
                library=", ".join(f"{key} {version}" for key, version in pins.items()) or "no pins",
                values={"release": self.version, **pins},
            )
            return
        for key, text in found.items():
            said = getattr(release, key)
            self.compared += 1
            if pins.get(key) != said:
                self._add(
                    kind="pin",
                    subject=self.version,
                    aspect=key,
                    matrix=said,
                    library=text or "not required",
                    values={"was": said, "is": pins.get(key)},
                )

    def _vocabulary(self) -> None:
        said = self.read.kv_cache_dtypes
        if said is None:
            gate = Gate(
                file="vllm/config/cache.py", line=0, text="CacheDType", why="the KV-cache dtypes are no list of texts"
            )
            self._strange("vllm", [gate])
            return
        self.compared += 1
        matrix = self.program.kv_cache_dtypes
        added, gone = [d for d in said if d not in matrix], [d for d in matrix if d not in said]
        if added or gone:
            self._add(
                kind="vocabulary",
                subject="kv_cache_dtypes",
                matrix=(", ".join(gone) and f"has {', '.join(gone)}") or "lacks them",
                library=(", ".join(added) and f"adds {', '.join(added)}") or "lacks them",
                place="vllm/config/cache.py",
                values={"all": said, "added": added, "gone": gone},
            )

    def _selector(self) -> None:
        matrix = [
            check
            for check in self.engine.selector
            if check.check not in ("imports", "joint_rules") and self._has(check.since, check.until)
        ]
        library = [clause for clause in self.read.clauses if clause.check != "joint_rules"]
        for clause in library:
            if clause.check is None:
                gate = Gate(
                    file=clause.file,
                    line=clause.line,
                    text=clause.text,
                    why="a clause of the selector that is not known",
                )
                self._strange("selector", [gate])
        known = [(clause.check, clause.words) for clause in library if clause.check is not None]
        said = [(check.check, check.words) for check in matrix]
        self.compared += len(said)
        if known != said and self.read.clauses:
            for check, words in known:
                if (check, words) not in said:
                    self._add(
                        kind="selector",
                        subject=str(check),
                        matrix="does not ask it, or says other words",
                        library=f"refuses: {words}",
                    )
            for check, words in said:
                if (check, words) not in known:
                    self._add(
                        kind="selector",
                        subject=check,
                        matrix=f"refuses: {words}",
                        library="does not ask it, or says other words",
                    )
            if sorted(map(str, known)) == sorted(map(str, said)):
                self._add(kind="selector", subject="order", matrix=_names(said), library=_names(known))

    def _has(self, since: str | None, until: str | None) -> bool:
        at = parse(self.version)
        return parse(since or "0") <= at and (until is None or at < parse(until))

    # ---------------------------------------------------------------------------------------- backends

    def _backends(self) -> None:
        library = self.read.backends
        if not library:
            return
        for name, reading in library.items():
            if name in self.program.backends:
                self._backend(name, reading)
            else:
                place = f"{reading.file}:{reading.line}" if reading.file else reading.cls
                self._add(
                    kind="new-backend",
                    subject=name,
                    matrix="does not have it",
                    library=reading.cls,
                    place=place,
                    values={"cls": reading.cls, "says": _says(reading)},
                )
        for name in self.program.backends:
            if name not in library:
                self._add(
                    kind="removed-backend",
                    subject=name,
                    matrix="has it",
                    library="does not have it",
                    values={"until": self.version},
                )

    def _backend(self, name: str, reading: BackendReading) -> None:
        program = self.program.program(name)
        said = program.facts["unimportable"]
        if (reading.unimportable or None) != said:
            self._add(
                kind="gate",
                subject=name,
                aspect="import",
                matrix=said or "imports",
                library=reading.unimportable or "imports",
            )
        self._strange(name, reading.strange)
        if reading.unimportable:
            return
        without = SimpleNamespace(**base(has_flashinfer=False))
        says_so = any(check.imports and check.refuses(without) for check in program.checks)
        self.compared += 1
        if says_so != bool(reading.needs_flashinfer):
            self._add(
                kind="gate",
                subject=name,
                aspect="import",
                where="has_flashinfer false",
                matrix="cannot be imported" if says_so else "imports",
                library=f"imports FlashInfer in {reading.needs_flashinfer}" if reading.needs_flashinfer else "imports",
                place=reading.needs_flashinfer,
            )
        values = {"use_mla": program.facts["mla"], "use_sparse": program.facts["sparse"], "backend": name}
        comparer = GateComparer(name, self.facts, self.domains)
        codes = {check.check: check.code for check in self.engine.selector}
        for check, gate in reading.checks.items():
            if check in ("mla", "sparse"):
                self._flag(name, check, gate, bool(program.facts[check]))
                continue
            found = comparer.compare(check, checks_of(program, codes.get(check, ""), check), gate, values)
            written = (
                entry(check, gate, self.loaded.matrix.sms, self.domains.get(check, ())) if found.differences else None
            )
            self.differences += [_written(d, written) for d in found.differences]
            self.not_understood += found.not_understood
            self.compared += found.answers
            for outside in gate.outside:
                axis, _, value = outside.partition(" ")
                why = f"compares {axis} with {value}, which the matrix does not have"
                self.not_understood.append(
                    NotUnderstood(
                        subject=name,
                        aspect=check,
                        place=f"{gate.file}:{gate.line}",
                        expression=outside,
                        why=why,
                        digest=gate.digest,
                    )
                )

    def _flag(self, name: str, check: str, gate: Reading, said: bool) -> None:
        answers = {path.result for path in gate.paths if path.gate is None and path.raises is None}
        if len(answers) != 1 or any(path.gate for path in gate.paths):
            first = next((p.gate for p in gate.paths if p.gate), None) or Gate(
                file=gate.file, line=gate.line, text=check, why="depends on inputs"
            )
            self._strange(f"{name}.{check}", [first])
            return
        self.compared += 1
        if answers != {said}:
            self._add(
                kind="gate",
                subject=name,
                aspect=check,
                matrix=str(said).lower(),
                library=str(not said).lower(),
                place=f"{gate.file}:{gate.line}",
            )

    def _prefill(self) -> None:
        read = self.read.prefill
        if read is None:
            return
        codes = {check.check: check.code for check in self.engine.prefill_selector}
        for name in {*read, *self.program.prefill_backends}:
            said, library = name in self.program.prefill_backends, name in read
            if said != library:
                words = {True: "has it", False: "does not have it"}
                kind = "new-backend" if library else "removed-backend"
                self._add(kind=kind, subject=name, aspect="MLA prefill", matrix=words[said], library=words[library])
                continue
            program = self.program.prefill_program(name)
            comparer = GateComparer(f"{name} (MLA prefill)", self.facts, self.domains)
            for check, reading in read[name].items():
                found = comparer.compare(check, checks_of(program, codes[check], check), reading, {"use_mla": True})
                self.differences += found.differences
                self.not_understood += found.not_understood
                self.compared += found.answers

    # ------------------------------------------------------------------------------------------ orders

    def _order(self) -> None:
        reading = self.read.priorities
        if reading is None:
            return
        fields = ("use_mla", "sm", "kv_cache_dtype", "use_non_causal", "use_mm_prefix")
        grouped: dict[tuple[str, str], list[Any]] = {}
        axes_seen: dict[str, tuple[Any, ...]] = {}
        for path in reading.paths:
            if path.gate is not None:
                self._strange("order", [path.gate], reading.digest)
                continue
            axes = {name: tuple(values) for name, values in path.given.items()}
            axes.update({name: self.domains[name] for name in fields if name not in axes})
            for name, values in axes.items():
                axes_seen[name] = tuple(dict.fromkeys((*axes_seen.get(name, ()), *values)))
            for point in points(base(**self.facts), axes):
                order, missing = self.program.order(point)
                self.compared += 1
                library = [name for name in path.result if name in self.read.backends]
                if order != library:
                    said = _names(order) if order is not None else f"unknown, for want of {', '.join(sorted(missing))}"
                    grouped.setdefault((said, _names(library)), []).append(dict(vars(point)))
        for (told, tried), at in grouped.items():
            self._add(
                kind="order",
                subject="backends",
                where=spelled(at, axes_seen),
                matrix=told,
                library=tried,
                place=f"{reading.file}:{reading.line}",
            )

    def _linear(self) -> None:
        order = self.read.linear_order
        linear = self.engine.linear
        if order is None or linear is None:
            return
        from compatcheck.resolve.linear import LinearProgram

        program = LinearProgram(linear, self.version, self.program.compiler)
        listed = order.paths[0].result if len(order.paths) == 1 and order.paths[0].gate is None else None
        if listed is None:
            self._strange("linear", [p.gate for p in order.paths if p.gate], order.digest)
            return
        facts = base(**self.facts, linear="nvfp4_w4a4")
        facts["sm"] = "10.0"
        (point,) = points(facts, {})
        said = program.order(point)
        self.compared += 1
        if said != listed:
            self._add(
                kind="order",
                subject="NVFP4 linear kernels",
                matrix=_names(said),
                library=_names(listed),
                place=f"{order.file}:{order.line}",
                values={"order": listed},
            )
        comparer = GateComparer("linear", {**self.facts, "linear": "nvfp4_w4a4"}, self.domains)
        for name, reading in self.read.linear_kernels.items():
            if name not in program.kernels:
                self._add(
                    kind="linear-kernel",
                    subject=name,
                    matrix="does not have it",
                    library="has it",
                    place=f"{reading.file}:{reading.line}",
                )
                continue
            comparer.subject = name
            found = comparer.compare("joint_rules", program.gates(name), reading, {})
            self.differences += [_renamed(d) for d in found.differences]
            self.not_understood += found.not_understood
            self.compared += found.answers
        for name in program.kernels:
            if name not in listed and name in (said or ()):
                self._add(kind="linear-kernel", subject=name, matrix="has it", library="does not have it")

    def _strange(self, subject: str, gates: list[Gate], digest: str = "") -> None:
        for gate in gates:
            self.not_understood.append(
                NotUnderstood(
                    subject=subject,
                    aspect="",
                    place=f"{gate.file}:{gate.line}",
                    expression=gate.text,
                    why=gate.why,
                    digest=digest or gate.text,
                )
            )


def _written(found: Difference, entry_: dict[str, Any] | None) -> Difference:
    """Return a difference with the entry that would say what the release says."""
    import msgspec

    return found if entry_ is None else msgspec.structs.replace(found, values={**found.values, "entry": entry_})


def _renamed(found: Difference) -> Difference:
    import msgspec

    return msgspec.structs.replace(found, kind="linear-kernel", aspect="is_supported")


def _names(items: Any) -> str:
    return ", ".join(str(item[0]) if isinstance(item, tuple) else str(item) for item in items or ())


def _says(reading: BackendReading) -> dict[str, Any]:
    """Return what a backend says without depending on inputs other than the asked one: a start for its entry."""
    said: dict[str, Any] = {}
    for check, gate in reading.checks.items():
        if any(path.gate or path.raises for path in gate.paths):
            continue
        if len(gate.paths) == 1 and not gate.paths[0].given:
            said[check] = gate.paths[0].result
        elif all(set(path.given) <= {check} for path in gate.paths):
            said[check] = [value for path in gate.paths if path.result for value in path.given.get(check, [])]
    return said
