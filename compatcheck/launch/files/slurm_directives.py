"""The GPU that a Slurm job asks for: `#SBATCH --gres=gpu:h100:8`, `--gpus=h100:8`, `-G h100:8`.

Source: https://slurm.schedmd.com/gres.html: GRES are named `name[:type[:count]]`, and several are separated by commas.
The type is what the site calls it; a name that is no GPU's says nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from compatcheck.launch.model import Word

_DIRECTIVE = re.compile(r"^#SBATCH[ \t]+(.*)$", re.M)
_OPTION = re.compile(
    r"(?:^|\s)(?:(--gres|--tres-per-(?:node|socket|task|job))[= ]|(?:--gpus(?:-per-(?:node|socket|task))?[= ]|-G[= ]?))"
    r"[\"']?([^\s\"']+)"
)
_OF_GRES = re.compile(r"(?:^|,)(?:gres[/:])?gpu[:/]([A-Za-z][\w.-]*)")
_OF_GPUS = re.compile(r"(?:^|,)([A-Za-z][\w.-]*)(?=[:,(]|$)")


def gpu_of_job(text: str) -> Word | None:
    """Return the type of GPU that the directives of a script ask for; None for none, and for several."""
    found: list[Word] = []
    ends = [match.start() for match in re.finditer("\n", text)]
    for directive in _DIRECTIVE.finditer(text):
        for option in _OPTION.finditer(directive[1].split(" #")[0]):
            for match in (_OF_GRES if option[1] else _OF_GPUS).finditer(option[2]):
                line = bisect_right(ends, directive.start()) + 1
                column = directive.start(1) - directive.start() + option.start(2) + match.start(1) + 1
                found.append(Word(match[1].replace("_", " "), line, column))
    return found[0] if found and len({word.text.lower() for word in found}) == 1 else None
