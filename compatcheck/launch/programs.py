"""Names by which a command is known: shells, container programs, what runs another program, and vLLM's own options."""

from __future__ import annotations

import re

PYTHON = re.compile(r"^(?:.*/)?python(?:3(?:\.\d+)?)?$")
SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ash"})
SHEBANG = re.compile(r"^#!\s*\S*(?:/|env\s+)(?:ba|da|z|k|a)?sh\b")
"""The first line of a shell script."""
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
        "just",
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
SCRIPT_TAKERS = frozenset({"ssh", "sbatch", "tmux", "screen", "su", "runuser", "watch"})
"""Programs that may be given a whole command as one word."""
ELSEWHERE = frozenset({"ssh", "docker", "podman", "nerdctl", "kubectl", "oc"})
"""Programs whose commands are run without the variables of whoever calls them."""
_OTHERS = (
    "apt apt-get awk basename cat cd chmod chown cp curl cut date df diff dirname dmesg du echo egrep export",
    "false fgrep find free fuser gdb git grep head hostname htop id install jq journalctl kill killall less ln",
    "locate ls lsof make man md5sum mkdir more mount mv nc netstat nvidia-smi pgrep pidof ping pip pip3 pkill",
    "printenv printf ps pwd pytest read readlink realpath rg rm rmdir rsync scp sed service set sha256sum skill",
    "sleep sort source ss stat systemctl tail tar tee test top touch tr true type uname uniq unset wait wc wget",
    "whereis which who whoami xargs yum zgrep",
)
OTHERS = frozenset(" ".join(_OTHERS).split())
"""Programs that start none of their words as a server; behind them `vllm serve` is what they look for or print."""
SEARCHING = frozenset(
    {"cat", "echo", "egrep", "fgrep", "grep", "kill", "killall", "ls", "man", "pgrep", "pidof", "pkill"}
)
SEARCHING |= {"printf", "ps", "rg", "tail", "whereis", "which"}
"""Those whose names are nothing else; what stands behind an option may be its value."""
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
