"""A launch's options, parsed as its release parses them, with a finding for each thing that the parser stops at."""

from __future__ import annotations

from typing import Any

import msgspec

from compatcheck.launch import refusals
from compatcheck.launch.acceptance import Acceptance, accepting, with_keyword
from compatcheck.launch.arguments import ArgumentProblem, Parsed, parse_arguments
from compatcheck.launch.engine_release import EngineRelease
from compatcheck.launch.flag_table import FlagTable, table, takes_keyword
from compatcheck.launch.model import Launch, Placed, Report, Setting, Word
from compatcheck.launch.serve_config import read_config_file
from compatcheck.matrix.versions import parse

_OLD_SERVER = "python -m vllm.entrypoints.api_server"
_OLD_SERVER_UNTIL = "0.25.0"
"""First release without the module."""
_OTHERS = frozenset({"vllm run-batch", "python -m vllm.entrypoints.openai.run_batch", "huggingfaceserver", _OLD_SERVER})
"""Programs with options of their own beside the engine's."""
_OWNERS = {"LLMConfig": "AsyncEngineArgs"}
"""Class that hands keywords on -> the engine's class that takes them."""
_EVERY_ARGUMENT = frozenset({"$@", "$*", "${@}", "${*}"})


class OptionReader:
    """Reads the options of one launch; afterwards `findings` and `reports` say what became of them."""

    def __init__(self, launch: Launch, release: EngineRelease, flags: FlagTable) -> None:
        self.launch = launch
        self.release = release
        self.flags = flags
        self.findings: list[Placed] = []
        self.reports: list[Report] = []

    def read(self) -> Parsed:
        """Return what the parser makes of the launch."""
        if self.launch.form == "python":
            return self._from_python()
        words = self.launch.words
        parsed = parse_arguments(words, self.flags)
        file = parsed.last("--config")
        if file is not None:
            words = self._with_config_file(words, file)
            parsed = parse_arguments(words, self.flags)
        self._problems(parsed, words)
        if self.launch.program == _OLD_SERVER:
            self._old_server()
        if parsed.model is not None and parsed.model.dynamic and self._may_be_more(parsed.model, parsed):
            self._open(parsed.model)
        return parsed

    def _may_be_more(self, word: Word, parsed: Parsed) -> bool:
        """Return whether a word of which nothing is known, and that belongs to no option, may be more than the model.

        Where it comes first it is the model; anywhere else it may hold options.
        """
        if word.text in _EVERY_ARGUMENT or word.text.startswith("*") or parsed.last("--model") is not None:
            return True
        first = bool(self.launch.words) and self.launch.words[0].text == word.text
        return not first and "model" not in word.text.lower()

    def report(self, name: str, status: Any, why: str, place: Word, missing: str | None = None) -> None:
        """Note what became of an option."""
        self.reports.append(
            Report(name=name, status=status, why=why, line=place.line, column=place.column, missing=missing)
        )

    # --------------------------------------------------------------------------------------- commands

    def _problems(self, parsed: Parsed, words: tuple[Word, ...]) -> None:
        other = self.launch.program in _OTHERS or self.launch.program.startswith("vllm bench")
        acceptance = Acceptance(words) if self.release.version is None else None
        partly: list[tuple[str, ...]] = []
        refused = False
        for problem in parsed.problems:
            word = problem.word
            if other and problem.kind == "unknown":
                self.report(problem.option, "not relevant", f"an option of {self.launch.program}", word)
                continue
            if word.dynamic:
                self._open(word)
                continue
            accepted = acceptance.of(problem) if acceptance is not None else None
            finding = refusals.of_problem(problem, self.flags, accepted, self.release.outside)
            refused = refused or finding.effect == "unsupported"
            if accepted:
                partly.append(accepted)
            self.findings.append(Placed(finding, word.line, word.column))
            if problem.kind in ("unknown", "unexpected", "ambiguous", "missing-value") or finding.effect == "note":
                name = problem.option or word.text
                self.report(name, "unknown", finding.message, word, self._lacking(finding.effect))
        if partly and not refused and acceptance is not None and not acceptance.of_all():
            self.findings.append(Placed(refusals.no_release(partly), self.launch.line, self.launch.column))

    def _old_server(self) -> None:
        """Find the demonstration server in releases that have it no more."""
        if parse(self.flags.release) < parse(_OLD_SERVER_UNTIL):
            return
        known = accepting(lambda release: parse(release) < parse(_OLD_SERVER_UNTIL))
        accepted = known if self.release.version is None else None
        place = Word(self.launch.program, self.launch.line, self.launch.column)
        finding = refusals.of_module(self.launch.program, self.flags, accepted, self.release.outside, _OLD_SERVER_UNTIL)
        self.findings.append(Placed(finding, place.line, place.column))
        if finding.effect == "note":
            self.report(place.text, "unknown", finding.message, place, self._lacking(finding.effect))

    def _lacking(self, effect: str) -> str | None:
        """Return what the verdict lacks where a refusal is not sure."""
        if effect != "note":
            return None
        outside = self.release.outside
        return f"the options of vLLM {outside}" if outside is not None else "engine_version"

    def _open(self, word: Word) -> None:
        """Note that the shell, or the reader of a document, puts arguments in place of this word."""
        why = "what stands here is known only where it is run"
        self.report(word.text, "unknown", why, word, f"what {word.text} stands for")

    def _with_config_file(self, words: tuple[Word, ...], setting: Setting) -> tuple[Word, ...]:
        place = Word(str(setting.value), setting.line, setting.column)
        if setting.dynamic:
            problem: str | None = f"{setting.value} is set elsewhere, so the options of that file are not known"
        else:
            config = read_config_file(str(setting.value), self.launch.directory, place, self.flags)
            if config.words:
                first = words[:1] if words and not words[0].text.startswith("-") else ()
                return (*first, *config.words, *words[len(first) :])
            problem = config.problem
            if config.empty:
                return words
        why = problem or f"{setting.value} was not read"
        self.report("--config", "unknown", why, place, f"the options in {setting.value}")
        return words

    # ----------------------------------------------------------------------------------------- Python

    def _from_python(self) -> Parsed:
        settings: list[Setting] = []
        program = self.launch.program.removesuffix("()")
        owner = _OWNERS.get(program, program)
        for setting in self.launch.settings:
            word = Word(setting.written, setting.line, setting.column)
            if setting.written.startswith("**"):
                why = "keywords that are known only where it is run"
                self.report(setting.written, "unknown", why, word, f"the keywords of {setting.written}")
            elif owner == "AsyncLLM":
                why = "AsyncLLM takes a whole configuration, which is not read"
                self.report(setting.written, "unknown", why, word, f"what {setting.written} holds")
            elif program in _OWNERS and self._of_server(owner, setting):
                self.report(setting.written, "not relevant", "an option of the server, not of the engine", word)
            elif not takes_keyword(owner, setting.written, self.flags.release):
                self._unknown_keyword(owner, setting, word)
            elif setting.option not in self.flags.flags:
                why = "a keyword of the Python class alone, which decides no attention backend"
                self.report(setting.written, "not relevant", why, word)
            else:
                settings.append(self._number(setting))
                self._choice(setting)
        return Parsed(tuple(settings), None, ())

    def _of_server(self, owner: str, setting: Setting) -> bool:
        """Return whether a keyword is none of the engine's but an option of the OpenAI server."""
        known = (setting.written, setting.option.removeprefix("--").replace("-", "_"))
        engines = any(takes_keyword(owner, name, self.flags.release) for name in known)
        return not engines and setting.option in self.flags.flags

    def _number(self, setting: Setting) -> Setting:
        """Return a number that is written as text as the configuration class reads it; find text that is none."""
        kind = self.flags.flags[setting.option].kind
        if setting.dynamic or kind not in ("int", "float") or not isinstance(setting.value, str):
            return setting
        try:
            return msgspec.structs.replace(setting, value=int(setting.value) if kind == "int" else float(setting.value))
        except ValueError:
            what = "a whole number" if kind == "int" else "a number"
            word = Word(setting.value, setting.line, setting.column)
            problem = ArgumentProblem("bad-value", word, setting.written, what)
            finding = refusals.of_problem(problem, self.flags, None, self.release.outside, python=True)
            self.findings.append(Placed(finding, word.line, word.column))
            return setting

    def _choice(self, setting: Setting) -> None:
        """Find a value that is none of those that the configuration class lists."""

        def takes(release: str) -> bool:
            flag = table(release).flags.get(setting.option)
            return flag is not None and (flag.kind != "choices" or setting.value in flag.choices)

        if setting.dynamic or not isinstance(setting.value, str) or takes(self.flags.release):
            return
        accepted = accepting(takes) if self.release.version is None else None
        word = Word(setting.value, setting.line, setting.column)
        choices = ", ".join(str(choice) for choice in self.flags.flags[setting.option].choices)
        problem = ArgumentProblem("bad-choice", word, setting.written, choices)
        finding = refusals.of_problem(problem, self.flags, accepted, self.release.outside, python=True)
        self.findings.append(Placed(finding, word.line, word.column))
        if finding.effect == "note":
            self.report(setting.written, "unknown", finding.message, word, self._lacking(finding.effect))

    def _unknown_keyword(self, owner: str, setting: Setting, word: Word) -> None:
        accepted = with_keyword(owner, setting.written) if self.release.version is None else None
        finding = refusals.of_keyword(owner, setting.written, self.flags, accepted, self.release.outside)
        self.findings.append(Placed(finding, word.line, word.column))
        self.report(setting.written, "unknown", finding.message, word, self._lacking(finding.effect))
