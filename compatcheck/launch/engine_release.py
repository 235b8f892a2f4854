"""The engine release that a launch is for, and how sure that is."""

from __future__ import annotations

import msgspec

from compatcheck.launch.flag_table import release_for, releases
from compatcheck.launch.image_release import Brought, brought_by
from compatcheck.launch.model import Launch, Word
from compatcheck.matrix.versions import InvalidVersion, parse, public


class EngineRelease(msgspec.Struct, frozen=True, kw_only=True):
    """The covered release whose options are looked up, and the version that it stands for.

    `version` is None where nobody states one: the newest is then assumed.
    """

    release: str
    version: str | None = None
    word: Word | None = None
    """Where the launch itself states it."""
    image: Brought | None = None
    """What the image brings, where it is the image that states it."""

    @property
    def outside(self) -> str | None:
        """The stated version, where it is older or newer than every covered release."""
        if self.version is None:
            return None
        at, first, last = parse(self.version), parse(releases()[0]), parse(releases()[-1])
        inside = first <= at <= last or (at.is_prerelease and at.base_version in (releases()[0], releases()[-1]))
        return None if inside else self.version


def release_of(launch: Launch, given: object | None) -> EngineRelease:
    """Return the release: what the user states, else what the launch or its image's tag says, else the newest."""
    brought = brought_by(launch.image.text) if launch.image else None
    sources = (
        (given, None, None),
        (launch.engine_version.text if launch.engine_version else None, launch.engine_version, None),
        (brought.vllm if brought else None, launch.image, brought),
    )
    for text, word, image in sources:
        if text is None:
            continue
        try:
            version = public(str(text).removeprefix("v"))
        except InvalidVersion:
            continue
        return EngineRelease(release=release_for(version), version=version, word=word, image=image)
    return EngineRelease(release=releases()[-1])
