"""The GPU that a Slurm job asks for: `#SBATCH --gres=gpu:h100:8`, `--gpus=h100:8`, `-G h100:8`.

Source: https://slurm.schedmd.com/gres.html: GRES are named `name[:type[:count]]`. The type is what the site calls it; a
name that is no GPU's says nothing.
"""

from __future__ import annotations

import re

from compatcheck.launch.model import Word

_DIRECTIVE = re.compile(r"^#SBATCH[ \t]+(.*)$", re.M)
_GRES = re.compile(r"(?:^|\s)--gres[= ]\S*?\bgpu:([A-Za-z][\w.-]*)")
_GPUS = re.compile(r"(?:^|\s)(?:--gpus(?:-per-(?:node|socket|task))?[= ]|-G[= ]?)([A-Za-z][\w.-]*)(?::\d+)?(?=\s|,|$)")


def gpu_of_job(text: str) -> Word | None:
    """Return the type of GPU that the directives of a script ask for; None for none, and for several."""
    found: list[Word] = []
    for directive in _DIRECTIVE.finditer(text):
        for pattern in (_GRES, _GPUS):
            for match in pattern.finditer(directive[1].split(" #")[0]):
                line = text.count("\n", 0, directive.start()) + 1
                column = directive.start(1) - directive.start() + match.start(1) + 1
                found.append(Word(match[1].replace("_", " "), line, column))
    return found[0] if found and len({word.text.lower() for word in found}) == 1 else None
