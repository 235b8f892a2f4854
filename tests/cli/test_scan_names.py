"""What scan looks at in a folder is what a reader takes."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from fnmatch import fnmatch

import pytest

from compatcheck.cli.scan import NAMES
from compatcheck.launch.files import reader as shared
from compatcheck.launch.files.reader import Reader
from compatcheck.launch.files.registry import READERS, reader_for

TEXTS = [
    "",
    "services:\n  a:\n    image: vllm/vllm-openai\n",
    "apiVersion: v1\n",
    "model_loading_config:\n",
    "modelArtifacts:\n",
    "servingEngineSpec:\n  modelSpec:\n",
]
"""Texts of which each kind of file has one."""


def names_of(reader: Reader) -> set[str]:
    """Return the file names that a reader takes, made of every text in its source and in what readers share."""
    sources = (inspect.getsource(module) for module in (sys.modules[type(reader).__module__], shared))
    tree = ast.parse("\n".join(sources).replace("from __future__ import annotations", ""))
    pieces = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    named = {piece for piece in pieces if re.fullmatch(r"\.?[\w.-]{2,30}", piece)}
    tried = {name for piece in named for name in (piece, piece.title(), piece.upper(), f"x{piece}", f"{piece}x")}
    return {name for name in tried if any(reader.takes(name, text) for text in TEXTS)}


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_what_a_reader_takes_is_looked_at(reader: Reader) -> None:
    names = names_of(reader)
    assert names
    assert {name for name in names if not any(fnmatch(name.lower(), glob) for glob in NAMES)} == set()


@pytest.mark.parametrize("glob", NAMES)
def test_what_is_looked_at_is_taken(glob: str) -> None:
    name = glob.replace("*ockerfile", "Dockerfile").replace("*ontainerfile", "Containerfile").replace("*", "x")
    name = name.removesuffix("x") if "file" in name else name
    assert any(reader_for(name, text) is not None for text in TEXTS)
