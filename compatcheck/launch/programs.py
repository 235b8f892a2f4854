"""Names by which a command is known: shells, container programs, what runs another program, and vLLM's own options."""

from __future__ import annotations

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ash"})
CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
WRAPPERS = frozenset(
    {
        "accelerate",
        "apptainer",
        "chrt",
        "command",
        "conda",
        "doas",
        "dumb-init",
        "enroot",
        "env",
        "exec",
        "flatpak-spawn",
        "hatch",
        "ionice",
        "kubectl",
        "mamba",
        "micromamba",
        "mpiexec",
        "mpirun",
        "ncu",
        "nice",
        "nohup",
        "nsys",
        "numactl",
        "oc",
        "parallel",
        "pipenv",
        "pixi",
        "poetry",
        "ray",
        "runuser",
        "rye",
        "screen",
        "setsid",
        "singularity",
        "srun",
        "stdbuf",
        "sudo",
        "systemd-run",
        "taskset",
        "time",
        "timeout",
        "tini",
        "torchrun",
        "unbuffer",
        "uv",
        "uvx",
        "xvfb-run",
    }
)
"""Programs that run another one, which stands among their words."""
REMOTE = frozenset({"ssh", "sbatch", "tmux", "kubectl", "oc", "screen", "su", "runuser", "watch"})
"""Programs that may be given a whole command as one word."""
TELLING = frozenset(
    {
        "--max-model-len",
        "--gpu-memory-utilization",
        "--tensor-parallel-size",
        "--kv-cache-dtype",
        "--enforce-eager",
        "--max-num-batched-tokens",
        "--max-num-seqs",
        "--enable-auto-tool-choice",
        "--attention-backend",
        "--served-model-name",
    }
)
"""Options by which arguments of a container are taken for vLLM's."""
