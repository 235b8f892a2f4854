"""The smallest change to matrix.yaml that would agree with the GPU: to review, never applied by itself."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Protocol

import yaml

from compatcheck.matrix.versions import parse
from compatcheck.smoke.cell import SmokeCell
from compatcheck.smoke.fingerprint import Fingerprint
from compatcheck.smoke.outcome import Judged


class Lines(Protocol):
    """Where matrix entries stand."""

    def line(self, path: tuple[str | int, ...]) -> str | None:
        """Return `file:line`, or None."""


def patches(cells: Iterable[SmokeCell], judged: Iterable[Judged], lines: Lines, fingerprint: Fingerprint) -> list[str]:
    """Return one proposal per contradicted entry of the matrix, each a comment with the place and YAML to put there.

    Cells that contradict one entry in the same way share a proposal.
    """
    by_id = {cell.id: cell for cell in cells}
    return [_proposal(items, by_id, lines, fingerprint) for items in contradictions(judged)]


def contradictions(judged: Iterable[Judged]) -> list[list[Judged]]:
    """Return the contradicted cells, those that contradict one entry in the same way together."""
    groups: dict[tuple[object, ...], list[Judged]] = defaultdict(list)
    for item in judged:
        if item.judgement == "contradicted":
            expected, result = item.expected, item.result
            groups[(expected.path, expected.kind, result.outcome, result.exception, _first(result.text))].append(item)
    return list(groups.values())


def _proposal(items: list[Judged], cells: dict[str, SmokeCell], lines: Lines, fingerprint: Fingerprint) -> str:
    first = items[0]
    expected, result, cell = first.expected, first.result, cells[first.result.id]
    place = lines.line(expected.path) or "matrix.yaml"
    who = f"{fingerprint.gpu or 'CPU'} (SM {fingerprint.sm}, FlashInfer {fingerprint.flashinfer})"
    code = f" ({expected.code})" if expected.code else ""
    head = [
        f"# {place}: {'.'.join(map(str, expected.path))}",
        f"# the matrix says {expected.kind}{code}; {who} says {result.outcome}",
        *(f"#   {item.result.id}" for item in items[:5]),
        *([f"#   and {len(items) - 5} more"] if len(items) > 5 else []),
    ]
    return "\n".join([*head, _change(items, cell, fingerprint)])


def _change(items: list[Judged], cell: SmokeCell, fingerprint: Fingerprint) -> str:
    expected, result = items[0].expected, items[0].result
    version = fingerprint.flashinfer or "?"
    if expected.kind == "absent":
        return f"# the symbol is there already\n- since: (present)\n+ since: {version!r}"
    if expected.kind in ("refused", "compile-error"):
        if result.outcome in ("correct", "passed"):
            return f"# it runs now: end the refusal before this version\n+ versions: '<{version}'"
        if result.outcome in ("refused", "compile-error"):
            wanted = {"exception": result.exception, "match": pattern(result.text)}
            if result.outcome != expected.kind:
                wanted["outcome"] = result.outcome
            removed = {"exception": expected.exception, "match": expected.match}
            return _signed("-", removed) + "\n" + _signed("+", wanted)
        return "# it is no refusal any more: make it an advisory\n" + _signed(
            "+", advisory_entry(items, cell, fingerprint)
        )
    if expected.kind in ("wrong", "varies"):
        if result.outcome == "correct":
            return f"# mended: end the advisory before this version\n+ versions: '<{version}'"
        return f"# it is no longer silent: the library says\n#   {result.exception}: {_first(result.text)}"
    if result.outcome in ("refused", "compile-error"):
        return "# under refusals:\n" + _signed("+", [refusal_entry(items, cell)])
    return "# under rules:\n" + _signed("+", advisory_entry(items, cell, fingerprint))


def refusal_entry(items: list[Judged], cell: SmokeCell) -> dict[str, object]:
    """Return what stands under `refusals` of a kernel where a cell that should run is refused."""
    result = items[0].result
    entry: dict[str, object] = {
        "code": f"{cell.kernel.replace('.', '-').replace('_', '-')}-refuses",
        "when": _when(cell),
        "exception": result.exception,
        "match": pattern(result.text),
    }
    if result.outcome == "compile-error":
        entry["outcome"] = "compile-error"
    return entry


def advisory_entry(items: list[Judged], cell: SmokeCell, fingerprint: Fingerprint) -> dict[str, Any]:
    """Return what stands under `rules` where a cell that should run is wrong, or breaks."""
    result = items[0].result
    worst = max(result.errors.values(), default=None)
    silent = result.outcome == "wrong"
    return {
        f"{cell.kernel.replace('.', '-').replace('_', '-')}-{result.outcome}": {
            "title": f"{cell.kernel} is {result.outcome} on SM {cell.sm}",
            "refuser": "advisory",
            "bites": "silent" if silent else "first-request",
            "effect": "degraded" if silent else "unsupported",
            "when": {"sm": cell.sm, "kv_cache_dtype": cell.kv_dtype, "head_size": cell.head_size},
            "axis": "flashinfer_version",
            "versions": f"=={parse(fingerprint.flashinfer).public}" if fingerprint.flashinfer else "",
            "kernels": [cell.kernel],
            "why": f"Seen live: {f'relative error {worst:.3g}' if worst is not None else _first(result.text)}.",
            "fix": "(to be found)",
            "confirmed": "run",
            "sources": [{"ref": f"compatcheck smoke {result.id}", "kind": "run"}],
        }
    }


def _when(cell: SmokeCell) -> dict[str, object]:
    fields = ("sm", "q_dtype", "kv_dtype", "head_size", "page_size", "layout", "group", "causal")
    return {name: value for name in fields if (value := getattr(cell, name)) is not None}


def pattern(text: str | None) -> str:
    """Return a regular expression for the first line, with numbers and paths left open."""
    line = re.escape(_first(text))
    return re.sub(r"(?:<path>(?:/[\w.\\+-]+)?|\d+)", ".+", line)[:200]


def _first(text: str | None) -> str:
    lines = (text or "").strip().splitlines()
    return lines[0][:200] if lines else ""


def _signed(sign: str, value: object) -> str:
    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=110)
    return "\n".join(f"{sign} {line}" for line in text.rstrip().splitlines())
