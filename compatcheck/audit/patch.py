"""Differences as a unified diff over the matrix's files: what can be said mechanically, for a person to review.

The files' text is edited by lines, so that everything else stays as it is. The result is read and linted before it is
shown; what lint says of it stands above the diff, where `git apply` passes over it.
"""

from __future__ import annotations

import difflib
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from compatcheck.audit.difference import Audit, Difference
from compatcheck.matrix.load import default_path
from compatcheck.matrix.parts import with_parts

if TYPE_CHECKING:
    from compatcheck.matrix.load import LoadedMatrix

_ENGINE = ("engines", "vllm")


class Patch(NamedTuple):
    """The diff, and the differences that a person has to write down."""

    text: str
    left_out: list[str]


class Texts:
    """The lines of a matrix's files: `files` to be edited, `before` as they were."""

    def __init__(self, path: Path) -> None:
        self.home = path.parent
        self.files = {
            _relative(p, path.parent): data.decode("utf-8").split("\n") for p, data in with_parts(path, default_path())
        }
        self.before = {name: list(lines) for name, lines in self.files.items()}

    def diff(self) -> list[str]:
        """Return the lines of a unified diff over every file that was edited."""
        found: list[str] = []
        for name, after in self.files.items():
            before = self.before[name]
            if not before[-1] and not after[-1]:  # the end of the last line, not a line of its own
                before, after = before[:-1], after[:-1]
            found += difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")
        return found

    def find(self, pattern: str) -> tuple[str, int] | None:
        """Return (file, line index) of the first line that a regular expression matches."""
        for name, lines in self.files.items():
            for index, line in enumerate(lines):
                if re.search(pattern, line):
                    return name, index
        return None

    def block(self, pattern: str, within: str | None = None) -> tuple[str, int, int] | None:
        """Return (file, first line, line after the last) of a mapping's entry, found by a pattern of its first line."""
        for name, lines in self.files.items():
            start, end = 0, len(lines)
            if within is not None:
                outer = next((i for i, line in enumerate(lines) if re.search(within, line)), None)
                if outer is None:
                    continue
                start, end = outer, _end(lines, outer)
            for index in range(start, end):
                if re.search(pattern, lines[index]):
                    return name, index, _end(lines, index)
        return None


def make_patch(audit: Audit, loaded: LoadedMatrix, matrix_file: Path | None) -> Patch:
    """Return the patch for an audit."""
    path = matrix_file or default_path()
    texts = Texts(path)
    left_out: list[str] = []
    done: set[tuple[str, str]] = set()
    for difference in audit.differences:
        gate = (difference.subject, difference.aspect)
        if "entry" in difference.values and gate in done:
            continue  # the same entry says it all
        done.add(gate)
        if not _apply(texts, difference, audit, loaded):
            name = f"{difference.kind} {difference.subject} {difference.aspect}".strip()
            left_out.append(f"{name}: matrix: {difference.matrix}; library: {difference.library}")
    diff = texts.diff()
    if not diff:
        return Patch("", left_out)
    said = [f"# {line}" for line in linted(texts, path)]
    said += [f"# needs a person: {line}" for line in left_out]
    return Patch("\n".join([*said, *diff]) + "\n", left_out)


def _apply(texts: Texts, difference: Difference, audit: Audit, loaded: LoadedMatrix) -> bool:
    values = difference.values
    version = str(audit.vllm or "").partition("+")[0]
    if difference.kind == "release":
        return _flashinfer_release(texts, values["flashinfer"]) if "release" not in values else _release(texts, values)
    if difference.kind == "pin" and values.get("is"):
        return _pin(texts, difference.subject, difference.aspect, values)
    if difference.kind == "vocabulary":
        return _vocabulary(texts, version, values)
    if difference.aspect == "MLA prefill":
        return False
    if difference.kind == "new-backend":
        return _new_backend(texts, version, difference, loaded)
    if difference.kind == "removed-backend":
        found = texts.block(rf"^      {re.escape(difference.subject)}:$", r"^    backends:$")
        return _until(texts, found, version, 8)
    if difference.kind == "symbol" and values.get("present") is False:
        found = texts.block(rf"^  {re.escape(values['kernel'])}:$", r"^kernels:$")
        return _until(texts, found, str(audit.flashinfer).partition("+")[0], 4)
    if difference.kind == "gate" and "entry" in values:
        return _change(texts, version, difference)
    return False


def _release(texts: Texts, values: dict[str, Any]) -> bool:
    found = texts.find(r"^    releases: \{")
    if found is None or "flashinfer" not in values or "torch" not in values:
        return False
    name, index = found
    lines = texts.files[name]
    end = next((i for i in range(index, len(lines)) if lines[i].rstrip().endswith("}}")), None)
    if end is None:
        return False
    new = f'"{values["release"]}": {{flashinfer: "{values["flashinfer"]}", torch: "{values["torch"]}"}}'
    lines[end] = f"{lines[end].rstrip()[:-1]},"
    lines.insert(end + 1, f"      {new}}}")
    _library(texts, "vllm", values["release"])
    return True


def _flashinfer_release(texts: Texts, version: str) -> bool:
    return _library(texts, "flashinfer", version)


def _library(texts: Texts, library: str, version: str) -> bool:
    found = texts.block(rf"^  {library}:$", r"^libraries:$")
    if found is None:
        return False
    name, start, end = found
    lines = texts.files[name]
    last = next((i for i in range(end - 1, start, -1) if lines[i].rstrip().endswith("]")), None)
    if last is None or any(f'"{version}"' in line for line in lines[start:end]):
        return False
    lines[last] = f'{lines[last].rstrip()[:-1]}, "{version}"]'
    return True


def _pin(texts: Texts, release: str, key: str, values: dict[str, Any]) -> bool:
    for lines in texts.files.values():
        for index, line in enumerate(lines):
            pattern = rf'("{re.escape(release)}": \{{[^}}]*\b{key}: )"{re.escape(values["was"])}"'
            changed = re.sub(pattern, rf'\g<1>"{values["is"]}"', line)
            if changed != line:
                lines[index] = changed
                return True
    return False


def _vocabulary(texts: Texts, version: str, values: dict[str, Any]) -> bool:
    found = texts.block(r"^    kv_cache_dtypes:$", r"^  vllm:$")
    if found is None:
        return False
    name, start, end = found
    lines = texts.files[name]
    last = max(i for i in range(start, end) if lines[i].strip())
    lines[last + 1 : last + 1] = [f'      - {{since: "{version}",', f"         values: [{', '.join(values['all'])}]}}"]
    known = texts.block(r"^kv_cache_dtypes:$")
    if known is None:
        return True
    name, start, end = known
    lines = texts.files[name]
    there = {line.strip().partition(":")[0] for line in lines[start:end]}
    last = max(i for i in range(start, end) if lines[i].strip())
    new = [
        f'  {dtype}: {{title: "new in {version}, to be described"}}' for dtype in values["added"] if dtype not in there
    ]
    lines[last + 1 : last + 1] = new
    return True


def _new_backend(texts: Texts, version: str, difference: Difference, loaded: LoadedMatrix) -> bool:
    found = texts.block(r"^    backends:$", r"^  vllm:$")
    if found is None:
        return False
    name, start, end = found
    lines = texts.files[name]
    last = max(i for i in range(start, end) if lines[i].strip())
    module, _, cls = difference.values["cls"].rpartition(".")
    stub = [f"      # new in {version}; what was read of it:", f"      # {difference.subject}:"]
    stub += [f"      #   title: {cls}", f'      #   since: "{version}"', f"      #   cls: {difference.values['cls']}"]
    stub += [f"      #   {line}" for line in _flow(difference.values.get("says", {}))]
    stub.append(f"      #   sources: [{module.replace('.', '/')}.py:{cls}@{version}]")
    lines[last + 1 : last + 1] = stub
    return True


def _until(texts: Texts, found: tuple[str, int, int] | None, version: str, indent: int) -> bool:
    if found is None:
        return False
    name, start, end = found
    lines = texts.files[name]
    at = next((i for i in range(start, end) if re.match(rf" {{{indent}}}(since|symbol): ", lines[i])), None)
    if at is None or any(re.match(rf" {{{indent}}}until: ", line) for line in lines[start:end]):
        return False
    lines.insert(at + 1, f'{" " * indent}until: "{version}"')
    return True


def _change(texts: Texts, version: str, difference: Difference) -> bool:
    found = texts.block(rf"^      {re.escape(difference.subject)}:$", r"^    backends:$")
    if found is None:
        return False
    name, start, end = found
    lines = texts.files[name]
    field = ", ".join(_flow(difference.values["entry"]))
    item = f'{{since: "{version}", {field}}}'
    at = next((i for i in range(start, end) if re.match(r" {8}changes:", lines[i])), None)
    last = max(i for i in range(start, end) if lines[i].strip() and not lines[i].strip().startswith("#"))
    if at is None:
        lines[last + 1 : last + 1] = ["        changes:", f"          - {item}"]
    elif lines[at].rstrip() == "        changes:":
        until = _end(lines, at)
        last = max(i for i in range(at, until) if lines[i].strip())
        if any(f'since: "{version}"' in line for line in lines[at : last + 1]):
            same = next(i for i in range(at, last + 1) if f'since: "{version}"' in lines[i])
            lines[same] = lines[same].replace(f'since: "{version}"', f'since: "{version}", {field}', 1)
        else:
            lines.insert(last + 1, f"          - {item}")
    else:
        until = max(i for i in range(at, _end(lines, at)) if lines[i].strip())
        if not lines[until].rstrip().endswith("]"):
            return False
        lines[until] = f"{lines[until].rstrip()[:-1]}, {item}]"
    return True


def _flow(values: dict[str, Any]) -> list[str]:
    """Return `key: value` texts in YAML's flow style."""
    shown: list[str] = []
    for key, value in values.items():
        text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000).strip()
        shown.append(f"{key}: {text.removesuffix('...').strip()}")
    return shown


def _end(lines: list[str], start: int) -> int:
    """Return the line after an entry: the next one that is not deeper, comments and blank lines aside."""
    indent = len(lines[start]) - len(lines[start].lstrip())
    for index in range(start + 1, len(lines)):
        text = lines[index]
        if text.strip() and not text.lstrip().startswith("#") and len(text) - len(text.lstrip()) <= indent:
            return index
    return len(lines)


def linted(texts: Texts, path: Path) -> list[str]:
    """Return what lint says of the edited files, a line for each problem, or one line that says there is none."""
    from compatcheck.matrix.lint.run import lint_files

    with tempfile.TemporaryDirectory(prefix="compatcheck-patch-") as folder:
        for name, lines in texts.files.items():
            file = Path(folder) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(lines), encoding="utf-8")
        found = lint_files([Path(folder) / _relative(path, path.parent)])
    if not found:
        return ["compatcheck lint finds no problem in the result"]
    return [f"compatcheck lint, fill in: line {problem.line}: {problem.code}: {problem.message}" for problem in found]


def _relative(path: Path, home: Path) -> str:
    try:
        return path.relative_to(home).as_posix()
    except ValueError:
        return f"{path.parent.name}/{path.name}" if path.parent.name == "matrix" else path.name
