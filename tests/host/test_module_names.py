from __future__ import annotations

from pathlib import Path

import pytest

from compatcheck.host.module_names import Names
from compatcheck.host.source_files import LARGEST

from .trees import write

INIT = '''
"""Mentions in_docstring only here."""
import contextlib
from . import jit as jit
from .page import append as append, renamed as other
from .gone import lost
from .broken import unreadable
from .star import *
from numpy import foreign
from .loop_a import spin
a, (b, c) = 1, (2, 3)
annotated: int = 1
declared: int
def function(): ...
async def coroutine(): ...
class Klass: ...
def outer():
    inner = 1
try:
    from .page import optional
except ImportError:
    pass
try:
    from .page import append as either
except ImportError:
    either = None
with contextlib.suppress(ImportError):
    from .page import append as suppressed
if True:
    branch = 1
if True:
    both = 1
else:
    both = 2
'''


@pytest.fixture
def names(tmp_path: Path) -> Names:
    package = tmp_path / "pkg"
    write(package, "__init__.py", INIT)
    write(package, "page.py", "def append(): ...\ndef renamed(): ...\ndef optional(): ...\n")
    write(package, "broken.py", "def unreadable(:\n")
    write(package, "star.py", "starred = 1\n_private = 2\n")
    write(package, "loop_a.py", "from .loop_b import spin\n")
    write(package, "loop_b.py", "from .loop_a import spin\n")
    write(package, "jit/__init__.py", "from ..page import append\nfrom ..page import absent\n")
    write(package, "lazy.py", "def __getattr__(name):\n    return globals()[name.lower()]\n")
    write(
        package,
        "closed.py",
        'SERVED = {"served"}\ndef __getattr__(name):\n    "Doc."\n    if name not in SERVED:\n'
        "        raise AttributeError(name)\n    return 1\n",
    )
    (package / "compiled.cpython-311-x86_64-linux-gnu.so").write_bytes(b"\x7fELF")
    return Names(package)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("append", True),
        ("other", True),
        ("renamed", False),
        ("jit", True),
        ("page", True),
        ("starred", True),
        ("_private", False),
        ("function", True),
        ("coroutine", True),
        ("Klass", True),
        ("a", True),
        ("c", True),
        ("annotated", True),
        ("declared", False),
        ("inner", False),
        ("in_docstring", False),
        ("contextlib", True),
        ("lost", False),
        ("either", True),
        ("both", True),
        ("unreadable", None),
        ("foreign", None),
        ("optional", None),
        ("suppressed", None),
        ("branch", None),
        ("spin", None),
        ("nowhere", False),
    ],
)
def test_from_package_import(names: Names, name: str, expected: bool | None) -> None:
    assert names.binds("pkg", name) is expected


@pytest.mark.parametrize(
    ("module", "name", "expected"),
    [
        ("pkg.page", "append", True),
        ("pkg.jit", "append", True),
        ("pkg.jit", "absent", False),
        ("pkg.lazy", "anything", None),
        ("pkg.closed", "served", None),
        ("pkg.closed", "not_served", False),
        ("pkg.missing", "append", False),
        ("pkg.compiled", "append", None),
        ("other.page", "append", False),
        ("pkg.broken", "unreadable", None),
        ("pkg.broken", "not_mentioned", None),
    ],
)
def test_from_module_import(names: Names, module: str, name: str, expected: bool | None) -> None:
    assert names.binds(module, name) is expected


def test_unreadable_files_are_named_with_their_fault(names: Names) -> None:
    names.binds("pkg", "unreadable")
    assert list(names.unreadable) == ["pkg.broken"]
    assert names.unreadable["pkg.broken"].startswith("invalid syntax at line 1")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"def f(): ...\n" + b"#" * LARGEST, "is larger than 4 MiB"),
        (b"f = '\xff'\n", "is not UTF-8 at byte 5"),
        (b"f = 1\n\x00", "cannot be parsed"),
        (b"f = " + b"(" * 5000 + b")" * 5000, "invalid syntax"),
    ],
)
def test_files_that_no_parser_takes_are_unknown_not_fatal(tmp_path: Path, content: bytes, why: str) -> None:
    package = tmp_path / "pkg"
    write(package, "__init__.py")
    (package / "page.py").write_bytes(content)
    names = Names(package)
    assert names.binds("pkg.page", "f") is None
    assert "pkg.page" in names.unreadable
    assert names.unreadable["pkg.page"].startswith((why, "cannot be parsed", "invalid syntax"))


def test_what_it_says_of_our_own_package_is_what_python_finds() -> None:
    """Differential: every public module of compatcheck.host against a real import."""
    import importlib

    import compatcheck

    root = Path(compatcheck.__file__).parent
    names = Names(root)
    checked = 0
    for file in sorted((root / "host").glob("*.py")):
        module = "compatcheck.host" if file.stem == "__init__" else f"compatcheck.host.{file.stem}"
        for name in [key for key in vars(importlib.import_module(module)) if not key.startswith(("__", "@"))]:
            assert names.binds(module, name) is not False, (module, name)
            checked += 1
        assert names.binds(module, "certainly_not_there") is False
    assert checked > 100
