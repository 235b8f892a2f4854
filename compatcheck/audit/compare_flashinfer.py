"""A FlashInfer release as it was read, against the matrix's kernels and what earlier releases' functions took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.audit.acknowledged import Acknowledged, at
from compatcheck.audit.difference import Difference, NotUnderstood
from compatcheck.audit.flashinfer_reading import FlashInferReading, SymbolReading
from compatcheck.matrix.versions import parse
from compatcheck.resolve.kernel import KernelCell

if TYPE_CHECKING:
    from compatcheck.audit.messages import Wheel
    from compatcheck.matrix.load import LoadedMatrix

LIBRARY = "flashinfer"


class FlashInferComparer:
    """Collects differences."""

    def __init__(self, loaded: LoadedMatrix, wheel: Wheel, read: FlashInferReading, known: Acknowledged) -> None:
        self.loaded = loaded
        self.wheel = wheel
        self.read = read
        self.known = known
        self.version = parse(wheel.version).public
        self.differences: list[Difference] = []
        self.not_understood: list[NotUnderstood] = []
        self.notes: list[str] = []
        self.compared = 0
        self._looked = at(known, {"0": True}, self.version) is not None

    def compare(self) -> None:
        """Compare everything."""
        library = self.loaded.matrix.libraries[LIBRARY]
        if self.version not in library.releases:
            newest = max(library.releases, key=parse)
            self._add(
                kind="release",
                subject=f"FlashInfer {self.version}",
                matrix=f"not listed; the newest is {newest}",
                library="released",
                values={"flashinfer": self.version},
            )
        self._wheel()
        for id_, kernel in self.loaded.matrix.kernels.items():
            reading = self.read.symbols.get(kernel.symbol)
            if kernel.library == LIBRARY and reading is not None:
                self._present(id_, reading)
                if reading.present:
                    self._capabilities(id_, reading)
        for symbol, reading in self.read.symbols.items():
            if reading.present:
                self._signature(symbol, reading)
                self._requirement(symbol, reading)

    def _add(self, **fields: Any) -> None:
        self.differences.append(Difference(**fields))

    def _wheel(self) -> None:
        said = at(self.known, self.known.wheels, self.version)
        if said is None:
            return
        self.compared += 1
        now = wheel_lines(self.wheel)
        for line in now:
            if line not in said:
                self._add(
                    kind="pin",
                    subject=f"FlashInfer {self.version}",
                    matrix="an earlier release does not have it",
                    library=line,
                )
        for line in said:
            if line not in now:
                self._add(
                    kind="pin",
                    subject=f"FlashInfer {self.version}",
                    matrix=f"an earlier release has {line}",
                    library="does not have it",
                )

    def _present(self, id_: str, reading: SymbolReading) -> None:
        program = self.loaded.resolver.kernel(id_)
        said = program.present(self.version)
        self.compared += 1
        if reading.present is None:
            self._unclear(id_, "symbol", reading.why)
            return
        backend = backend_of(id_)
        # Several kernels are backends of one function: such a kernel is there where the function lists its backend.
        there = reading.present and (not reading.backends or backend == "auto" or backend in reading.backends)
        if said is not None and said != there:
            words = {True: "has it", False: "does not have it"}
            self._add(
                kind="symbol",
                subject=id_,
                aspect=program.kernel.symbol,
                matrix=words[said],
                library=words[there] + (f" ({reading.why})" if reading.why else ""),
                place=f"{reading.file}:{reading.line}" if reading.file else "",
                values={"kernel": id_, "present": there},
            )

    # ------------------------------------------------------------------------------------- capabilities

    def _capabilities(self, id_: str, reading: SymbolReading) -> None:
        for gate in reading.gates:
            self._unclear(id_, "requirement", gate.why, f"{gate.file}:{gate.line}", gate.text, reading.requirement)
        backend = backend_of(id_)
        listed = reading.backends.get(backend, reading.capabilities if not reading.backends else None)
        if listed is None:
            return
        kernel = self.loaded.matrix.kernels[id_]
        program = self.loaded.resolver.kernel(id_)
        for sm in self.loaded.matrix.sms:
            number = int(sm.replace(".", ""))
            cell = KernelCell(
                sm=sm,
                q_dtype=next(iter(kernel.q_dtypes), None),
                head_size=128,
                page_size=16,
                in_features=256,
                out_features=256,
                kv_dtype=next((v for g in kernel.kv_dtypes for v in _values(g.values)), None),
                flashinfer_version=self.version,
                cuda_version="13.0",
                o_dtype=next(iter(kernel.o_dtypes), None),
            )
            refusal = program.refusal(cell)
            stated, _ = program.supports(cell)
            refuses = refusal is not None and refusal.exception == "BackendSupportedError"
            self.compared += 1
            if number in listed and refuses:
                self._add(
                    kind="capability",
                    subject=id_,
                    where=f"sm {sm}",
                    matrix="the library refuses it",
                    library="accepts it",
                    place=f"{reading.file}:{reading.line}",
                )
            elif number not in listed and not refuses and stated is not False:
                self._add(
                    kind="capability",
                    subject=id_,
                    where=f"sm {sm}",
                    matrix="runs",
                    library="refuses it",
                    place=f"{reading.file}:{reading.line}",
                )
        beyond = [n for n in listed if f"{n // 10}.{n % 10}" not in self.loaded.matrix.sms]
        if beyond:
            self.notes.append(
                f"{id_}: lists compute capabilities that the matrix does not have: {', '.join(map(str, beyond))}"
            )

    # --------------------------------------------------------------------------------------- parameters

    def _signature(self, symbol: str, reading: SymbolReading) -> None:
        said = at(self.known, self.known.parameters.get(symbol, {}), self.version)
        if said is None:
            return
        self.compared += 1
        now = signature(reading)
        if now != said:
            gone, new = [line for line in said if line not in now], [line for line in now if line not in said]
            self._add(
                kind="parameters",
                subject=symbol,
                matrix="; ".join(_changed(gone, new)) or "as before",
                library="; ".join(_changed(new, gone)) or "as before",
                place=f"{reading.file}:{reading.line}",
            )

    def _requirement(self, symbol: str, reading: SymbolReading) -> None:
        said = at(self.known, self.known.requirements.get(symbol, {}), self.version)
        if (said or "") != reading.requirement and self._looked:
            why = "the functions that check a call's arguments changed; compare them with the kernel's refusals"
            self._unclear(symbol, "requirement", why, f"{reading.file}:{reading.line}", symbol, reading.requirement)

    def _unclear(self, subject: str, aspect: str, why: str, place: str = "", text: str = "", digest: str = "") -> None:
        self.not_understood.append(
            NotUnderstood(subject=subject, aspect=aspect, place=place, expression=text, why=why, digest=digest or why)
        )


def backend_of(kernel: str) -> str:
    """Return the library's name of the backend that a kernel's id ends with: `mm_fp4.cute_dsl` -> cute-dsl."""
    return kernel.rpartition(".")[2].replace("_", "-")


def signature(reading: SymbolReading) -> list[str]:
    """Return a symbol's parameters as lines such as `plan(self, kv_indptr, causal)`."""
    return [f"{name}({', '.join(parameters)})" for name, parameters in reading.parameters.items()]


def wheel_lines(wheel: Wheel) -> list[str]:
    """Return a wheel's extras and requirements as sorted lines."""
    return sorted([f"extra {extra}" for extra in wheel.extras] + [f"requires {line}" for line in wheel.requires])


def _changed(lines: list[str], others: list[str]) -> list[str]:
    """Return the parameters that only one side has."""
    found: list[str] = []
    for line in lines:
        name, _, rest = line.partition("(")
        other = next((o for o in others if o.startswith(f"{name}(")), None)
        mine = rest.rstrip(")").split(", ")
        theirs = other.partition("(")[2].rstrip(")").split(", ") if other else []
        only = [parameter for parameter in mine if parameter not in theirs]
        if other is None:
            found.append(line)
        elif only:
            found.append(f"{name}: {', '.join(only)}")
        elif len(mine) == len(theirs):
            found.append(f"{name}: another order")
    return found


def _values(values: Any) -> list[str]:
    return [v for v in (values if isinstance(values, list) else [values]) if isinstance(v, str) and v != "same"]
