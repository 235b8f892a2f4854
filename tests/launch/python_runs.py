"""Runs a Python text with stand-ins for vLLM and subprocess, and compares what it starts with what the reader says."""

from __future__ import annotations

import os
import random
import shlex
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

import msgspec

from compatcheck.launch.files.python.file import PythonFile
from compatcheck.launch.model import Launch

_FILE = "<text>"
_COMMAND = "command"


class Started(msgspec.Struct):
    """One engine as it was started: the class and its keywords, or the words of a command; and VLLM_* variables."""

    kind: str
    given: Any
    variables: dict[str, str]
    line: int
    made: Any = None


def _variables(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    chosen = os.environ if environment is None else environment
    return {name: value for name, value in chosen.items() if name.startswith("VLLM_")}


class _Record:
    def __init__(self) -> None:
        self.started: list[Started] = []

    def note(self, kind: str, given: Any, variables: dict[str, str], made: Any = None) -> None:
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename != _FILE:
            frame = frame.f_back
        self.started.append(Started(kind, given, variables, frame.f_lineno, made))

    def use(self, made: Any, **_: Any) -> None:
        """Start the engine whose arguments were made before."""
        for one in self.started:
            if one.made is made:
                one.given, one.variables = dict(vars(made)), _variables()

    def spawn(self, command: Any, *_: Any, env: Mapping[str, str] | None = None, **__: Any) -> _Record:
        words = shlex.split(command) if isinstance(command, str) else list(command)
        variables = _variables(env)
        while words and (words[0] == "env" or "=" in words[0]):
            name, equals, value = words.pop(0).partition("=")
            variables |= {name: value} if equals and name.startswith("VLLM_") else {}
        self.note(_COMMAND, words, variables)
        return self

    def engine(self, name: str) -> type:
        record = self

        class Engine:
            def __init__(self, *args: Any, **keywords: Any) -> None:
                keywords |= {"model": args[0]} if args else {}
                self.__dict__.update(keywords)
                record.note(name, keywords, _variables(), self)

        return Engine

    def ray(self, **keywords: Any) -> None:
        loading = keywords.get("model_loading_config") or {}
        given = dict(keywords.get("engine_kwargs") or {})
        model = loading.get("model_source") or loading.get("model_id")
        given |= {"model": model} if model else {}
        inner = (keywords.get("runtime_env") or {}).get("env_vars") or {}
        self.note("LLMConfig", given, {**_variables(), **_variables(inner)})


@contextmanager
def _stand_ins(record: _Record) -> Iterator[None]:
    vllm, config, ray, serve, llm = map(types.ModuleType, ("vllm", "vllm.config", "ray", "ray.serve", "ray.serve.llm"))
    vllm.__dict__.update({name: record.engine(name) for name in ("LLM", "EngineArgs")})
    vllm.__dict__.update(SamplingParams=dict, LLMEngine=types.SimpleNamespace(from_engine_args=record.use))
    config.__dict__.update(KVTransferConfig=dict, CompilationConfig=dict)
    llm.__dict__.update(LLMConfig=record.ray, ModelLoadingConfig=dict)
    modules = {one.__name__: one for one in (vllm, config, ray, serve, llm)}
    runs = ("run", "Popen", "call", "check_call", "check_output")
    modules["subprocess"] = types.ModuleType("subprocess")
    modules["subprocess"].__dict__.update(dict.fromkeys(runs, record.spawn))
    with (
        mock.patch.dict(sys.modules, modules),
        mock.patch.dict(os.environ),
        mock.patch.object(os, "system", record.spawn),
    ):
        for name in _variables():
            del os.environ[name]
        yield


def started(text: str, seed: int = 0) -> list[Started]:
    """Return what a text starts; `cond()` and `n()` in it are as the seed says. It ends where it raises."""
    record, chance = _Record(), random.Random(seed)
    names: dict[str, Callable[[], Any] | str] = {
        "cond": lambda: chance.random() < 0.5,
        "n": lambda: chance.randint(0, 2),
        "__name__": "__main__",
    }
    with _stand_ins(record), suppress(NameError, KeyError, TypeError, AttributeError, ValueError):
        exec(compile(text, _FILE, "exec"), names)
    return [one for one in record.started if one.kind != _COMMAND or "vllm" in " ".join(one.given[:4])]


def untruths(text: str, seed: int = 0) -> list[str]:
    """Return what the reader says of a text that is not so when it is run, and what it leaves out."""
    said = PythonFile().launches(text)
    found: list[str] = []
    for one in started(text, seed):
        fits = [_differences(launch, one) for launch in said if _same_kind(launch, one)]
        if not fits or min(fits, key=len):
            found.append(f"line {one.line}: {one.given} {one.variables}: {min(fits, key=len, default='not found')}")
    return found


def _same_kind(launch: Launch, one: Started) -> bool:
    if one.kind == _COMMAND:
        return launch.form == "command"
    return launch.program == f"{one.kind}()" and (launch.line == one.line or one.kind == "LLMConfig")


def _differences(launch: Launch, one: Started) -> list[str]:
    found = [
        f"{name} is not {word.text}"
        for name, word in launch.environment.items()
        if name.startswith("VLLM_") and not word.dynamic and one.variables.get(name) != word.text
    ]
    if not launch.elsewhere:
        found += [f"{name} is left out" for name in one.variables if name not in launch.environment]
    return found + (_in_words(launch, one.given) if one.kind == _COMMAND else _in_keywords(launch, one.given))


def _in_keywords(launch: Launch, given: dict[str, Any]) -> list[str]:
    said = {setting.written: setting for setting in launch.settings}
    sure = {name: setting.value for name, setting in said.items() if not setting.dynamic}
    found = [f"{name} is not {value}" for name, value in sure.items() if name not in given or given[name] != value]
    more = launch.elsewhere or any(name.startswith("**") for name in said)
    return found + [f"{name} is left out" for name in given if name not in said and not more]


def _in_words(launch: Launch, words: list[str]) -> list[str]:
    rest = words[words.index("-m") + 2 :] if "-m" in words else words[2:]
    sure = [word.text for word in launch.words if not word.dynamic]
    if not any(word.dynamic for word in launch.words):
        return [] if sure == rest else [f"{rest} is not {sure}"]
    following = iter(rest)
    return [f"{text} is not there" for text in sure if text not in following]
