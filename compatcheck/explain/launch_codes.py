"""Codes of the launch readers: what a command, a file or a model folder gets wrong before anything is selected."""

from __future__ import annotations

from compatcheck.explain.entry import Entry
from compatcheck.explain.launch_model_codes import MODEL_CODES
from compatcheck.explain.launch_option_codes import OPTION_CODES


def launch_entries() -> list[Entry]:
    """Return an entry for each code that only launches have."""
    return [
        Entry(
            id=one.code,
            kind="launch",
            title=one.title,
            words=one.words,
            facts=(("bites", one.bites), ("effect", one.effect)),
            why=one.why,
            fix=one.fix,
        )
        for one in (*OPTION_CODES, *MODEL_CODES)
    ]
