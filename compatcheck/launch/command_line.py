"""The launch in one command: wrappers and leading assignments taken off, then `vllm serve` or what stands for it."""

from __future__ import annotations

import re

import msgspec

from compatcheck.launch import clusters, docker
from compatcheck.launch.engine_program import engine_launches, module_launches
from compatcheck.launch.help_request import asks_help
from compatcheck.launch.installed_release import pinned_version, with_version
from compatcheck.launch.launch_parts import with_elsewhere, with_files, with_image
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.placeholders import unveiled
from compatcheck.launch.programs import CONTAINERS, ELSEWHERE, OTHERS, PYTHON, SCRIPT_TAKERS, SHEBANG, SHELLS, TELLING
from compatcheck.launch.shell.flow import is_prompt
from compatcheck.launch.shell.handed_on import handed_on
from compatcheck.launch.shell.patterns import HIDDEN, UNKNOWN_PART
from compatcheck.launch.shell.scanner import Command
from compatcheck.launch.shell.setters import is_dotenv
from compatcheck.launch.shell.survey import Survey
from compatcheck.launch.shell.variable import Variable
from compatcheck.launch.shell.variables import Variables
from compatcheck.launch.words import assignment, read_commands
from compatcheck.launch.wrappers import (
    environment_of,
    first_start,
    head_of,
    is_open_wrapper,
    is_start,
    is_wrapper,
    name_of,
    opened_by,
)

MAX_DEPTH = 60
SHELL = 20
"""Programs that run another one and stand in each other; a shell, or a host, counts as so many of them."""
_QUOTES = re.compile(r"[\"'\\]")
_WRITING = frozenset({"cat", "tee"})
"""Programs that write a here-document into a file, which whoever runs it may give any variables."""
_SSH_VALUES = frozenset("BbcDEeFIiJLlmOopQRSWw")
"""Letters of ssh's options that take a value."""


def find_launches(words: list[Word], environment: dict[str, Word] | None = None, depth: int = 0) -> list[Launch]:
    """Return the launches in one simple command: none, one, or those of the script inside `bash -c`.

    `environment` holds what earlier commands of the same script exported.
    """
    env = dict(environment or {})
    words = [*words]
    while words and is_prompt(words[0]):
        words.pop(0)
    words = _take_assignments(words, env)
    if not words or depth > MAX_DEPTH + SHELL:
        return []
    first = name_of(words[0])
    if first == "eval":
        quoting = any(not word.dynamic and _QUOTES.search(word.text) for word in words[1:])
        whole = quoting or (len(words) == 2 and any(space in words[1].text for space in " \n\t"))
        return _script(_evaluated(words[1:]), env, depth) if whole else find_launches(words[1:], env, depth + 1)
    if first in SCRIPT_TAKERS and (found := _given_script(words, env, depth)):
        return found
    if first in CONTAINERS and (inner := docker.command_inside(words)) is not None:
        variables = {name: _passed_on(name, word, env) for name, word in inner.environment.items()}
        found = find_launches(inner.command, variables, depth + SHELL) if depth < MAX_DEPTH else []
        return [with_files(launch, inner.env_files) for launch in found]
    if is_wrapper(words[0]):
        return _wrapped(words, env, depth)
    if is_open_wrapper(words):
        return [with_elsewhere(launch, (words[0],)) for launch in find_launches(words[1:], env, depth + 1)]
    if first in SHELLS:
        return _inside_shell(words, env, depth)
    if first in CONTAINERS:
        return _container(words, env, depth)
    own = engine_launches(words, env)
    return _behind_dashes(words, env, depth) if own is None else own


def _behind_dashes(words: list[Word], env: dict[str, Word], depth: int) -> list[Launch]:
    """Return the launch behind the `--` of a program that is not known: `reserve --gpus 2 -- vllm serve`."""
    at = next((i for i, word in enumerate(words) if word.text == "--"), None)
    if at is None or name_of(words[0]) in OTHERS or not is_start(words, at + 1):
        return []
    return find_launches(words[at + 1 :], env, depth + 1)


def _wrapped(words: list[Word], env: dict[str, Word], depth: int) -> list[Launch]:
    """Return the launches of a program that runs another one."""
    head = head_of(words)
    image = clusters.image_of(words[1:head]) if name_of(words[0]) in clusters.IMAGE_PROGRAMS else None
    inner = environment_of(words[:head], env)
    if head is None:
        return _without_head(words, image, inner, depth)
    found = [with_image(launch, image) for launch in find_launches(words[head:], inner, depth + 1)]
    return [with_elsewhere(launch, opened_by(words[:head])) for launch in found]


def _given_script(words: list[Word], env: dict[str, Word], depth: int) -> list[Launch]:
    """Return the launches of a command that a program is given as one word: `tmux new "..."`, `sbatch --wrap="..."`."""
    first = name_of(words[0])
    if first == "ssh":
        return _over_ssh(words, depth)
    inner = environment_of(words, env) if first == "sbatch" else env
    found: list[Launch] = []
    for word in words[1:]:
        if name_of(word) in OTHERS:
            break
        if " " in word.text and "vllm" in word.text:
            found += _script(_value(word), inner, depth)
    return found


def _over_ssh(words: list[Word], depth: int) -> list[Launch]:
    """Return the launches of what ssh runs on a host, which knows nothing of the variables here."""
    rest = words[1:]
    while rest and rest[0].text.startswith("-"):
        rest = rest[2 if rest[0].text[-1] in _SSH_VALUES and len(rest[0].text) == 2 else 1 :]
    if len(rest) == 2:
        return _script(rest[1], {}, depth) if " " in rest[1].text else []
    return find_launches(rest[1:], {}, depth + SHELL) if rest[1:] and depth < MAX_DEPTH else []


def _value(word: Word) -> Word:
    """Return what `--wrap=SCRIPT` gives; other words as they are."""
    option, equals, script = word.text.partition("=")
    if not option.startswith("--") or not equals or " " in option:
        return word
    return Word(script, word.line, word.column + len(option) + 1, word.dynamic)


def launches_in_script(
    text: str,
    line: int = 1,
    column: int = 1,
    environment: dict[str, Word] | None = None,
    depth: int = 0,
    starts: tuple[tuple[int, int, int], ...] = (),
) -> list[Launch]:
    """Return every launch of a shell text; what it exports reaches the later ones."""
    found: list[Launch] = []
    pinned: Word | None = None
    given = environment or {}
    known = {name: _variable(word) for name, word in given.items()}
    for words, command, reading in read_commands(text, line, column, known, starts):
        variables = reading.variables
        pinned = pinned_version(words) or pinned
        other = name_of(words[0]) in OTHERS
        if not command.heredocs and (other or not _may_launch(words)):
            continue
        env = variables.environment()
        env |= {name: word for name, word in given.items() if name in env and variables.keeps(name, known[name])}
        here = [] if other else find_launches(words, env, depth) or _by_function(words, reading.survey, env, depth)
        here = here or _heredocs(words, command, variables, env, depth)
        if here and variables.sourced and not any(name_of(word) in ELSEWHERE for word in words):
            here = [_with_sourced(launch, variables) for launch in here]
        found += [with_version(launch, pinned) for launch in here]
    return found


def _by_function(words: list[Word], survey: Survey, env: dict[str, Word], depth: int) -> list[Launch]:
    """Return the launch that a function of the text is given as its arguments, where it runs them."""
    at = next((i for i, word in enumerate(words) if assignment(word) is None), len(words))
    function = survey.functions.get(words[at].text) if at < len(words) else None
    head = first_start(words, at + 1)
    if function is None or not function.runs or head is None:
        return []
    found = find_launches([*words[:at], *words[head:]], env, depth)
    changing = function.adds or function.sourced or function.everything or survey.exports(function)
    said = msgspec.structs.replace(words[at], text=f"the function {function.name}")
    return [with_elsewhere(launch, (said,) if changing else ()) for launch in found]


def _may_launch(words: list[Word]) -> bool:
    """Return whether vLLM, or an option by which it is known, is named at all."""
    return any("vllm" in word.text.lower() or word.text.split("=")[0].replace("_", "-") in TELLING for word in words)


def _variable(word: Word) -> Variable:
    return Variable(text=HIDDEN if word.dynamic else word.text, exported=True, place=(word.line, word.column))


def _with_sourced(launch: Launch, variables: Variables) -> Launch:
    """Return the launch with the files that were sourced before it, which may set anything."""
    files = tuple(word for word in variables.dotenv if is_dotenv(word.text))
    others = tuple(word for word in variables.sourced if word not in files)
    return with_files(with_elsewhere(launch, others), files)


def _heredocs(
    words: list[Word], command: Command, variables: Variables, env: dict[str, Word], depth: int
) -> list[Launch]:
    """Return the launches of a here-document that is a script: `bash <<EOF`, `ssh host <<EOF`, `cat >run.sh <<EOF`."""
    last = command.heredocs[-1] if command.heredocs else None
    if last is None or depth >= MAX_DEPTH:
        return []
    if _reads_script(words):
        inner = {} if any(name_of(word) in ELSEWHERE for word in words) else env
    elif any(name_of(word) in _WRITING for word in words) and SHEBANG.match(last.text):
        inner = {name: msgspec.structs.replace(word, dynamic=True) for name, word in env.items()}
    else:
        return []
    text = handed_on(last, variables)
    found = launches_in_script(text.text, last.line, 1, inner, depth + SHELL, text.starts)
    return [unveiled(launch) for launch in found]


def _reads_script(words: list[Word]) -> bool:
    """Return whether a command runs what it reads from its standard input."""
    names = [name_of(word) for word in words]
    if any(name in OTHERS for name in names):
        return False
    if names[0] in SHELLS or ((names[0] in CONTAINERS or is_wrapper(words[0])) and set(names) & SHELLS):
        behind = words[next(i for i, name in enumerate(names) if name in SHELLS) + 1 :]
        return all(word.text[:1] == "-" and "c" not in word.text for word in behind)
    return names[0] in ("ssh", "sbatch")


def _take_assignments(words: list[Word], env: dict[str, Word]) -> list[Word]:
    while words:
        pair = assignment(words[0])
        if pair is None:
            break
        env[pair[0]] = pair[1]
        words = words[1:]
    return words


def _without_head(words: list[Word], image: Word | None, env: dict[str, Word], depth: int) -> list[Launch]:
    """Return the launch of a wrapper that names no program: torchrun's module, or an image that has its own."""
    if name_of(words[0]) == "torchrun" and (own := module_launches(words, env)):
        return own
    if image is None:
        return []
    command = clusters.after_dashes(words)
    if command is None:
        return []
    if not command:
        command = words[next(i for i, word in enumerate(words) if word.text.endswith(image.text)) + 1 :]
    return in_container(command, env, image, None, depth, place=words[0])


def _inside_shell(words: list[Word], env: dict[str, Word], depth: int) -> list[Launch]:
    """`bash -lc 'script'`: the launches of the script, their places counted from the word that holds it."""
    if depth >= MAX_DEPTH:
        return []
    for index, word in enumerate(words[1:], 1):
        if not word.text.startswith("-"):
            return []
        if word.text.startswith("--") or "c" not in word.text:
            continue
        if index + 1 < len(words):
            return _script(words[index + 1], env, depth)
    return []


def _script(word: Word, env: dict[str, Word], depth: int) -> list[Launch]:
    """Return the launches of a script that is one word."""
    if depth >= MAX_DEPTH:
        return []
    found = launches_in_script(word.text, word.line, word.column + 1, env, depth + SHELL, word.starts)
    return [_with_open_quotes(launch) for launch in found] if word.dynamic else found


def _with_open_quotes(launch: Launch) -> Launch:
    """Return a launch of a script into which an outer shell puts what nobody knows, in whatever quotes it stands."""

    def opened(word: Word) -> Word:
        return msgspec.structs.replace(word, dynamic=True) if UNKNOWN_PART.search(word.text) else word

    environment = {name: opened(word) for name, word in launch.environment.items()}
    return msgspec.structs.replace(launch, words=tuple(map(opened, launch.words)), environment=environment)


def _evaluated(words: list[Word]) -> Word:
    """Return the words behind `eval` as the text that is read again, with their places."""
    if len(words) == 1:
        return words[0]
    starts: list[tuple[int, int, int]] = []
    offset = 0
    for word in words:
        starts.append((offset, word.line, word.column))
        offset += len(word.text) + 1
    text = " ".join(word.text for word in words)
    return Word(text, words[0].line, words[0].column, any(word.dynamic for word in words), tuple(starts))


def _container(words: list[Word], env: dict[str, Word], depth: int) -> list[Launch]:
    container = docker.read_run(words)
    if container is None:
        return []
    inner = {name: _passed_on(name, word, env) for name, word in container.environment.items()}
    found = in_container(container.command, inner, container.image, container.entrypoint, depth, place=words[0])
    found = [with_files(launch, container.env_files) for launch in found]
    return [with_elsewhere(launch, container.elsewhere) for launch in found]


def _passed_on(name: str, word: Word, exported: dict[str, Word]) -> Word:
    """Return a container's variable; `-e NAME` alone takes what the script exported before."""
    return exported[name] if word.dynamic and word.text == name and name in exported else word


def in_container(
    command: list[Word],
    environment: dict[str, Word],
    image: Word | None,
    entrypoint: list[Word] | None,
    depth: int = 0,
    place: Word | None = None,
) -> list[Launch]:
    """Return the launches of a container: what its command says, or what the image's entrypoint does with it.

    The vllm/vllm-openai images start the OpenAI server with the command as its options
    (docker/Dockerfile: ENTRYPOINT of target vllm-openai).
    """
    if image is not None and docker.is_other_platform(image.text):
        return []
    words = [*(entrypoint or []), *command]
    found = find_launches(words, environment, depth + 1) if words else []
    own = not found and entrypoint is None and not asks_help(command)
    if own and image is not None and docker.starts_server(image, command):
        first = command[0] if command else (place or image)
        if command and not command[0].text.startswith("-") and (name_of(first) in SHELLS or PYTHON.match(first.text)):
            return []
        rest = command[1:] if command and command[0].text == "serve" else command
        found = [
            Launch(
                program="vllm serve",
                words=tuple(rest),
                environment=environment,
                line=first.line,
                column=first.column,
            )
        ]
    return [with_image(launch, image) for launch in found]
