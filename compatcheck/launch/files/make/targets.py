"""What the recipe of a rule sees: the file's variables, those of its targets, and the environment of its shells.

A target hands its variables on to what it needs, so those of a target that somebody else sets are not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from compatcheck.launch.files.make.reading import Reading, Rule, Specific
from compatcheck.launch.files.make.values import Values, Variable
from compatcheck.launch.files.scripts import bounded
from compatcheck.launch.model import Word

MAX_STEPS = 100_000
"""Variables handed on from target to target; beyond them none of a target's variables is known."""
MAX_TARGETS = 100
"""Targets of one rule, where variables are set by pattern."""
MAX_SOURCES = 10
"""Other files that are named; one is enough to leave the answer open."""
_EXPORTABLE = re.compile(r"[A-Za-z_]\w*")
_ENV_FILE = re.compile(r"(?:^|[/.])env(?:\.|$)")


class Targets:
    """The variables of targets in one Makefile."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.own: dict[str, list[Specific]] = {}
        self.patterns: list[Specific] = []
        for one in reading.specific:
            if "%" in one.target:
                self.patterns.append(one)
            else:
                self.own.setdefault(one.target, []).append(one)
        self.needs: dict[str, list[str]] = {}
        for rule in reading.rules:
            for target in rule.targets:
                self.needs.setdefault(target, []).extend(rule.needs)
        self.steps = 0
        self.tables: dict[tuple[str, ...], dict[str, Variable]] = {}
        self.inherited: dict[str, set[str]] = {}
        self.too_many = not self._hand_on()
        self.names = {one.name for one in reading.specific}
        self.exporting = {one.name for one in reading.specific if "export" in one.modifiers}
        self.unseen: tuple[Word, ...] = ()
        self.exported = self._exported()
        self.plain: tuple[Values, dict[str, Word]] | None = None

    def scope(self, rule: Rule) -> tuple[Values, dict[str, Word]]:
        """Return the values for a rule's recipe, and the environment of its shells."""
        local = {"@": rule.targets[0]} if len(rule.targets) == 1 and "%" not in rule.targets[0] else {}
        table = self._table(rule)
        if not table:
            values, environment = self.plain = self.plain or self._scope({}, {})
            plain = Values(values.get, values.unknown, values.spent, local)
            plain.done = values.done if not local else plain.done
            return plain, environment
        return self._scope(table, local)

    def sources(self) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
        """Return the files of variables, and what else may export some."""
        reading = self.reading
        files = [word for word in reading.included if _ENV_FILE.search(word.text)]
        others = [word for word in reading.included if not _ENV_FILE.search(word.text)]
        others = list({word.text: word for word in others}.values())[:MAX_SOURCES]
        files = files[:MAX_SOURCES] if reading.export_all is not False else []
        return tuple(files), (*others, *reading.elsewhere[:MAX_SOURCES], *self.unseen)

    def _scope(self, table: dict[str, Variable], local: dict[str, str]) -> tuple[Values, dict[str, Word]]:
        def get(name: str) -> Variable | None:
            found = table.get(name)
            if found is None:
                return None if self.too_many and name in self.names else self.reading.known(name)
            return found if found.sure else None

        values = Values(get, self.reading.scripts.unknown, self.reading.spent, local)
        return values, dict(self._environment(table, values))

    def _exported(self) -> dict[str, bool | None]:
        """Return what the whole file exports, as much of it as is looked at."""
        reading = self.reading
        exported = {name: state for name, (state, _, _) in reading.exports.items()}
        if reading.export_all is not False:
            exported = {**dict.fromkeys(filter(_EXPORTABLE.fullmatch, reading.table), reading.export_all), **exported}
        kept = bounded({name: Word(name) for name, state in exported.items() if state is not False})
        self.unseen = kept[1]
        return {name: exported[name] for name in kept[0]}

    def _environment(self, table: dict[str, Variable], values: Values) -> Iterator[tuple[str, Word]]:
        reading = self.reading
        exported = dict(self.exported)
        if self.too_many:
            exported |= dict.fromkeys(self.exporting)
        for name, variable in table.items():
            if name in self.exporting:
                exported[name] = True if variable.sure else None
            elif reading.export_all is not False and _EXPORTABLE.fullmatch(name):
                exported[name] = reading.export_all
        for name, state in exported.items():
            if state is False:
                continue
            found = table.get(name) or reading.table.get(name)
            place = (found.line, found.column) if found is not None else reading.exports.get(name, (None, 1, 1))[1:]
            value = values.replaced(f"$({name})", name)
            yield name, Word(value, *place, dynamic=state is None)

    def _table(self, rule: Rule) -> dict[str, Variable]:
        """Return the variables that the rule's targets have of their own."""
        table: dict[str, Variable] = {}
        if not self.reading.specific or self.too_many:
            return table
        if rule.targets in self.tables:
            return self.tables[rule.targets]
        own = [one for target in rule.targets for one in self.own.get(target, ())]
        patterns = self.patterns if len(rule.targets) <= MAX_TARGETS else []
        self.steps += 1 + len(own) + len(patterns) * len(rule.targets)
        self.steps += sum(len(self.inherited.get(target, ())) for target in rule.targets)
        if self.steps > MAX_STEPS or len(patterns) < len(self.patterns):
            self.too_many, self.plain = True, None
            return table
        for name in {name for target in rule.targets for name in self.inherited.get(target, ())}:
            table[name] = Variable([""], True, 1, 1, sure=False)
        by_pattern = [one for one in patterns if any(_matches(one, target) for target in rule.targets)]
        for one in (*by_pattern, *own):
            present = table.get(one.name) or self.reading.known(one.name)
            if one.kind == "?" and present is not None and present.sure:
                continue
            if present is not None and one.name not in table and one.kind == "+":
                table[one.name] = msgspec.structs.replace(present, parts=[*present.parts])
            every = len(rule.targets) == 1 or ("%" in one.target and all(_matches(one, t) for t in rule.targets))
            sure = one.sure and every
            filled = None if one.kind.startswith(":") else self.reading.values
            self.reading.set(table, one.name, one.kind, one.value, (one.line, one.column), sure=sure, values=filled)
        self.tables[rule.targets] = table
        return table

    def _hand_on(self) -> bool:
        """Note what targets hand on to those that they need, directly or not; return whether it could be done."""
        steps = 0
        for target, own in self.own.items():
            names = {one.name for one in own if "private" not in one.modifiers}
            seen: set[str] = {target}
            queue = [*self.needs.get(target, ())] if names else []
            while queue:
                need = queue.pop()
                if need in seen:
                    continue
                seen.add(need)
                steps += len(names)
                if steps > MAX_STEPS:
                    return False
                self.inherited.setdefault(need, set()).update(names)
                queue += self.needs.get(need, ())
        return True


def _matches(one: Specific, target: str) -> bool:
    before, percent, after = one.target.partition("%")
    if not percent:
        return one.target == target
    return len(target) > len(before) + len(after) and target.startswith(before) and target.endswith(after)
