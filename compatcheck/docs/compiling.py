"""Templates compiled ahead, in a process of its own, while the matrix is read."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

from compatcheck.docs.workers import cores

if TYPE_CHECKING:
    from pathlib import Path


class Compiling:
    """A context in which templates are compiled to the user's cache, where none are kept there yet.

    What goes wrong is not said: it goes wrong again, and is said, where the template is used.
    """

    def __init__(self, templates: Path | None) -> None:
        self._templates = templates
        self._process: int | None = None

    def __enter__(self) -> Compiling:
        # Forking is safe only where no other thread holds a lock.
        if cores() > 1 and threading.active_count() == 1 and _nothing_kept():
            sys.stdout.flush()
            sys.stderr.flush()
            with contextlib.suppress(OSError):  # no more processes are allowed
                self._process = os.fork()
            if self._process == 0:
                try:
                    _compile(self._templates)
                finally:
                    os._exit(0)
        return self

    def wait(self) -> None:
        """Wait until all are compiled."""
        if self._process is not None:
            process, self._process = self._process, None
            os.waitpid(process, 0)

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            os.kill(self._process, signal.SIGTERM)
            self.wait()


def _nothing_kept() -> bool:
    from compatcheck.docs.cache import templates_folder

    folder = templates_folder()
    try:
        return folder is not None and not os.listdir(folder)
    except OSError:
        return False


def _compile(templates: Path | None) -> None:
    from compatcheck.docs.environment import environment

    env = environment(templates)
    for name in env.list_templates(extensions=["j2"]):
        with contextlib.suppress(Exception):
            env.get_template(name)
