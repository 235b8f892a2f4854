"""Whether a model's id names a family itself, not a model distilled from it or derived from it."""

from __future__ import annotations

import re
from functools import lru_cache

_BEFORE = frozenset({"meta", "nvidia"})
"""Makers that repeat their own name in the model's."""
_AFTER = re.compile(
    r"""
      instruct | it | pt | chat | base | thinking | hf | preview | exp | terminus | speciale | zero | original
    | safeguard | mixed | kv | qat | dynamic | static | block | quantized | quant | unquantized | tensor | channel
    | (?:nv|mx)?fp\d+ | bf16 | int\d | w\d+a\d+ | g\d+ | \d+bit | awq | gptq | bnb | autoround | modelopt | mtp
    | a\d+(?:\.\d+)?b | \d+e | \d{4,8} | \d+[km] | v\d+(?:\.\d+)*
    """,
    re.VERBOSE,
)
"""Words that say how a model was trained, quantised or published and leave the shapes of its attention alone."""
_SIZE = re.compile(r"e?\d+(?:\.\d+)?b")


def names_family(model: str, pattern: str) -> bool:
    """Return whether a model id is of the family that a pattern of families.json names.

    Inside a pattern `*` stands for digits; at its end, after a dash, for sizes. Every other word of the id must leave
    the model what it is: "DeepSeek-R1-0528-Qwen3-8B" is no DeepSeek-R1 and no Qwen3-8B of that table.
    """
    name = model.lower().rstrip("/").rsplit("/", 1)[-1]
    sizes = pattern.endswith("-*")
    found = _compiled(pattern.removesuffix("-*")).fullmatch(name)
    if found is None:
        return False
    after = [word for word in re.split(r"[-_:]|(?<=quantized)\.", found["after"]) if word]
    if sizes and not any(_SIZE.fullmatch(word) for word in after):
        return False
    before = [word for word in re.split(r"[-_]", found["before"]) if word]
    return all(word in _BEFORE for word in before) and all(
        _AFTER.fullmatch(word) or (sizes and _SIZE.fullmatch(word)) for word in after
    )


def words_of(value: object) -> list[str]:
    """Return the texts of a list, which a configuration's `architectures` should be."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    middle = re.escape(pattern).replace(r"\*", "[0-9.]+")
    return re.compile(rf"(?P<before>(?:.*[-_])?){middle}(?P<after>(?:[-_:].*)?)")
