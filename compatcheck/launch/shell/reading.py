"""What is known of a shell text's variables while it is read: each command's changes, and what its parts may change."""

from __future__ import annotations

from compatcheck.launch.model import Word
from compatcheck.launch.shell.flow import FUNCTIONS
from compatcheck.launch.shell.patterns import ASSIGNED, HIDDEN, NAME
from compatcheck.launch.shell.scanner import Command
from compatcheck.launch.shell.setters import Change, changes_of
from compatcheck.launch.shell.survey import SET, Part, Survey
from compatcheck.launch.shell.variable import Variable
from compatcheck.launch.shell.variables import MAX_FORGOTTEN, Variables


class Reading:
    """Follows a text with what a survey of it has found."""

    def __init__(self, variables: Variables, survey: Survey) -> None:
        self.variables = variables
        self.survey = survey

    def enter(self, kind: str, offset: int, words: list[Word]) -> None:
        """Enter a scope; a loop may have been run before, and a function is run after what stands behind it."""
        self.variables.enter(kind)
        if kind == "loop":
            part = self.survey.loops.get(offset)
            if part is not None:
                self._forget([part])
                self._forget(self.survey.called(part.calls))
            if len(words) > 1 and NAME.fullmatch(words[1].text):
                self._loop_variable(words)
        elif kind in FUNCTIONS:
            names = self.survey.changed_after(offset, MAX_FORGOTTEN - self.variables.forgotten)
            self._forget_names(None if names is None else dict.fromkeys(names, SET))
            self._arguments(words[0].text)

    def branch(self, *, last: bool) -> None:
        """Start another branch."""
        self.variables.branch(last=last)

    def leave(self, kind: str, *, discard: bool) -> None:
        """Leave a scope."""
        self.variables.leave(discard=discard)

    def asks(self, name: str) -> bool:
        """Return whether a command is a function of the text."""
        return name in self.survey.functions

    def learn(self, words: list[Word], command: Command) -> None:
        """Note what a command changes."""
        for change in changes_of(words, command.arrays):
            self._apply(change)
        if words[0].text == "exit" or (words[0].text == "return" and self.variables.inside(FUNCTIONS)):
            self.variables.die()
        head = next((word.text for word in words if ASSIGNED.match(word.text) is None), "")
        self._forget(self.survey.called({head}))

    def _arguments(self, function: str) -> None:
        """Note what a function gets: its own arguments, and the variables in front of calls of functions."""
        if function in self.survey.given:
            self.variables.forget("@")
        else:
            self.variables.put("@", None)
        for name in self.survey.prefixed:
            self.variables.put(name, Variable(text=HIDDEN, exported=None))

    def _loop_variable(self, words: list[Word]) -> None:
        """Note the variable of `for NAME in VALUES`: known where there is one value alone."""
        values = words[3:]
        if len(values) == 1 and not values[0].dynamic and not any(sign in values[0].text for sign in "*?[{"):
            self.variables.set(words[1].text, values[0].text, (values[0].line, values[0].column))
        else:
            self.variables.forget(words[1].text)

    def _forget(self, parts: list[Part] | None) -> None:
        if parts is None:
            self.variables.forget_all()
            return
        for part in parts:
            self._forget_names(None if part.everything else part.names)
            for file in part.sourced:
                self.variables.source(file)

    def _forget_names(self, names: dict[str, str] | None) -> None:
        if names is None or self.variables.forgotten + len(names) > MAX_FORGOTTEN:
            self.variables.forget_all()
            return
        for name, how in names.items():
            exported = self.survey.all_exported or name in self.survey.exported
            self.variables.forget(name, appended="" if how == SET else how, exported=exported)

    def _apply(self, change: Change) -> None:
        variables, name = self.variables, change.name
        place = (change.word.line, change.word.column)
        if change.kind == "set":
            variables.set(name, change.text, place, exported=change.exported)
        elif change.kind == "append":
            variables.append(name, change.text, place)
        elif change.kind in ("array", "append-array"):
            variables.set_array(name, change.elements, append=change.kind == "append-array")
        elif change.kind == "forget":
            variables.forget(name)
        elif change.kind == "unset":
            variables.unset(name)
        elif change.kind in ("export", "unexport"):
            variables.export(change.word, exported=change.kind == "export")
        elif change.kind == "source":
            variables.source(change.word)
        elif change.kind == "local" and variables.inside(FUNCTIONS):
            variables.forget(name)
        elif change.kind == "all":
            variables.forget_all()
