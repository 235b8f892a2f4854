"""Commands that ask for the help of `vllm serve`, which its parser prints instead of starting anything.

Source: vllm/utils/argparse_utils.py:FlexibleArgumentParser.parse_args@0.33.0 takes `--help=all` and `--help=GROUP` too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from compatcheck.launch.model import Word


def asks_help(words: Sequence[Word]) -> bool:
    """Return whether one of the words behind the program asks for help; after `--` none does."""
    for word in words:
        if word.text == "--":
            return False
        if word.text in ("-h", "--help") or word.text.startswith("--help="):
            return True
    return False


def asks_help_of_vllm(words: Sequence[str]) -> bool:
    """Return whether one of these words is vLLM, or its server, and one behind it asks for help."""
    at = next((i for i, word in enumerate(words) if _VLLM.search(word)), None)
    return at is not None and asks_help([Word(word) for word in words[at + 1 :]])


_VLLM = re.compile(r"(?:^|/)vllm(?:@\S+)?$|^vllm\.entrypoints\.|vllm-openai")
