"""Linear layers: every name in the section exists, and every release can pick a kernel and say why not.

Why: a forced kernel that is misspelt, or an option that names one, would answer with a kernel that the engine lacks.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import chain

from packaging.version import Version

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.linear_model import Linear, LinearKernel
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.lint.releases import version
from compatcheck.matrix.records import Limited
from compatcheck.matrix.yaml_reader import Path
from compatcheck.resolve.configuration import LINEAR_SCHEMES

CODE = "linear"
_ALWAYS_SAID = ("none_words", "forced_words")
_LATER = ("ignored_words", "overridden_words", "env_words", "env_values")


def check(context: Context) -> list[Problem]:
    """Return what is wrong with the linear sections of engines."""
    found: list[tuple[Path, str]] = []
    for path, linear in context.records(Linear):
        found += chain(_names(context, path, linear), _silent(context, path, linear), _words(context, path, linear))
        found += chain(_ends(path, linear), _lives(path, linear), _values(path, linear))
        found += (((*path, "schemes"), f"{name} is missing") for name in LINEAR_SCHEMES if name not in linear.schemes)
    return [context.problem(where, CODE, message) for where, message in found]


def needed(context: Context) -> list[Problem]:
    """Return what of it would surface as a crash where the matrix is asked."""
    found: list[tuple[Path, str]] = []
    for path, linear in context.records(Linear):
        found += chain(_names(context, path, linear), _silent(context, path, linear))
    return [context.problem(where, CODE, message) for where, message in found]


def _names(context: Context, path: Path, linear: Linear) -> Iterator[tuple[Path, str]]:
    kernels = list(linear.kernels)
    for index, case in enumerate(linear.forced):
        if case.value is not None:
            there = (*path, "forced", index, "value")
            yield from _known("linear kernel", str(case.value), kernels, there)
            kernel = linear.kernels.get(str(case.value))
            lacks = [str(r) for r in _releases(context, path) if kernel and _in(case, r) and not _in(kernel, r)]
            if lacks:
                yield there, f"{case.value} is not in {', '.join(lacks[:3])}, where this line may hold"
    for name, option in linear.options.items():
        for index, named in enumerate(option.kernels):
            yield from _known("linear kernel", named, kernels, (*path, "options", name, "kernels", index))
    for name, kernel in linear.kernels.items():
        here = (*path, "kernels", name)
        if kernel.extends is not None:
            yield from _known("linear kernel", kernel.extends, kernels, (*here, "extends"))
        if kernel.kernel is not None:
            yield from _known("kernel", kernel.kernel, context.names("kernels"), (*here, "kernel"))
        yield from _known("way of computing", kernel.compute, list(linear.compute), (*here, "compute"))
        for index, case in enumerate(kernel.compute_where):
            there = (*here, "compute_where", index, "value")
            yield from _known("way of computing", str(case.value), list(linear.compute), there)


def _known(what: str, name: str, known: list[str], path: Path) -> Iterator[tuple[Path, str]]:
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        yield path, f"there is no {what} {name!r}" + (f"; did you mean {near[0]}?" if near else "")


def _ends(path: Path, linear: Linear) -> Iterator[tuple[Path, str]]:
    """Yield a list of forced kernels that does not end by forcing none, and kernels without a source."""
    if not linear.forced or linear.forced[-1].when is not None or linear.forced[-1].value is not None:
        yield (*path, "forced"), "the last line is {value: null}: no kernel is forced, the order decides"
    for name, kernel in linear.kernels.items():
        if not kernel.sources:
            yield (*path, "kernels", name), "no source: say where this was seen (file:symbol@version, or a URL)"


def _lives(path: Path, linear: Linear) -> Iterator[tuple[Path, str]]:
    """Yield options that name a kernel none of whose releases has the option."""
    for name, option in linear.options.items():
        for index, kernel_name in enumerate(option.kernels):
            kernel: LinearKernel | None = linear.kernels.get(kernel_name)
            gone = version(kernel.until) if kernel and kernel.until else None
            since = version(option.since) if option.since else None
            if gone and since and gone <= since:
                yield (*path, "options", name, "kernels", index), f"{kernel_name} is gone before the option came"


def _words(context: Context, path: Path, linear: Linear) -> Iterator[tuple[Path, str]]:
    """Yield releases in which a refusal would have two texts."""
    for field in (*_ALWAYS_SAID, "scheme_words", "disabled_words", "unmatched_words", *_LATER):
        lines: list[Limited] = getattr(linear, field)
        twice = [str(r) for r in _releases(context, path) if sum(_in(line, r) for line in lines) > 1]
        if twice:
            yield (*path, field), f"two lines hold in {', '.join(twice[:3])}"


def _silent(context: Context, path: Path, linear: Linear) -> Iterator[tuple[Path, str]]:
    """Yield releases in which a refusal would have no words."""
    for field in _ALWAYS_SAID:
        lines: list[Limited] = getattr(linear, field)
        silent = [str(release) for release in _releases(context, path) if not any(_in(line, release) for line in lines)]
        if silent:
            yield (*path, field), f"nothing is said in {', '.join(silent[:3])}"


def _releases(context: Context, path: Path) -> list[Version]:
    names = context.names("engines", str(path[1]), "releases")
    return [parsed for parsed in map(version, names) if parsed]


def _values(path: Path, linear: Linear) -> Iterator[tuple[Path, str]]:
    """Yield values of the environment variable that name no kernel, and lines of them that have no words."""
    kernels = [kernel.env for kernel in linear.kernels.values() if kernel.env]
    for index, line in enumerate(linear.env_values):
        for place, value in enumerate(line.values):
            yield from _known("env of a linear kernel", value, kernels, (*path, "env_values", index, "values", place))
    if linear.env_values and not linear.env_words:
        yield (*path, "env_values"), "env_words says what the engine says of any other value"


def _in(line: Limited | LinearKernel, release: Version) -> bool:
    since = version(line.since) if line.since else None
    until = version(line.until) if line.until else None
    return (since is None or since <= release) and (until is None or release < until)
