"""Programs that run another one: which of their words is that program, and what they do to its environment."""

from __future__ import annotations

import re
from itertools import pairwise

from compatcheck.launch.model import Word
from compatcheck.launch.programs import CONTAINERS, OTHERS, PYTHON, SEARCHING, SHELLS, WRAPPERS
from compatcheck.launch.words import assignment

_PLACES = {"timeout": 1, "taskset": 1, "chrt": 1, "apptainer": 1, "singularity": 1, "enroot": 1}
"""Words of their own, neither options nor subcommands, in front of the program: a time, a mask, an image."""
_SUBCOMMANDS = {
    **dict.fromkeys(("conda", "mamba", "micromamba", "poetry", "pipenv", "pixi", "rye", "hatch"), ("run",)),
    **dict.fromkeys(("apptainer", "singularity"), ("exec", "run", "instance", "start")),
    "accelerate": ("launch",),
    "enroot": ("start", "exec"),
    "kubectl": ("exec", "run"),
    "nsys": ("profile", "launch"),
    "oc": ("exec", "run", "rsh"),
    "ray": ("job", "submit", "exec"),
    "uv": ("run", "tool"),
}
_SWITCHES = {
    "command": "p",
    "env": "i0v",
    "exec": "cl",
    "sudo": "AbEHknPSis",
    "time": "apv",
    "timeout": "fpv",
    "setsid": "cfw",
    "kubectl": "itq",
    "srun": "lEuvQ",
}
"""Letters of options without a value."""
_NUMBER = re.compile(r"[+-]?\d")
_VARIABLE = re.compile(r"(?:--[a-z-]+=)?([A-Z_][A-Z0-9_]*=.*)", re.S)
_ENTRYPOINT = re.compile(r"(?:^|[/_-])entrypoint\b[\w.-]*$")
_SETTING = frozenset({"apptainer", "singularity", "enroot", "env", "sudo", "srun", "mpirun", "mpiexec", "systemd-run"})
"""Wrappers whose options may set variables."""
SUBCOMMANDS = frozenset({"serve", "run-batch", "bench"})


def name_of(word: Word) -> str:
    """Return a program's name without its folder."""
    return word.text.rsplit("/", 1)[-1]


def is_open_wrapper(words: list[Word]) -> bool:
    """Return whether a word of which nothing is known stands in front of a program that may start vLLM."""
    return words[0].dynamic and words[0].text.startswith("$") and len(words) > 1 and _known(words, 1)


def is_wrapper(word: Word) -> bool:
    """Return whether a program runs the one that stands among its words; an image's entrypoint does."""
    return name_of(word) in WRAPPERS or _ENTRYPOINT.search(word.text) is not None


def head_of(words: list[Word]) -> int | None:
    """Return the index of the program that a wrapper runs, where that may start vLLM; None where nothing does.

    What an option takes is not known of every wrapper, so what follows one is passed over, unless it is a program
    that is known. The first word behind a wrapper and its own words is the program, known or not.
    """
    name = name_of(words[0])
    subcommands = _SUBCOMMANDS.get(name, ())
    places = _PLACES.get(name, 0)
    behind_option = optional = False
    for index, word in enumerate(words[1:], 1):
        if word.text == "--":
            behind = next((i for i in range(index + 1, len(words)) if assignment(words[i]) is None), len(words))
            return behind if behind < len(words) and _known(words, behind) else None
        if name == "command" and word.text in ("-v", "-V"):
            return None
        if word.text.startswith("-") and len(word.text) > 1:
            switch = word.text[1:2] != "-" and set(word.text[1:]) <= set(_SWITCHES.get(name, ""))
            behind_option = "=" not in word.text and not switch
            optional = optional or not switch
            continue
        sure = not behind_option
        behind_option = False
        if word.text in subcommands:
            continue
        if _starts(words, index) or (sure and _known(words, index)) or _runs(words, index):
            return index
        if name_of(word) in (OTHERS if sure else SEARCHING):
            return None
        if assignment(word) is not None or not sure or word.dynamic:
            continue
        if places or _NUMBER.match(word.text):
            places -= 1
        elif not optional and name not in ("kubectl", "oc") and not _starts(words, index + 1):
            return None
    return None


def _starts(words: list[Word], index: int) -> bool:
    """Return whether vLLM's own command stands here."""
    following = words[index + 1].text if index + 1 < len(words) else ""
    return following in SUBCOMMANDS and name_of(words[index]).partition("@")[0] == "vllm"


def _known(words: list[Word], index: int) -> bool:
    """Return whether a program stands here that may start vLLM."""
    word = words[index]
    known = name_of(word) in SHELLS | CONTAINERS or PYTHON.match(word.text) is not None or name_of(word) == "eval"
    return known or is_wrapper(word) or _starts(words, index)


def _runs(words: list[Word], index: int) -> bool:
    """Return whether such a program stands here with an option or a variable of its own, and is no option's value."""
    following = words[index + 1].text if index + 1 < len(words) else ""
    if name_of(words[index]) in CONTAINERS:
        return following in ("run", "exec", "compose", "create")
    own = following[:1] == "-" and following[1:2] != "-"
    return _known(words, index) and (own or (index + 1 < len(words) and assignment(words[index + 1]) is not None))


def environment_of(words: list[Word], environment: dict[str, Word]) -> dict[str, Word]:
    """Return the environment that a wrapper gives to its program; `words` are the wrapper and its own words."""
    name = name_of(words[0])
    texts = [word.text for word in words]
    found = dict(environment)
    if name in ("kubectl", "oc"):
        found = {}
    elif name == "env":
        found = _env(texts, found)
    elif name == "sudo" and not any(re.match(r"-[A-Za-z]*E|--preserve-env$", text) for text in texts):
        found = {variable: _open(word, variable) for variable, word in found.items()}
    elif name in ("srun", "sbatch"):
        found = _slurm(words, found)
    for index, word in enumerate(words[1:], 1):
        match = _VARIABLE.match(word.text)
        if match is None or word.text.startswith("--export"):
            if name in ("mpirun", "mpiexec") and texts[index - 1] in ("-genv", "-env") and index + 1 < len(words):
                found[word.text] = words[index + 1]
            continue
        pairs = match[1].split(",") if name in ("apptainer", "singularity") else [match[1]]
        offset = match.start(1)
        for text in pairs:
            pair = assignment(Word(text, word.line, word.column + offset, word.dynamic))
            if pair is not None:
                found[pair[0]] = pair[1]
            offset += len(text) + 1
    return found


def opened_by(words: list[Word]) -> tuple[Word, ...]:
    """Return those of a wrapper's own words that may hold variables, and of which nothing is known."""
    if name_of(words[0]) not in _SETTING:
        return ()
    return tuple(
        word
        for before, word in pairwise(words)
        if word.dynamic and word.text[:1] in ("$", "`") and (not before.text.startswith("-") or "=" in before.text)
    )


def _open(word: Word, name: str) -> Word:
    return Word(f"${name}", word.line, word.column, dynamic=True)


def _env(texts: list[str], found: dict[str, Word]) -> dict[str, Word]:
    """`env -i`, `env -u NAME`: without a variable, or without all of them."""
    for index, text in enumerate(texts[1:], 1):
        if text in ("-", "-i", "--ignore-environment") or re.fullmatch(r"-[0v]*i[0v]*", text):
            return {}
        if texts[index - 1] in ("-u", "--unset"):
            found.pop(text, None)
        elif text.startswith("--unset="):
            found.pop(text.partition("=")[2], None)
        elif text.startswith("-u") and len(text) > 2:
            found.pop(text[2:], None)
    return found


def _slurm(words: list[Word], found: dict[str, Word]) -> dict[str, Word]:
    """`--export=ALL,NAME=value`: all that is set here, or what is named alone; without it all."""
    for index, word in enumerate(words):
        option, equals, value = word.text.partition("=")
        if option != "--export":
            continue
        place = word if equals else words[index + 1] if index + 1 < len(words) else word
        value = value if equals else place.text
        offset = len(option) + 1 if equals else 0
        names: dict[str, Word] = {}
        everything = place.dynamic
        for text in value.split(","):
            pair = assignment(Word(text, place.line, place.column + offset, place.dynamic))
            offset += len(text) + 1
            if pair is not None:
                names[pair[0]] = pair[1]
            elif text == "ALL":
                everything = True
            elif text in found:
                names[text] = found[text]
            elif text not in ("NONE", "NIL"):
                names[text] = Word(f"${text}", place.line, place.column, dynamic=True)
        return (found if everything else {}) | names
    return found
