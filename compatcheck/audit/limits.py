"""How much of a wheel is looked at. A released vLLM has about 8,000 members, its texts 60 MB."""

from __future__ import annotations

MEMBERS = 60_000
"""Members of a wheel."""
TEXT = 4 << 20
"""Bytes of one text (see `compatcheck.host.source_files.LARGEST`)."""
TEXTS = 512 << 20
"""Bytes of all texts that are read."""
RATIO = 250
"""Unpacked over packed size above which a member of more than `SMALL` bytes is taken for a bomb."""
SMALL = 1 << 20
MEMORY = 6 << 30
"""Address space of the process that reads, bytes."""
SECONDS = 900
"""Processor and wall time of the process that reads."""
