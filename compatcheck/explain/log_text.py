"""A pasted log as the text that the program wrote: without colours, and without what loggers put before each line.

Loggers, container engines and CI put a process, a time or a service before every line. Without it words that a
compiler wrapped stand together again, and a short message is not lost among the prefixes.
"""

from __future__ import annotations

import re

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f]")
"""ANSI colours and cursor moves, terminal titles, and control characters but for tab and line feed."""
_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?Z?(?:[+-]\d\d:?\d\d)?"
_PREFIX = re.compile(
    r"\s*(?:"
    r"\((?:APIServer|EngineCore|Engine_core|Worker|VllmWorker|RayWorkerWrapper|pid=)[^()\n]{0,60}\)"  # vLLM's processes
    r"|\[rank\d{1,4}\]:"  # torch
    rf"|\[?{_TIME}\]?(?: -)?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,60} \S{1,60}:"  # journald
    r"|(?:ERROR|WARNING|INFO|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d (?:\[?[\w./-]{1,80}:\d{1,5}\])?"  # vLLM's logger
    r"|[\w.-]{1,60}[-_]\d{1,3}\s{1,20}\|(?=\s)"  # docker compose
    r")"
)
_PREFIXES = 6


def plain(text: str) -> str:
    """Return a log's lines without colours and prefixes; a text without them comes back as it is."""
    return "\n".join(map(_line, _CONTROL.sub("", text.replace("\r", "\n")).split("\n")))


def _line(line: str) -> str:
    at = 0
    for _ in range(_PREFIXES):
        found = _PREFIX.match(line, at)
        if found is None:
            break
        at = found.end()
    return line[at:] if at else line
