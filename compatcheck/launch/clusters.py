"""Programs of clusters that start a command in an image: Pyxis' srun, Apptainer, Enroot, `kubectl run`."""

from __future__ import annotations

import re

import msgspec

from compatcheck.launch.model import Word

IMAGE_PROGRAMS = frozenset({"apptainer", "singularity", "enroot", "srun", "kubectl", "oc"})
_OPTIONS = ("--container-image", "--image")
"""Pyxis' option of srun, and that of `kubectl run`."""
_SCHEME = re.compile(r"^(?:docker|docker-daemon|dockerd|oras)://")


def image_of(words: list[Word]) -> Word | None:
    """Return the image that the words before a command name, as a registry writes it; None where it is a file."""
    for index, word in enumerate(words):
        option, _, value = word.text.partition("=")
        if option in _OPTIONS and value:
            return _image(word, value, len(option) + 1)
        if option in _OPTIONS and index + 1 < len(words):
            return _image(words[index + 1], words[index + 1].text, 0)
        if _SCHEME.match(word.text):
            return _image(word, word.text, 0)
    return None


def after_dashes(words: list[Word]) -> list[Word] | None:
    """Return what `kubectl run NAME --image=... -- ARGUMENTS` gives to the image; None for other commands."""
    texts = [word.text for word in words]
    if "run" not in texts[:4]:
        return None
    return words[texts.index("--") + 1 :] if "--" in texts else []


def _image(word: Word, value: str, offset: int) -> Word | None:
    text = _SCHEME.sub("", value).replace("#", "/")
    if word.dynamic or text.endswith((".sif", ".sqsh")) or text.startswith((".", "/")):
        return None
    return msgspec.structs.replace(word, text=text, column=word.column + offset + len(value) - len(text))
