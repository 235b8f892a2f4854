"""Launches of a text that stands inside another file, with their places counted in the whole file."""

from __future__ import annotations

import msgspec

from compatcheck.launch.model import Launch, Word


def moved(launch: Launch, lines: int, columns: int) -> Launch:
    """Return a launch with its places counted in the whole file."""

    def word(item: Word | None) -> Word | None:
        if item is None:
            return None
        return msgspec.structs.replace(item, line=item.line + lines, column=item.column + columns)

    return msgspec.structs.replace(
        launch,
        words=tuple(placed for item in launch.words if (placed := word(item)) is not None),
        settings=tuple(
            msgspec.structs.replace(s, line=s.line + lines, column=s.column + columns) for s in launch.settings
        ),
        environment={name: placed for name, item in launch.environment.items() if (placed := word(item)) is not None},
        image=word(launch.image),
        gpu=word(launch.gpu),
        engine_version=word(launch.engine_version),
        line=launch.line + lines,
        column=launch.column + columns,
    )
