"""The proposals of `patch` as a unified diff over the matrix's files: what can be said mechanically, to review.

The files' text is edited by lines, so that everything else stays as it is, and `git apply` takes the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from compatcheck.audit.patch import Texts, linted
from compatcheck.smoke.cell import SmokeCell
from compatcheck.smoke.fingerprint import Fingerprint
from compatcheck.smoke.outcome import Judged
from compatcheck.smoke.patch import advisory_entry, contradictions, pattern, refusal_entry

Place = tuple[str, int, int]
"""File, first line, line after the last."""


def diff_patch(
    cells: Iterable[SmokeCell], judged: Iterable[Judged], matrix: Path, fingerprint: Fingerprint
) -> str | None:
    """Return the diff with what lint says of its result above it, or None where nothing can be said mechanically."""
    by_id = {cell.id: cell for cell in cells}
    texts = Texts(matrix)
    left = 0
    for items in contradictions(judged):
        if not _edit(texts, items, by_id[items[0].result.id], fingerprint):
            left += 1
    lines = texts.diff()
    if not lines:
        return None
    said = [f"# {line}" for line in linted(texts, matrix)]
    if left:
        said.append(f"# needs a person: {left} of the proposals above")
    return "\n".join([*said, *lines])


def _edit(texts: Texts, items: list[Judged], cell: SmokeCell, fingerprint: Fingerprint) -> bool:
    expected, result = items[0].expected, items[0].result
    version = fingerprint.flashinfer if cell.kernel.startswith("flashinfer.") else None
    if expected.kind == "absent":
        return bool(version) and _replace(
            texts, _kernel(texts, cell), r'^(    since: )"[^"]*"', lambda m: f'{m[1]}"{version}"'
        )
    if expected.kind in ("refused", "compile-error"):
        entry = _refusal(texts, cell, expected.code or "")
        if result.outcome in ("correct", "passed"):
            return bool(version) and _until(texts, entry, f"code: {expected.code}", f"<{version}")
        if result.outcome == expected.kind and result.exception:
            words = _scalar(pattern(result.text))
            named = _replace(texts, entry, r"\bexception: \w+", lambda m: f"exception: {result.exception}")
            value = r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^,}"']+)"""
            return _replace(texts, entry, rf"\bmatch: {value}", lambda m: f"match: {words}") and named
        return False
    if expected.kind in ("wrong", "varies"):
        if result.outcome != "correct" or not version:
            return False
        found = texts.block(rf"^  {re.escape(expected.code or '')}:$", r"^rules:$")
        return _replace(texts, found, r'^(    versions: )"([^"]*)"', lambda m: f'{m[1]}"{m[2]},<{version}"')
    if result.outcome in ("refused", "compile-error"):
        return _add_refusal(texts, _kernel(texts, cell), refusal_entry(items, cell))
    if result.outcome != "wrong" or cell.kernel.startswith("route."):
        return False
    return _add_rule(texts, advisory_entry(items, cell, fingerprint))


def _kernel(texts: Texts, cell: SmokeCell) -> Place | None:
    return texts.block(rf"^  {re.escape(cell.kernel)}:$", r"^kernels:$")


def _refusal(texts: Texts, cell: SmokeCell, code: str) -> Place | None:
    """Return the lines of one refusal of a kernel: from its code to the next refusal."""
    kernel = _kernel(texts, cell)
    if kernel is None:
        return None
    name, start, end = kernel
    lines = texts.files[name]
    at = next((i for i in range(start, end) if re.search(rf"\bcode: {re.escape(code)}\b(?!-)", lines[i])), None)
    if at is None:
        return None
    last = next((i for i in range(at + 1, end) if re.search(r"\bcode: |^    \w", lines[i])), end)
    return name, at, last


def _replace(texts: Texts, place: Place | None, wanted: str, put: Callable[[re.Match[str]], str]) -> bool:
    """Replace the first match in a place."""
    if place is None:
        return False
    name, start, end = place
    for index in range(start, end):
        made, count = re.subn(wanted, put, texts.files[name][index], count=1)
        if count:
            texts.files[name][index] = made
            return True
    return False


def _until(texts: Texts, place: Place | None, after: str, bound: str) -> bool:
    if _replace(texts, place, r'\bversions: "([^"]*)"', lambda m: f'versions: "{m[1]},{bound}"'):
        return True
    return _replace(texts, place, rf"({re.escape(after)})(?=,)", lambda m: f'{m[1]}, versions: "{bound}"')


def _add_refusal(texts: Texts, kernel: Place | None, entry: dict[str, object]) -> bool:
    if kernel is None:
        return False
    name, start, end = kernel
    lines = texts.files[name]
    item = _flow(entry)
    at = next((i for i in range(start, end) if lines[i].startswith("    refusals:")), None)
    if at is None:
        last = max(i for i in range(start, end) if lines[i].strip())
        lines[last + 1 : last + 1] = ["    refusals:", f"      - {item}"]
    elif lines[at].rstrip() == "    refusals:":
        lines.insert(at + 1, f"      - {item}")
    elif lines[at].startswith("    refusals: [{"):
        lines[at] = lines[at].replace("    refusals: [", f"    refusals: [{item}, ", 1)
    else:
        return False
    return True


def _add_rule(texts: Texts, entry: dict[str, Any]) -> bool:
    found = texts.block(r"^rules:")
    if found is None:
        return False
    name, start, end = found
    lines = texts.files[name]
    if lines[start].rstrip() == "rules: {}":
        lines[start] = "rules:"
    elif lines[start].rstrip() != "rules:":
        return False
    last = max(i for i in range(start, end) if lines[i].strip())
    shown = yaml.safe_dump(entry, sort_keys=False, allow_unicode=True, width=150).rstrip().splitlines()
    lines[last + 1 : last + 1] = [f"  {line}" for line in shown]
    return True


def _flow(value: object) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=1_000_000)
    return text.strip()


def _scalar(value: str) -> str:
    return _flow([value])[1:-1]
