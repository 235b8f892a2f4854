"""The launches in files, each judged, and what is wrong with them at its place."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.launch.directives import Directives, read_directives
from compatcheck.launch.facts import read_launch
from compatcheck.launch.files.ray_serve import MARKS
from compatcheck.launch.files.reader import UnreadableError
from compatcheck.launch.files.registry import reader_for
from compatcheck.launch.judge import LaunchVerdict, judge_launch
from compatcheck.launch.model import Launch, LaunchFacts
from compatcheck.launch.programs import TELLING
from compatcheck.report.diagnostic import LEVELS, Diagnostic
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import ConfigurationError
from compatcheck.resolve.verdict import Finding

if TYPE_CHECKING:
    from compatcheck.matrix.load import LoadedMatrix

RAY = ("engine_kwargs", "LLMConfig")
"""What Ray's configurations of vLLM hold, which need not name it."""
_FIELD = re.compile(r"\b([a-z_]+)=")
_PLACED = ("kv_cache_dtype", "backend", "block_size", "dtype")
_LINEAR = "linear-"
"""How codes about linear layers start."""


class ScannedLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """One launch and its answer, for programs."""

    file: str
    line: int
    column: int
    program: str
    model: str | None
    engine_version: str
    sm: str | None
    """None where no GPU is known: every SM was tried."""
    verdict: str
    backend: str | None = None
    """The attention backend that is asked for; None where it is left to the engine."""
    selected: str | None = None
    """The backend that the engine picks, where the GPU is known and none is asked for."""
    kv_cache_dtype: str | None = None
    works_on: tuple[str, ...] = ()
    """Where every SM was tried: those on which it is not unsupported."""
    layers: dict[str, str] = {}
    linear: dict[str, str] = {}
    """NVFP4 linear layers and their scheme -> verdict."""


class ScanOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user states for all files, and how much to report."""

    given: Configuration = Configuration()
    notes: bool = False
    strict: bool = False


class FileScan(msgspec.Struct, frozen=True):
    """What one file holds. `unreadable` are the file, or files of the models that it names: exit code 2."""

    launches: tuple[ScannedLaunch, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    unreadable: tuple[Diagnostic, ...] = ()


def scan_text(loaded: LoadedMatrix, file: str, text: str, options: ScanOptions, directory: str | None) -> FileScan:
    """Return the launches of a file and what is wrong with them. Nothing in the file is run.

    `directory` is where relative --config files and model folders are looked for; None reads no other file.
    """
    if "vllm" not in text.lower() and not any(word in text for word in ("compatcheck:", *MARKS, *RAY, *TELLING)):
        return FileScan()
    reader = reader_for(file.replace("\\", "/"), text)
    if reader is None:
        return FileScan()
    try:
        found = reader.launches(text)
    except UnreadableError as error:
        return FileScan(unreadable=(_unreadable(file, str(error), error.line, error.column),))
    directives = read_directives(text, python=reader.name == "python")
    launches: list[ScannedLaunch] = []
    diagnostics: list[Diagnostic] = []
    unreadable: list[Diagnostic] = []
    for launch in found:
        placed = msgspec.structs.replace(launch, file=file, directory=directory)
        scan = _Scan(loaded, placed, directives, options, file)
        answer, more = scan.run()
        diagnostics += more
        unreadable += scan.unreadable
        if answer is not None:
            launches.append(answer)
    diagnostics += _about_comments(directives, file)
    diagnostics.sort(key=lambda d: (d.line or 0, d.column or 0, d.code))
    return FileScan(tuple(launches), tuple(dict.fromkeys(diagnostics)), tuple(dict.fromkeys(unreadable)))


def _unreadable(file: str, message: str, line: int, column: int) -> Diagnostic:
    return Diagnostic(code="unreadable", level="error", message=message, file=file, line=line, column=column)


class _Scan:
    """One launch of one file."""

    def __init__(
        self, loaded: LoadedMatrix, launch: Launch, directives: Directives, options: ScanOptions, file: str
    ) -> None:
        self.loaded = loaded
        self.launch = launch
        self.directives = directives
        self.options = options
        self.file = file
        self.unreadable: list[Diagnostic] = []

    def run(self) -> tuple[ScannedLaunch | None, list[Diagnostic]]:
        stated = self.directives.facts_at(self.launch.line)
        missing = {name: value for name, value in stated.items() if getattr(self.options.given, name) is None}
        given = msgspec.structs.replace(self.options.given, **missing)
        facts = read_launch(self.loaded.matrix, self.launch, given)
        self.unreadable = [_unreadable(e.file, e.said, e.line, e.column) for e in facts.unreadable]
        try:
            if facts.configuration.sm is not None:
                verdict = judge_launch(self.loaded, facts)
                if verdict.facts.sm is not None:
                    return self._answer(verdict, facts, verdict.facts.sm, ()), self._diagnostics(verdict, [verdict])
            every = [(sm, judge_launch(self.loaded, facts, sm=sm)) for sm in self.loaded.matrix.sms]
        except ConfigurationError as error:
            text = "; ".join(f"{field}: {message}" for field, message in error.problems)
            return None, [self._place("launch-not-judged", "warning", text, None, self.launch.line, self.launch.column)]
        works = tuple(sm for sm, verdict in every if verdict.lead.verdict != "unsupported")
        best = min((verdict for _, verdict in every), key=lambda v: -_RANK[v.lead.verdict])
        return self._answer(best, facts, None, works), self._diagnostics(best, [verdict for _, verdict in every])

    def _answer(self, verdict: LaunchVerdict, facts: LaunchFacts, sm: Any, works: tuple[str, ...]) -> ScannedLaunch:
        asked, answered = verdict.attention.facts, verdict.attention.verdict
        return ScannedLaunch(
            file=self.file,
            line=self.launch.line,
            column=self.launch.column,
            program=self.launch.program,
            model=facts.model,
            engine_version=str(verdict.facts.engine_version),
            sm=str(sm) if sm is not None else None,
            verdict=verdict.lead.verdict,
            backend=asked.backend if asked is not None else None,
            selected=answered.selected if answered is not None and sm is not None else None,
            kv_cache_dtype=asked.kv_cache_dtype if asked is not None else None,
            works_on=works,
            layers={layer.kind: layer.verdict.verdict for layer in verdict.layers if layer.verdict is not None},
            linear={f"{'+'.join(one.layers.names)} {one.layers.scheme}": one.verdict.verdict for one in verdict.linear},
        )

    # --------------------------------------------------------------------------------- diagnostics

    def _diagnostics(self, lead: LaunchVerdict, every: list[LaunchVerdict]) -> list[Diagnostic]:
        """Return what is wrong on every GPU that was tried; the launch's own mistakes hold on all of them."""
        own = {id(placed.finding) for placed in lead.launch.findings}
        found = [
            self._finding(placed.finding, placed.line, placed.column)
            for placed in lead.launch.findings
            if self._wanted(placed.finding)
        ]
        common = set.intersection(*[{f.code for f in verdict.findings} for verdict in every])
        from_resolver = [f for f in _told(lead) if id(f) not in own and self._wanted(f)]
        shared = [f for f in from_resolver if f.code in common]
        found += [self._resolved(f, lead.launch) for f in shared]
        nowhere = all(verdict.lead.verdict == "unsupported" for verdict in every)
        if nowhere and not any(d.level == "error" for d in found):
            reasons = [f"{v.facts.sm}: {_reason(v)}" for v in every]
            text = f"This launch works on no GPU of the matrix. {' '.join(dict.fromkeys(reasons))}"
            found.append(self._place("launch-works-nowhere", "error", text, None, self.launch.line, self.launch.column))
        if self.options.strict and lead.lead.verdict == "unknown":
            missing = ", ".join(lead.lead.missing) or lead.lead.untested or "nobody has tested it"
            text = f"The verdict is unknown: {missing}."
            found.append(self._place("unknown", "warning", text, None, self.launch.line, self.launch.column))
        here = self.launch.line
        lines = [(d, d.line or 0 if d.file == self.file else here) for d in found]
        return [d for d, line in lines if not self.directives.silences(d.code, line, here)]

    def _wanted(self, finding: Finding) -> bool:
        return finding.effect != "note" or self.options.notes

    def _finding(self, finding: Finding, line: int, column: int) -> Diagnostic:
        source = finding.sources[0].ref if finding.sources else None
        return self._place(
            finding.code, LEVELS[finding.effect], finding.message, finding.fix, line, column, source=source
        )

    def _place(
        self, code: str, level: Any, message: str, fix: str | None, line: int, column: int, source: str | None = None
    ) -> Diagnostic:
        return Diagnostic(
            code=code,
            level=level,
            message=message,
            file=self.file,
            line=line,
            column=column,
            help=fix,
            source=source,
        )

    def _resolved(self, finding: Finding, facts: LaunchFacts) -> Diagnostic:
        """Return a diagnostic at the option that a finding is about, in the file that holds it; else at the launch."""
        field = self._field_of(finding, facts)
        line, column = facts.places.get(field, (self.launch.line, self.launch.column))
        found = self._finding(finding, line, column)
        if field not in facts.origins:
            return found
        name, line, column = facts.origins[field]
        file = str(PurePath(self.file).parent / name)
        return msgspec.structs.replace(found, file=file, line=line, column=column)

    def _field_of(self, finding: Finding, facts: LaunchFacts) -> str:
        """Return the field whose option a finding is about; nothing where none was given."""
        named = [name for name in _FIELD.findall(finding.actual or "") if name in facts.places]
        of_linear = finding.code.startswith(_LINEAR) or finding.code == "no-linear-kernel"
        wanted = (*named, *(("linear_backend",) if of_linear else _PLACED))
        return next((name for name in wanted if name in facts.places), "")


_RANK = {"unsupported": 0, "degraded": 1, "unknown": 2, "supported": 3}


def _told(verdict: LaunchVerdict) -> list[Finding]:
    """Return the findings to report: with nothing selected, one line stands for all the selector's refusals."""
    attention, facts = verdict.attention.verdict, verdict.attention.facts
    quiet: set[str] = set()
    if attention is not None and facts is not None and facts.backend is None and attention.rejected is not None:
        quiet = {f.code for f in attention.findings if f.bites == "selection" and f.code != "no-valid-backend"}
    return [finding for finding in verdict.findings if finding.code not in quiet]


def _reason(verdict: LaunchVerdict) -> str:
    first = next((f for f in _told(verdict) if f.effect == "unsupported"), None)
    return first.code if first is not None else "unsupported"


def _about_comments(directives: Directives, file: str) -> list[Diagnostic]:
    found = [
        Diagnostic(
            code="directive-not-understood",
            level="warning",
            message=f"This comment for compatcheck is not understood: {bad.message}.",
            file=file,
            line=bad.line,
            column=bad.column,
        )
        for bad in directives.bad
    ]
    for suppression in directives.suppressions:
        place: dict[str, Any] = {"file": file, "line": suppression.line, "column": suppression.column}
        unused = [code for code in suppression.codes if code not in suppression.used]
        if unused:
            text = f"Nothing to ignore here: {', '.join(unused)}."
            fix = "Remove the comment, or the codes that no longer appear."
            found.append(Diagnostic(code="unused-suppression", level="warning", message=text, help=fix, **place))
        if not suppression.reason:
            text = "A suppression says why: write the reason after the bracket."
            found.append(Diagnostic(code="suppression-without-reason", level="warning", message=text, **place))
    return found
