"""The short way to a verdict: a plain `compatcheck check` with nothing but well-formed options.

Importing the command-line library takes a third of a cold check. Where every argument is a known option with a
well-formed value, and nothing has to be asked of this host, the answer is given without it. Anything else, a mistake
above all, is left to the full command, which says what is wrong: `run` then returns None and has written nothing.
"""

from __future__ import annotations

from typing import Any

from compatcheck.cli.fields import ALIASES, FLAGS, INTEGERS, configuration_of, option_of
from compatcheck.resolve.configuration import FIELDS

_FORMATS = ("text", "json", "jsonl")


def run(arguments: list[str]) -> int | None:
    """Return the exit code of `compatcheck check ARGUMENTS`, or None where the full command has to see to it."""
    values = parse(arguments)
    if values is None:
        return None
    known = values.get("sm") is not None and values.get("engine_version") is not None
    if not values.pop("no_host", False) and not known:
        return None
    from compatcheck.cli.exit_codes import of_verdicts
    from compatcheck.matrix.load import load
    from compatcheck.resolve.normalise import normalise

    wanted = values.pop("alternatives", True)
    format_ = values.pop("format", "text")
    try:
        given = configuration_of(values)
        loaded = load()
        normal = normalise(loaded.matrix, given)
        verdict = loaded.resolver.resolve(given, alternatives=wanted)
    except ValueError:
        return None
    from compatcheck.cli.answer import print_verdicts

    print_verdicts([(verdict, normal.facts)], format_)
    return of_verdicts([verdict.verdict])


def parse(arguments: list[str]) -> dict[str, Any] | None:
    """Return the values of these options, or None where one is unknown, malformed, or more than the short way takes."""
    valued = {option_of(name): name for name in FIELDS if name not in FLAGS}
    valued |= {alias: name for name, aliases in ALIASES.items() for alias in aliases} | {"--format": "format"}
    bare: dict[str, tuple[str, bool]] = {"--no-host": ("no_host", True)}
    for name in (*FLAGS, "alternatives"):
        bare[option_of(name)] = (name, True)
        bare["--no-" + option_of(name)[2:]] = (name, False)
    values: dict[str, Any] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument in bare:
            name, value = bare[argument]
            values[name] = value
            continue
        option, joined, text = argument.partition("=")
        given = text if joined else next(rest, None)
        if option not in valued or given is None or (not joined and given.startswith("-")):
            return None
        name = valued[option]
        if name in INTEGERS:
            if not (given.isascii() and given.isdigit()):
                return None
            values[name] = int(given)
        else:
            values[name] = given
    return values if values.get("format", "text") in _FORMATS else None
