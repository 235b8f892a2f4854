"""Programs that run another one: which of their words is that program, and what it gets of the environment."""

from __future__ import annotations

import pytest

from compatcheck.launch.command_line import launches_in_script


@pytest.mark.parametrize(
    "command",
    [
        "numactl -N 0 -m 0 vllm serve m",
        "nsys profile -o x -t cuda,nvtx vllm serve m",
        "ncu --target-processes all --set full vllm serve m",
        "timeout -k 5 60 vllm serve m",
        "timeout --signal=TERM 1h vllm serve m",
        "sudo -u me env A=1 vllm serve m",
        "sudo -E -u vllm vllm serve m",
        "taskset -c 0-3 nice -n 5 vllm serve m",
        "chrt -f 50 vllm serve m",
        "mpirun -np 2 --mca pml ob1 -x A vllm serve m",
        "srun -N 1 --gpus 8 -l numactl --interleave=all vllm serve m",
        "conda run -n test --no-capture-output vllm serve m",
        "conda run -n ray vllm serve m",
        "uv run --python python3.12 --with vllm vllm serve m",
        "uv run --no-sync -- vllm serve m",
        "ray job submit --address http://x:8265 --working-dir . -- vllm serve m",
        "kubectl exec -n test pod -c main -- vllm serve m",
        "kubectl exec -it pod -- bash -c 'vllm serve m'",
        "tini -g -- /entrypoint.sh vllm serve m",
        "/opt/nvidia/nvidia_entrypoint.sh vllm serve m",
        "apptainer exec --nv -B /data:/data vllm.sif vllm serve m",
        "poetry run vllm serve m",
        "stdbuf -oL unbuffer vllm serve m",
        "env -- A=1 vllm serve m",
        "time -p vllm serve m",
        "ssh -p 22 -i key me@host vllm serve m",
        "ssh -t host 'cd x && vllm serve m'",
        "ssh host <<'EOF'\nvllm serve m\nEOF",
        "sudo bash -s <<EOF\nvllm serve m\nEOF",
        "docker exec -i c bash <<EOF\nvllm serve m\nEOF",
        "sbatch -N 1 <<EOF\n#!/bin/bash\nsrun vllm serve m\nEOF",
        "tmux new-session -d -s x 'vllm serve m'",
        "su - me -c 'vllm serve m'",
        "docker run $OPTS vllm/vllm-openai:v0.25.1 m",
        "docker container exec -e A=1 c vllm serve m",
        "exec standard-supervisor vllm serve m",
    ],
)
def test_a_launch_behind_a_wrapper(command: str) -> None:
    (launch,) = launches_in_script(command)
    assert [word.text for word in launch.words] == ["m"]


@pytest.mark.parametrize(
    "command",
    [
        "sudo pgrep -af vllm serve",
        "sudo -E pgrep -af vllm serve",
        "sudo -u me pgrep -af vllm serve",
        "timeout 5 grep vllm serve log",
        "timeout -k 5 60 grep -r vllm serve .",
        'kubectl exec pod -- pkill -f "vllm serve"',
        "kubectl exec pod -c main -- ps aux vllm serve",
        'ssh host pkill -f "vllm serve"',
        "ssh host 'pgrep -f \"vllm serve\"'",
        'tmux new-session -d pkill -f "vllm serve m"',
        "nohup echo vllm serve m",
        "command -v vllm serve",
        "env A=1 which vllm serve",
        "sudo killall -9 vllm serve",
        "watch -n 1 'ps aux | grep vllm serve'",
        "numactl -N 0 ls vllm serve",
        "docker exec c pgrep -f 'vllm serve'",
        "docker exec c pgrep vllm serve",
        "xargs echo vllm serve m",
        "cat > run.sh <<EOF\nvllm serve m\nEOF",
        "ssh host cat > x <<EOF\nvllm serve m\nEOF",
        "sudo tee /etc/x <<EOF\nvllm serve m\nEOF",
        "bash run.sh <<EOF\nvllm serve m\nEOF",
    ],
)
def test_another_program_behind_a_wrapper(command: str) -> None:
    assert not launches_in_script(command)


@pytest.mark.parametrize(
    ("script", "environment"),
    [
        ("env -u VLLM_A vllm serve m", {"VLLM_B": "2"}),
        ("env -i VLLM_C=3 vllm serve m", {"VLLM_C": "3"}),
        ("env --unset=VLLM_A -uVLLM_B vllm serve m", {}),
        ("srun --export=ALL,VLLM_C=3 vllm serve m", {"VLLM_A": "1", "VLLM_B": "2", "VLLM_C": "3"}),
        ("srun --export=NONE vllm serve m", {}),
        ("srun --export VLLM_A,VLLM_C=3 vllm serve m", {"VLLM_A": "1", "VLLM_C": "3"}),
        ("srun --export=HOME vllm serve m", {"HOME": None}),
        ("sbatch --export=VLLM_C=3 --wrap='vllm serve m'", {"VLLM_C": "3"}),
        ("sbatch --wrap='vllm serve m'", {"VLLM_A": "1", "VLLM_B": "2"}),
        ("sudo vllm serve m", {"VLLM_A": None, "VLLM_B": None}),
        ("sudo -E vllm serve m", {"VLLM_A": "1", "VLLM_B": "2"}),
        ("sudo VLLM_A=3 vllm serve m", {"VLLM_A": "3", "VLLM_B": None}),
        ("mpirun -x VLLM_A=3 -np 2 vllm serve m", {"VLLM_A": "3", "VLLM_B": "2"}),
        ("mpiexec -genv VLLM_A 3 -n 2 vllm serve m", {"VLLM_A": "3", "VLLM_B": "2"}),
        ("apptainer exec --env VLLM_A=3,VLLM_C=4 x.sif vllm serve m", {"VLLM_A": "3", "VLLM_B": "2", "VLLM_C": "4"}),
        ("systemd-run --setenv=VLLM_A=3 --scope vllm serve m", {"VLLM_A": "3", "VLLM_B": "2"}),
        ("ssh host vllm serve m", {}),
        ("ssh host 'VLLM_C=3 vllm serve m'", {"VLLM_C": "3"}),
        ("kubectl exec pod -- vllm serve m", {}),
        ("docker exec -e VLLM_A -e VLLM_C=3 c vllm serve m", {"VLLM_A": "1", "VLLM_C": "3"}),
        ("bash <<EOF\nexport VLLM_C=3\nvllm serve m\nEOF", {"VLLM_A": "1", "VLLM_B": "2", "VLLM_C": "3"}),
    ],
)
def test_its_environment(script: str, environment: dict[str, str | None]) -> None:
    (launch,) = launches_in_script(f"export VLLM_A=1 VLLM_B=2\n{script}\n")
    found = {name: None if word.dynamic else word.text for name, word in launch.environment.items()}
    assert found == environment
