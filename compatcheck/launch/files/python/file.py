"""Python files: calls of `LLM(...)` and of the engine's argument classes, read as a syntax tree and never run."""

from __future__ import annotations

import ast
import re

import msgspec

from compatcheck.launch.command_line import find_launches, launches_in_script
from compatcheck.launch.files.python.engine import engine_class, engine_launch
from compatcheck.launch.files.python.environment import Environments, either
from compatcheck.launch.files.python.grown import opened, text_of
from compatcheck.launch.files.python.lists import followed_commands
from compatcheck.launch.files.python.ray import is_ray_config, ray_launch
from compatcheck.launch.files.python.spawn import Command
from compatcheck.launch.files.python.values import name_of
from compatcheck.launch.files.reader import UnreadableError
from compatcheck.launch.installed_release import pinned_version, with_version
from compatcheck.launch.launch_parts import with_files
from compatcheck.launch.model import Launch, Word

MAX_CHARACTERS = 1_000_000
_STARTS = re.compile(
    r"\b(?:(?:Async)?LLM|(?:Async)?EngineArgs|LLMConfig)\b"
    r"|\bvllm\s+(?:serve|bench|run-batch)\b|\bvllm\.entrypoints\b|vllm-openai|[\"'][^\"'\n]*\bvllm\b"
)
"""What stands in a file that starts the engine: a class of it, or vLLM in a text. Most files have none of them."""


class PythonFile:
    """Keyword arguments of the engine's classes, and commands as lists of words or as texts for a shell."""

    name = "python"

    def takes(self, path: str, text: str) -> bool:
        return path.endswith((".py", ".pyi"))

    def launches(self, text: str) -> list[Launch]:
        if _STARTS.search(text) is None:
            return []
        if len(text) > MAX_CHARACTERS:
            raise UnreadableError(f"larger than {MAX_CHARACTERS} characters")
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            raise UnreadableError(f"not Python: {error.msg}", error.lineno or 1, error.offset or 1) from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise UnreadableError(f"not Python: {error}") from error
        try:
            return _launches(tree)
        except RecursionError as error:
            raise UnreadableError("nested too deeply") from error


def _launches(tree: ast.Module) -> list[Launch]:
    environments = Environments(tree)
    found: list[Launch] = []
    for node in environments.scopes.nodes:
        if not isinstance(node, ast.Call):
            continue
        program = engine_class(node, environments)
        if program is not None:
            found.append(engine_launch(node, program, environments))
        elif is_ray_config(node, environments):
            configured = ray_launch(node, environments)
            found += [configured] if configured is not None else []
    pinned, files = _pinned(environments), _env_files(environments)
    for command in followed_commands(tree, environments.scopes.nodes, environments.values.word):
        found += _command(command, environments)
    found = [with_version(with_files(launch, files), pinned) for launch in found]
    return sorted(found, key=lambda launch: (launch.line, launch.column))


def _command(command: Command, environments: Environments) -> list[Launch]:
    """Return the launches of a command; of a text, what is filled in from elsewhere stays open."""
    said = [
        environments.given(run.env) if run.env is not None else environments.at(run.call, exact=True)
        for run in command.runs
    ]
    if command.loose:
        said.append(environments.at(command.node, exact=False))
        said += [environments.given(run.env) for run in command.loose if run.env is not None]
    variables, elsewhere = either(said or [environments.at(command.node, exact=False)])
    if command.grown.script:
        text, starts = text_of(command.grown)
        found = [_opened(launch) for launch in launches_in_script(text, environment=variables, starts=starts)]
    else:
        found = find_launches([*command.grown.words], variables)
    return [msgspec.structs.replace(launch, elsewhere=(*launch.elsewhere, *elsewhere)) for launch in found]


def _pinned(environments: Environments) -> Word | None:
    """Return the release that the file installs for an image, `pip_install("vllm==0.31.0")`, where it is one."""
    found: dict[str, Word] = {}
    for node in environments.scopes.nodes:
        if isinstance(node, ast.Call) and name_of(node.func).endswith("pip_install"):
            given = [
                one for arg in node.args for one in (arg.elts if isinstance(arg, (ast.List, ast.Tuple)) else [arg])
            ]
            word = pinned_version([Word("pip"), *(environments.values.word(one) for one in given)])
            found |= {word.text: word} if word is not None else {}
    return next(iter(found.values())) if len(found) == 1 else None


def _env_files(environments: Environments) -> tuple[Word, ...]:
    """Return the files whose variables `load_dotenv` puts into the environment."""
    found: list[Word] = []
    for node in environments.scopes.nodes:
        if isinstance(node, ast.Call) and environments.scopes.dotted(node.func).startswith("dotenv."):
            named = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "dotenv_path")]
            place = node.lineno, node.col_offset + 1
            if name_of(node.func) == "load_dotenv":
                found.append(environments.values.word(named[0]) if named else Word(".env", *place))
    return tuple(found)


def _opened(launch: Launch) -> Launch:
    """Return a launch of a text with the words open into which something is filled, quoted or not."""
    words = tuple(opened(word) for word in launch.words)
    return msgspec.structs.replace(
        launch, words=words, environment={n: opened(w) for n, w in launch.environment.items()}
    )
