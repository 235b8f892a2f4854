"""Commands that ask for the help of `vllm serve`, which its parser prints instead of starting anything.

Source: vllm/utils/argparse_utils.py:FlexibleArgumentParser.parse_args@0.33.0 takes `--help=all` and `--help=GROUP` too.
"""

from __future__ import annotations

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
