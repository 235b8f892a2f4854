"""Shell scripts: by name (.sh, .sbatch ...) or by their first line."""

from __future__ import annotations

import msgspec

from compatcheck.launch.files.slurm_directives import gpu_of_job
from compatcheck.launch.files.templated import launches_in_text
from compatcheck.launch.model import Launch
from compatcheck.launch.programs import SHEBANG

NAMES = (".sh", ".bash", ".zsh", ".sbatch", ".slurm")


class ShellScript:
    """Every simple command of a script, with the variables and exports before it."""

    name = "shell"

    def takes(self, path: str, text: str) -> bool:
        return path.endswith(NAMES) or bool(SHEBANG.match(text))

    def launches(self, text: str) -> list[Launch]:
        gpu = gpu_of_job(text)
        found = launches_in_text(text)
        return [launch if launch.gpu is not None else msgspec.structs.replace(launch, gpu=gpu) for launch in found]
