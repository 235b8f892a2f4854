"""Templates in a shell text (Helm's, Jinja's, GitHub's and others'): each becomes a variable that nothing sets.

What stands between `{{ if }}` and `{{ end }}` is there or not: all of it becomes one such variable, except where a
whole command stands in it, which is then read for itself.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from compatcheck.launch.model import Word
from compatcheck.launch.placeholders import TEMPLATE, Edit, edited, veil

_OPENER = re.compile(r"\{\{-?\s*(?:if|range|with|block|define)\b|\{%[-+]?\s*(?:if|for|macro|call|filter|raw)\b")
_CLOSER = re.compile(r"\{\{-?\s*end\b|\{%[-+]?\s*end\w+")
_SILENT = re.compile(r"\{\{-?\s*(?:else\b|/\*|\$\w+\s*:?=)|\{%")
"""Tags that write nothing themselves."""
_COMMAND = re.compile(r"\bvllm\s+(?:serve|bench|run-batch)\b|vllm\.entrypoints|vllm-openai")


def veiled(word: Word) -> Word:
    """Return a shell text without templates; `unveiled` puts them back into what is found in it."""
    tags = list(TEMPLATE.finditer(word.text))
    ends = _ends(tags)
    whole = [match.start() for match in _COMMAND.finditer(word.text)]
    edits: list[Edit] = []
    index = 0
    while index < len(tags):
        tag, last = tags[index], ends.get(index)
        if last is not None and bisect_left(whole, tag.end()) == bisect_left(whole, tags[last].start()):
            edits.append((tag.start(), tags[last].end(), _whole(word.text, tag, tags[last])))
            index = last
        else:
            silent = _OPENER.match(tag[0]) or _CLOSER.match(tag[0]) or _SILENT.match(tag[0])
            edits.append((tag.start(), tag.end(), "" if silent else veil(tag[0])))
        index += 1
    return edited(word, edits)


def _ends(tags: list[re.Match[str]]) -> dict[int, int]:
    """Return the tag that ends what a tag opens, for every one that is ended."""
    opened: list[int] = []
    ends: dict[int, int] = {}
    for index, tag in enumerate(tags):
        if _OPENER.match(tag[0]):
            opened.append(index)
        elif _CLOSER.match(tag[0]) and opened:
            ends[opened.pop()] = index
    return ends


def _whole(text: str, first: re.Match[str], last: re.Match[str]) -> str:
    """Return what stands for a whole block; where its last line goes on in the next one, so does it."""
    goes_on = text[first.end() : last.start()].rstrip().endswith("\\") and text[last.end() : last.end() + 1] == "\n"
    return veil(first[0]) + (" \\" if goes_on else "")
