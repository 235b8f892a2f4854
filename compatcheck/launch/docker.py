"""`docker run` (and podman, nerdctl) into image, environment, entrypoint and command; and what an image is."""

from __future__ import annotations

import re

import msgspec

from compatcheck.launch.flag_table import known_options
from compatcheck.launch.model import Word
from compatcheck.launch.programs import TELLING
from compatcheck.launch.words import assignment

NO_VALUE = frozenset(
    {
        "--detach",
        "--interactive",
        "--tty",
        "--rm",
        "--privileged",
        "--init",
        "--read-only",
        "--no-healthcheck",
        "--oom-kill-disable",
        "--publish-all",
        "--sig-proxy",
        "--disable-content-trust",
        "--no-hosts",
        "--replace",
        "--quiet",
        "--help",
    }
)
"""Options of `docker run` that take no value; every other one takes the next word, unless it has an equals sign."""
_NO_VALUE_LETTERS = frozenset("ditPqh")
_OTHER = re.compile(r"rocm|ascend|vllm-(?:openai-)?(?:cpu|tpu|xpu|gaudi|neuron|hpu)")
_OTHER_PART = re.compile(r"[-_.:](?:cpu|tpu|xpu|npu|gaudi|neuron|hpu)(?:[-_.:@]|$)")
_NAMES_IMAGE = re.compile(r"^\$\{?\w*(?:image|img)\w*", re.I)
_IMAGE = re.compile(r"^[\w.-]+(?:/[\w.-]+)*/[\w.-]*vllm[\w.-]*(?:[:@].*)?$")
_SERVER = re.compile(r"(?:^|/)vllm-openai(?:[:@]|$)")


class Container(msgspec.Struct, frozen=True):
    """What `docker run` starts."""

    image: Word
    command: list[Word]
    environment: dict[str, Word]
    entrypoint: list[Word] | None
    env_files: tuple[Word, ...] = ()
    elsewhere: tuple[Word, ...] = ()
    """Words between the options that may hold more of them."""


def read_run(words: list[Word]) -> Container | None:
    """Return what a `docker run` (or `docker container run`, `docker create`) command starts; None for another one."""
    rest = words[1:]
    while rest and rest[0].text.startswith("-"):
        rest = rest[1:]  # options of docker itself
    if rest and rest[0].text == "container":
        rest = rest[1:]
    if not rest or rest[0].text not in ("run", "create"):
        return None
    return _options(rest[1:])


def _options(rest: list[Word], switches: frozenset[str] = frozenset()) -> Container | None:
    """Read options up to the image, or the container's name, and what follows it."""
    environment: dict[str, Word] = {}
    entrypoint: list[Word] | None = None
    files: list[Word] = []
    opened: list[Word] = []
    while rest and (rest[0].text.startswith("-") or _holds_options(rest)):
        if not rest[0].text.startswith("-"):
            opened.append(rest[0])
            rest = rest[1:]
            continue
        name, equals, inline = rest[0].text.partition("=")
        place = rest[0]
        rest = rest[1:]
        value: Word | None = None
        if equals:
            value = Word(inline, place.line, place.column + len(name) + 1, place.dynamic)
        elif name not in switches and not _is_switch(name) and not (name.startswith("-e") and len(name) > 2):
            value, rest = (rest[0], rest[1:]) if rest else (None, [])
        if name.startswith("-e") and len(name) > 2 and not name.startswith("--"):
            value = Word(place.text[2:], place.line, place.column + 2, place.dynamic)
            name = "-e"
        if name in ("-e", "--env") and value is not None:
            pair = assignment(value)
            environment[pair[0] if pair else value.text] = (
                pair[1] if pair else msgspec.structs.replace(value, dynamic=True)
            )
        elif name == "--entrypoint" and value is not None:
            entrypoint = [value] if value.text else []
        elif name == "--env-file" and value is not None:
            files.append(value)
    if not rest:
        return None
    return Container(rest[0], rest[1:], environment, entrypoint, tuple(files), tuple(opened))


def _holds_options(words: list[Word]) -> bool:
    """Return whether a word of which nothing is known stands for options: an image of vLLM's comes behind it."""
    word = words[0]
    if not word.dynamic or word.text[:1] not in ("$", "`") or _NAMES_IMAGE.search(word.text):
        return False
    return any(_IMAGE.match(later.text) or _NAMES_IMAGE.search(later.text) for later in words[1:])


def command_inside(words: list[Word]) -> Container | None:
    """Return what `docker exec`, or `docker compose run` and `exec`, start in a container; None for other commands.

    The container's image is not known here, so neither is its release; the name stands in its place.
    """
    texts = [word.text for word in words]
    at = 1
    composed = len(texts) > 1 and texts[1] == "compose"
    if composed:
        at = next((i for i in range(2, len(texts)) if texts[i] in ("run", "exec")), len(texts))
    elif texts[1:3] == ["container", "exec"]:
        at = 2
    elif texts[1:2] != ["exec"]:
        return None
    found = _options(words[at + 1 :], frozenset({"-T", "--build", "--use-aliases", "--service-ports"}))
    return found if found is not None and found.command else None


def _is_switch(name: str) -> bool:
    """Return whether an option takes no value: a long one of the list, or letters such as -itd."""
    return name in NO_VALUE or (not name.startswith("--") and set(name[1:]) <= _NO_VALUE_LETTERS)


def is_vllm_server(image: str) -> bool:
    """Return whether an image starts the OpenAI server by itself."""
    return bool(_SERVER.search(image))


def is_other_platform(image: str) -> bool:
    """Return whether an image is for another platform than CUDA (ROCm, CPU, TPU, XPU ...)."""
    return bool(_OTHER.search(image)) or ("vllm" in image and bool(_OTHER_PART.search(image)))


def starts_server(image: Word, command: list[Word]) -> bool:
    """Return whether an image, started with this command, is vLLM's server: by its name, or by vLLM's own options.

    Images of one's own keep the entrypoint of the image that they are built on. With another name than vllm's the
    options have to be vLLM's, all of them, and one of them nobody else's.
    """
    if is_vllm_server(image.text):
        return True
    if not command:
        return False
    options = {word.text.split("=", 1)[0].replace("_", "-") for word in command if word.text.startswith("--")}
    named = "vllm" in image.text.lower()
    if command[0].text == "serve":
        return named
    unnamed = command[0].text.startswith("-") and options <= known_options()
    return bool(options & TELLING) and (named or unnamed)
