"""A backend's gates as they were read, against the resolver's answers over the same inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from compatcheck.audit.difference import Difference, NotUnderstood
from compatcheck.audit.points import ASKED, DIMENSIONS, base, points, spelled
from compatcheck.audit.reading.explore import Path, Reading
from compatcheck.resolve.backend import BackendProgram, Check

_HARMLESS = ("NoSuchMethod", "AttributeError: model_config.")
"""The release does not have the question; or the model that is asked about has no such dimension."""


class Compared(NamedTuple):
    """What came of one gate."""

    differences: list[Difference]
    not_understood: list[NotUnderstood]
    answers: int


class GateComparer:
    """Compares the gates of one backend."""

    def __init__(self, subject: str, facts: dict[str, Any], domains: Mapping[str, tuple[Any, ...]]) -> None:
        self.subject = subject
        self.facts = facts
        self.domains = domains
        self._missing: frozenset[str] = frozenset()

    def compare(self, check: str, checks: Sequence[Check], reading: Reading, values: Mapping[str, Any]) -> Compared:
        """Compare one gate. `checks` are the matrix's own for this question; none means that it never refuses."""
        facts = base(**{**self.facts, **values})
        if check in ASKED:
            facts[ASKED[check]] = True
        if check == "non_causal_dcp":
            facts.update(use_mla=True, use_non_causal=True, use_dcp=True)
        fields = {field for one in checks for field in one.fields}
        fixed = {ASKED.get(check)} if check != "non_causal_dcp" else {"use_mla", "use_non_causal", "use_dcp"}
        grouped: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        seen: dict[str, tuple[Any, ...]] = {}
        unclear: list[NotUnderstood] = []
        count = 0
        for path in reading.paths:
            axes = {name: tuple(values) for name, values in path.given.items()}
            for name in fields - axes.keys():
                if name in self.domains and name not in fixed:
                    axes[name] = self.domains[name]
            for name, domain in axes.items():
                seen[name] = tuple(dict.fromkeys((*seen.get(name, ()), *domain)))
            if path.gate is not None:
                unclear.append(self._unclear(check, path, reading))
                continue
            for point in points(facts, axes):
                raised = self._raises(path)
                if raised is not None:
                    if not raised.startswith(_HARMLESS):
                        unclear.append(self._unclear(check, path, reading, raised))
                    break
                count += 1
                said, library = self._matrix(check, checks, point), self._library(check, path, point)
                if said.startswith("unknown") and not point.use_mla and set(self._missing) <= DIMENSIONS.keys():
                    continue  # a model without these dimensions, which no MLA backend is asked about
                if not _same(said, library):
                    grouped.setdefault((said, library), []).append(dict(vars(point)))
        place = f"{reading.file}:{reading.line}" if reading.file else ""
        found = [
            Difference(
                kind="gate",
                subject=self.subject,
                aspect=check,
                where=spelled(at, seen),
                matrix=said,
                library=library,
                place=place,
                values={"accepted": _told(at, check)},
            )
            for (said, library), at in grouped.items()
        ]
        return Compared(found, unclear, count)

    def _matrix(self, check: str, checks: Sequence[Check], point: SimpleNamespace) -> str:
        unknown: list[str] = []
        for one in checks:
            refuses = one.refuses(point)
            if refuses:
                return f"refuses: {one.say(point)}" if check == "joint_rules" else "refuses"
            if refuses is None:
                unknown += sorted(one.missing(point))
        self._missing = frozenset(unknown)
        return f"unknown, for want of {', '.join(dict.fromkeys(unknown))}" if unknown else "accepts"

    @staticmethod
    def _library(check: str, path: Path, point: SimpleNamespace) -> str:
        if check != "joint_rules":
            return "accepts" if path.result else "refuses"
        if not path.result:
            return "accepts"
        return f"refuses: {path.result if isinstance(path.result, str) else _filled(path.result, point)}"

    @staticmethod
    def _raises(path: Path) -> str | None:
        return path.raises

    def _unclear(self, check: str, path: Path, reading: Reading, raised: str | None = None) -> NotUnderstood:
        gate = path.gate
        return NotUnderstood(
            subject=self.subject,
            aspect=check,
            place=f"{gate.file}:{gate.line}" if gate and gate.file else f"{reading.file}:{reading.line}",
            expression=gate.text if gate else "",
            why=gate.why if gate else f"raises {raised}",
            digest=reading.digest,
            where="; ".join(
                f"{name} {', '.join(map(str, values[:6]))}{', ...' if len(values) > 6 else ''}"
                for name, values in path.given.items()
                if len(values) < len(self.domains.get(name, values))
            ),
        )


def checks_of(program: BackendProgram, code: str, check: str) -> list[Check]:
    """Return a program's checks for one of the selector's questions."""
    if check == "joint_rules":
        return [one for one in program.checks if one.rule is not None and not one.imports]
    return [one for one in program.checks if one.code == code and one.rule is None]


def _filled(parts: list[Any], point: SimpleNamespace) -> str:
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        name, table = part
        told = next((text for value, text in table if value == getattr(point, name, None)), None)
        texts.append("\x00" if told is None else told)
    return "".join(texts)


def _same(matrix: str, library: str) -> bool:
    if matrix == library:
        return True
    if "\x00" in library:
        return re.fullmatch(".*".join(map(re.escape, library.split("\x00"))), matrix, re.DOTALL) is not None
    return False


def _told(at: list[Mapping[str, Any]], check: str) -> list[Any]:
    values: list[Any] = []
    for point in at:
        value = point.get(check if check not in ("mla", "sparse") else "sm")
        if value not in values:
            values.append(value)
    return values[:64]
