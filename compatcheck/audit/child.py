"""The reading process: limits first, then a request on standard input, the answer on standard output."""

from __future__ import annotations

import gc
import resource
import sys
from pathlib import Path

import msgspec

from compatcheck.audit import limits
from compatcheck.audit.archives import ReleaseError, WheelFiles
from compatcheck.audit.flashinfer_reading import read_flashinfer
from compatcheck.audit.messages import Answer, Request, Source, Wheel
from compatcheck.audit.metadata import described, expect
from compatcheck.audit.reading.source import Files, Program
from compatcheck.audit.trees import TreeFiles
from compatcheck.audit.vllm_reading import VllmReader


class _Watched:
    """Files that note which one is being read."""

    def __init__(self, files: WheelFiles | TreeFiles, shown: str, progress: Path | None) -> None:
        self.names = files.names
        self.partial = files.partial
        self._files = files
        self._shown = shown
        self._progress = progress

    def text(self, name: str) -> str:
        if self._progress is not None:
            self._progress.write_text(f"{self._shown}: {name}", encoding="utf-8")
        return self._files.text(name)


def _open(source: Source, distribution: str, progress: Path | None) -> tuple[_Watched, Wheel]:
    path = Path(source.path)
    files = (
        TreeFiles(path, distribution, Path(source.packages) if source.packages else None)
        if path.is_dir()
        else WheelFiles(path)
    )
    metadata = described(files.metadata())
    version = expect(metadata, path.name, distribution, source.version)
    wheel = Wheel(name=distribution, version=version, requires=list(metadata.requires), extras=list(metadata.extras))
    return _Watched(files, path.name, progress), wheel


def answer(request: Request) -> Answer:
    """Read what is asked for. Raises `ReleaseError`."""
    progress = Path(request.progress) if request.progress else None
    packages: dict[str, Files] = {}
    vllm_wheel = flashinfer_wheel = None
    if request.flashinfer is not None:
        files, flashinfer_wheel = _open(request.flashinfer, "flashinfer-python", progress)
        tops = {name.partition("/")[0] for name in files.names if name.endswith("/__init__.py")}
        packages.update({top: files for top in tops if not top.endswith(".dist-info")})
        if "flashinfer" not in packages:
            raise ReleaseError(f"{Path(request.flashinfer.path).name}: no package flashinfer in it")
    if request.vllm is not None:
        files, vllm_wheel = _open(request.vllm, "vllm", progress)
        packages["vllm"] = files
        if "vllm/__init__.py" not in files.names:
            raise ReleaseError(f"{Path(request.vllm.path).name}: no package vllm in it")
    program = Program(packages)
    reader = VllmReader(program, request.sms, request.kv_cache_dtypes) if vllm_wheel else None
    vllm = (reader.read_guards() if request.only_guards else reader.read()) if reader is not None else None
    flashinfer = read_flashinfer(program, request.symbols) if flashinfer_wheel else None
    return Answer(vllm_wheel=vllm_wheel, vllm=vllm, flashinfer_wheel=flashinfer_wheel, flashinfer=flashinfer)


def main() -> int:
    """Read a request, write the answer."""
    resource.setrlimit(resource.RLIMIT_AS, (limits.MEMORY, limits.MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.SECONDS, limits.SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.setrecursionlimit(8000)
    gc.disable()
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=Request)
    try:
        said = answer(request)
    except ReleaseError as error:
        said = Answer(refused=str(error))
    sys.stdout.buffer.write(msgspec.json.encode(said))
    sys.stdout.buffer.flush()
    return 0
