"""Write compatcheck/audit/data/acknowledged.json and guards.json from releases that a person has compared.

    python tools/record_audit.py --flashinfer FILE_OR_FOLDER ... --vllm FOLDER[,FLASHINFER] ...
    python tools/record_audit.py --only-guards --flashinfer FOLDER ... --vllm FOLDER ...

Fingerprints are added to the gates that the file already names (a person writes a new entry with `covered_by` first,
with `"digests": {}`); parameters and argument checks of FlashInfer's functions are recorded per release. Only facts are
written: names, parameters, fingerprints.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from compatcheck.audit.acknowledged import FILE
from compatcheck.audit.compare_flashinfer import signature, wheel_lines
from compatcheck.audit.compare_vllm import compare_vllm
from compatcheck.audit.guards import records as guard_records
from compatcheck.audit.messages import Answer, Request, Source
from compatcheck.audit.reader import read
from compatcheck.matrix.load import LoadedMatrix, load
from compatcheck.matrix.versions import parse

Table = dict[str, Any]


def ask(loaded: LoadedMatrix, vllm: Path | None, flashinfer: Path | None, *, only_guards: bool = False) -> Answer:
    """Read releases."""
    matrix = loaded.matrix
    return read(
        Request(
            vllm=Source(path=str(vllm)) if vllm else None,
            flashinfer=Source(path=str(flashinfer)) if flashinfer else None,
            sms=list(matrix.sms),
            kv_cache_dtypes=list(matrix.kv_cache_dtypes),
            only_guards=only_guards,
            symbols=sorted({k.symbol for k in matrix.kernels.values() if k.library == "flashinfer"}),
        )
    )


def record_flashinfer(document: Table, said: Answer) -> None:
    """Enter one release's parameters, checks and requirements."""
    assert said.flashinfer is not None
    assert said.flashinfer_wheel is not None
    version = parse(said.flashinfer_wheel.version).public
    document["recorded"] = sorted({*document.get("recorded", []), version}, key=parse)
    document.setdefault("wheels", {})[version] = wheel_lines(said.flashinfer_wheel)
    for symbol, reading in said.flashinfer.symbols.items():
        if reading.present:
            document.setdefault("parameters", {}).setdefault(symbol, {})[version] = signature(reading)
            document.setdefault("requirements", {}).setdefault(symbol, {})[version] = reading.requirement


def record_gates(document: Table, loaded: LoadedMatrix, said: Answer) -> list[str]:
    """Add fingerprints to gates that the file names; return those that it does not name."""
    assert said.vllm is not None
    assert said.vllm_wheel is not None
    beside = said.flashinfer_wheel.version if said.flashinfer_wheel else None
    compared = compare_vllm(loaded, said.vllm_wheel, said.vllm, beside)
    entries = {entry["gate"]: entry for entry in document["gates"]}
    missing = [
        f"differs: {d.kind} {d.subject} {d.aspect} {d.where}: {d.matrix} / {d.library}" for d in compared.differences
    ]
    for item in compared.not_understood:
        gate = f"{item.subject}.{item.aspect}" if item.aspect else item.subject
        if gate not in entries:
            missing.append(f"{gate} {item.digest} {item.place} {item.expression} {item.why}")
            continue
        releases = entries[gate]["digests"].setdefault(item.digest, [])
        version = parse(said.vllm_wheel.version).public
        if version not in releases:
            releases.append(version)
            releases.sort(key=parse)
    return missing


def record_guards(records: guard_records.Records, said: Answer) -> None:
    """Enter the guards of releases."""
    if said.vllm is not None and said.vllm_wheel is not None:
        guard_records.record(records.vllm, parse(said.vllm_wheel.version).public, said.vllm.guards)
    if said.flashinfer is not None and said.flashinfer_wheel is not None:
        guard_records.record(records.flashinfer, parse(said.flashinfer_wheel.version).public, said.flashinfer.guards)


def thinned(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table by release without lines that say what the one before says."""
    kept: dict[str, Any] = {}
    last: Any = None
    for version in sorted(table, key=parse):
        if table[version] != last:
            kept[version] = last = table[version]
    return kept


def main(arguments: list[str]) -> int:
    """Run. Returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--flashinfer", nargs="*", type=Path, default=[])
    parser.add_argument("--vllm", nargs="*", default=[], metavar="FOLDER[,FLASHINFER]")
    parser.add_argument("--only-guards", action="store_true", help="leave acknowledged.json as it is")
    options = parser.parse_args(arguments)
    loaded = load()
    records = guard_records.load() if guard_records.FILE.exists() else guard_records.Records()
    if options.only_guards:
        for path in options.flashinfer:
            record_guards(records, ask(loaded, None, path, only_guards=True))
        for pair in options.vllm:
            record_guards(records, ask(loaded, Path(pair.partition(",")[0]), None, only_guards=True))
        _put(guard_records.FILE, guard_records.text(records))
        return 0
    document = json.loads(FILE.read_text(encoding="utf-8"))
    for path in options.flashinfer:
        sys.stderr.write(f"{path}\n")
        said = ask(loaded, None, path)
        record_flashinfer(document, said)
        record_guards(records, said)
    for pair in options.vllm:
        vllm, _, flashinfer = pair.partition(",")
        said = ask(loaded, Path(vllm), Path(flashinfer) if flashinfer else None)
        record_guards(records, said)
        for line in record_gates(document, loaded, said):
            sys.stderr.write(f"{vllm}: {line}\n")
        _write(document)
        _put(guard_records.FILE, guard_records.text(records))
    for key in ("parameters", "requirements"):
        document[key] = {symbol: thinned(table) for symbol, table in sorted(document.get(key, {}).items())}
    document["wheels"] = thinned(document.get("wheels", {}))
    _write(document)
    _put(guard_records.FILE, guard_records.text(records))
    return 0


def _write(document: Table) -> None:
    _put(FILE, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def _put(file: Path, text: str) -> None:
    temporary = file.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(file)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
