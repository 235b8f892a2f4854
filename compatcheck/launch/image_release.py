"""The vLLM release that an image brings, as far as its name says it.

Tags of vllm/vllm-openai are vLLM's own release numbers, and so are those of copies in registries of one's own. An image
of the same name by somebody else on Docker Hub counts its own releases (lmcache/vllm-openai: those of LMCache), and
NVIDIA's are numbered by month.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Brought(NamedTuple):
    """The packages that an image brings, and what says so."""

    vllm: str
    flashinfer: str | None = None
    source: str | None = None


NVIDIA = {
    "25.10": ("0.10.2", "0.4.0"),
    "26.01": ("0.11.1", "0.5.2"),
    "26.03": ("0.17.1", "0.6.7"),
    "26.05": ("0.20.1", "0.6.10"),
    "26.10": ("0.31.0", "0.7.1rc5"),
}
"""Month of nvcr.io/nvidia/vllm -> vLLM and FlashInfer in it, by the release notes that were read; no other is known."""
_NOTES = "https://docs.nvidia.com/deeplearning/frameworks/vllm-release-notes/rel-{}.html"
_TAG = re.compile(r"^v?(\d+\.\d+(?:\.\d+)?(?:\.?(?:post|rc|dev)\d+)?)(?:[-_.+].*)?$")
_MONTH = re.compile(r"^(\d\d\.\d\d)(?:\.post\d+)?-py3")
_OWN_NUMBERS = frozenset({"lmcache"})
"""Owners whose vllm-openai images count the releases of something else, wherever they are copied to."""


def brought_by(image: str) -> Brought | None:
    """Return what an image brings: 'vllm/vllm-openai:v0.25.1-cu130' -> 0.25.1; None where its name does not say it.

    `latest`, `nightly`, `cu130-nightly` and tags of models (`gptoss`) name no release.
    """
    *path, last = image.split("/")
    name, colon, tag = last.split("@")[0].partition(":")
    if not colon:
        return None
    hosted = bool(path) and bool(re.search(r"[.:]|^localhost$", path[0]))
    if name == "vllm" and path == ["nvcr.io", "nvidia"]:
        month = _MONTH.match(tag)
        versions = NVIDIA.get(month[1]) if month else None
        return Brought(*versions, _NOTES.format(month[1].replace(".", "-"))) if month and versions else None
    owner = path[-1].lower() if path else ""
    public = path[0] in ("docker.io", "index.docker.io", "registry-1.docker.io") if path else False
    elsewhere = (hosted and not public) or not path
    if name != "vllm-openai" or _OWN_NUMBERS.intersection(part.lower() for part in path):
        return None
    if owner != "vllm" and not elsewhere:
        return None
    match = _TAG.match(tag)
    return Brought(match[1]) if match else None
