"""Which SMs, FlashInfer versions and releases nothing that is said of linear layers can tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from compatcheck.matrix.linear_model import Linear, LinearKernel
from compatcheck.matrix.model import Engine, Kernel, Matrix, Rule
from compatcheck.matrix.records import Limited
from compatcheck.matrix.versions import contains
from compatcheck.resolve.backend import in_release
from compatcheck.resolve.conditions import Compiler, Predicate
from compatcheck.resolve.configuration import LINEAR_FIELDS, VERSION_FIELDS, Configuration
from compatcheck.resolve.kernel import KernelProgram
from compatcheck.resolve.narrowing import settled
from compatcheck.resolve.words import asked_fields, placeholders

Condition = dict[str, Any] | None
AXES = frozenset({"sm", *VERSION_FIELDS})
VARIED = frozenset({"sm", "dtype", "flashinfer_version", "use_batch_invariant", *LINEAR_FIELDS})
"""What is not the same in all that is asked of a release and a scheme: axes, ways to ask, sizes."""


class Classes:
    """What linear layers' conditions ask of an axis, and so which of its values are the same to them."""

    def __init__(
        self, matrix: Matrix, engine: Engine, linear: Linear, compiler: Compiler, bases: Sequence[Configuration]
    ) -> None:
        """`bases` are the facts of every release and scheme that are the same in all that is asked."""
        self._linear = linear
        self._facts = engine.facts
        rules = [rule for rule in matrix.rules.values() if rule.kind == "linear"]
        whens = [compiler.stated(rule.when) for rule in rules]
        self._rules = [
            rule
            for rule, when in zip(rules, whens, strict=True)
            if any(field in engine.facts for field, _ in _leaves(rule.when))  # which differ from release to release
            or any(settled(when, base, VARIED) is not False for base in bases)
        ]
        self._library = {
            k.kernel: matrix.kernels[k.kernel] for k in linear.kernels.values() if k.kernel in matrix.kernels
        }
        self._programs = {id_: KernelProgram(id_, kernel, matrix.sms) for id_, kernel in self._library.items() if id_}
        self._compiler = compiler
        everything = list(self._conditions())
        self._asked = {axis: self._predicates(axis, everything) for axis in sorted(AXES)}
        self._of_kernel: dict[str, list[Predicate]] = {}
        self._named = asked_fields([name for text in self._texts() for name in placeholders(text)])

    def _predicates(self, axis: str, conditions: Iterable[Condition]) -> list[Predicate]:
        """Return each question about an axis once, those of derived facts that are named among them."""
        leaves = {repr(c): c for condition in self._with_facts(conditions) for f, c in _leaves(condition) if f == axis}
        return [self._compiler.condition({axis: constraint}) for constraint in leaves.values()]

    def _with_facts(self, conditions: Iterable[Condition]) -> Iterator[Condition]:
        """Yield conditions, and those of the derived facts that they name, and so on."""
        open_, seen = list(conditions), set[str]()
        while open_:
            condition = open_.pop()
            yield condition
            for name in [field for field, _ in _leaves(condition) if field in self._facts and field not in seen]:
                seen.add(name)
                open_ += [case.when for entry in self._facts[name].versions for case in entry.cases]

    def _conditions(self) -> Iterator[Condition]:
        linear = self._linear
        for kernel in linear.kernels.values():
            yield from (gate.when for gate in kernel.gates)
            yield from self._once_taken(kernel)
        yield from (case.when for entry in linear.orders for case in entry.cases)
        yield from (case.when for case in linear.forced)

    def _texts(self) -> Iterator[str]:
        """Yield the texts of answers: what they name is told apart, too."""
        linear = self._linear
        for kernel in linear.kernels.values():
            yield from (gate.words for gate in kernel.gates)
        lists = [linear.none_words, linear.forced_words, linear.scheme_words, linear.disabled_words]
        lists += [linear.unmatched_words, linear.ignored_words, linear.overridden_words]
        yield from (line.words for lines in lists for line in lines)
        yield from (words for rule in self._rules for words in rule.words if not words.startswith("/"))

    def _once_taken(self, kernel: LinearKernel) -> Iterator[Condition]:
        """Yield what decides the rest of an answer once a kernel was taken."""
        yield from (case.when for case in kernel.compute_where)
        yield from (rule.when for rule in self._rules)
        library = self._library.get(kernel.kernel or "")
        if library is not None:
            yield {"sm": library.sms} if library.sms else None
            yield from (refusal.when for refusal in library.refusals)

    def of_library(self, name: str, version: str) -> tuple[object, ...]:
        """Return the signature of a FlashInfer version where it is certain that a kernel is taken."""
        if "flashinfer_version" in self._named:
            return (version,)
        kernel = self._linear.kernels[name]
        predicates = self._of_kernel.get(name)
        if predicates is None:
            predicates = self._of_kernel[name] = self._predicates("flashinfer_version", self._once_taken(kernel))
        facts = Configuration(flashinfer_version=version)
        answers: list[bool | None] = [predicate.test(facts) for predicate in predicates]
        answers += [contains(rule.versions, version) for rule in self._rules if _on(rule, "flashinfer_version")]
        library = self._library.get(kernel.kernel or "")
        if library is not None:
            answers.append(self._programs[str(kernel.kernel)].present(version))
            answers += [contains(text, version) for text in _ranges(library)]
        return tuple(answers)

    def signature(self, axis: str, value: str | None) -> tuple[object, ...]:
        """Return what every question about an axis answers for a value; equal answers cannot be told apart."""
        if axis in self._named:
            return (value,)
        facts = msgspec.convert({axis: value}, Configuration)
        answers: list[bool | None] = [predicate.test(facts) for predicate in self._asked[axis]]
        if value is not None and axis in VERSION_FIELDS:
            answers += [contains(rule.versions, value) for rule in self._rules if _on(rule, axis)]
        if value is not None and axis == "flashinfer_version":
            answers += [program.present(value) for program in self._programs.values()]
            answers += [contains(text, value) for kernel in self._library.values() for text in _ranges(kernel)]
        return tuple(answers)

    def of_release(self, release: str) -> tuple[object, ...]:
        """Return the signature of an engine release: what it has, and what rules say of it."""
        linear = self._linear
        lines: list[Limited] = [*linear.forced, *linear.options.values()]
        lines += [line for kernel in linear.kernels.values() for line in (*kernel.gates, *kernel.compute_where)]
        lines += [case for entry in linear.orders for case in entry.cases]
        for words in (linear.none_words, linear.forced_words, linear.scheme_words):
            lines += words
        lines += [*linear.disabled_words, *linear.unmatched_words, *linear.ignored_words, *linear.overridden_words]
        limits = [(line.since or "0", line.until) for line in lines]
        limits += [(kernel.since, kernel.until) for kernel in linear.kernels.values()]
        limits += [(entry.since, None) for entry in linear.orders]
        has = tuple(in_release(since, until, release) for since, until in dict.fromkeys(limits))
        return (*has, *self.signature("engine_version", release))

    @property
    def silent_about_flashinfer(self) -> bool:
        """Whether no note looks at the FlashInfer version: an unknown note is left out, and names nothing missing.

        Nor may a text name it.
        """
        if "flashinfer_version" in self._named:
            return False
        notes = [rule for rule in self._rules if rule.effect == "note"]
        return not any(
            _on(rule, "flashinfer_version") or self._predicates("flashinfer_version", [rule.when]) for rule in notes
        )


def number(signatures: Iterable[Any]) -> list[int]:
    """Return a class number for each signature, in the order in which classes are first seen."""
    known: dict[Any, int] = {}
    return [known.setdefault(signature, len(known)) for signature in signatures]


def leaders(classes: Sequence[int]) -> list[int]:
    """Return the position of the first member of each class."""
    return [classes.index(n) for n in range(max(classes, default=-1) + 1)]


def _on(rule: Rule, axis: str) -> bool:
    return bool(rule.versions) and rule.axis == axis


def _ranges(kernel: Kernel) -> list[str]:
    found = [refusal.versions for refusal in kernel.refusals]
    return [text for text in found if text]


def _leaves(condition: Any) -> Iterator[tuple[str, Any]]:
    """Yield (field, constraint) for each question that a condition asks."""
    for key, constraint in (condition or {}).items():
        if key in ("all_of", "any_of"):
            for part in constraint:
                yield from _leaves(part)
        elif key == "not":
            yield from _leaves(constraint)
        else:
            yield key, constraint
