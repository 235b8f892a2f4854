"""Templates compiled ahead, in a process of its own, while the matrix is read."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from compatcheck.aside import Aside

if TYPE_CHECKING:
    from pathlib import Path


class Compiling:
    """A context in which templates are compiled to the user's cache, where none are kept there yet.

    What goes wrong is not said: it goes wrong again, and is said, where the template is used.
    """

    def __init__(self, templates: Path | None) -> None:
        self._templates = templates
        self._aside: Aside | None = None
        self.first = _nothing_kept()
        """Whether none are kept: nothing was ever rendered with this cache."""

    def __enter__(self) -> Compiling:
        if self.first:
            import jinja2  # noqa: F401  # once for both processes

            self._aside = Aside.begin(self._compile)
        return self

    def wait(self) -> None:
        """Wait until all are compiled."""
        if self._aside is not None:
            aside, self._aside = self._aside, None
            aside.result()

    def __exit__(self, *_: object) -> None:
        if self._aside is not None:
            self._aside.stop()

    def _compile(self) -> bytes:
        from compatcheck.docs.environment import environment

        env = environment(self._templates)
        for name in env.list_templates(extensions=["j2"]):
            with contextlib.suppress(Exception):
                env.get_template(name)
        return b""


def _nothing_kept() -> bool:
    from compatcheck.docs.cache import templates_folder

    folder = templates_folder()
    try:
        return folder is not None and not os.listdir(folder)
    except OSError:
        return False
