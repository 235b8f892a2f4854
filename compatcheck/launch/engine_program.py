"""The engine's programs: `vllm serve`, `vllm bench latency`, `python -m vllm.entrypoints...`."""

from __future__ import annotations

import re

from compatcheck.launch.help_request import asks_help
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.programs import PYTHON
from compatcheck.launch.wrappers import name_of

SUBCOMMANDS = frozenset({"serve", "run-batch"})
OMNI = "--omni"
"""With it among the words vllm-omni takes the command over, with options of its own (its entrypoints/cli/main.py)."""
BENCHMARKS = frozenset({"latency", "throughput"})
_MODULES = re.compile(r"^vllm\.entrypoints\.(?:openai\.(?:api_server|run_batch)|api_server|cli\.main)$")


def engine_launches(words: list[Word], environment: dict[str, Word]) -> list[Launch] | None:
    """Return the launch of a command of the engine; none where it only asks for help, None for any other command."""
    return _launched(*_program(words), words, environment)


def module_launches(words: list[Word], environment: dict[str, Word]) -> list[Launch] | None:
    """Return the launch of a program that runs a module of the engine, as torchrun and Python do; else as above."""
    return _launched(*_module(words), words, environment)


def _launched(
    program: str | None, rest: list[Word], words: list[Word], environment: dict[str, Word]
) -> list[Launch] | None:
    if program is None:
        return None
    if asks_help(rest) or any(word.text == OMNI for word in rest):
        return []
    place = words[0]
    return [Launch(program=program, words=tuple(rest), environment=environment, line=place.line, column=place.column)]


def _program(words: list[Word]) -> tuple[str | None, list[Word]]:
    """Return the engine's program and the words that follow it."""
    if name_of(words[0]).partition("@")[0] == "vllm" and len(words) > 1:
        second = words[1].text
        if second in SUBCOMMANDS:
            return f"vllm {second}", words[2:]
        if second == "bench" and len(words) > 2 and words[2].text in BENCHMARKS:
            return f"vllm bench {words[2].text}", words[3:]
    return _module(words) if PYTHON.match(words[0].text) else (None, [])


def _module(words: list[Word]) -> tuple[str | None, list[Word]]:
    """Return the server module behind `-m`, and the words that follow it."""
    texts = [word.text for word in words]
    at = texts.index("-m") if "-m" in texts[:12] else len(texts)
    if at + 1 < len(words) and _MODULES.match(texts[at + 1]):
        rest = words[at + 2 :]
        if texts[at + 1].endswith("cli.main"):
            return _program([Word("vllm"), *rest])
        return f"python -m {texts[at + 1]}", rest
    return None, []
