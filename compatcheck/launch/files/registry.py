"""The readers, in the order in which they are asked; the first that takes a file reads it."""

from __future__ import annotations

import re

from compatcheck.launch.files.compose import Compose
from compatcheck.launch.files.dockerfile import Dockerfile
from compatcheck.launch.files.justfile import Justfile
from compatcheck.launch.files.kubernetes import Kubernetes
from compatcheck.launch.files.llm_d_values import LlmDValues
from compatcheck.launch.files.makefile import Makefile
from compatcheck.launch.files.markdown import Markdown
from compatcheck.launch.files.podman_quadlet import PodmanQuadlet
from compatcheck.launch.files.production_stack import ProductionStack
from compatcheck.launch.files.python.file import PythonFile
from compatcheck.launch.files.ray_serve import RayServe
from compatcheck.launch.files.reader import Reader
from compatcheck.launch.files.shell_script import ShellScript
from compatcheck.launch.files.systemd_unit import SystemdUnit
from compatcheck.launch.files.yaml_scripts import YamlScripts

READERS: list[Reader] = [
    Markdown(),
    PythonFile(),
    Dockerfile(),
    RayServe(),
    LlmDValues(),
    ProductionStack(),
    Compose(),
    Kubernetes(),
    YamlScripts(),
    SystemdUnit(),
    PodmanQuadlet(),
    Makefile(),
    Justfile(),
    ShellScript(),
]


FILLED_IN: list[Reader] = [SystemdUnit(), PodmanQuadlet(), ShellScript()]
"""Readers of files that may be templates of such files as well, `vllm.container.j2`."""
_TEMPLATE = re.compile(r"\.(?:j2|tmpl|tpl)$", re.I)


def reader_for(path: str, text: str) -> Reader | None:
    """Return the reader of a file, or None where no reader takes it."""
    name = _TEMPLATE.sub("", path)
    readers = READERS if name == path else FILLED_IN
    return next((reader for reader in readers if reader.takes(name, text)), None)
