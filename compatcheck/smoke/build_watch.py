"""Tell when FlashInfer builds a module, and switch loading off where the target GPU is not there."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

_MARK = "_compatcheck_watched"


def watch_builds(report: Callable[[str, float | None], None]) -> None:
    """Call `report(name, None)` before and `report(name, seconds)` after each build that takes over half a second.

    Does nothing until FlashInfer's JIT is imported. With COMPATCHECK_SMOKE_NO_LOAD set, built modules are not loaded:
    the loader would need the GPU's driver.
    """
    core = sys.modules.get("flashinfer.jit.core")
    if core is None:
        return
    for name in ("JitSpecNvcc", "JitSpec"):
        cls = getattr(core, name, None)
        if cls is None or "build" not in vars(cls) or getattr(cls, _MARK, False):
            continue
        if getattr(vars(cls)["build"], "__isabstractmethod__", False):
            continue
        _wrap(cls, report)
        setattr(cls, _MARK, True)


def _wrap(cls: Any, report: Callable[[str, float | None], None]) -> None:
    original = cls.build

    def build(self: Any, *args: Any, **kwargs: Any) -> Any:
        fresh = not self.is_compiled if hasattr(self, "is_compiled") else True
        if fresh:
            report(str(self.name), None)
        started = time.perf_counter()
        result = original(self, *args, **kwargs)
        seconds = time.perf_counter() - started
        if fresh:
            report(str(self.name), seconds)
        return result

    cls.build = build
    if os.environ.get("COMPATCHECK_SMOKE_NO_LOAD"):
        cls.load = lambda self, *args, **kwargs: _Unloaded()


class _Unloaded:
    """Stands for a module that was built and must not be loaded; any attribute is a function that refuses."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def refuse(*args: Any, **kwargs: Any) -> Any:
            raise RuntimeError("the module was built only; loading is switched off")

        return refuse
