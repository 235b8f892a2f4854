"""Progress on stderr: a bar with counts and what compiles now on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from compatcheck.printable import printable
from compatcheck.smoke.cell import SmokeCell
from compatcheck.smoke.judge import judge
from compatcheck.smoke.outcome import Result
from compatcheck.smoke.runner import Watcher

if TYPE_CHECKING:
    from rich.progress import Progress


class PlainProgress(Watcher):
    """One line per event, for logs: `[ 12/340] confirmed    correct   0.41 s  ID`."""

    def __init__(self, total: int, stream: TextIO | None = None, done: int = 0) -> None:
        self._total = total
        self._done = done
        self._stream = stream or sys.stderr
        self._started = time.monotonic()

    def _line(self, text: str) -> None:
        print(printable(text), file=self._stream, flush=True)

    def compiled(self, key: str, seconds: float, failed: bool) -> None:
        """Say what was built."""
        self._line(
            f"[+{time.monotonic() - self._started:6.1f} s] {'failed' if failed else 'built'} {key} in {seconds:.1f} s"
        )

    def finished(self, cell: SmokeCell, result: Result) -> None:
        """Say what a cell did, with the reason where it is no confirmation."""
        self._done += 1
        judgement, why = judge(cell.expected, result)
        worst = max(result.errors.values(), default=None)
        error = f" error {worst:.3g}" if worst is not None else ""
        seconds = f" {result.timings['total']:.2f} s" if "total" in result.timings else ""
        self._line(
            f"[{self._done:4d}/{self._total}] {judgement:12s} {result.outcome:13s}{error}{seconds}  {cell.id}"
            + ("" if judgement == "confirmed" else f"  ({why}{_words(result)})")
        )

    def close(self) -> None:
        """Nothing to clear."""


class RichProgress(Watcher):
    """A bar; contradictions stay on the screen above it."""

    def __init__(self, total: int, done: int = 0) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._counts: Counter[str] = Counter()
        self._console = Console(stderr=True)
        self._bar: Progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[counts]}"),
            TextColumn("[dim]{task.fields[now]}"),
            console=self._console,
        )
        self._task = self._bar.add_task("smoke", total=total, completed=done, counts="", now="")
        self._bar.start()

    def compiling(self, keys: Sequence[str]) -> None:
        """Show what is being built."""
        now = f"building {', '.join(keys[:2])}" + (f" and {len(keys) - 2} more" if len(keys) > 2 else "")
        self._bar.update(self._task, now=now if keys else "")

    def finished(self, cell: SmokeCell, result: Result) -> None:
        """Count; print what contradicts the matrix."""
        from rich.markup import escape

        judgement, why = judge(cell.expected, result)
        self._counts[judgement] += 1
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self._counts.items()))
        self._bar.update(self._task, advance=1, counts=counts)
        if judgement == "contradicted":
            self._bar.console.print(f"[red]contradicted[/] {escape(cell.id)}: {escape(why + _words(result))}")

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._bar.stop()


def make_progress(total: int, done: int = 0, *, quiet: bool = False) -> PlainProgress | RichProgress | None:
    """Return the progress that fits stderr, or None where quiet."""
    if quiet:
        return None
    return RichProgress(total, done) if sys.stderr.isatty() else PlainProgress(total, done=done)


def _words(result: Result) -> str:
    if not result.exception and not result.text:
        return ""
    first = (result.text or "").strip().splitlines()
    return f"; {result.exception or result.outcome}: {first[0][:160] if first else ''}"
