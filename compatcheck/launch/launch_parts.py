"""Launches with something added that stands around them, or with each of their words changed."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from compatcheck.launch.model import Launch, Word


def with_files(launch: Launch, files: tuple[Word, ...]) -> Launch:
    """Return the launch with the files that its container takes variables from."""
    return msgspec.structs.replace(launch, env_files=(*launch.env_files, *files)) if files else launch


def with_image(launch: Launch, image: Word | None) -> Launch:
    """Return the launch with its image, unless an inner one is nearer."""
    return launch if launch.image is not None or image is None else msgspec.structs.replace(launch, image=image)


def with_elsewhere(launch: Launch, words: tuple[Word, ...]) -> Launch:
    """Return the launch with words that may hold options or variables of it."""
    return msgspec.structs.replace(launch, elsewhere=(*words, *launch.elsewhere)) if words else launch


def with_each_word(launch: Launch, change: Callable[[Word], Word]) -> Launch:
    """Return the launch with every word of it changed; settings and its own place stay."""

    def changed(word: Word | None) -> Word | None:
        return None if word is None else change(word)

    return msgspec.structs.replace(
        launch,
        words=tuple(map(change, launch.words)),
        environment={name: change(word) for name, word in launch.environment.items()},
        env_files=tuple(map(change, launch.env_files)),
        elsewhere=tuple(map(change, launch.elsewhere)),
        image=changed(launch.image),
        gpu=changed(launch.gpu),
        engine_version=changed(launch.engine_version),
    )
