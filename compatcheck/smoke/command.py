"""`compatcheck smoke`, `compatcheck evidence diff` and `merge` as plain functions that return the exit code."""

from __future__ import annotations

import datetime
import hashlib
import importlib.util
import os
import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from compatcheck import __version__
from compatcheck.caches import cache_folder
from compatcheck.matrix.errors import MatrixError
from compatcheck.matrix.load import LoadedMatrix, default_path, load
from compatcheck.matrix.sm import parse_sm
from compatcheck.matrix.versions import InvalidVersion, public
from compatcheck.printable import printable
from compatcheck.smoke.cell import SmokeCell
from compatcheck.smoke.cells import Plan, Target, plan
from compatcheck.smoke.coverage import coverage
from compatcheck.smoke.evidence import EvidenceError, Run, make_evidence, read_evidence, write_evidence
from compatcheck.smoke.fingerprint import Fingerprint, make_fingerprint
from compatcheck.smoke.judge import judge_all, settled
from compatcheck.smoke.kernels.base import SmokeKernel
from compatcheck.smoke.levels import PROVES, reaches
from compatcheck.smoke.options import SmokeOptions
from compatcheck.smoke.outcome import Judged, Result
from compatcheck.smoke.patch import patches
from compatcheck.smoke.priority import ordered
from compatcheck.smoke.process import WorkerGoneError, WorkerProcess
from compatcheck.smoke.progress import make_progress
from compatcheck.smoke.protocol import Request
from compatcheck.smoke.record import Header, RecordError, open_record
from compatcheck.smoke.resources import bounds
from compatcheck.smoke.routes import route_cells
from compatcheck.smoke.runner import Runner, RunnerOptions, Watcher
from compatcheck.smoke.worker import load_kernels

FINE, FINDINGS, USAGE, INTERNAL, INTERRUPTED = 0, 1, 2, 4, 130


class UsageError(ValueError):
    """What was asked cannot be done; the text says why and what to do."""


class Here:
    """What this machine offers: the host document, the SM to test ('cpu' without a GPU), versions, devices."""

    def __init__(self, options: SmokeOptions, matrix: LoadedMatrix) -> None:
        from compatcheck.host import collect

        self.host = collect()
        self.local_sms = self.host.sms()
        self.cross = False
        if options.sm is not None:
            wanted = parse_sm(options.sm)
            if wanted not in matrix.matrix.sms:
                known = ", ".join(matrix.matrix.sms)
                raise UsageError(f"--sm {options.sm}: not a compute capability of the matrix; it has {known}")
            self.cross = wanted not in self.local_sms
            if self.cross and not options.list_only and reaches(options.level, "launch"):
                raise UsageError(
                    f"--sm {options.sm}: no such GPU here (found: {', '.join(self.local_sms) or 'none'}); "
                    "only --level import and --level compile work without it"
                )
            self.sm = wanted
        else:
            self.sm = self.local_sms[0] if self.local_sms else "cpu"
        self.gpus = [g for g in self.host.usable_gpus() if g.sm == self.sm]

    def version(self, name: str) -> str | None:
        """Return the public version of a distribution, or None."""
        found = self.host.version(name)
        try:
            return public(found) if found else None
        except InvalidVersion:
            return None

    def target(self) -> Target:
        """Return what the cells are planned for."""
        torch = self.host.packages.get("torch")
        return Target(self.sm, self.version("flashinfer-python"), self.version("torch"), torch.cuda if torch else None)

    def devices(self) -> tuple[tuple[str, dict[str, str]], ...]:
        """Return one device per GPU of the tested SM, each alone in its worker's sight."""
        if not self.gpus:
            return (("cpu", {"CUDA_VISIBLE_DEVICES": ""}),)
        given = os.environ.get("CUDA_VISIBLE_DEVICES")
        if given or len(self.gpus) == 1:
            names = given.split(",") if given else [str(self.gpus[0].index)]
        else:
            names = [str(gpu.index) for gpu in self.gpus]
        environ = {"CUDA_DEVICE_ORDER": os.environ.get("CUDA_DEVICE_ORDER", "PCI_BUS_ID")}
        return tuple(("cuda", {**environ, "CUDA_VISIBLE_DEVICES": name.strip()}) for name in names)


def run_smoke(options: SmokeOptions) -> int:
    """Run the smoke test and report; return the exit code.

    0 nothing contradicts the matrix (also where there is no GPU and nothing was claimed), 1 something does, 2 usage or
    unreadable input, 4 a failure of compatcheck itself, 130 interrupted.
    """
    try:
        matrix = load(options.matrix, options.overlays)
        here = Here(options, matrix)
        kernels = load_kernels(options.kernels)
        planned = plan_cells(options, matrix, here, kernels)
        if options.list_only:
            return _list(options, planned)
        return _run(options, matrix, here, kernels, planned)
    except (UsageError, MatrixError, RecordError) as error:
        _say(f"compatcheck smoke: {error}")
        return USAGE
    except BrokenPipeError:
        raise
    except OSError as error:
        _say(f"compatcheck smoke: {error.filename or 'file'}: {error.strerror or error}")
        return INTERNAL
    except KeyboardInterrupt:
        _say("compatcheck smoke: interrupted; results so far are kept, continue with --resume")
        return INTERRUPTED


def plan_cells(options: SmokeOptions, matrix: LoadedMatrix, here: Here, kernels: list[SmokeKernel]) -> Plan:
    """Return the selected cells in the order in which they run; raises `UsageError` where a filter leaves none."""
    target = here.target()
    planned = plan(matrix.matrix, target, kernels)
    cells = planned.cells + route_cells(matrix.matrix, target, kernels)
    declared = len(cells)
    cells = [c for c in cells if not options.only or any(fnmatchcase(c.id, p) for p in options.only)]
    cells = [c for c in cells if not any(fnmatchcase(c.id, p) for p in options.skip)]
    if options.shard is not None:
        index, count = options.shard
        families = {family: i for i, family in enumerate(dict.fromkeys(c.family for c in cells))}
        cells = [c for c in cells if families[c.family] % count == index]
    if (options.only or options.skip) and not cells:
        raise UsageError(f"no cell matches; `compatcheck smoke --list` shows the ids for SM {here.sm}")
    by_name = {kernel.name: kernel for kernel in kernels}
    return Plan(ordered(cells, lambda c: by_name[c.driver].dear(c)), planned.left_out, declared)


def _list(options: SmokeOptions, planned: Plan) -> int:
    if options.format == "json":
        print(msgspec.json.encode({"schema": 1, "cells": planned.cells, "left_out": planned.left_out}).decode())  # noqa: T201
        return FINE
    for cell in planned.cells:
        code = f" ({cell.expected.code})" if cell.expected.code else ""
        print(f"{cell.expected.kind + code:40s} {cell.id}")  # noqa: T201
    for kernel, why in planned.left_out.items():
        _say(f"left out: {kernel}: {why}")
    return FINE


def _run(options: SmokeOptions, matrix: LoadedMatrix, here: Here, kernels: list[SmokeKernel], planned: Plan) -> int:
    cells = planned.cells
    if here.sm == "cpu":
        _no_gpu(planned)
        if not _torch_is_there():
            _say("torch is not installed, so the CPU reference kernels cannot run either; nothing is claimed")
            return FINE
    devices = here.devices() if not here.cross else (("cpu", {}),)
    fingerprint = make_fingerprint(here.host, _facts(options, devices[0]), here.sm, __version__, matrix.digest)
    _say(
        f"{fingerprint.gpu or ('SM ' + here.sm + ' (cross-compiling)' if here.cross else 'CPU')}, FlashInfer "
        f"{fingerprint.flashinfer or 'none'}, torch {fingerprint.torch or 'none'}; {len(cells)} cells; "
        f"level {options.level}: {PROVES[options.level]}"
    )
    header = Header(level=options.level, fingerprint=fingerprint)
    with open_record(_record_path(options, fingerprint), header, resume=options.resume) as record:
        known = {cell.id: cell for cell in cells}
        results = {id_: result for id_, result in record.results.items() if _believed(known.get(id_), result)}
        left = [cell for cell in cells if cell.id not in results]
        progress = make_progress(len(cells), len(results), quiet=options.quiet)

        def keep(cell: SmokeCell, result: Result) -> None:
            record.append(result)
            results[cell.id] = result

        runner = Runner(
            left,
            {kernel.name: kernel for kernel in kernels},
            _runner_options(options, here, devices),
            keep,
            progress or Watcher(),
        )
        started = time.monotonic()
        complete = False
        try:
            complete = runner.run() if left else True
        finally:
            if progress is not None:
                progress.close()
            run = Run(
                date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
                level=options.level,
                wall_s=round(time.monotonic() - started, 1),
                compile_s=round(runner.compile_seconds, 1),
                modules=runner.modules_built,
                cells=len(results),
                workers=runner.worker_starts,
                complete=complete,
            )
            judged = judge_all(cells, results)
            if options.evidence is not None:
                counted = coverage(planned.declared, judged)
                document = make_evidence(fingerprint, (run,), judged, counted, planned.left_out)
                write_evidence(options.evidence, document)
            if options.junit is not None:
                from compatcheck.smoke.junit import write_junit

                write_junit(options.junit, judged, fingerprint)
    return _report(options, matrix, planned, judged, fingerprint, complete)


def _believed(cell: SmokeCell | None, result: Result) -> bool:
    """Return whether a kept result needs no second run: it is no surprise, or it was seen twice."""
    return cell is not None and (settled(cell.expected, result) or result.reruns > 0)


def _torch_is_there() -> bool:
    return importlib.util.find_spec("torch") is not None


def _facts(options: SmokeOptions, device: tuple[str, dict[str, str]]) -> dict[str, Any]:
    worker = WorkerProcess(kernels=options.kernels, environ=device[1])
    try:
        answer = worker.ask(Request(op="describe", device=device[0]), 120, 120)
    except WorkerGoneError as gone:
        _say(f"the worker's interpreter could not be asked for its versions: {gone}")
        return {}
    finally:
        worker.close()
    return answer.facts


def _runner_options(
    options: SmokeOptions, here: Here, devices: tuple[tuple[str, dict[str, str]], ...]
) -> RunnerOptions:
    limits = bounds(options.jobs)
    shared = {"MAX_JOBS": str(limits.jobs), "FLASHINFER_NO_DOWNLOAD": os.environ.get("FLASHINFER_NO_DOWNLOAD", "1")}
    if here.sm != "cpu":
        # The same list in every process, so that all of them use one cache directory.
        shared["FLASHINFER_CUDA_ARCH_LIST"] = here.sm
    building = {**shared, "COMPATCHECK_SMOKE_NO_LOAD": "1"}
    if not reaches(options.level, "launch"):
        devices = tuple(("cpu", {**environ, **building}) for _, environ in devices)
    return RunnerOptions(
        level=options.level,
        timeout=options.timeout,
        compile_timeout=options.compile_timeout,
        budget=options.budget,
        compilers=limits.modules,
        dear_compilers=limits.dear,
        kernels=options.kernels,
        devices=tuple((name, {**shared, **environ}) for name, environ in devices),
        compile_environ=building,
        rerun=options.rerun,
    )


def _record_path(options: SmokeOptions, fingerprint: Fingerprint) -> Path:
    if options.record is not None:
        return options.record
    if options.evidence is not None:
        return options.evidence.with_name(options.evidence.name + ".jsonl")
    key = hashlib.sha256(msgspec.json.encode([fingerprint.identity(), options.level])).hexdigest()[:16]
    return Path(cache_folder()) / "smoke" / f"{key}.jsonl"


def _no_gpu(planned: Plan) -> None:
    needing = [kernel for kernel, why in planned.left_out.items() if why == "needs a GPU"]
    _say("no usable GPU here: nothing is claimed about GPU kernels")
    if needing:
        _say(f"with a GPU these kernels would run, where its SM has them: {', '.join(needing)}")


def _report(
    options: SmokeOptions,
    matrix: LoadedMatrix,
    planned: Plan,
    judged: list[Judged],
    fingerprint: Fingerprint,
    complete: bool,
) -> int:
    counted = coverage(planned.declared, judged)
    wrong = [item for item in judged if item.judgement == "contradicted"]
    if options.format == "json":
        from compatcheck.smoke.evidence import cell_evidence

        document = {
            "schema": 1,
            "fingerprint": fingerprint,
            "coverage": counted,
            "cells": [cell_evidence(item) for item in judged],
        }
        print(msgspec.json.encode(document).decode())  # noqa: T201
    else:
        for item in wrong:
            words = (
                f": {item.result.exception}: {(item.result.text or '').strip()[:300]}" if item.result.exception else ""
            )
            errors = f" {item.result.errors}" if item.result.errors else ""
            print(printable(f"contradicted {item.result.id}: {item.why}{errors}{words}"))  # noqa: T201
        for text in patches(planned.cells, judged, matrix, fingerprint):
            print("\n" + printable(text, lines=True))  # noqa: T201
        if wrong:
            from compatcheck.smoke.patch_diff import diff_patch

            patch = diff_patch(planned.cells, judged, options.matrix or default_path(), fingerprint)
            if patch is not None:
                print(f"\n# the same for `git apply`, to review\n{printable(patch, lines=True)}\n")  # noqa: T201
        print(counted.line(fingerprint.sm))  # noqa: T201
    if not complete:
        _say("the time budget ended first; continue with --resume")
    return FINDINGS if wrong else FINE


def evidence_diff(before: Path, after: Path, format: str = "text") -> int:
    """Print what differs between two evidence files; 0 where no outcome does, 1 where one does, 2 unreadable."""
    from compatcheck.smoke.diff import diff

    try:
        found = diff(read_evidence(before), read_evidence(after))
    except EvidenceError as error:
        _say(f"compatcheck evidence: {error}")
        return USAGE
    if format == "json":
        print(msgspec.json.encode({"schema": 1, "diff": found}).decode())  # noqa: T201
    else:
        lines = [f"{name}: {old} -> {new}" for name, (old, new) in found.place.items()]
        lines += [f"{c.kind:8s} {c.id}: {c.before} -> {c.after}" for c in found.changed]
        lines += [f"{'gone':8s} {id_}" for id_ in found.only_before]
        lines += [f"{'new':8s} {id_}" for id_ in found.only_after]
        lines.append(f"{len(found.changed)} changed, {found.same} the same")
        print("\n".join(map(printable, lines)))  # noqa: T201
    return FINDINGS if found.differs else FINE


def evidence_judge(path: Path, output: Path, matrix: Path | None = None, overlays: tuple[Path, ...] = ()) -> int:
    """Judge an evidence file by another matrix: 0 fine, 1 contradicted, 2 unreadable, 4 not written."""
    from compatcheck.smoke.rejudge import rejudge

    try:
        loaded = load(matrix, overlays)
        document, cells, judged = rejudge(read_evidence(path), loaded)
        write_evidence(output, document)
    except (EvidenceError, MatrixError) as error:
        _say(f"compatcheck evidence: {error}")
        return USAGE
    except OSError as error:
        _say(f"compatcheck evidence: {output}: {error.strerror}")
        return INTERNAL
    return _report(
        SmokeOptions(matrix=matrix), loaded, Plan(cells, document.left_out), judged, document.fingerprint, True
    )


def evidence_merge(parts: Sequence[Path], output: Path) -> int:
    """Write the union of several runs made in one place; 0, or 2 unmergeable, 4 not written."""
    from compatcheck.smoke.merge import merge

    try:
        document = merge([read_evidence(path) for path in parts])
        write_evidence(output, document)
    except EvidenceError as error:
        _say(f"compatcheck evidence: {error}")
        return USAGE
    except OSError as error:
        _say(f"compatcheck evidence: {output}: {error.strerror}")
        return INTERNAL
    _say(document.coverage.line(document.fingerprint.sm))
    return FINE


def _say(text: str) -> None:
    print(printable(text, lines=True), file=sys.stderr)  # noqa: T201
